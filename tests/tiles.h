/* SPDX-License-Identifier: BSD-3-Clause */
/* tiles.h - pictures and volumes for the tests of recovery in parts. */
#pragma once

#include "samples.h"

typedef struct picture {
    csrec_measurement m;
    double *truth, *signal;
    int64_t entries;
} picture;

/* Waves, discs with edges, and fine texture, the more of it the further down. */
static inline double value_at(const double *disc, double x, double y, double z) {
    double v = 120.0 + 50.0 * sin(0.021 * x + 0.013 * y + 0.02 * z) +
               12.0 * sin(0.4 * x) * sin(0.31 * y + 0.3 * z);
    for (int i = 0; i < 12; i++, disc += 5) {
        double dx = x - disc[0], dy = y - disc[1], dz = z - disc[2];
        if (dx * dx + dy * dy + dz * dz < disc[3] * disc[3]) v += disc[4];
    }
    return v;
}

/* Values of a channel are those of the one before, `less` of them less. */
static inline picture make(const csrec_shape *shape, int64_t channels, double less, double rate,
                           double sigma, uint64_t *seed) {
    picture p = {.entries = 0};
    uint64_t random = ++*seed;
    double disc[60];
    int64_t width = shape->dim[shape->dims - 1], height = shape->dim[shape->dims - 2];
    p.entries = entries_in(shape);
    for (int i = 0; i < 60; i += 5) {
        disc[i] = check_uniform(&random) * (double)width;
        disc[i + 1] = check_uniform(&random) * (double)height;
        disc[i + 2] = shape->dims > 2 ? check_uniform(&random) * (double)shape->dim[0] : 0.0;
        disc[i + 3] = (0.05 + 0.15 * check_uniform(&random)) * (double)width;
        disc[i + 4] = 40.0 * check_normal(&random);
    }
    p.truth = malloc((size_t)(p.entries * channels) * sizeof *p.truth);
    p.signal = malloc((size_t)(p.entries * channels) * sizeof *p.signal);
    assert_true(p.truth && p.signal);
    for (int64_t i = 0; i < p.entries * channels; i++) {
        int64_t at = i / channels;
        p.truth[i] = value_at(disc, (double)(at % width), (double)(at / width % height),
                              (double)(at / width / height)) *
                     pow(1.0 - less, (double)(i % channels));
    }
    p.m = draw_places(shape, channels, CSREC_PATTERN_UNIFORM, (int64_t)(rate * (double)p.entries),
                      random);
    p.m.sigma = sigma;
    take_samples(&p.m, p.truth, &random);
    return p;
}

static inline void clear(picture *p) {
    csrec_measurement_clear(&p->m);
    free(p->truth);
    free(p->signal);
}

/* Samples in the order of their positions, by their first axis. */
typedef struct source {
    const csrec_measurement *m;
    int calls;
    bool changes; /* its shape, from the second call on */
} source;

static inline csrec_status read_source(void *context, csrec_slab slab, csrec_measurement *part,
                                       csrec_error *error) {
    source *s = context;
    const csrec_measurement *m = s->m;
    int64_t entries = 0, n = 0;
    (void)error;
    entries = entries_in(&m->shape);
    int64_t row = entries / m->shape.dim[0], from = slab.first * row, to = from + slab.count * row;
    *part = (csrec_measurement){.shape = m->shape, .channels = m->channels, .dtype = m->dtype};
    part->shape.dim[0] = slab.count + (s->changes && s->calls++ > 0);
    part->index = malloc((size_t)(m->n + 1) * sizeof *part->index);
    part->y = malloc((size_t)(m->n * m->channels + 1) * sizeof *part->y);
    assert_true(part->index && part->y);
    for (int64_t k = 0; k < m->n; k++) {
        if (m->index[k] < from || m->index[k] >= to) continue;
        part->index[n] = m->index[k] - from;
        memcpy(part->y + n++ * m->channels, m->y + k * m->channels,
               (size_t)m->channels * sizeof *m->y);
    }
    part->n = n;
    return CSREC_OK;
}

/* As files deliver them. */
static inline void sort_samples(picture *p, double factor, uint64_t *seed) {
    csrec_measurement *m = &p->m;
    qsort(m->index, (size_t)m->n, sizeof *m->index, check_ascend);
    for (int64_t k = 0; k < m->n * m->channels; k++)
        m->y[k] = factor * (p->truth[m->index[k / m->channels] * m->channels + k % m->channels] +
                            m->sigma * check_normal(seed));
    m->sigma *= factor;
    m->pattern = CSREC_PATTERN_NONE;
    m->count = 0;
}
