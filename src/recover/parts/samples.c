/* SPDX-License-Identifier: BSD-3-Clause */
/* samples.c - the samples of a part of a signal, and properties of all of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "measurement/guides.h"
#include "recover/parts/parts.h"

/* Samples that are looked at one after another where positions do not ascend. */
enum { SPAN = 1 << 16 };

/* Samples one after another, of which `n` are in the box: they become those of the part from `to`
 * on. */
typedef struct span {
    int64_t first, end, n, to;
} span;

typedef struct selection {
    const csrec_measurement *m;
    const csrec_tiling *tiling;
    const csrec_box *box;
    csrec_measurement *part;
    span *spans;
    int64_t n_spans;
    int threads;
} selection;

bool csrec_samples_ascend(const csrec_measurement *m, int threads) {
    int64_t descents = 0;
    const int all = csrec_threads_for(m->n, threads);
#pragma omp parallel for schedule(static) num_threads(all) reduction(+ : descents)
    for (int64_t k = 1; k < m->n; k++) descents += m->index[k] <= m->index[k - 1];
    return descents == 0;
}

/* Of positions that ascend: the number of samples before `position`. */
static int64_t samples_before(const csrec_measurement *m, int64_t position) {
    return csrec_bound((const uint64_t *)m->index, 0, m->n, (uint64_t)position);
}

static int64_t extent_of(const csrec_box *box, int axis) {
    return box->at[axis][1] - box->at[axis][0];
}

/* Index of entry `at` of the signal in the box; -1: outside. */
static int64_t place(const csrec_tiling *t, const csrec_box *box, int64_t at) {
    int64_t to = 0, scale = 1;
    for (int a = CSREC_TILE_AXES - 1; a >= 0; at /= t->extent[a], a--) {
        int64_t x = at % t->extent[a];
        if (x < box->at[a][0] || x >= box->at[a][1]) return -1;
        to += (x - box->at[a][0]) * scale;
        scale *= extent_of(box, a);
    }
    return to;
}

/* A span is the samples of one line of the box. */
static void find_lines(selection *s) {
    const csrec_tiling *t = s->tiling;
    const int64_t(*box)[2] = s->box->at, across = extent_of(s->box, 1);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t k = 0; k < s->n_spans; k++) {
        int64_t line = (box[0][0] + k / across) * t->extent[1] + box[1][0] + k % across;
        span *one = &s->spans[k];
        one->first = samples_before(s->m, line * t->extent[2] + box[2][0]);
        one->end = samples_before(s->m, line * t->extent[2] + box[2][1]);
        one->n = one->end - one->first;
    }
}

static void count_spans(selection *s) {
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t k = 0; k < s->n_spans; k++) {
        span *one = &s->spans[k];
        one->first = k * SPAN;
        one->end = one->first + SPAN < s->m->n ? one->first + SPAN : s->m->n;
        for (int64_t i = one->first; i < one->end; i++)
            one->n += place(s->tiling, s->box, s->m->index[i]) >= 0;
    }
}

static csrec_status find_spans(selection *s, bool ascend) {
    s->n_spans = ascend ? extent_of(s->box, 0) * extent_of(s->box, 1) : (s->m->n + SPAN - 1) / SPAN;
    s->spans = calloc((size_t)s->n_spans, sizeof *s->spans);
    if (!s->spans) return CSREC_MEMORY;
    (ascend ? find_lines : count_spans)(s);
    return CSREC_OK;
}

static void copy_span(const selection *s, const span *from) {
    const size_t channels = (size_t)s->m->channels;
    int64_t to = from->to;
    for (int64_t k = from->first; k < from->end; k++) {
        int64_t at = place(s->tiling, s->box, s->m->index[k]);
        if (at < 0) continue;
        s->part->index[to] = at;
        memcpy(s->part->y + (size_t)to * channels, s->m->y + (size_t)k * channels,
               channels * sizeof *s->m->y);
        to++;
    }
}

static csrec_status copy_spans(selection *s) {
    csrec_measurement *part = s->part;
    for (int64_t k = 0; k < s->n_spans; k++) {
        s->spans[k].to = part->n;
        part->n += s->spans[k].n;
    }
    part->index = malloc((size_t)(part->n + 1) * sizeof *part->index);
    part->y = malloc((size_t)(part->n * part->channels + 1) * sizeof *part->y);
    if (!part->index || !part->y) return CSREC_MEMORY;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t k = 0; k < s->n_spans; k++) copy_span(s, &s->spans[k]);
    return CSREC_OK;
}

static csrec_status crop_guides(selection *s) {
    int64_t at[CSREC_TILE_AXES];
    const int axes = s->m->shape.dims;
    for (int a = 0; a < axes; a++) at[a] = s->box->at[CSREC_TILE_AXES - axes + a][0];
    s->part->guides = csrec_guides_crop(s->m->guides, &s->m->shape, at, &s->part->shape);
    return s->part->guides ? CSREC_OK : CSREC_MEMORY;
}

