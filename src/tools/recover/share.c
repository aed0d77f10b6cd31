/* SPDX-License-Identifier: BSD-3-Clause */
/* share.c - recovers inputs with the same sampled positions together, as channels: rows are sorted
 * and trees and operators made once for all; and inputs larger than the memory, in slabs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recover.h"

/* Whether plans of the same command line for two measurements agree. */
static bool same_plan(const csrec_plan *a, const csrec_plan *b) {
    return a->method.name == b->method.name && a->options.shifts == b->options.shifts &&
           a->options.curve == CSREC_CURVE_NONE && b->options.curve == CSREC_CURVE_NONE &&
           memcmp(&a->options.law, &b->options.law, sizeof a->options.law) == 0 &&
           memcmp(a->options.range, b->options.range, sizeof a->options.range) == 0;
}

static bool same_places(const csrec_measurement *a, const csrec_measurement *b) {
    return a->n == b->n && a->sigma == b->sigma && csrec_shape_equal(&a->shape, &b->shape) &&
           memcmp(a->index, b->index, (size_t)a->n * sizeof *a->index) == 0;
}

bool cli_jobs_share(const cli_job *a, const cli_job *b) {
    return cli_job_has_points(a) && cli_job_has_points(b) && !a->setup.model && !a->a->labels &&
           !a->in.measurement.guides && !b->in.measurement.guides && !a->setup.options.memory &&
           !a->result.atoms && !a->result.history && a->result.signal && b->result.signal &&
           a->setup.plan.by_channels && same_plan(&a->setup.plan, &b->setup.plan) &&
           same_places(&a->in.measurement, &b->in.measurement);
}

/* Copies channels first .. first + channels - 1 of `all` to `one`, or back. */
static void move_channels(double *all, int64_t entries, int64_t stride, int64_t first,
                          int64_t channels, double *one, bool out) {
    for (int64_t i = 0; i < entries; i++)
        for (int64_t c = 0; c < channels; c++) {
            double *in_all = all + i * stride + first + c, *in_one = one + i * channels + c;
            *(out ? in_one : in_all) = *(out ? in_all : in_one);
        }
}

static csrec_status recover_together(cli_job *const *jobs, int n, csrec_recover_report *report,
                                     csrec_error *error) {
    csrec_measurement all = jobs[0]->in.measurement;
    csrec_recover_options options = jobs[0]->setup.options;
    int64_t entries = cli_entries(&all), first = 0;
    memcpy(options.range, jobs[0]->setup.plan.options.range, sizeof options.range);
    options.curve = CSREC_CURVE_NONE;
    all.channels = 0;
    for (int k = 0; k < n; k++) all.channels += jobs[k]->in.measurement.channels;
    all.y = malloc((size_t)(all.n * all.channels) * sizeof *all.y);
    double *signal = malloc((size_t)(entries * all.channels) * sizeof *signal);
    csrec_status status =
        all.y && signal ? CSREC_OK : cli_fail(error, CSREC_MEMORY, "out of memory");
    for (int k = 0; k < n && !status; first += jobs[k++]->in.measurement.channels)
        move_channels(all.y, all.n, all.channels, first, jobs[k]->in.measurement.channels,
                      jobs[k]->in.measurement.y, false);
    if (!status) status = csrec_recover(&all, &options, signal, NULL, report, error);
    first = 0;
    for (int k = 0; k < n && !status; first += jobs[k++]->in.measurement.channels)
        move_channels(signal, entries, all.channels, first, jobs[k]->in.measurement.channels,
                      jobs[k]->result.signal, true);
    free(all.y);
    free(signal);
    return status;
}

static void take_quality(cli_job *job) {
    if (!job->result.truth ||
        !cli_quality_of(&job->in.measurement, &job->in.tones, job->result.truth, job->result.signal,
                        cli_job_leaves(job), &job->result.quality))
        return;
    job->result.quality = (cli_quality){NAN, NAN, NAN, NAN, 0.0};
    cli_result_lose(&job->result, CSREC_MEMORY, "%s: out of memory for the comparison",
                    job->out.reference);
}

/* Every recovery has a track. */
static void check_history(cli_job *job) {
    const char *name, *unit;
    const csrec_history_step *steps;
    int64_t n;
    if (job->result.history &&
        !csrec_history_track(job->result.history, 0, &name, &unit, &n, &steps))
        cli_result_lose(&job->result, CSREC_MEMORY, "%s: out of memory for the history",
                        job->input);
}

/* A note at a terminal before long work. */
static void announce(const cli_job *job) {
    enum { LONG = 10 };
    const csrec_estimate *e = &job->setup.plan.estimate;
    if (job->a->quiet || !isatty(STDERR_FILENO)) return;
    if (!e->method || e->seconds < LONG || e->bytes > e->memory) return;
    cli_note(job->tool, "%s: about %.0f s and %.0f MiB expected%s", job->input, e->seconds,
             (double)e->bytes / 1048576.0, e->tiles > 1 ? ", in tiles" : "");
}

