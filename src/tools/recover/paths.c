/* SPDX-License-Identifier: BSD-3-Clause */
/* paths.c - paths of the results of several inputs, and which results exist already; what a
 * recovery depends on: as the fingerprint of its results, and as the card by which ranks find out
 * whether they were started alike. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "recover.h"

/* Of the last four bytes of sky.fits.gz and sky.fits.fz. */
static bool is_packed_ending(const char *at) {
    return strncasecmp(at, ".gz", 3) == 0 || strncasecmp(at, ".fz", 3) == 0;
}

int cli_input_name(const char *input, const char **name) {
    const char *member = csrec_path_member(input), *dot = NULL;
    const char *start = cli_is_dash(input) ? "stdin" : input;
    const char *end = member ? member - (*member == '/') : start + strlen(start);
    for (const char *at = start; at < end; at++)
        if (*at == '/')
            start = at + 1, dot = NULL;
        else if (*at == '.' && at > start && !(dot && at + 3 == end && is_packed_ending(at)))
            dot = at;
    *name = start;
    return (int)((dot ? dot : end) - start);
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

/* Removes temporary files of killed runs. */
static void sweep(const char *folder, const char *input) {
    char *path = path_in(folder, input, "");
    if (path) csrec_files_sweep(path);
    free(path);
}

static int make_folder(const cli_tool *tool, const char *folder, cli_folders *made) {
    if (mkdir(folder, 0777) == 0)
        made->folder[made->n++] = folder;
    else if (errno != EEXIST)
        return cli_failure(tool, "%s: the folder cannot be created (%s); %s", folder,
                           strerror(errno), csrec_errno_remedy(errno, "choose another"));
    if (access(folder, W_OK | X_OK) == 0) return CLI_CONTINUE;
    return cli_failure(tool, "%s: the folder is not writable (%s); %s", folder, strerror(errno),
                       csrec_errno_remedy(errno, "choose another"));
}

int cli_folders_make(const cli_request *request, cli_folders *made) {
    const cli_recover_arguments *a = &request->a;
    const char *const named[] = {
        request->folder ? a->output : NULL, request->page_folder ? a->report : NULL,
        request->plot_folder ? a->plot : NULL, request->map_folder ? a->uncertainty : NULL};
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
    for (int i = made->n - 1; i >= 0; i--)
        rmdir(made->folder[i]); /* fails if the folder has files */
}

/* FOLDER/NAME of each input with the ending. */
static void add_folder(const cli_recover_arguments *a, const char *option, const char *folder,
                       const char *ending, cli_paths *paths) {
    bool written = strcmp(option, "reference") != 0;
    if (!folder || !cli_is_folder(folder)) return;
    for (int i = 0; i < cli_recoveries(a); i++) {
        char *path = path_in(folder, a->inputs.text[i], ending);
        paths->failed = paths->failed || !path;
        cli_paths_add(paths, &(cli_path){.option = option,
                                         .of = a->inputs.text[i],
                                         .path = path,
                                         .written = written});
        free(path);
    }
}

void cli_recover_add_paths(const void *arguments, cli_paths *paths) {
    const cli_recover_arguments *a = arguments;
    const csrec_format *format;
    for (int i = 0; (format = cli_format_with(CSREC_USE_WRITE, i)); i++)
        if (a->format < 0 || a->format == i)
            add_folder(a, "output", a->output, cli_ending_of(format).text, paths);
    add_folder(a, "report", a->report, ".html", paths);
    add_folder(a, "plot", a->plot, ".svg", paths);
    add_folder(a, "uncertainty", a->uncertainty, ".npy", paths);
    for (int i = 0; (format = cli_format_with(CSREC_USE_READ, i)); i++)
        add_folder(a, "reference", a->reference, cli_ending_of(format).text, paths);
}

static bool is_folder_there(const char *path) {
    struct stat info;
    return !cli_is_dash(path) && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The truth of an input: --reference, or the file of the input's name in that folder. Free it;
 * NULL: none, or out of memory. */
static char *reference_path(const cli_request *request, const char *input) {
    const char *given = request->a.reference;
    if (!given) return NULL;
    if (!is_folder_there(given)) return strdup(given);
    const csrec_format *format;
    char *path = NULL;
    for (int i = 0; (format = cli_format_with(CSREC_USE_READ, i)); i++) {
        free(path);
        path = path_in(given, input, cli_ending_of(format).text);
        if (!path || access(path, F_OK) == 0) break;
    }
    return path;
}

char *cli_recover_fingerprint(const cli_request *request, const char *input, bool *known) {
    const cli_recover_arguments *a = &request->a;
    cli_fingerprint line;
    char beside[CSREC_PATH_ROOM + 8];
    char *reference = a->report || a->plot ? reference_path(request, input) : NULL;
    cli_fingerprint_begin(&line, request->all->name);
    cli_fingerprint_file(&line, "input", input);
    snprintf(beside, sizeof beside, "%s.msk", input); /* of a TIFF: its mask */
    if (access(beside, F_OK) == 0) cli_fingerprint_file(&line, "input.msk", beside);
    for (int i = 1; a->merge && i < a->inputs.n; i++)
        cli_fingerprint_file(&line, "merged", a->inputs.text[i]);
    cli_fingerprint_file(&line, "reference", reference);
    cli_fingerprint_options(&line, request->all, a, CLI_ON_RESULTS);
    if (a->coefficients) cli_fingerprint_text(&line, "atoms", "kept"); /* of a single grid */
    free(reference);
    char *text = cli_fingerprint_end(&line);
    *known = line.known && text;
    return text;
}

char *cli_fingerprint_add_prior(char *line, const char *prior) {
    const size_t used = line ? strlen(line) : 0, room = used + strlen(prior) + 16;
    char *longer = line && *prior ? realloc(line, room) : line;
    if (!longer) free(line);
    if (longer && *prior) snprintf(longer + used, room - used, "; prior=%s", prior);
    return longer;
}

char *cli_recover_card(const cli_request *request, const char *prior) {
    const cli_recover_arguments *a = &request->a;
    cli_fingerprint line;
    cli_fingerprint_begin(&line, request->all->name);
    cli_fingerprint_options(&line, request->all, a, CLI_ON_OUTPUTS);
    for (int i = 0; i < a->inputs.n; i++) {
        char name[32];
        snprintf(name, sizeof name, "input %d", i + 1);
        cli_fingerprint_name(&line, name, a->inputs.text[i]);
    }
    if (*prior) cli_fingerprint_text(&line, "prior", prior);
    return cli_fingerprint_end(&line);
}

/* Whether the file is readable to its end; in a page and an .svg the fingerprint is there. */
static bool is_whole(const char *path) {
    csrec_image signal = {0};
    const csrec_format *format = csrec_format_of(path);
    bool whole = true;
    if (cli_format_has(format, CSREC_USE_READ)) whole = !csrec_signal_read(path, &signal, NULL);
    if (cli_format_has(format, CSREC_USE_ARRAYS))
        whole = !csrec_npz_read(path, "levels", &signal.pixels, NULL) ||
                !csrec_npz_read(path, "x", &signal.pixels, NULL);
    csrec_image_clear(&signal);
    return whole;
}

/* A name in a folder, or the path itself. */
static char *path_of(const char *given, bool folder, const char *input, const char *ending) {
    return folder ? path_in(given, input, ending) : strdup(given);
}

static bool is_done(const char *given, bool folder, const char *input, const char *ending,
                    const char *fingerprint) {
    char *path = path_of(given, folder, input, ending);
    bool done = path && cli_fingerprint_is(path, fingerprint) && is_whole(path);
    free(path);
    return done;
}

/* In a folder, the format of the signal may be unknown before the input is read. */
static bool signal_is_done(const cli_request *request, const char *input, const char *fingerprint) {
    const csrec_format *format;
    const int uses = CSREC_USE_WRITE | (request->folder ? 0 : CSREC_USE_NAMED);
    for (int i = 0; (format = cli_format_with(uses, i)); i++)
        if ((!request->format || request->format == format) &&
            is_done(request->a.output, request->folder, input, cli_ending_of(format).text,
                    fingerprint))
            return true;
    return false;
}

static bool all_is_done_by(const cli_request *request, const char *input, const char *line) {
    const cli_recover_arguments *a = &request->a;
    return line && signal_is_done(request, input, line) &&
           (!a->report || is_done(a->report, request->page_folder, input, ".html", line)) &&
           (!a->plot || is_done(a->plot, request->plot_folder, input, ".svg", line)) &&
           (!a->uncertainty || is_done(a->uncertainty, request->map_folder, input, ".npy", line)) &&
           (!a->coefficients || is_done(a->coefficients, false, input, "", line));
}

/* Results of the same input and settings tell by their fingerprints whether they used the prior. */
static bool all_is_done(const cli_request *request, const char *input) {
    bool known = false;
    char *line = cli_recover_fingerprint(request, input, &known);
    bool done = known && all_is_done_by(request, input, line);
    char prior[CLI_CONTENTS_ROOM] = "";
    if (known && !done && !cli_prior_find(request, prior, NULL) && *prior) {
        line = cli_fingerprint_add_prior(line, prior);
        done = all_is_done_by(request, input, line);
    }
    free(line);
    return done;
}

/* Of ranks that share the tiles the first decides. If it has failed, the next message tells. */
bool cli_input_is_done(const cli_request *request, const char *input) {
    csrec_error ignored;
    if (!request->a.resume) return false;
    int done = csrec_comm_rank(request->tiles) == 0 && all_is_done(request, input);
    if (request->tiles && cli_ranks_take_first(request->tiles, RANK_DONE, &done, &ignored))
        return false;
    return done;
}

/* The input's, or the first format in which the signal can be written; or else the last. */
static const csrec_format *suiting_format(const cli_job *job) {
    const char *name;
    char ending[16];
    const int length = cli_input_name(job->input, &name);
    const int size = name[length] == '.' ? 1 + (int)strcspn(name + length + 1, ".:[") : 0;
    snprintf(ending, sizeof ending, "%.*s", size, name + length);
    const csrec_format *format = csrec_format_of(ending), *last = NULL;
    if (cli_format_has(format, CSREC_USE_WRITE) && !cli_job_refusal(job, format, &job->in.tones))
        return format;
    for (int i = 0; (format = cli_format_with(CSREC_USE_WRITE, i)); i++) {
        if (!cli_job_refusal(job, format, &job->in.tones)) return format;
        last = format;
    }
    return last;
}

static int set_output(cli_job *job) {
    const cli_request *request = job->request;
    job->out.format = request->format;
    if (!request->a.output) return CLI_CONTINUE;
    if (request->folder && !job->out.format) job->out.format = suiting_format(job);
    job->out.output = path_of(request->a.output, request->folder, job->input,
                              job->out.format ? cli_ending_of(job->out.format).text : "");
    if (!job->out.output) return cli_job_fail(job, "%s: out of memory", job->input);
    return CLI_CONTINUE;
}

static int set_reference(cli_job *job) {
    if (!job->a->reference) return CLI_CONTINUE;
    job->out.reference = reference_path(job->request, job->input);
    if (!job->out.reference) return cli_job_fail(job, "%s: out of memory", job->input);
    char list[64];
    if (is_folder_there(job->a->reference) && access(job->out.reference, F_OK) != 0)
        return cli_job_fail(job,
                            "%s: does not exist, nor with another ending (%s); name the truth "
                            "after its input",
                            job->out.reference,
                            csrec_format_list(CSREC_USE_READ, false, "or", list, sizeof list));
    return CLI_CONTINUE;
}

static int set_illustrations(cli_job *job) {
    const cli_request *request = job->request;
    const char *page = request->a.report, *plot = request->a.plot, *map = request->a.uncertainty;
    if (page) job->out.page = path_of(page, request->page_folder, job->input, ".html");
    if (plot) job->out.plot = path_of(plot, request->plot_folder, job->input, ".svg");
    if (map) job->out.map = path_of(map, request->map_folder, job->input, ".npy");
    if ((page && !job->out.page) || (plot && !job->out.plot) || (map && !job->out.map))
        return cli_job_fail(job, "%s: out of memory", job->input);
    return CLI_CONTINUE;
}

/* Of ranks that share the job the first writes. */
static int lock_outputs(cli_job *job) {
    const char *const outputs[CLI_OUTPUTS] = {job->out.output, job->a->coefficients, job->out.page,
                                              job->out.plot, job->out.map};
    csrec_error error;
    if (csrec_comm_rank(job->request->tiles) > 0) return CLI_CONTINUE;
    for (int i = 0; i < CLI_OUTPUTS; i++)
        if (outputs[i] && csrec_file_lock_take(outputs[i], &job->out.locks[i], &error))
            return cli_job_fail(job, "%s", error.text);
    return CLI_CONTINUE;
}

/* OUT.part keeps the tiles of a run that may be killed. */
static int set_journal(cli_job *job) {
    char file[CSREC_PATH_ROOM];
    if (!job->out.output || cli_is_dash(job->out.output)) return CLI_CONTINUE;
    const char *name = csrec_path_file(job->out.output, file);
    job->out.journal = malloc(strlen(name) + sizeof ".part");
    if (!job->out.journal) return cli_job_fail(job, "%s: out of memory", job->input);
    strcat(strcpy(job->out.journal, name), ".part");
    return CLI_CONTINUE;
}

int cli_job_paths(cli_job *job) {
    int code = set_output(job);
    if (code == CLI_CONTINUE) code = set_illustrations(job);
    if (code == CLI_CONTINUE) code = set_journal(job);
    if (code == CLI_CONTINUE) code = lock_outputs(job);
    return code == CLI_CONTINUE ? set_reference(job) : code;
}
