/* SPDX-License-Identifier: BSD-3-Clause */
/* gaussian.cu - device state of a picture and the rounds of Gaussian groups that improve it. */
#include <stdlib.h>

#include "kernels/method/gaussian/state.cuh"
#include "method/gaussian/whiten.h"

enum { POOLED = CSREC_GAUSSIAN_POOLED };

struct csrec_cuda_gaussian {
    csrec_cuda_block memory;
    csrec_gaussian_device g;
    int64_t references;
    int group; /* most per round */
    int most;  /* most samples in a patch of the size of g; 0: not counted */
    int slices, rows, columns, deep, radius; /* of the candidates; slices 0: none */
};

/* Where there is no sample y is NaN. */
__global__ void mark_unknown(csrec_gaussian_device g) {
    const int64_t at = csrec_cuda_thread();
    if (at < g.entries * g.channels && !g.mask[at % g.entries])
        g.y[at] = __int_as_float(0x7fffffff);
}

/* The most samples in any patch. Whole warps take part in the maximum. */
__global__ void count_samples(csrec_gaussian_device g) {
    const int64_t at = csrec_cuda_thread();
    const int64_t row = at / g.width;
    const int x = (int)(at % g.width), y = (int)(row % g.height);
    const bool whole = at < g.entries && x + g.patch_width <= g.width &&
                       y + g.patch_height <= g.height && row / g.height + g.patch_depth <= g.depth;
    int count = 0;
    for (int k = 0; whole && k < g.patch_depth * g.patch_height; k++) {
        const int64_t slice = (int64_t)(k / g.patch_height) * g.height;
        const unsigned char *mask = g.mask + at + (slice + k % g.patch_height) * g.width;
        for (int j = 0; j < g.patch_width; j++) count += mask[j];
    }
    count = __reduce_max_sync(~0u, count);
    if (threadIdx.x % 32 == 0) atomicMax(g.most, count);
}

static void lay_out(csrec_cuda_gaussian *s) {
    csrec_gaussian_device *g = &s->g;
    csrec_cuda_block *block = &s->memory;
    const int64_t all = g->entries * g->channels, spreads = g->entries * csrec_gaussian_spreads(g);
    const int64_t part = csrec_smaller(s->references, CSREC_GAUSSIAN_PART);
    csrec_cuda_take(block, g->entries, &g->mask);
    csrec_cuda_take(block, all, &g->y, &g->u, &g->variance);
    g->guide = g->guides == g->channels
                   ? g->u
                   : (float *)csrec_cuda_block_take(block, g->entries, sizeof(float));
    csrec_cuda_take(block, all + 2 * spreads, &g->sums);
    csrec_cuda_take(block, g->depth, &g->slice);
    csrec_cuda_take(block, g->height, &g->row);
    csrec_cuda_take(block, g->width, &g->column);
    csrec_cuda_take(block, part * s->group, &g->corner);
    csrec_cuda_take(block, part, &g->size);
    csrec_cuda_take(block, s->references, &g->count);
    csrec_cuda_take(block, s->references * CSREC_CUDA_GAUSSIAN_KEPT, &g->shift);
    csrec_cuda_take(block, 1, &g->most);
}

/* Counted anew where the patches' size has changed. */
static csrec_status set_patch(csrec_cuda_gaussian *s, const csrec_cuda_gaussian_round *round,
                              csrec_error *error) {
    csrec_gaussian_device *g = &s->g;
    if (s->most > 0 && g->patch_depth == round->patch_depth &&
        g->patch_height == round->patch_height && g->patch_width == round->patch_width)
        return CSREC_OK;
    g->patch_depth = round->patch_depth;
    g->patch_height = round->patch_height;
    g->patch_width = round->patch_width;
    csrec_status status = csrec_cuda_clear(g->most, sizeof(int), NULL, error);
    if (!status) status = CSREC_CUDA_EACH(count_samples, g->entries, 256, error, *g);
    if (!status) status = csrec_cuda_copy(&s->most, g->most, sizeof(int), error);
    if (s->most < 1) s->most = 1;
    return status;
}

static csrec_status check(const csrec_cuda_gaussian_spec *spec, csrec_error *error) {
    if (spec->pooled && spec->channels != POOLED)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "CUDA: %d channels are not pooled, three are; use backend cpu",
                          spec->channels);
    if (spec->group >= 1 && spec->group <= CSREC_CUDA_GAUSSIAN_GROUP && spec->channels <= 65535 &&
        spec->references <= INT64_C(0x7fffffff))
        return CSREC_OK;
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "CUDA: groups of at most %d patches, at most 2^31 - 1 groups; use backend "
                      "cpu",
                      CSREC_CUDA_GAUSSIAN_GROUP);
}

static csrec_status fill(csrec_cuda_gaussian *s, const csrec_cuda_gaussian_spec *spec,
                         csrec_error *error) {
    const int64_t entries = s->g.entries;
    CSREC_TRY(csrec_cuda_copy(s->g.mask, spec->mask, (size_t)entries, error));
    for (int c = 0; c < spec->channels; c++)
        CSREC_TRY(csrec_cuda_copy(s->g.y + c * entries, spec->y[c], (size_t)entries * sizeof(float),
                                  error));
    return CSREC_CUDA_EACH(mark_unknown, entries * s->g.channels, 256, error, s->g);
}

