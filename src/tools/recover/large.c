/* SPDX-License-Identifier: BSD-3-Clause */
/* large.c - an input that does not fit into memory, or that ranks share: it is recovered in
 * slabs while its output is written, with the same result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recover.h"

/* What needs the whole signal, or all samples, at a time; NULL: nothing. */
static const char *in_the_way(const cli_job *job) {
    const cli_recover_arguments *a = job->a;
    return a->report                                   ? "--report"
           : a->plot                                   ? "--plot"
           : a->uncertainty                            ? "--uncertainty"
           : a->coefficients                           ? "--coefficients"
           : a->history                                ? "--history"
           : a->reference                              ? "--reference"
           : a->robust                                 ? "--robust"
           : a->merge                                  ? "--merge"
           : a->labels                                 ? "--labels"
           : a->sigma && strcmp(a->sigma, "auto") == 0 ? "--sigma auto"
           : a->within > 0.0                           ? "--within"
           : a->fill                                   ? "--fill"
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
    if (job->a->info || !writes_slabs(job)) return CLI_CONTINUE;
    csrec_status status =
        csrec_slab_file_open(job->input, &reading, &form, &job->large.samples, &error);
    bool pays = form.shape.dims > 0 && csrec_slabs_pay(&form, &options);
    if (status == CSREC_UNSUPPORTED && form.n > 0 && pays && job->a->verbose)
        cli_note(job->tool, "%s",
                 error.text);        /* samples that would need slabs, but are not stored so */
    if (status) return CLI_CONTINUE; /* reading says the same */
    const char *option = in_the_way(job);
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

/* Errors of files name theirs, those of a recovery do not. */
static void name_input(const cli_job *job, csrec_error *error) {
    const csrec_error told = *error;
    if (!strstr(told.text, job->input))
        cli_fail(error, CSREC_DATA, "%.200s: %.250s", job->input, told.text);
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
    csrec_status status = make_room(w, slab.count * w->row, error);
    if (status) return status;
    status = csrec_slabs_take(w->job->large.slabs, slab, w->values, error);
    if (status)
        name_input(w->job, error);
    else
        convert(w, slab.count * w->row, w->values, to);
    return status;
}

static csrec_status put(void *context, int64_t first, int64_t count, const double *values,
                        csrec_error *error) {
    writer *w = context;
    csrec_status status = make_room(w, count, error);
    if (status) return status;
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
