/* recover_batch.c - recovers every input of a command line; failures are listed and do not stop the
 * others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "describe.h"
#include "recover.h"

/* Limits of inputs that share a recovery: their number, and their values, 128 MiB; a recovery needs
 * a few times that. */
enum { TOGETHER = 32, VALUES = 1 << 24 };

typedef struct batch {
    const cli_request *request;
    cli_progress *progress;
    cli_json json;
    int next,
        code; /* the next input to load; the last exit code, which is that of a single input */
    int done, skipped;
    double began; /* second */
    const char **failed;
    int n_failed;
    bool interrupted, stdout_lost;
    cli_job *waiting; /* loaded, but part of the next group */
} batch;

static bool is_single(const batch *b) {
    return cli_recoveries(&b->request->a) == 1;
}

/* ------------------------------------------------------------------ JSON -------------------- */

/* One input is one object; several are a list of objects with their status. */
static void open_json(batch *b) {
    if (b->json.file) return;
    cli_json_open(&b->json, stdout);
    if (!is_single(b)) cli_json_begin_list(&b->json, "files");
}

static void begin_json(batch *b, const char *input, const char *status) {
    open_json(b);
    if (!is_single(b)) cli_json_begin_item(&b->json);
    cli_json_text(&b->json, "input", input);
    if (!is_single(b)) cli_json_text(&b->json, "status", status);
}

static void end_json(batch *b) {
    if (!is_single(b)) cli_json_end(&b->json);
}

static bool close_json(batch *b) {
    if (!b->request->a.json) return true;
    open_json(b);
    if (!is_single(b)) {
        cli_json_end_list(&b->json);
        cli_json_integer(&b->json, "recovered", b->done);
        cli_json_integer(&b->json, "skipped", b->skipped);
        cli_json_integer(&b->json, "failed", b->n_failed);
        cli_json_flag(&b->json, "interrupted", b->interrupted);
    }
    return cli_json_close(&b->json);
}

/* ------------------------------------------------------------------ one input --------------- */

static void drop(cli_job *job) {
    if (job) cli_job_clear(job);
    free(job);
}

static void fail(batch *b, cli_job *job, int code) {
    b->failed[b->n_failed++] = job->input;
    b->code = code;
    if (b->request->a.json && !is_single(b)) {
        begin_json(b, job->input, "failed");
        cli_json_text(&b->json, "error", job->failure);
        end_json(b);
    }
    drop(job);
}

static void skip(batch *b, const char *input) {
    b->skipped++;
    if (b->request->a.verbose) cli_note(b->request->tool, "%s: already done, skipped", input);
    if (!b->request->a.json) return;
    begin_json(b, input, "skipped");
    if (is_single(b)) cli_json_text(&b->json, "status", "skipped");
    end_json(b);
}

/* The next input to recover that can be read, or NULL. */
static cli_job *load_next(batch *b) {
    const cli_operands *inputs = &b->request->a.inputs;
    cli_job *job = b->waiting;
    b->waiting = NULL;
    while (!job && b->next < cli_recoveries(&b->request->a) && !cli_interrupted()) {
        const char *input = inputs->text[b->next++];
        if (cli_input_is_done(b->request, input)) {
            skip(b, input);
            continue;
        }
        job = calloc(1, sizeof *job);
        if (!job) {
            b->failed[b->n_failed++] = input;
            b->code = cli_failure(b->request->tool, "%s: out of memory", input);
            continue;
        }
        *job = (cli_job){.request = b->request,
                         .tool = b->request->tool,
                         .a = &b->request->a,
                         .input = input,
                         .progress = b->progress};
        int code = cli_job_load(job);
        if (code == CLI_CONTINUE) break;
        fail(b, job, code);
        job = NULL;
    }
    return job;
}

static void finish(batch *b, cli_job *job) {
    bool interrupted = job->report.outcome == CSREC_INTERRUPTED;
    int code = job->failure[0] ? CLI_FAILURE : cli_job_write(job);
    if (code != CLI_CONTINUE) {
        fail(b, job, code);
        return;
    }
    b->interrupted = b->interrupted || interrupted;
    b->done++;
    cli_job_tell(job);
    if (b->request->a.json) {
        begin_json(b, job->input, interrupted ? "interrupted" : "recovered");
        cli_job_json(job, &b->json);
        end_json(b);
    }
    drop(job);
}

/* ------------------------------------------------------------------ groups ------------------ */

static int64_t values_of(const cli_job *job) {
    int64_t entries = 0;
    csrec_shape_count(&job->measurement.shape, &entries);
    return entries * job->measurement.channels;
}

/* Collects the first job and those after it that share its recovery. */
static int collect(batch *b, cli_job *group[TOGETHER]) {
    int n = 1;
    int64_t values = values_of(group[0]);
    if (is_single(b) || !cli_jobs_share(group[0], group[0])) return n;
    for (cli_job *job; n < TOGETHER && (job = load_next(b)); group[n++] = job) {
        values += values_of(job);
        if (values <= VALUES && cli_jobs_share(group[0], job)) continue;
        b->waiting = job;
        break;
    }
    return n;
}

