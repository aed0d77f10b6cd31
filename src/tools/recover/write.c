/* SPDX-License-Identifier: BSD-3-Clause */
/* write.c - the files of a recovery: the signal, and what tells about it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

/* A picture of samples without black and white has their smallest and largest; of light 0 and 1. */
cli_tones cli_job_tones(const cli_job *job) {
    cli_tones tones = job->in.tones;
    if (tones.scale[0] != tones.scale[1]) return tones;
    if (tones.light) tones.scale[1] = 1.0;
    if (tones.light) return tones;
    cli_job_range(job, &tones.scale[0], &tones.scale[1]);
    if (tones.scale[0] == tones.scale[1]) tones.scale[1] = nextafter(tones.scale[1], INFINITY);
    return tones;
}

/* What is written is: the measurement, whose shape has slices first. */
static csrec_measurement stack_of(const cli_job *job) {
    csrec_measurement m = job->in.measurement;
    if (!job->a->slices) return m;
    memmove(m.shape.dim + 1, m.shape.dim, (size_t)m.shape.dims++ * sizeof *m.shape.dim);
    m.shape.dim[0] = job->in.facts.slices;
    return m;
}

const char *cli_job_refusal(const cli_job *job, const csrec_format *format,
                            const cli_tones *tones) {
    const csrec_measurement m = stack_of(job);
    const bool listed = job->in.placement.list.dims && cli_format_has(format, CSREC_USE_TEXT);
    return listed ? NULL : cli_signal_refusal(format, &m, tones);
}

double cli_job_unknown(const cli_job *job) {
    if (job->a->unknown_given) return job->a->unknown;
    return job->in.facts.has_nodata ? job->in.facts.nodata : NAN;
}

/* Samples in slabs are not looked at: a mask may say that nodata is known, and of colours it counts
 * in all channels alone. */
bool cli_job_avoids(const cli_job *job) {
    const csrec_measurement *m = &job->in.measurement;
    const double unknown = cli_job_unknown(job);
    bool avoids = !isnan(unknown);
    if (job->large.on)
        return avoids && m->channels != 3 && (job->a->unknown_given || !job->a->mask);
    const int64_t values = csrec_measurement_values(m);
    for (int64_t i = 0; i < values && avoids; i++) avoids = m->y[i] != unknown;
    return avoids;
}

static csrec_status add_signal(void *context, csrec_files *files, csrec_error *error) {
    cli_job *job = context;
    cli_form form = {.dtype = job->a->dtype,
                     .colors = cli_colormap_info((int)job->a->colormap),
                     .unknown = cli_job_unknown(job),
                     .avoids = cli_job_avoids(job),
                     .leaves = cli_job_leaves(job),
                     .channels_first = job->a->channels_first,
                     .stack = job->a->slices,
                     .like = job->input,
                     .placement = &job->in.placement};
    if (job->large.on) return cli_job_write_large(job, files, error);
    form.tones = cli_job_tones(job);
    form.exact = job->a->labels;
    if (form.exact && form.dtype < 0 && job->in.measurement.dtype != CSREC_F64)
        form.dtype = job->in.measurement.dtype;
    if (form.exact && job->in.facts.palette.n) form.palette = &job->in.facts.palette;
    const bool pairs = job->result.pairs && !cli_format_has(job->out.format, CSREC_USE_PICTURE);
    form.is_complex = pairs;
    const csrec_measurement m = stack_of(job);
    return cli_signal_write(files, job->out.output, job->out.format, &form, &m,
                            pairs ? job->result.pairs : job->result.signal, error);
}

enum { COLUMN, COEFFICIENT, COUNT, LEVELS, CHANNEL, ARRAYS };

static const char *const names[ARRAYS] = {"column", "coefficient", "count", "levels", "channel"};

/* An array of n >= 0 elements. */
static bool create(csrec_dtype dtype, int dims, int64_t n, csrec_array *array) {
    *array = (csrec_array){dtype, {dims, {n}}, dims ? n : 1, NULL};
    array->data = calloc((size_t)array->count + 1, 8);
    return array->data != NULL;
}

static void append(csrec_array arrays[ARRAYS], int64_t at, int64_t channel,
                   const csrec_atoms *atoms) {
    size_t bytes = (size_t)atoms->n * 8;
    if (atoms->n == 0) return;
    memcpy((uint64_t *)arrays[COLUMN].data + at, atoms->column, bytes);
    memcpy((double *)arrays[COEFFICIENT].data + at, atoms->coefficient, bytes);
    memcpy((int64_t *)arrays[COUNT].data + at, atoms->count, bytes);
    for (int64_t i = 0; i < atoms->n; i++) ((int64_t *)arrays[CHANNEL].data)[at + i] = channel;
}

