/* survey.c - properties of all samples. Units are powers of two, so a change of the unit does not
 * round the sums. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "base/unit.h"
#include "recover/parts/parts.h"

enum { ARRAYS = 5 }; /* of a survey, in one block */

static void point(csrec_survey *s, double *block) {
    s->least = block;
    s->most = block + s->channels;
    s->sum = block + 2 * s->channels;
    s->whole.least = block + 3 * s->channels;
    s->whole.most = block + 4 * s->channels;
    s->whole.axes = s->whole.axes ? &s->axes : NULL;
}

static csrec_status create(int64_t channels, csrec_survey *s, csrec_error *error) {
    *s = (csrec_survey){
        .channels = channels, .unit = 1.0, .colours = csrec_gaussian_colours_of(channels)};
    double *block = calloc(ARRAYS * (size_t)channels, sizeof *block);
    if (!block) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    point(s, block);
    return CSREC_OK;
}

void csrec_survey_clear(csrec_survey *s) {
    free(s->least);
    *s = (csrec_survey){.channels = 0};
}

static void widen(csrec_survey *s, int64_t n, const double *y) {
    int64_t C = s->channels;
    for (int64_t c = 0; c < C; c++) {
        double least = s->n == 0 ? y[c] : s->least[c], most = s->n == 0 ? y[c] : s->most[c];
        for (int64_t i = 0; i < n; i++) {
            double v = y[i * C + c];
            least = v < least ? v : least;
            most = v > most ? v : most;
        }
        s->least[c] = least;
        s->most[c] = most;
    }
}

static void set_unit(csrec_survey *s) {
    double largest =
        fmax(csrec_largest(s->channels, s->least), csrec_largest(s->channels, s->most));
    double unit = csrec_unit_of(largest), factor = s->unit / unit;
    s->unit = unit;
    if (factor == 1.0 || s->n == 0) return;
    for (int64_t c = 0; c < s->channels; c++) s->sum[c] *= factor;
    csrec_gaussian_colours_scale(&s->colours, factor);
}

void csrec_survey_add(csrec_survey *s, int64_t n, const double *y) {
    if (n == 0) return;
    widen(s, n, y);
    set_unit(s);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t c = 0; c < s->channels; c++) s->sum[c] += y[i * s->channels + c] / s->unit;
        csrec_gaussian_colours_add(&s->colours, y + i * s->channels, s->unit);
    }
    s->n += n;
}

void csrec_survey_end(csrec_survey *s, const csrec_shape *shape, double unit) {
    s->whole.n = s->n;
    s->whole.axes = &s->axes;
    csrec_shape_count(shape, &s->whole.entries);
    csrec_gaussian_axes_of(&s->colours, &s->axes);
    for (int64_t c = 0; c < s->channels; c++) {
        s->sum[c] = s->sum[c] / (double)s->n * (s->unit / unit);
        s->whole.least[c] = s->least[c] / unit;
        s->whole.most[c] = s->most[c] / unit;
    }
}

/* ------------------------------------------------------------------ as bytes ------------------ */

size_t csrec_survey_packed(int64_t channels) {
    return sizeof(csrec_survey) + ARRAYS * (size_t)channels * sizeof(double);
}

void csrec_survey_pack(const csrec_survey *s, void *bytes) {
    memcpy(bytes, s, sizeof *s);
    memcpy((char *)bytes + sizeof *s, s->least, ARRAYS * (size_t)s->channels * sizeof *s->least);
}

csrec_status csrec_survey_unpack(const void *bytes, csrec_survey *s, csrec_error *error) {
    memcpy(s, bytes, sizeof *s);
    const size_t size = ARRAYS * (size_t)s->channels * sizeof(double);
    double *block = malloc(size);
    s->least = NULL;
    if (!block) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    memcpy(block, (const char *)bytes + sizeof *s, size);
    point(s, block);
    return CSREC_OK;
}

/* ------------------------------------------------------------------ bands --------------------- */

/* Entries of the first axis that make a band: about 2^22 values. */
static int64_t rows_of_band(const csrec_shape *shape, int64_t channels) {
    int64_t entries = 0;
    csrec_shape_count(shape, &entries);
    int64_t rows = (INT64_C(1) << 22) / (entries / shape->dim[0] * channels);
    return rows > 0 ? rows : 1;
}

static csrec_status survey_band(csrec_slab rows, int64_t channels, csrec_survey_fn add,
                                void *context, char *packed, csrec_error *error) {
    csrec_survey band;
    csrec_status status = create(channels, &band, error);
    if (!status) status = add(context, rows, &band, error);
    if (!status) csrec_survey_pack(&band, packed);
    csrec_survey_clear(&band);
    return status;
}

/* Adds the next band. */
static void join(csrec_survey *s, csrec_survey *band) {
    if (band->n == 0) return;
    for (int64_t c = 0; c < s->channels; c++) {
        s->least[c] = s->n == 0 ? band->least[c] : fmin(s->least[c], band->least[c]);
        s->most[c] = s->n == 0 ? band->most[c] : fmax(s->most[c], band->most[c]);
    }
    set_unit(s);
    double factor = band->unit / s->unit;
    csrec_gaussian_colours_scale(&band->colours, factor);
    csrec_gaussian_colours_join(&s->colours, &band->colours);
    for (int64_t c = 0; c < s->channels; c++) s->sum[c] += band->sum[c] * factor;
    s->n += band->n;
}

csrec_status csrec_survey_make(const csrec_shape *shape, int64_t channels, csrec_comm *comm,
                               int threads, csrec_survey_fn add, void *context,
                               csrec_survey *survey, csrec_error *error) {
    const int64_t all = shape->dim[0], step = rows_of_band(shape, channels);
    const int64_t n = (all + step - 1) / step;
    const int64_t end = csrec_ranks_first(comm, n, csrec_comm_rank(comm) + 1);
    const size_t size = csrec_survey_packed(channels);
    int failed = CSREC_OK;
    csrec_status status = create(channels, survey, error);
    char *packed = malloc((size_t)n * size);
    if (!status && !packed) status = csrec_fail(error, CSREC_MEMORY, "out of memory");
#pragma omp parallel for schedule(static, 1) num_threads(threads) reduction(| : failed)
    for (int64_t b = status ? end : csrec_ranks_first(comm, n, csrec_comm_rank(comm)); b < end;
         b++) {
        csrec_slab rows = {b * step, all - b * step < step ? all - b * step : step};
        if (!failed)
            failed |= (int)survey_band(rows, channels, add, context, packed + (size_t)b * size,
                                       threads > 1 ? NULL : error);
    }
    if (failed)
        status = threads > 1 ? csrec_fail(error, (csrec_status)failed, "out of memory")
                             : (csrec_status)failed;
    if (!status && comm) status = csrec_ranks_exchange(comm, n, size, packed, error);
    for (int64_t b = 0; b < n && !status; b++) {
        csrec_survey band;
        status = csrec_survey_unpack(packed + (size_t)b * size, &band, error);
        if (!status) join(survey, &band);
        csrec_survey_clear(&band);
    }
    free(packed);
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
                             csrec_survey *survey, csrec_error *error) {
    source s = {.m = m, .tiling = tiling, .ascend = csrec_samples_ascend(m, 0)};
    csrec_shape_count(&m->shape, &s.row);
    s.row /= m->shape.dim[0];
    return csrec_survey_make(&m->shape, m->channels, NULL,
                             s.ascend ? csrec_threads_for(m->n, 0) : 1, add_rows, &s, survey,
                             error);
}
