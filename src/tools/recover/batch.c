/* SPDX-License-Identifier: BSD-3-Clause */
/* batch.c - recovers every input of a command line; failures are listed and stop no others. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "batch.h"

/* Limits of inputs that share a recovery: their number, and their values, 128 MiB; a recovery needs
 * a few times that. */
enum { TOGETHER = 32, VALUES = 1 << 24 };

typedef cli_batch batch;

static bool is_single(const batch *b) {
    return cli_recoveries(&b->request->a) == 1 && !b->request->frames;
}

/* One input is one object; several are a list of objects with their status. Of several ranks each
 * sends its objects to the first. */
static void open_json(batch *b) {
    if (b->json.file) return;
    cli_json_open(&b->json, stdout);
    if (!is_single(b)) cli_json_begin_list(&b->json, "files");
}

static void begin_json(batch *b, int number, const char *status) {
    if (b->request->comm && cli_text_open(&b->item))
        b->json = (cli_json){.file = b->item.file, .depth = 2};
    open_json(b);
    if (!is_single(b)) cli_json_begin_item(&b->json);
    cli_json_text(&b->json, "input", b->request->a.inputs.text[number]);
    if (!is_single(b)) cli_json_text(&b->json, "status", status);
}

static void end_json(batch *b, int number) {
    if (!is_single(b)) cli_json_end(&b->json);
    if (!b->request->comm) return;
    b->json = (cli_json){.file = NULL};
    if (!b->item.file || !cli_text_close(&b->item) ||
        !cli_item_give(b->request->comm, number, b->item.bytes, b->item.size))
        b->stdout_lost = true;
    b->item = (cli_text){.file = NULL};
}