/* Whether the residual falls from 1 to epsilon. */
static bool is_one_pursuit(const cli_job *job) {
    const csrec_recover_options *o = &job->plan.options;
    return job->plan.method.iterates && !job->model && o->solve.stop.epsilon > 0.0 &&
           o->shifts <= 1 && job->measurement.channels == 1;
}

/* Inputs that are not read yet are taken to be like this one. */
static cli_run run_of(const batch *b, const cli_job *job, int n) {
    const csrec_estimate *e = &job->plan.estimate;
    double inputs = cli_recoveries(&b->request->a) - b->skipped;
    return (cli_run){.before = (b->done + b->n_failed) / inputs,
                     .part = n / inputs,
                     .began = b->began,
                     .expected = e->method ? inputs * e->seconds : 0.0,
                     .input = *e};
}

static void label(const batch *b, const cli_job *job, int n) {
    const char *name;
    char text[64] = "";
    int length = cli_input_name(job->input, &name);
    if (!is_single(b))
        snprintf(text, sizeof text, "%d/%d %.*s: ", b->done + b->skipped + b->n_failed + n,
                 b->request->a.inputs.n, length < 20 ? length : 20, name);
    cli_progress_next(b->progress, text,
                      is_one_pursuit(job) ? job->plan.options.solve.stop.epsilon : 0);
    cli_run run = run_of(b, job, n);
    cli_progress_within(b->progress, &run);
}

static void run_group(batch *b, cli_job *first) {
    cli_job *group[TOGETHER] = {first};
    int n = collect(b, group);
    if (cli_interrupted()) { /* nothing was started */
        for (int k = 0; k < n; k++) drop(group[k]);
        b->interrupted = true;
        return;
    }
    label(b, first, n);
    cli_jobs_recover(group, n);
    for (int k = 0; k < n; k++) finish(b, group[k]);
}

static void describe(batch *b, cli_job *job) {
    if (b->request->a.json) {
        begin_json(b, job->input, "described");
        cli_describe_json(&job->measurement, &b->json);
        cli_placement_json(&job->placement, &b->json);
        end_json(b);
    } else if (!cli_describe(job->input, &job->measurement)) {
        b->stdout_lost = true;
    }
    b->done++;
    drop(job);
}

/* ------------------------------------------------------------------ all of them ------------- */

/* Failures are always reported; the rest only at a terminal or with --verbose. */
static void tell(const batch *b, double seconds) {
    const cli_recover_arguments *a = &b->request->a;
    if (!a->quiet && !a->info && (a->verbose || isatty(STDERR_FILENO)))
        cli_note(b->request->tool, "%d inputs: %d recovered, %d already done, %d failed, %.1f s",
                 a->inputs.n, b->done, b->skipped, b->n_failed, seconds);
    for (int i = 0; i < b->n_failed; i++) cli_note(b->request->tool, "failed: %s", b->failed[i]);
}

static void tell_not_begun(const batch *b) {
    const cli_operands *inputs = &b->request->a.inputs;
    int left = cli_recoveries(&b->request->a) - b->done - b->skipped - b->n_failed;
    if (!b->interrupted || left == 0) return;
    if (is_single(b))
        cli_note(b->request->tool, "%s: interrupted before its start", inputs->text[0]);
    else
        cli_note(b->request->tool,
                 "interrupted: %d inputs were not started; continue with "
                 "--resume",
                 left);
}

static int code_of(batch *b) {
    if (b->n_failed && is_single(b)) return b->code;
    if (b->stdout_lost || !close_json(b)) return cli_stdout_failed(b->request->tool);
    return b->interrupted ? CLI_INTERRUPTED : b->n_failed ? CLI_FAILURE : CLI_DONE;
}

int cli_request_run(const cli_request *request, cli_progress *progress) {
    double start = cli_seconds();
    batch b = {.request = request, .progress = progress, .code = CLI_DONE, .began = start};
    cli_folders made = {.n = 0};
    int code = cli_folders_make(request, &made);
    if (code == CLI_CONTINUE) {
        b.failed = malloc((size_t)request->a.inputs.n * sizeof *b.failed);
        if (!b.failed) code = cli_failure(request->tool, "out of memory");
    }
    if (code != CLI_CONTINUE) {
        cli_folders_drop(&made);
        return code;
    }
    cli_progress_start(progress, request->a.quiet);
    for (cli_job *job; !b.interrupted && (job = load_next(&b));)
        (request->a.info ? describe : run_group)(&b, job);
    drop(b.waiting);
    b.interrupted = b.interrupted || cli_interrupted();
    if (!is_single(&b)) tell(&b, cli_seconds() - start);
    tell_not_begun(&b);
    code = code_of(&b);
    free(b.failed);
    cli_folders_drop(&made);
    return code;
}
