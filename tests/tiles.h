/* tiles.h - pictures and volumes for the tests of recovery in parts. */
#ifndef CSREC_TESTS_TILES_H
#define CSREC_TESTS_TILES_H

#include "check.h"

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
    picture p = {.m = {.shape = *shape, .channels = channels, .dtype = CSREC_F64, .sigma = sigma}};
    uint64_t random = ++*seed;
    double disc[60];
    int64_t width = shape->dim[shape->dims - 1], height = shape->dim[shape->dims - 2];
    csrec_shape_count(shape, &p.entries);
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
    csrec_sampling sampling;
    p.m.n = (int64_t)(rate * (double)p.entries);
    assert_ok(csrec_sampling_create(shape, CSREC_PATTERN_UNIFORM, p.m.n, random, &sampling, NULL));
    p.m.index = sampling.index;
    p.m.y = malloc((size_t)(p.m.n * channels) * sizeof *p.m.y);
    assert_non_null(p.m.y);
    for (int64_t i = 0; i < p.m.n * channels; i++)
        p.m.y[i] = p.truth[p.m.index[i / channels] * channels + i % channels] +
                   (sigma > 0.0 ? sigma * check_normal(&random) : 0.0);
    return p;
}

static inline void clear(picture *p) {
    csrec_measurement_clear(&p->m);
    free(p->truth);
    free(p->signal);
}

#endif
