/* recover_paths.c - where the results of several inputs go, and which are there already. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alias.h"
#include "recover.h"

int cli_input_name(const char *input, const char **name) {
    const char *slash = strrchr(input, '/');
    *name = cli_is_dash(input) ? "stdin" : slash ? slash + 1 : input;
    const char *dot = strrchr(*name, '.');
    return (int)(dot && dot > *name ? (size_t)(dot - *name) : strlen(*name));
}

/* FOLDER/NAME.ending of the input; NULL: out of memory. */
static char *path_in(const char *folder, const char *input, const char *ending) {
    const char *name;
    int length = cli_input_name(input, &name);
    size_t room = strlen(folder) + (size_t)length + strlen(ending) + 2;
    char *path = malloc(room);
    bool slash = folder[strlen(folder) - 1] == '/';
    if (path) snprintf(path, room, "%s%s%.*s%s", folder, slash ? "" : "/", length, name, ending);
    return path;
}

/* Temporaries that killed runs have left there. */
static void sweep(const char *folder, const char *input) {
    char *path = path_in(folder, input, "");
    if (path) csrec_files_sweep(path);
    free(path);
}

static int make_folder(const cli_tool *tool, const char *folder, cli_folders *made) {
    if (mkdir(folder, 0777) == 0)
        made->folder[made->n++] = folder;
    else if (errno != EEXIST)
        return cli_failure(tool, "%s: the folder cannot be made: %s; choose another", folder,
                           strerror(errno));
    if (access(folder, W_OK | X_OK) == 0) return CLI_CONTINUE;
    return cli_failure(tool, "%s: the folder cannot be written: %s; choose another", folder,
                       strerror(errno));
}

int cli_folders_make(const cli_request *request, cli_folders *made) {
    const cli_recover_arguments *a = &request->a;
    const char *const named[] = {request->folder ? a->output : NULL,
                                 request->page_folder ? a->report : NULL,
                                 request->plot_folder ? a->plot : NULL};
    int code = CLI_CONTINUE;
    made->n = 0;
    for (int i = 0; i < CLI_FOLDERS && code == CLI_CONTINUE; i++)
        if (named[i]) {
            code = make_folder(request->tool, named[i], made);
            if (code == CLI_CONTINUE) sweep(named[i], a->inputs.text[0]);
        }
    return code;
}

void cli_folders_drop(const cli_folders *made) {
    for (int i = made->n - 1; i >= 0; i--) rmdir(made->folder[i]); /* fails where files are */
}

/* FOLDER/NAME of each input with each ending. */
static void add_folder(const cli_recover_arguments *a, const char *option, const char *folder,
                       const char *const endings[2], cli_paths *paths) {
    bool written = strcmp(option, "reference") != 0;
    if (!folder || !cli_is_folder(folder)) return;
    for (int i = 0; i < a->inputs.n; i++)
        for (int e = 0; e < 2; e++) {
            char *path = endings[e] ? path_in(folder, a->inputs.text[i], endings[e]) : NULL;
            paths->failed = paths->failed || (endings[e] && !path);
            cli_paths_add(paths, &(cli_path){.option = option,
                                             .of = a->inputs.text[i],
                                             .path = path,
                                             .written = written});
            free(path);
        }
}

void cli_recover_add_paths(const void *arguments, cli_paths *paths) {
    const cli_recover_arguments *a = arguments;
    bool png = a->format != 1, npy = a->format != 0; /* of cli_format_name; -1: as it fits */
    add_folder(a, "output", a->output,
               (const char *const[]){png ? ".png" : NULL, npy ? ".npy" : NULL}, paths);
    add_folder(a, "report", a->report, (const char *const[]){".html", NULL}, paths);
    add_folder(a, "plot", a->plot, (const char *const[]){".svg", NULL}, paths);
    add_folder(a, "reference", a->reference, (const char *const[]){".png", ".npy"}, paths);
}

/* ------------------------------------------------------------------ done before ------------- */

static bool is_newer(const struct stat *a, const struct stat *b) {
    return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec > b->st_mtim.tv_sec
                                                  : a->st_mtim.tv_nsec >= b->st_mtim.tv_nsec;
}