/* A channel's atoms ascend by column and follow those of the channel before. */
static bool gather(int levels, int64_t channels, const csrec_atoms *atoms,
                   csrec_array arrays[ARRAYS]) {
    static const csrec_dtype types[ARRAYS] = {CSREC_U64, CSREC_F64, CSREC_I64, CSREC_I64,
                                              CSREC_I64};
    int64_t total = 0;
    for (int64_t c = 0; c < channels; c++) total += atoms[c].n;
    for (int i = 0; i < ARRAYS; i++)
        if (!create(types[i], i == LEVELS ? 0 : 1, total, &arrays[i])) return false;
    *(int64_t *)arrays[LEVELS].data = levels;
    for (int64_t c = 0, at = 0; c < channels; at += atoms[c++].n) append(arrays, at, c, &atoms[c]);
    return true;
}

/* The channel only if there are several. */
static csrec_status add_coefficients(void *context, csrec_files *files, csrec_error *error) {
    const cli_job *job = context;
    const char *path = job->a->coefficients;
    const int64_t channels = job->in.measurement.channels;
    csrec_array arrays[ARRAYS] = {{0}};
    const csrec_array *list[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) list[i] = &arrays[i];
    csrec_status status =
        gather(job->result.report.levels, channels, job->result.atoms, arrays)
            ? csrec_files_add_npz(files, path, channels > 1 ? ARRAYS : CHANNEL, names, list, error)
            : cli_fail(error, CSREC_MEMORY, "%s: out of memory", path);
    for (int i = 0; i < ARRAYS; i++) free(arrays[i].data);
    return status;
}

/* What could not be found about the signal, for want of memory, say: no file, but a failure. */
static csrec_status add_lost(void *context, csrec_files *files, csrec_error *error) {
    const cli_job *job = context;
    (void)files;
    *error = job->result.lost;
    return job->result.lost_status;
}

static csrec_status write_all(cli_job *job, csrec_error *error) {
    struct stat from;
    csrec_files_options options = {
        .no_sync = job->a->no_sync, .fingerprint = job->out.fingerprint, .in_text = job->a->resume};
    /* A result that is not all has a date before that of its input, so that make repeats it. Some
     * file systems have a resolution of two seconds. */
    int64_t date = cli_stat(job->input, &from) ? (int64_t)from.st_mtime - 2 : 0;
    options.dated = job->result.report.outcome == CSREC_INTERRUPTED && date;
    options.date = date;
    enum { SIGNAL, LOST, COEFFICIENTS, PAGE, PLOT, MAP, PRODUCTS };
    /* A page with a part left out for want of memory would pass for a whole one. */
    const bool partial = job->result.lost_status == CSREC_MEMORY;
    /* An interrupted recovery has no map. */
    const char *map = job->result.uncertainty || job->result.lost_status ? job->out.map : NULL;
    cli_product products[PRODUCTS] = {
        [SIGNAL] = {job->out.output, add_signal, false},
        [LOST] = {job->result.lost_status ? job->input : NULL, add_lost, false},
        [COEFFICIENTS] = {job->a->coefficients, add_coefficients, false},
        [PAGE] = {job->out.page, partial ? add_lost : cli_job_page, false},
        [PLOT] = {job->out.plot, partial ? add_lost : cli_job_plot, false},
        [MAP] = {map, job->result.uncertainty ? cli_job_map : add_lost, false}};
    csrec_status status = cli_products_write(&options, date, PRODUCTS, products, job, error);
    job->written.page = products[PAGE].written;
    job->written.plot = products[PLOT].written;
    job->written.map = products[MAP].written;
    job->written.atoms = products[COEFFICIENTS].written;
    for (int i = 0; i < PRODUCTS; i++) job->written.any = job->written.any || products[i].written;
    return status;
}

int cli_job_write(cli_job *job) {
    csrec_error error;
    cli_fingerprint_set_whole(job->out.fingerprint,
                              job->result.report.outcome != CSREC_INTERRUPTED);
    csrec_status status = write_all(job, &error);
    if (status) cli_job_fail(job, "%s", error.text);
    if (!status && job->out.journal && job->result.report.outcome != CSREC_INTERRUPTED)
        csrec_journal_remove(job->out.journal);
    return !status ? CLI_CONTINUE : status == CSREC_STOPPED ? CLI_INTERRUPTED : CLI_FAILURE;
}
