/* SPDX-License-Identifier: BSD-3-Clause */
/* folder.c - the options of --sequence; the frames in a folder, in the order of the numbers in
 * their names: all that are there, or as they come. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "batch.h"

static int by_name(const void *a, const void *b) {
    return cli_names_compare(*(const char *const *)a, *(const char *const *)b);
}

static bool is_frame(const char *name) {
    const csrec_format *format = csrec_format_of(name);
    return *name != '.' && format && cli_format_has(format, CSREC_USE_READ | CSREC_USE_SAMPLES);
}

/* FOLDER/NAME, to be freed; NULL: out of memory. */
static char *path_in(const char *folder, const char *name) {
    const size_t length = strlen(folder), room = length + strlen(name) + 2;
    char *path = malloc(room);
    if (path) snprintf(path, room, "%s%s%s", folder, folder[length - 1] == '/' ? "" : "/", name);
    return path;
}

static bool append(cli_operands *list, char *path) {
    const char **more = path ? realloc(list->text, ((size_t)list->n + 1) * sizeof *more) : NULL;
    if (more) list->text = more;
    if (more) list->text[list->n++] = path;
    if (!more) free(path);
    return more != NULL;
}

static void drop(cli_operands *list) {
    for (int i = 0; i < list->n; i++) free((char *)list->text[i]);
    free(list->text);
}

/* The frames of a folder, in order; false: an error, of errno. */
static bool list_folder(const char *folder, cli_operands *list) {
    DIR *dir = opendir(folder);
    bool well = dir != NULL;
    for (struct dirent *entry; well && (entry = readdir(dir));)
        if (is_frame(entry->d_name)) well = append(list, path_in(folder, entry->d_name));
    const int error = well ? 0 : errno;
    if (dir) closedir(dir);
    errno = error;
    if (list->n) qsort(list->text, (size_t)list->n, sizeof *list->text, by_name);
    return well;
}

static int folder_failed(const cli_tool *tool, const char *folder) {
    return cli_failure(tool, "%s: the folder cannot be read (%s); %s", folder, strerror(errno),
                       csrec_errno_remedy(errno, "name another"));
}

static int refuse_others(const cli_request *request) {
    const cli_recover_arguments *a = &request->a;
    const struct {
        bool given;
        const char *name;
    } others[] = {{a->coefficients, "--coefficients"},
                  {a->merge, "--merge"},
                  {a->labels, "--labels"},
                  {a->model, "--model"},
                  {a->history, "--history"},
                  {a->minutes > 0.0, "--minutes"},
                  {request->frames && a->resume, "--resume"},
                  {request->frames && a->time_axis_given, "--time-axis"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].given)
            return cli_usage(request->tool, "%s is not for %s; omit it", others[i].name,
                             i < 6 ? "--sequence" : "a --sequence of files");
    return CLI_CONTINUE;
}

/* A folder that is both would make frames of results. */
static int check_follow(const cli_request *request) {
    const cli_recover_arguments *a = &request->a;
    struct stat in, out;
    if (a->inputs.n != 1 || !cli_is_folder(a->inputs.text[0]))
        return cli_usage(request->tool, "--follow takes one folder as INPUT, where files appear");
    if (a->info) return cli_usage(request->tool, "--info is not for --follow; omit one");
    if (stat(a->inputs.text[0], &in) != 0) return folder_failed(request->tool, a->inputs.text[0]);
    const char *const folders[] = {a->output, a->uncertainty};
    for (int i = 0; i < 2; i++)
        if (folders[i] && stat(folders[i], &out) == 0 && in.st_dev == out.st_dev &&
            in.st_ino == out.st_ino)
            return cli_usage(request->tool,
                             "%s: results are written into the folder of the frames; "
                             "name another",
                             folders[i]);
    return CLI_CONTINUE;
}

static int add_input(const cli_request *request, const char *input, cli_operands *all) {
    const int before = all->n;
    const bool folder = cli_is_folder(input);
    if (!folder && !append(all, strdup(input))) return cli_failure(request->tool, "out of memory");
    if (!folder) return CLI_CONTINUE;
    cli_operands listed = {0};
    int code = list_folder(input, &listed) ? CLI_CONTINUE : folder_failed(request->tool, input);
    for (int i = 0; i < listed.n; i++)
        if (code != CLI_CONTINUE)
            free((char *)listed.text[i]);
        else if (!append(all, (char *)listed.text[i]))
            code = cli_failure(request->tool, "out of memory");
    free(listed.text);
    if (code == CLI_CONTINUE && all->n == before)
        code = cli_failure(request->tool,
                           "%s: has no pictures, arrays or measurements; name another", input);
    return code;
}

/* Shells sort names as words. */
static void tell_order(const cli_request *request) {
    const cli_operands *inputs = &request->a.inputs;
    const int i = request->a.quiet ? 0 : cli_names_turn(inputs);
    if (i > 0)
        cli_note(
            request->tool,
            "note: %s comes before %s, as they are given; frames of a folder, FOLDER/, come in "
            "the order of their numbers",
            inputs->text[i - 1], inputs->text[i]);
}