csrec_status csrec_cuda_gaussian_create(const csrec_cuda_gaussian_spec *spec,
                                        csrec_cuda_gaussian **gaussian, csrec_error *error) {
    CSREC_TRY(check(spec, error));
    csrec_cuda_gaussian *s = (csrec_cuda_gaussian *)calloc(1, sizeof *s);
    if (!s) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    csrec_gaussian_device *g = &s->g;
    g->depth = spec->depth;
    g->height = spec->height;
    g->width = spec->width;
    g->channels = spec->channels;
    g->guides = spec->apart ? spec->channels : 1;
    g->pooled = spec->pooled ? POOLED : 1;
    g->entries = (int64_t)spec->depth * spec->height * spec->width;
    g->keep = spec->keep;
    s->references = spec->references;
    s->group = spec->group;
    csrec_status status =
        csrec_cuda_lay(&s->memory, "the groups of a picture", error, [&] { lay_out(s); });
    if (!status) status = fill(s, spec, error);
    return CSREC_SETTLE(status, csrec_cuda_gaussian_destroy(s), *gaussian = s);
}

void csrec_cuda_gaussian_destroy(csrec_cuda_gaussian *s) {
    if (s) csrec_cuda_block_destroy(&s->memory);
    free(s);
}

/* u and variance of all channels, to the device or from it. */
static csrec_status copy_estimate(const csrec_gaussian_device *g, float *const *u,
                                  float *const *variance, bool back, csrec_error *error) {
    const size_t bytes = (size_t)g->entries * sizeof(float);
    for (int k = 0; k < 2 * g->channels; k++) {
        float *host = (k % 2 ? variance : u)[k / 2];
        float *own = (k % 2 ? g->variance : g->u) + k / 2 * g->entries;
        CSREC_TRY(csrec_cuda_copy(back ? host : own, back ? own : host, bytes, error));
    }
    return CSREC_OK;
}

csrec_status csrec_cuda_gaussian_set(csrec_cuda_gaussian *s, float *const *u,
                                     float *const *variance, csrec_error *error) {
    return copy_estimate(&s->g, u, variance, false, error);
}

csrec_status csrec_cuda_gaussian_get(const csrec_cuda_gaussian *s, float *const *u,
                                     float *const *variance, csrec_error *error) {
    return copy_estimate(&s->g, u, variance, true, error);
}

static int64_t references_of(const csrec_cuda_gaussian_round *round) {
    return (int64_t)round->slices * round->rows * round->columns;
}

static csrec_status check_round(const csrec_cuda_gaussian *s,
                                const csrec_cuda_gaussian_round *round, csrec_error *error) {
    if (references_of(round) > s->references || round->slices > s->g.depth ||
        round->rows > s->g.height || round->columns > s->g.width || round->group > s->group ||
        (round->again &&
         (round->slices != s->slices || round->rows != s->rows || round->columns != s->columns ||
          round->deep != s->deep || round->radius != s->radius)))
        return csrec_fail(error, CSREC_ARGUMENT, "CUDA: a round of other groups than planned");
    if ((int64_t)round->patch_depth * round->patch_height * round->patch_width >
        CSREC_CUDA_GAUSSIAN_PIXELS)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "CUDA: patches of at most %d pixels; use backend cpu",
                          CSREC_CUDA_GAUSSIAN_PIXELS);
    if (!(round->evenness >= 0.5f))
        return csrec_fail(error, CSREC_UNSUPPORTED, "CUDA: evenness %g; use backend cpu",
                          (double)round->evenness);
    return CSREC_OK;
}

static csrec_status place_references(const csrec_gaussian_device *g,
                                     const csrec_cuda_gaussian_round *round, csrec_error *error) {
    const int counts[] = {round->slices, round->rows, round->columns};
    const int *const from[] = {round->slice, round->row, round->column};
    int *const to[] = {g->slice, g->row, g->column};
    for (int a = 0; a < 3; a++)
        CSREC_TRY(csrec_cuda_copy(to[a], from[a], (size_t)counts[a] * sizeof(int), error));
    return CSREC_OK;
}

csrec_status csrec_cuda_gaussian_run(csrec_cuda_gaussian *s, const csrec_cuda_gaussian_round *round,
                                     csrec_error *error) {
    CSREC_TRY(check_round(s, round, error));
    CSREC_TRY(set_patch(s, round, error));
    s->g.group = round->group;
    s->slices = 0; /* until there are candidates */
    csrec_status status = place_references(&s->g, round, error);
    if (!status) status = csrec_gaussian_guide(&s->g, error);
    if (!status) status = csrec_gaussian_clear(&s->g, error);
    const int64_t all = references_of(round);
    for (int64_t first = 0; first < all && !status; first += CSREC_GAUSSIAN_PART) {
        const int n = (int)csrec_smaller(all - first, CSREC_GAUSSIAN_PART);
        status = csrec_gaussian_match(&s->g, round, first, n, error);
        if (!status) status = csrec_gaussian_estimate(&s->g, round, n, s->most, error);
    }
    if (!status) status = csrec_gaussian_finish(&s->g, error);
    if (status) return status;
    s->slices = round->slices;
    s->rows = round->rows;
    s->columns = round->columns;
    s->deep = round->deep;
    s->radius = round->radius;
    return CSREC_OK;
}