static csrec_status take_all(cli_job *job, csrec_error *error) {
    /* Magnitudes are what is shown and compared. */
    const int64_t n = cli_signal_values(&job->in.measurement) * cli_job_slices(job);
    for (int64_t i = 0; i < n && job->result.pairs; i++)
        job->result.signal[i] = hypot(job->result.pairs[2 * i], job->result.pairs[2 * i + 1]);
    check_history(job);
    cli_job_expect(job);
    cli_job_compare(job);
    const csrec_status status = cli_job_leave(job, error);
    if (!status) take_quality(job); /* of what is written */
    return status;
}

/* Errors of files name theirs, those of a recovery do not. */
static void name_input(const cli_job *job, csrec_error *error) {
    const csrec_error told = *error;
    if (!strstr(told.text, job->input))
        cli_fail(error, CSREC_DATA, "%.200s: %.250s", job->input, told.text);
}

int cli_job_take(cli_job *job, csrec_status status, const csrec_recover_report *report,
                 csrec_error *error) {
    job->result.report = *report;
    if (status) name_input(job, error);
    if (status) return cli_job_fail(job, "%s", error->text);
    if (csrec_comm_rank(job->setup.options.comm) > 0) return CLI_CONTINUE; /* rank 0 has it */
    return take_all(job, error) ? cli_job_fail(job, "%s: %s", job->input, error->text)
                                : CLI_CONTINUE;
}

/* The next slice in place of the one before: of its shape, and with the noise that is told. */
static csrec_status next_slice(cli_job *job, csrec_error *error) {
    csrec_measurement *m = &job->in.measurement, next;
    csrec_read_options options = cli_job_read_options(job);
    options.facts = NULL;
    csrec_status status = csrec_measurement_read_with(job->input, &options, &next, error);
    if (status) return status;
    if (job->a->sigma) next.sigma = m->sigma;
    if (!csrec_shape_equal(&next.shape, &m->shape) || next.channels != m->channels)
        status = cli_fail(error, CSREC_DATA, "has another shape or other coils than slice 0");
    csrec_measurement_clear(status ? &next : m);
    if (!status) *m = next;
    return status;
}

csrec_status cli_slice_fail(const cli_job *job, csrec_status status, csrec_error *error) {
    const csrec_error told = *error;
    const size_t name = strlen(job->input);
    const bool named = strncmp(told.text, job->input, name) == 0 && told.text[name] == ':';
    return cli_fail(error, status, "%.200s: slice %lld: %.250s", job->input,
                    (long long)job->in.slice, told.text + (named ? name + 2 : 0));
}

/* One after the other; the report is of all. */
static csrec_status recover_slices(cli_job *job, csrec_recover_report *report, csrec_error *error) {
    const int64_t n = cli_signal_values(&job->in.measurement), each = job->result.pairs ? 2 : 1;
    double *signal = job->result.pairs ? job->result.pairs : job->result.signal, seconds = 0.0;
    csrec_outcome outcome = CSREC_CONVERGED;
    csrec_status status = CSREC_OK;
    for (int64_t k = 0; k < job->in.facts.slices && !status; k++) {
        csrec_error why = {""};
        job->in.slice = k;
        if (k > 0) status = next_slice(job, &why);
        if (!status)
            status = csrec_recover(&job->in.measurement, &job->setup.options, signal + k * n * each,
                                   NULL, report, &why);
        if (status) *error = why, cli_slice_fail(job, status, error);
        seconds += report->seconds_total;
        if (k == 0 || report->outcome > outcome) outcome = report->outcome;
        if (outcome == CSREC_INTERRUPTED)
            status = cli_fail(error, CSREC_STOPPED, "interrupted in slice %lld", (long long)k);
    }
    report->seconds_total = seconds;
    report->outcome = outcome;
    return status;
}

static csrec_status recover_one(cli_job *job, csrec_recover_report *report, csrec_error *error) {
    double *signal = job->result.pairs ? job->result.pairs : job->result.signal;
    if (job->a->slices) return recover_slices(job, report, error);
    return cli_job_is_stack(job) ? cli_stack_recover(job, report, error)
                                 : csrec_recover(&job->in.measurement, &job->setup.options, signal,
                                                 job->result.atoms, report, error);
}

int cli_jobs_recover(cli_job *const *jobs, int n) {
    csrec_error error;
    cli_job *one = jobs[0];
    announce(one);
    if (one->large.on) { /* recovered while it is written */
        one->result.expected = NAN;
        one->result.shared = 1;
        return CLI_CONTINUE;
    }
    csrec_recover_report report;
    csrec_status status =
        n > 1 ? recover_together(jobs, n, &report, &error) : recover_one(one, &report, &error);
    cli_progress_finish(one->progress);
    int code = CLI_CONTINUE;
    for (int k = 0; k < n; k++) {
        jobs[k]->result.shared = n;
        const int own = cli_job_take(jobs[k], status, &report, &error);
        if (own != CLI_CONTINUE) code = own;
    }
    return code;
}

