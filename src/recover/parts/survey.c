/* survey.c - properties of all samples. Units are powers of two, so a change of the unit does not
 * round the sums. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "base/unit.h"
#include "recover/parts/parts.h"

enum { LEAST, MOST, SUM, MEAN, WHOLE_LEAST, WHOLE_MOST, ARRAYS }; /* of survey->value */

static double *array(csrec_survey *s, int which) {
    return s->value + which * s->channels;
}

size_t csrec_survey_size(int64_t channels) {
    return sizeof(csrec_survey) + ARRAYS * (size_t)channels * sizeof(double);
}

static void begin(csrec_survey *s, int64_t channels) {
    memset(s, 0, csrec_survey_size(channels));
    s->channels = channels;
    s->unit = 1.0;
    s->colours = csrec_gaussian_colours_of(channels);
}

static void widen(csrec_survey *s, int64_t n, const double *y) {
    const int64_t C = s->channels;
    for (int64_t c = 0; c < C; c++) {
        double *ends[] = {array(s, LEAST) + c, array(s, MOST) + c};
        double least = s->n == 0 ? y[c] : *ends[0], most = s->n == 0 ? y[c] : *ends[1];
        for (int64_t i = 0; i < n; i++) {
            double v = y[i * C + c];
            least = v < least ? v : least;
            most = v > most ? v : most;
        }
        *ends[0] = least;
        *ends[1] = most;
    }
}

static void set_unit(csrec_survey *s) {
    double unit = csrec_unit_of(csrec_largest(2 * s->channels, s->value)), factor = s->unit / unit;
    s->unit = unit;
    if (factor == 1.0 || s->n == 0) return;
    for (int64_t c = 0; c < s->channels; c++) array(s, SUM)[c] *= factor;
    csrec_gaussian_colours_scale(&s->colours, factor);
}

void csrec_survey_add(csrec_survey *s, int64_t n, const double *y) {
    if (n == 0) return;
    widen(s, n, y);
    set_unit(s);
    double *sum = array(s, SUM);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t c = 0; c < s->channels; c++) sum[c] += y[i * s->channels + c] / s->unit;
        csrec_gaussian_colours_add(&s->colours, y + i * s->channels, s->unit);
    }
    s->n += n;
}

void csrec_survey_end(csrec_survey *s, const csrec_shape *shape, double unit) {
    s->mean = array(s, MEAN);
    s->whole = (csrec_whole){
        .least = array(s, WHOLE_LEAST), .most = array(s, WHOLE_MOST), .n = s->n, .axes = &s->axes};
    csrec_shape_count(shape, &s->whole.entries);
    csrec_gaussian_axes_of(&s->colours, &s->axes);
    for (int64_t c = 0; c < s->channels; c++) {
        array(s, MEAN)[c] = array(s, SUM)[c] / (double)s->n * (s->unit / unit);
        s->whole.least[c] = array(s, LEAST)[c] / unit;
        s->whole.most[c] = array(s, MOST)[c] / unit;
    }
}

/* ------------------------------------------------------------------ bands --------------------- */

/* Entries of the first axis that make a band: about 2^22 values. */
static int64_t rows_of_band(const csrec_shape *shape, int64_t channels) {
    int64_t entries = 0;
    csrec_shape_count(shape, &entries);
    int64_t rows = (INT64_C(1) << 22) / (entries / shape->dim[0] * channels);
    return rows > 0 ? rows : 1;
}

/* Adds the next band. */
static void join(csrec_survey *s, csrec_survey *band) {
    if (band->n == 0) return;
    for (int64_t c = 0; c < s->channels; c++) {
        double *least = array(s, LEAST) + c, *most = array(s, MOST) + c;
        *least = s->n == 0 ? array(band, LEAST)[c] : fmin(*least, array(band, LEAST)[c]);
        *most = s->n == 0 ? array(band, MOST)[c] : fmax(*most, array(band, MOST)[c]);
    }
    set_unit(s);
    double factor = band->unit / s->unit;
    csrec_gaussian_colours_scale(&band->colours, factor);
    csrec_gaussian_colours_join(&s->colours, &band->colours);
    for (int64_t c = 0; c < s->channels; c++) array(s, SUM)[c] += array(band, SUM)[c] * factor;
    s->n += band->n;
}

csrec_status csrec_survey_make(const csrec_shape *shape, int64_t channels, csrec_comm *comm,
                               int threads, csrec_survey_fn add, void *context,
                               csrec_survey **survey, csrec_error *error) {
    const int64_t all = shape->dim[0], step = rows_of_band(shape, channels);
    const int64_t n = (all + step - 1) / step;
    const int64_t end = csrec_ranks_first(comm, n, csrec_comm_rank(comm) + 1);
    const size_t size = csrec_survey_size(channels);
    int failed = CSREC_OK;
    char *bands = malloc((size_t)n * size);
    *survey = malloc(size);
    if (!bands || !*survey) {
        free(bands);
        return csrec_fail(error, CSREC_MEMORY, "out of memory");
    }
#pragma omp parallel for schedule(static, 1) num_threads(threads) reduction(| : failed)
    for (int64_t b = csrec_ranks_first(comm, n, csrec_comm_rank(comm)); b < end; b++) {
        csrec_slab rows = {b * step, all - b * step < step ? all - b * step : step};
        csrec_survey *band = (csrec_survey *)(void *)(bands + (size_t)b * size);
        begin(band, channels);
        if (!failed) failed |= (int)add(context, rows, band, threads > 1 ? NULL : error);
    }
    csrec_status status = (csrec_status)failed;
    if (status && threads > 1) csrec_fail(error, status, "out of memory");
    if (!status && comm) status = csrec_ranks_exchange(comm, n, size, bands, error);
    begin(*survey, channels);
    for (int64_t b = 0; b < n && !status; b++)
        join(*survey, (csrec_survey *)(void *)(bands + (size_t)b * size));
    free(bands);
    return status;
}

/* ------------------------------------------------------------------ a measurement ------------- */

typedef struct source {
    const csrec_measurement *m;
    const csrec_tiling *tiling;
    int64_t row; /* entries of it */
    bool ascend;
} source;

static csrec_status add_rows(void *context, csrec_slab rows, csrec_survey *band,
                             csrec_error *error) {
    const source *s = context;
    const csrec_measurement *m = s->m;
    if (s->ascend) {
        const int64_t first = csrec_samples_before(m, rows.first * s->row);
        const int64_t end = csrec_samples_before(m, (rows.first + rows.count) * s->row);
        csrec_survey_add(band, end - first, m->y + first * m->channels);
        return CSREC_OK;
    }
    const csrec_box box = csrec_tiling_slab(s->tiling, rows);
    csrec_measurement part;
    csrec_status status = csrec_samples_select(m, s->tiling, &box, false, 0, &part);
    if (!status) csrec_survey_add(band, part.n, part.y);
    csrec_measurement_clear(&part);
    return status ? csrec_fail(error, status, "out of memory") : CSREC_OK;
}

/* Selecting has its own threads. */
csrec_status csrec_survey_of(const csrec_measurement *m, const csrec_tiling *tiling,
                             csrec_survey **survey, csrec_error *error) {
    source s = {.m = m, .tiling = tiling, .ascend = csrec_samples_ascend(m, 0)};
    csrec_shape_count(&m->shape, &s.row);
    s.row /= m->shape.dim[0];
    return csrec_survey_make(&m->shape, m->channels, NULL,
                             s.ascend ? csrec_threads_for(m->n, 0) : 1, add_rows, &s, survey,
                             error);
}