static bool close_json(batch *b) {
    if (!b->request->a.json || csrec_comm_rank(b->request->tiles) > 0) return true;
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

void cli_batch_drop(cli_job *job) {
    if (job) cli_job_clear(job);
    free(job);
}

void cli_batch_fail(batch *b, cli_job *job, int code) {
    b->failed[b->n_failed++] = job->number;
    b->code = code;
    if (b->request->a.json && !is_single(b)) {
        begin_json(b, job->number, "failed");
        cli_json_text(&b->json, "error", job->failure);
        end_json(b, job->number);
    }
    cli_batch_drop(job);
}

static void skip(batch *b, int number) {
    b->skipped++;
    if (csrec_comm_rank(b->request->tiles) > 0) return;
    if (b->request->a.verbose)
        cli_note(b->request->tool, "%s: already done, skipped", b->request->a.inputs.text[number]);
    if (!b->request->a.json) return;
    begin_json(b, number, "skipped");
    if (is_single(b)) cli_json_text(&b->json, "status", "skipped");
    end_json(b, number);
}

/* Whether there is a next input: those of this rank, then more that no other rank has taken. */
static bool has_next(batch *b) {
    csrec_error error;
    int64_t first = 0, count = 0, all = cli_recoveries(&b->request->a);
    if (b->next < b->end) return true;
    if (b->follows) return cli_follow_next(b);
    if (!b->request->comm) return false;
    if (csrec_comm_claim(b->request->comm, all, TOGETHER, &first, &count, &error)) {
        cli_progress_lose(b->progress, error.text);
        return false;
    }
    b->next = (int)first;
    b->end = (int)(first + count);
    return count > 0;
}

/* The next input to recover that can be read, or NULL. */
cli_job *cli_batch_load(batch *b) {
    cli_job *job = b->waiting;
    b->waiting = NULL;
    while (!job && !b->broken && !cli_interrupted() && has_next(b)) {
        int number = b->next++;
        const char *input = b->request->a.inputs.text[number];
        if (cli_input_is_done(b->request, input)) {
            skip(b, number);
            continue;
        }
        job = calloc(1, sizeof *job);
        if (!job) {
            b->failed[b->n_failed++] = number;
            b->code = cli_failure(b->request->tool, "%s: out of memory", input);
            continue;
        }
        *job = (cli_job){.request = b->request,
                         .tool = b->request->tool,
                         .a = &b->request->a,
                         .input = input,
                         .number = number,
                         .law = &b->law,
                         .progress = b->progress};
        int code = cli_job_load(job);
        if (code == CLI_CONTINUE) break;
        if (b->request->frames) {
            b->broken = job;
            b->broken_code = code;
        } else {
            cli_batch_fail(b, job, code);
        }
        job = NULL;
    }
    return job;
}

/* Of ranks that share the tiles the first has the signal. */
static int deliver(cli_job *job) {
    csrec_error error;
    if (csrec_comm_rank(job->request->tiles) == 0) return cli_job_write(job);
    return job->large.on && cli_job_write_large(job, NULL, &error)
               ? cli_job_fail(job, "%s", error.text)
               : CLI_CONTINUE;
}

/* What could be written is, and is told, even if another file failed. */
static void tell_finished(batch *b, cli_job *job, bool interrupted) {
    bool failed = job->failure[0] != '\0';
    if (csrec_comm_rank(b->request->tiles) > 0) return;
    flockfile(stderr); /* the lines of an input stay together */
    cli_job_tell(job);
    funlockfile(stderr);
    if (!b->request->a.json) return;
    begin_json(b, job->number, failed ? "failed" : interrupted ? "interrupted" : "recovered");
    if (failed) cli_json_text(&b->json, "error", job->failure);
    cli_job_json(job, &b->json);
    end_json(b, job->number);
}

void cli_batch_finish(batch *b, cli_job *job) {
    bool interrupted = job->result.report.outcome == CSREC_INTERRUPTED;
    int code = job->failure[0] ? CLI_FAILURE : deliver(job);
    if (code != CLI_CONTINUE && !job->written.any) {
        cli_batch_fail(b, job, code);
        return;
    }
    b->interrupted = b->interrupted || interrupted;
    if (code == CLI_CONTINUE) {
        b->done++;
    } else {
        b->failed[b->n_failed++] = job->number;
        b->code = code;
    }
    tell_finished(b, job, interrupted);
    cli_batch_drop(job);
}

/* Collects the first job and those after it that share its recovery. */
static int collect(batch *b, cli_job *group[TOGETHER]) {
    int n = 1;
    int64_t values = cli_signal_values(&group[0]->in.measurement);
    if (is_single(b) || !cli_jobs_share(group[0], group[0])) return n;
    for (cli_job *job; n < TOGETHER && (job = cli_batch_load(b)); group[n++] = job) {
        values += cli_signal_values(&job->in.measurement);
        if (values <= VALUES && cli_jobs_share(group[0], job)) continue;
        b->waiting = job;
        break;
    }
    return n;
}

/* Whether the residual falls from 1 to epsilon. */
static bool is_one_pursuit(const cli_job *job) {
    const csrec_recover_options *o = &job->setup.plan.options;
    return job->setup.plan.method.iterates && !job->setup.model && o->solve.stop.epsilon > 0.0 &&
           o->shifts <= 1 && job->in.measurement.channels == 1;
}

/* Inputs that are not read yet are taken to be like this one. */
static cli_run run_of(const batch *b, const cli_job *job, int n) {
    const csrec_estimate *e = &job->setup.plan.estimate;
    double inputs = cli_recoveries(&b->request->a) - b->skipped;
    return (cli_run){.before = (b->done + b->n_failed) / inputs,
                     .part = n / inputs,
                     .began = b->began,
                     .expected = e->method ? inputs * e->seconds : 0.0,
                     .input = *e};
}

void cli_batch_label(const batch *b, const cli_job *job, int n) {
    const char *name;
    char text[64] = "";
    int length = cli_input_name(job->input, &name);
    if (!is_single(b))
        snprintf(text, sizeof text, "%d/%d %.*s: ", job->number + n, b->request->a.inputs.n,
                 length < 20 ? length : 20, name);
    cli_progress_next(b->progress, text,
                      is_one_pursuit(job) ? job->setup.plan.options.solve.stop.epsilon : 0);
    cli_run run = run_of(b, job, n);
    cli_progress_within(b->progress, &run);
}

/* Threads that are ranks share the memory: what needs more than an equal part runs alone. */
static void recover(const batch *b, cli_job *const *group, int n) {
    static pthread_rwlock_t memory = PTHREAD_RWLOCK_INITIALIZER;
    const csrec_estimate *e = &group[0]->setup.plan.estimate;
    const bool alone = e->bytes > e->memory / (uint64_t)csrec_comm_size(b->request->comm);
    (alone ? pthread_rwlock_wrlock : pthread_rwlock_rdlock)(&memory);
    cli_jobs_recover(group, n);
    pthread_rwlock_unlock(&memory);
}

static void run_group(batch *b, cli_job *first) {
    cli_job *group[TOGETHER] = {first};
    int n = collect(b, group);
    if (cli_interrupted()) { /* nothing was started */
        for (int k = 0; k < n; k++) cli_batch_drop(group[k]);
        b->interrupted = true;
        return;
    }
    cli_batch_label(b, first, n);
    recover(b, group, n);
    for (int k = 0; k < n; k++) cli_batch_finish(b, group[k]);
}

static void describe(batch *b, cli_job *job) {
    if (b->request->a.json) {
        begin_json(b, job->number, "described");
        cli_describe_json(&job->in.measurement, job->a->threads, &b->json);
        cli_placement_json(&job->in.placement, &b->json);
        end_json(b, job->number);
    } else if (!cli_describe(job->input, &job->in.measurement, job->a->threads)) {
        b->stdout_lost = true;
    }
    b->done++;
    cli_batch_drop(job);
}

static csrec_status send_tally(batch *b, csrec_error *error) {
    int tally[] = {b->done, b->skipped, b->n_failed, b->interrupted, b->stdout_lost};
    csrec_status status =
        csrec_comm_send(b->request->comm, 0, RANK_TALLY, tally, sizeof tally, error);
    if (!status)
        status = csrec_comm_send(b->request->comm, 0, RANK_FAILED, b->failed,
                                 (size_t)b->n_failed * sizeof *b->failed, error);
    return status;
}

static csrec_status lost_count(int from, csrec_error *error) {
    return cli_fail(error, CSREC_DATA, "rank %d has other inputs; start all ranks alike", from);
}

/* The rank's counts and failed inputs become part of this one's. */
static csrec_status add_tally(batch *b, int from, csrec_error *error) {
    int tally[5], all = b->request->a.inputs.n, before = b->n_failed;
    csrec_status status =
        csrec_comm_take(b->request->comm, &from, RANK_TALLY, tally, sizeof tally, error);
    if (status) return status;
    b->done += tally[0];
    b->skipped += tally[1];
    b->interrupted = b->interrupted || tally[3];
    b->stdout_lost = b->stdout_lost || tally[4];
    if (tally[2] < 0 || tally[2] > all - before) return lost_count(from, error);
    CLI_TRY(csrec_comm_take(b->request->comm, &from, RANK_FAILED, b->failed + before,
                            (size_t)tally[2] * sizeof *b->failed, error));
    b->n_failed += tally[2];
    for (int i = before; i < b->n_failed; i++)
        if (b->failed[i] < 0 || b->failed[i] >= all) return lost_count(from, error);
    return CSREC_OK;
}

static int by_number(const void *a, const void *b) {
    const int *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* The bar goes on meanwhile. */
static void await_tally(const batch *b) {
    static const struct timespec nap = {.tv_nsec = 10000000};
    const csrec_progress now = {.stage = "other ranks", .residual = -1.0};
    while (!b->progress->lost && !csrec_comm_arrived(b->request->comm, RANK_TALLY)) {
        cli_progress_report(&now, b->progress);
        nanosleep(&nap, NULL);
    }
    cli_progress_finish(b->progress);
}

/* Rank 0 learns what all have done; the others are at their end then: false. */
static bool gather(batch *b) {
    csrec_comm *comm = b->request->comm;
    csrec_error error;
    csrec_status status = CSREC_OK;
    if (csrec_comm_rank(comm) > 0) {
        if (send_tally(b, &error)) cli_progress_lose(b->progress, error.text);
        return false;
    }
    for (int k = 1; k < csrec_comm_size(comm) && !status; k++) {
        await_tally(b);
        status = add_tally(b, -1, &error);
    }
    if (status) {
        cli_progress_lose(b->progress, error.text);
        return false;
    }
    qsort(b->failed, (size_t)b->n_failed, sizeof *b->failed, by_number);
    if (b->request->a.json) {
        open_json(b);
        if (!cli_items_take(comm, cli_recoveries(&b->request->a), &b->json)) b->stdout_lost = true;
    }
    return true;
}

/* Failures are always reported; the rest as of a single recovery. */
static void tell(const batch *b, double seconds) {
    const cli_recover_arguments *a = &b->request->a;
    if (!a->quiet && !a->info && (a->verbose || !a->json || isatty(STDERR_FILENO)))
        cli_note(b->request->all, "%d inputs: %d recovered, %d already done, %d failed, %.1f s",
                 a->inputs.n, b->done, b->skipped, b->n_failed, seconds);
    for (int i = 0; i < b->n_failed; i++)
        cli_note(b->request->all, "failed: %s", b->request->a.inputs.text[b->failed[i]]);
}

static void tell_not_begun(const batch *b) {
    const cli_operands *inputs = &b->request->a.inputs;
    int left = cli_recoveries(&b->request->a) - b->done - b->skipped - b->n_failed;
    if (left > 0 && b->request->frames && (b->interrupted || b->n_failed))
        cli_note(b->request->all, "%d frames were not recovered", left);
    if (!b->interrupted || left == 0 || b->request->frames) return;
    if (is_single(b))
        cli_note(b->request->all, "%s: interrupted before its start", inputs->text[0]);
    else
        cli_note(b->request->all, "interrupted: %d inputs were not started; continue with --resume",
                 left);
}

static int code_of(batch *b) {
    if (b->n_failed && is_single(b)) {
        if (b->json.file) close_json(b); /* of what is written all the same */
        return b->code;
    }
    if (b->progress->lost || b->lost_folder) return CLI_FAILURE;
    if (b->stdout_lost || !close_json(b)) return cli_stdout_failed(b->request->tool);
    return b->interrupted ? CLI_INTERRUPTED : b->n_failed ? CLI_FAILURE : CLI_DONE;
}

static int leave(batch *b, const cli_folders *made, int code) {
    free(b->failed);
    cli_follow_end(b);
    /* Another rank may be about to write into a folder that is empty. */
    if (b->request->comm && !b->progress->lost) csrec_comm_wait(b->request->comm, NULL);
    cli_folders_drop(made);
    return code;
}

int cli_request_run(const cli_request *request, cli_progress *progress) {
    double start = cli_seconds();
    batch b = {.request = request,
               .law = request->law,
               .progress = progress,
               .code = CLI_DONE,
               .began = start};
    if (!request->comm) b.end = cli_recoveries(&request->a);
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
    cli_follow_begin(&b);
    if (request->comm) cli_progress_share(progress, request->comm);
    if (request->tiles) cli_progress_share(progress, request->tiles);
    if (request->frames && !request->a.info) cli_frames_run(&b);
    for (cli_job *job; !b.interrupted && !b.broken && (job = cli_batch_load(&b));)
        (request->a.info ? describe : run_group)(&b, job);
    cli_batch_drop(b.waiting);
    b.interrupted = b.interrupted || (cli_interrupted() && !b.follows);
    if (request->comm && !gather(&b))
        return leave(&b, &made, progress->lost ? CLI_FAILURE : CLI_DONE);
    if (!is_single(&b)) tell(&b, cli_seconds() - start);
    tell_not_begun(&b);
    return leave(&b, &made, code_of(&b));
}
