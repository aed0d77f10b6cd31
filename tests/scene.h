/* scene.h - random pictures for the Gaussian groups of a device. */
#ifndef CSREC_TESTS_SCENE_H
#define CSREC_TESTS_SCENE_H

#include <math.h>
#include <string.h>

#include "device.h"
#include "method/gaussian/engine.h"

static uint64_t seed;

enum { CHANNELS = 3 };

typedef struct scene {
    csrec_gaussian_picture p;
    float *y[CHANNELS], *u[CHANNELS], *variance[CHANNELS];
    unsigned char *mask;
} scene;

static inline float *floats(int64_t n) {
    return malloc((size_t)n * sizeof(float));
}

/* Texture and an edge, an estimate with errors. */
static inline scene draw(int height, int width, int channels, double rate, float sigma) {
    int64_t area = (int64_t)height * width;
    scene s = {.mask = malloc((size_t)area)};
    double slope = check_uniform(&seed);
    for (int c = 0; c < channels; c++) {
        s.y[c] = floats(area);
        s.u[c] = floats(area);
        s.variance[c] = floats(area);
        for (int64_t i = 0; i < area; i++) {
            double a = (double)(i / width), b = (double)(i % width);
            double value = 60.0 * sin(0.9 * a + 0.3 * b) + (a * slope > b ? 50.0 : -30.0) + 5.0 * c;
            if (c == 0) s.mask[i] = check_uniform(&seed) < rate;
            s.y[c][i] = (float)(value + (double)sigma * (2.0 * check_uniform(&seed) - 1.0));
            s.u[c][i] = (float)(value + 20.0 * (check_uniform(&seed) - 0.5));
            s.variance[c][i] = (float)(30.0 * check_uniform(&seed));
            if (s.mask[i] && !(sigma > 0.0f)) s.u[c][i] = s.y[c][i];
        }
    }
    s.p = (csrec_gaussian_picture){.depth = 1,
                                   .height = height,
                                   .width = width,
                                   .channels = channels,
                                   .mask = s.mask,
                                   .sigma = sigma};
    s.p.guide = floats(area);
    return s;
}

/* Arrays are by address: those of this copy. */
static inline csrec_gaussian_picture *picture(scene *s) {
    s->p.y = s->y;
    s->p.u = s->u;
    s->p.variance = s->variance;
    for (int64_t i = 0; i < (int64_t)s->p.height * s->p.width; i++) {
        float sum = 0.0f;
        for (int c = 0; c < s->p.channels; c++) sum += s->u[c][i];
        s->p.guide[i] = s->p.channels > 1 ? sum / (float)s->p.channels : sum;
    }
    return &s->p;
}

/* Rounds there, drawn from seed `number`. */
static inline csrec_status create_there(csrec_gaussian_picture *p,
                                        const csrec_gaussian_round *rounds, int count,
                                        uint64_t number, void **there, csrec_error *error) {
    static csrec_team team; /* no progress callback */
    const csrec_gaussian_plan plan = {
        .rounds = rounds, .count = count, .seed = number, .team = &team};
    return csrec_gaussian_cuda.create(cuda_context(), p, &plan, there, error);
}

static inline void drop(scene *s, bool all) {
    for (int c = 0; c < s->p.channels; c++) {
        if (all) free(s->y[c]);
        free(s->u[c]);
        free(s->variance[c]);
    }
    free(s->p.guide);
    if (all) free(s->mask);
}

#endif