const char *cli_job_obstacle(const cli_job *job) {
    const cli_recover_arguments *a = job->a;
    char law[CSREC_NOISE_TEXT];
    return a->report                                   ? "--report"
           : a->plot                                   ? "--plot"
           : a->uncertainty                            ? "--uncertainty"
           : a->coefficients                           ? "--coefficients"
           : a->history                                ? "--history"
           : a->reference                              ? "--reference"
           : a->robust                                 ? "--robust"
           : a->merge                                  ? "--merge"
           : a->labels                                 ? "--labels"
           : isnan(job->request->sigma)                ? "--sigma auto"
           : csrec_noise_text(&job->request->law, law) ? "--sigma with a law"
           : a->within > 0.0                           ? "--within"
           : a->fill                                   ? "--fill"
           : a->guides.n > 0                           ? "--guide"
           : a->minutes > 0.0                          ? "--minutes"
                                                       : NULL;
}

/* Whether files of that name are written in slabs; a folder takes the input's format. */
static bool writes_slabs(const cli_job *job) {
    const csrec_format *format = job->request->format;
    if (!job->a->output) return false;
    if (!format) format = csrec_format_of(job->request->folder ? job->input : job->a->output);
    return cli_format_has(format, CSREC_USE_SLABS) ||
           (!job->request->folder && cli_format_has(format, CSREC_USE_NAMED) &&
            !cli_format_has(format, CSREC_USE_LOSSY));
}

int cli_job_find_large(cli_job *job) {
    csrec_measurement form;
    csrec_error error;
    const csrec_recover_options options = {.memory = (uint64_t)job->a->memory << 20};
    const csrec_read_options reading = cli_job_read_options(job);
    if (job->a->info || job->a->sequence || !writes_slabs(job)) return CLI_CONTINUE;
    csrec_status status =
        csrec_slab_file_open(job->input, &reading, &form, &job->large.samples, &error);
    bool pays = form.shape.dims > 0 && csrec_slabs_pay(&form, &options);
    if (status == CSREC_UNSUPPORTED && pays && (form.n > 0 ? job->a->verbose : !job->a->quiet))
        cli_note(job->tool, "note: %s", error.text); /* it would need slabs, but is not stored so */
    if (status) return CLI_CONTINUE;                 /* reading says the same */
    const char *option = cli_job_obstacle(job);
    bool wanted = form.shape.dims <= 3 && (pays || job->request->tiles);
    if (wanted && option && pays && !job->a->quiet)
        cli_note(job->tool,
                 "note: %s: may be too large for the memory; without %s it is recovered in slabs",
                 job->input, option);
    if (!wanted || option) {
        csrec_slab_file_close(job->large.samples);
        job->large.samples = NULL;
        return CLI_CONTINUE;
    }
    if (form.n == 0 || job->a->sigma) form.sigma = job->request->sigma;
    job->in.measurement = form;
    job->large.on = true;
    job->large.must = pays && form.n == 0;
    job->large.placed = form.n > 0;
    return CLI_CONTINUE;
}

int cli_job_begin_large(cli_job *job) {
    csrec_error error;
    cli_progress_next(job->progress, "", 0.0);
    csrec_status status =
        csrec_slabs_create(&job->in.measurement, csrec_slab_file_read, job->large.samples,
                           &job->setup.options, &job->large.slabs, &error);
    cli_progress_finish(job->progress);
    /* Ranks may share it in another way, or the whole has the better message. */
    if ((status == CSREC_UNSUPPORTED || status == CSREC_ARGUMENT) && !job->large.must) {
        job->large.on = false;
        return CLI_CONTINUE;
    }
    if (status) name_input(job, &error);
    if (status) cli_job_fail(job, "%s", error.text);
    if (status) return status == CSREC_STOPPED ? CLI_INTERRUPTED : CLI_FAILURE;
    job->setup.plan = *csrec_slabs_plan(job->large.slabs);
    job->in.measurement.n = csrec_slabs_samples(job->large.slabs);
    if (job->in.measurement.n < cli_entries(&job->in.measurement) || job->large.placed ||
        job->a->mask || job->a->unknown_given)
        return CLI_CONTINUE;
    return cli_job_fail(job,
                        "%s: nothing tells which entries are known (NaN, transparent pixels); give "
                        "a mask or the value of unknown ones, or sample it with cssample",
                        job->input);
}

