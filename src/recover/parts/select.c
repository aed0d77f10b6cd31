/* select.c - the samples of a part of a signal. */
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
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

/* ------------------------------------------------------------------ positions ----------------- */

bool csrec_samples_ascend(const csrec_measurement *m, int threads) {
    int64_t descents = 0;
    const int all = csrec_threads_for(m->n, threads);
#pragma omp parallel for schedule(static) num_threads(all) reduction(+ : descents)
    for (int64_t k = 1; k < m->n; k++) descents += m->index[k] <= m->index[k - 1];
    return descents == 0;
}

int64_t csrec_samples_before(const csrec_measurement *m, int64_t position) {
    int64_t low = 0, high = m->n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (m->index[middle] < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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

/* ------------------------------------------------------------------ spans --------------------- */

/* A span is the samples of one line of the box. */
static void find_lines(selection *s) {
    const csrec_tiling *t = s->tiling;
    const int64_t(*box)[2] = s->box->at, across = extent_of(s->box, 1);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t k = 0; k < s->n_spans; k++) {
        int64_t line = (box[0][0] + k / across) * t->extent[1] + box[1][0] + k % across;
        span *one = &s->spans[k];
        one->first = csrec_samples_before(s->m, line * t->extent[2] + box[2][0]);
        one->end = csrec_samples_before(s->m, line * t->extent[2] + box[2][1]);
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

/* ------------------------------------------------------------------ the part ------------------ */

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

csrec_status csrec_samples_select(const csrec_measurement *m, const csrec_tiling *tiling,
                                  const csrec_box *box, bool ascend, int threads,
                                  csrec_measurement *part) {
    selection s = {m, tiling, box, part, .threads = csrec_threads_for(m->n, threads)};
    *part = *m;
    part->pattern = CSREC_PATTERN_NONE;
    part->count = part->n = 0;
    part->index = NULL;
    part->y = NULL;
    for (int a = 0; a < m->shape.dims; a++)
        part->shape.dim[a] = extent_of(box, CSREC_TILE_AXES - m->shape.dims + a);
    csrec_status status = find_spans(&s, ascend);
    if (!status) status = copy_spans(&s);
    free(s.spans);
    return status;
}