/* Readable to its end. */
static bool is_whole(const char *path) {
    csrec_array array = {0};
    csrec_image image = {0};
    bool png = cli_format_of(path) == CLI_PNG;
    bool whole =
        png ? !csrec_image_read(path, &image, NULL) : !csrec_array_read(path, &array, NULL);
    csrec_image_clear(&image);
    csrec_array_clear(&array);
    return whole;
}

static bool is_done(const cli_request *request, const char *input, const char *output) {
    struct stat to, from;
    if (!output || stat(output, &to) != 0 || !S_ISREG(to.st_mode)) return false;
    if (stat(input, &from) != 0 || !is_newer(&to, &from)) return false;
    const char *const besides[] = {request->a.mask, request->a.model};
    for (int i = 0; i < 2; i++)
        if (besides[i] && (stat(besides[i], &from) != 0 || !is_newer(&to, &from))) return false;
    return is_whole(output);
}

bool cli_input_is_done(const cli_request *request, const char *input) {
    if (!request->a.resume) return false;
    if (!request->folder) return is_done(request, input, request->a.output);
    const cli_format formats[] = {CLI_PNG, CLI_NPY};
    bool done = false;
    for (int i = 0; i < 2; i++) {
        if (request->format != CLI_NO_FORMAT && request->format != formats[i]) continue;
        char *path = path_in(request->a.output, input, formats[i] == CLI_PNG ? ".png" : ".npy");
        done = done || is_done(request, input, path);
        free(path);
    }
    return done;
}

/* ------------------------------------------------------------------ of one job -------------- */

static int set_output(cli_job *job) {
    const cli_request *request = job->request;
    job->format = request->format;
    if (!request->a.output) return CLI_CONTINUE;
    if (request->folder && job->format == CLI_NO_FORMAT)
        job->format = cli_picture_refusal(&job->measurement, &job->tones) ? CLI_NPY : CLI_PNG;
    job->output = request->folder ? path_in(request->a.output, job->input,
                                            job->format == CLI_PNG ? ".png" : ".npy")
                                  : strdup(request->a.output);
    if (!job->output) return cli_job_fail(job, "%s: out of memory", job->input);
    return CLI_CONTINUE;
}

/* A folder holds a truth for each input, by its name. */
static int set_reference(cli_job *job) {
    const char *given = job->a->reference;
    struct stat info;
    if (!given) return CLI_CONTINUE;
    if (cli_is_dash(given) || stat(given, &info) != 0 || !S_ISDIR(info.st_mode)) {
        job->reference = strdup(given);
    } else {
        job->reference = path_in(given, job->input, ".png");
        if (job->reference && access(job->reference, F_OK) != 0) {
            free(job->reference);
            job->reference = path_in(given, job->input, ".npy");
        }
        if (job->reference && access(job->reference, F_OK) != 0)
            return cli_job_fail(job,
                                "%s: neither this file nor the .png beside it is there; name "
                                "the truth after its input",
                                job->reference);
    }
    return job->reference ? CLI_CONTINUE : cli_job_fail(job, "%s: out of memory", job->input);
}

/* A file, or one of the input's name in a folder. */
static char *illustration(const cli_job *job, const char *given, bool folder, const char *ending) {
    return folder ? path_in(given, job->input, ending) : strdup(given);
}

static int set_illustrations(cli_job *job) {
    const cli_request *request = job->request;
    const char *page = request->a.report, *plot = request->a.plot;
    if (page) job->page = illustration(job, page, request->page_folder, ".html");
    if (plot) job->plot = illustration(job, plot, request->plot_folder, ".svg");
    if ((page && !job->page) || (plot && !job->plot))
        return cli_job_fail(job, "%s: out of memory", job->input);
    return CLI_CONTINUE;
}

int cli_job_paths(cli_job *job) {
    int code = set_output(job);
    if (code == CLI_CONTINUE) code = set_illustrations(job);
    return code == CLI_CONTINUE ? set_reference(job) : code;
}