static int list_inputs(cli_request *request) {
    cli_operands all = {0}, *inputs = &request->a.inputs;
    int code = CLI_CONTINUE;
    for (int i = 0; i < inputs->n && code == CLI_CONTINUE; i++)
        code = add_input(request, inputs->text[i], &all);
    free(inputs->text);
    *inputs = all;
    request->listed = true;
    if (code != CLI_CONTINUE) return code;
    tell_order(request);
    return cli_alias_check(request->tool, &request->a);
}

int cli_sequence_check(cli_request *request) {
    const cli_recover_arguments *a = &request->a;
    bool folder = false;
    for (int i = 0; i < a->inputs.n; i++) folder = folder || cli_is_folder(a->inputs.text[i]);
    if (!a->sequence && (a->time_axis_given || a->follow_given))
        return cli_usage(request->tool, "%s is for --sequence; give --sequence, too",
                         a->follow_given ? "--follow" : "--time-axis");
    if (!a->sequence) return CLI_CONTINUE;
    request->frames = a->inputs.n > 1 || folder || a->follow_given;
    int code = refuse_others(request);
    if (code != CLI_CONTINUE || !request->frames) return code;
    return a->follow_given ? check_follow(request) : list_inputs(request);
}

void cli_sequence_forget(cli_request *request) {
    if (request->listed)
        drop(&request->a.inputs);
    else
        free(request->a.inputs.text);
    request->a.inputs = (cli_operands){0};
}

/* Seconds without a change of its size: a file is complete. If its date, by the clock of another
 * machine perhaps, is so long ago, it is at once. */
static const double STILL = 0.2, OLD = 10.0;

/* Whether the file has been so long as it is. seen: its size, and since when. */
static bool is_complete(cli_follow *f, const char *path) {
    struct stat info;
    const bool there = stat(path, &info) == 0 && info.st_size > 0;
    const int64_t size = there ? (int64_t)info.st_size : -1;
    if (!f->path || strcmp(f->path, path) != 0 || size != f->size) {
        free(f->path);
        f->path = strdup(path);
        f->size = size;
        f->since = cli_seconds();
    }
    const bool old = there && difftime(time(NULL), info.st_mtime) > OLD;
    return there && (old || cli_seconds() - f->since >= STILL);
}

/* Adds to the inputs; the failures have room for all. */
static bool take_file(cli_batch *b, const char *path) {
    cli_operands *inputs = &b->follow.request.a.inputs;
    int *failed = realloc(b->failed, ((size_t)inputs->n + 1) * sizeof *failed);
    if (failed) b->failed = failed;
    return failed && append(inputs, strdup(path));
}

/* Takes the next complete file behind the last; false: none is there, or an error. */
static bool look(cli_batch *b) {
    cli_operands list = {0}, *inputs = &b->follow.request.a.inputs;
    const char *last = inputs->n ? inputs->text[inputs->n - 1] : NULL;
    b->lost_folder = !list_folder(b->follow.folder, &list);
    if (b->lost_folder) (void)folder_failed(b->request->all, b->follow.folder);
    int i = 0;
    while (i < list.n && last && cli_names_compare(list.text[i], last) <= 0) i++;
    const bool found = !b->lost_folder && i < list.n && is_complete(&b->follow, list.text[i]) &&
                       take_file(b, list.text[i]);
    drop(&list);
    if (found) b->end++;
    return found;
}

bool cli_follow_next(cli_batch *b) {
    static const struct timespec nap = {.tv_nsec = 50000000};
    const double most = b->request->a.follow, start = cli_seconds();
    while (!cli_interrupted() && !b->lost_folder) {
        if (look(b)) return true;
        const double quiet = cli_seconds() - fmax(start, b->follow.since);
        if (most > 0.0 && quiet >= most) return false;
        nanosleep(&nap, NULL);
    }
    return false;
}

void cli_follow_begin(cli_batch *b) {
    if (!b->request->a.follow_given || !b->request->frames) return;
    b->follow.request = *b->request;
    b->follow.folder = b->request->a.inputs.text[0];
    b->follow.request.a.inputs = (cli_operands){0};
    b->request = &b->follow.request;
    b->follows = b->progress->patient = true;
    b->end = 0;
}

/* Says which files came too late. Both lists ascend. */
static void tell_late(const cli_batch *b) {
    const cli_operands *taken = &b->follow.request.a.inputs;
    cli_operands list = {0};
    int late = 0, first = 0, k = 0;
    if (b->lost_folder || !taken->n || !list_folder(b->follow.folder, &list)) {
        drop(&list);
        return;
    }
    for (int i = 0; i < list.n; i++) {
        if (cli_names_compare(list.text[i], taken->text[taken->n - 1]) > 0) break;
        while (k < taken->n && cli_names_compare(taken->text[k], list.text[i]) < 0) k++;
        if (strcmp(taken->text[k], list.text[i]) == 0) continue;
        if (late++ == 0) first = i;
    }
    if (late)
        cli_note(b->request->tool, "%d file%s came after later frames, and %s left out: %s%s", late,
                 late > 1 ? "s" : "", late > 1 ? "were" : "was", list.text[first],
                 late > 1 ? ", ..." : "");
    drop(&list);
}

void cli_follow_end(cli_batch *b) {
    if (!b->follows) return;
    tell_late(b);
    drop(&b->follow.request.a.inputs);
    free(b->follow.path);
}