csrec_status csrec_samples_select(const csrec_measurement *m, const csrec_tiling *tiling,
                                  const csrec_box *box, bool ascend, int threads,
                                  csrec_measurement *part) {
    selection s = {m, tiling, box, part, .threads = csrec_threads_for(m->n, threads)};
    *part = *m;
    part->pattern = CSREC_PATTERN_NONE;
    part->count = part->n = 0;
    part->index = NULL;
    part->y = part->rays = part->deviation = NULL; /* tiles are of methods that know one sigma */
    part->guides = NULL;
    for (int a = 0; a < m->shape.dims; a++)
        part->shape.dim[a] = extent_of(box, CSREC_TILE_AXES - m->shape.dims + a);
    csrec_status status = find_spans(&s, ascend);
    if (!status) status = copy_spans(&s);
    if (!status && m->guides) status = crop_guides(&s);
    free(s.spans);
    return status;
}

/* ------------------------------------------------------------------ properties of all samples
 *
 * Units are powers of two, so a change of the unit does not round the sums. */

enum { LEAST, MOST, SUM, COUNT, MEAN, WHOLE_LEAST, WHOLE_MOST, AT_LEAST, AT_MOST, ARRAYS };

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
    for (int64_t c = 0; c < channels; c++) array(s, LEAST)[c] = array(s, MOST)[c] = NAN;
}

/* The numbers of values that have them begin again where they are others. */
static void set_ends(csrec_survey *s, int64_t c, double least, double most) {
    if (array(s, LEAST)[c] != least) array(s, AT_LEAST)[c] = 0.0;
    if (array(s, MOST)[c] != most) array(s, AT_MOST)[c] = 0.0;
    array(s, LEAST)[c] = least;
    array(s, MOST)[c] = most;
}

static void widen(csrec_survey *s, int64_t n, const double *y) {
    const int64_t C = s->channels;
    for (int64_t c = 0; c < C; c++) {
        double least = array(s, LEAST)[c], most = array(s, MOST)[c];
        for (int64_t i = 0; i < n; i++) { /* fmin leaves out NaN, which is not measured */
            least = fmin(y[i * C + c], least);
            most = fmax(y[i * C + c], most);
        }
        set_ends(s, c, least, most);
        for (int64_t i = 0; i < n; i++) {
            array(s, AT_LEAST)[c] += y[i * C + c] == least;
            array(s, AT_MOST)[c] += y[i * C + c] == most;
        }
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
    double *sum = array(s, SUM), *count = array(s, COUNT);
    for (int64_t i = 0; i < n; i++) {
        const double *own = y + i * s->channels;
        bool whole = true;
        for (int64_t c = 0; c < s->channels; c++) {
            whole = whole && !isnan(own[c]);
            if (isnan(own[c])) continue;
            sum[c] += own[c] / s->unit;
            count[c] += 1.0;
        }
        if (whole) csrec_gaussian_colours_add(&s->colours, own, s->unit);
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
        double count = array(s, COUNT)[c];
        array(s, MEAN)[c] = count > 0.0 ? array(s, SUM)[c] / count * (s->unit / unit) : 0.0;
        s->whole.least[c] = array(s, LEAST)[c] / unit;
        s->whole.most[c] = array(s, MOST)[c] / unit;
    }
}

csrec_cut csrec_survey_cut(const csrec_survey *s, const csrec_measurement *form) {
    const double *at_least = s->value + AT_LEAST * s->channels;
    const double *at_most = s->value + AT_MOST * s->channels;
    double end[2] = {INFINITY, -INFINITY}, at[2] = {0.0, 0.0};
    for (int64_t c = 0; c < s->channels; c++) {
        end[0] = fmin(end[0], s->value[c]);
        end[1] = fmax(end[1], s->value[s->channels + c]);
    }
    for (int64_t c = 0; c < s->channels; c++) {
        if (s->value[c] == end[0]) at[0] += at_least[c];
        if (s->value[s->channels + c] == end[1]) at[1] += at_most[c];
    }
    return csrec_cut_between(form, (double)(s->n * s->channels), at, end);
}

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
        const double least = array(band, LEAST)[c], most = array(band, MOST)[c];
        set_ends(s, c, fmin(array(s, LEAST)[c], least), fmax(array(s, MOST)[c], most));
        if (array(s, LEAST)[c] == least) array(s, AT_LEAST)[c] += array(band, AT_LEAST)[c];
        if (array(s, MOST)[c] == most) array(s, AT_MOST)[c] += array(band, AT_MOST)[c];
        array(s, COUNT)[c] += array(band, COUNT)[c];
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
        return csrec_memory_fail(error, NULL);
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
        const int64_t first = samples_before(m, rows.first * s->row);
        const int64_t end = samples_before(m, (rows.first + rows.count) * s->row);
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