typedef struct writer {
    cli_job *job;
    csrec_dtype type;
    int64_t row;        /* values of an entry of the first axis */
    csrec_parts *parts; /* NULL: one process writes */
    void *values;
    int64_t room; /* values that `values` holds as doubles */
} writer;

static csrec_status make_room(writer *w, int64_t count, csrec_error *error) {
    void *more = count > w->room ? realloc(w->values, (size_t)count * sizeof(double)) : w->values;
    if (!more) return cli_fail(error, CSREC_MEMORY, "%s: out of memory", w->job->out.output);
    w->values = more;
    w->room = count > w->room ? count : w->room;
    return CSREC_OK;
}

static void convert(const writer *w, int64_t count, const double *values, void *to) {
    csrec_array out = {.dtype = w->type, .count = count, .data = to};
    const bool real = w->type == CSREC_F32 || w->type == CSREC_F64;
    const double unknown = cli_job_unknown(w->job);
    const bool avoids = cli_job_avoids(w->job);
    for (int64_t i = 0; i < count; i++)
        if (real || !avoids)
            csrec_array_set(&out, i, values[i]);
        else
            cli_array_set_known(&out, i, isnan(values[i]) ? unknown : values[i],
                                isnan(values[i]) ? NAN : unknown);
}

static csrec_status take(void *context, csrec_slab slab, void *to, csrec_error *error) {
    writer *w = context;
    CLI_TRY(make_room(w, slab.count * w->row, error));
    csrec_status status = csrec_slabs_take(w->job->large.slabs, slab, w->values, error);
    if (status)
        name_input(w->job, error);
    else
        convert(w, slab.count * w->row, w->values, to);
    return status;
}

static csrec_status put(void *context, int64_t first, int64_t count, const double *values,
                        csrec_error *error) {
    writer *w = context;
    CLI_TRY(make_room(w, count, error));
    convert(w, count, values, w->values);
    return csrec_parts_put(w->parts, first, count, w->values, error);
}

static csrec_status fill(void *context, csrec_parts *parts, csrec_error *error) {
    writer *w = context;
    w->parts = parts;
    csrec_status status = csrec_slabs_put(w->job->large.slabs, put, w, error);
    if (status && !strstr(error->text, w->job->out.output)) name_input(w->job, error);
    return status;
}

/* The largest values are taken to be those of the samples. */
static csrec_dtype type_of(const cli_job *job) {
    const cli_form form = {.dtype = job->a->dtype};
    csrec_dtype type = cli_array_type(job->out.format, &form, job->in.measurement.dtype, 0, NULL);
    for (int64_t c = 0; c < job->in.measurement.channels && type == CSREC_F32; c++) {
        double ends[2];
        csrec_slabs_range(job->large.slabs, c, &ends[0], &ends[1]);
        type = cli_array_type(job->out.format, &form, job->in.measurement.dtype, 2, ends);
    }
    return type;
}

static void describe_output(const cli_job *job, csrec_image *image, writer *w) {
    const csrec_measurement *m = &job->in.measurement;
    csrec_array *pixels = &image->pixels;
    *image = (csrec_image){.has_channels = m->channels > 1};
    pixels->shape = m->shape;
    if (image->has_channels) pixels->shape.dim[pixels->shape.dims++] = m->channels;
    csrec_shape_count(&pixels->shape, &pixels->count);
    pixels->dtype = w->type = type_of(job);
    w->row = pixels->count / m->shape.dim[0];
}

/* Values that the first process takes in order, and the others give it. */
static csrec_status write_in_order(cli_job *job, csrec_files *files, const csrec_image *image,
                                   writer *w, csrec_error *error) {
    if (csrec_comm_rank(job->request->tiles) == 0)
        return csrec_files_add_slabs(files, job->out.output, job->out.format, image, take, w,
                                     job->input, error);
    csrec_status status = csrec_slabs_serve(job->large.slabs, error);
    if (status) name_input(job, error);
    return status;
}

/* Of ranks each writes its own values where the format and the file system allow it. */
csrec_status cli_job_write_large(cli_job *job, csrec_files *files, csrec_error *error) {
    csrec_image image;
    writer w = {.job = job};
    csrec_comm *comm = job->request->tiles;
    csrec_status status = CSREC_UNSUPPORTED;
    describe_output(job, &image, &w);
    if (comm) {
        status = csrec_files_add_parts(files, job->out.output, job->out.format, &image, comm, fill,
                                       &w, job->input, error);
        if (status == CSREC_UNSUPPORTED && files && job->a->verbose)
            cli_note(job->tool, "%s; rank 0 writes the values of all", error->text);
    }
    if (status == CSREC_UNSUPPORTED) status = write_in_order(job, files, &image, &w, error);
    free(w.values);
    cli_progress_finish(job->progress);
    csrec_slabs_report(job->large.slabs, &job->result.report);
    job->result.report.outcome = CSREC_DONE;
    return status;
}
