/* SPDX-License-Identifier: BSD-3-Clause */
/* mixture.cu - device state of a picture and its patches, and a round. */
#include <stdlib.h>

#include "kernels/method/mixture/state.cuh"
#include "learn/whiten.h"
#include "method/mixture/patch.h"
#include "shim/shim.h"

struct csrec_cuda_mixture {
    csrec_cuda_block memory;
    csrec_mixture_device g;
    void *temporary; /* of the sort */
    size_t temporary_bytes;
    int bits;
    int rows, blocks; /* of V of a block; blocks with scratch, 0: in shared memory */
    int64_t most;     /* batches */
    int *component;   /* [most] of the batches, on the host */
    int64_t *from;    /* [most + 1] */
    int64_t *batch;   /* [K + 1] */
};

/* first[k]: place of the first key that is not below k. */
__global__ void find_firsts(const __grid_constant__ csrec_mixture_device g) {
    const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (k > g.K) return;
    g.first[k] = csrec_bound(g.sorted, 0, g.count, (uint64_t)k);
}

__global__ void find_places(const __grid_constant__ csrec_mixture_device g) {
    const int64_t i = csrec_cuda_thread();
    if (i < g.count) g.place[g.order[i]] = (uint32_t)i;
}

static void lay_out(csrec_cuda_mixture *s, bool variance) {
    csrec_mixture_device *g = &s->g;
    csrec_cuda_block *m = &s->memory;
    const int64_t K = g->K, d = g->d, wide = g->stride;
    const int64_t batches = g->adapt ? s->most : 0, squares = g->adapt ? K * d * d : 0;
    csrec_cuda_take(m, (int64_t)g->patches.height * g->patches.width, &g->mask);
    csrec_cuda_take(m, g->values, &g->y, &g->u, &g->means);
    if (variance) csrec_cuda_take(m, g->values, &g->variance);
    csrec_cuda_take(m, K * (int64_t)csrec_whiten_size(g->d), &g->whiten);
    csrec_cuda_take(m, K, &g->offset);
    csrec_cuda_take(m, K * d, &g->centre);
    csrec_cuda_take(m, K * d * wide, &g->C);
    csrec_cuda_take(m, K * wide, &g->mean);
    csrec_cuda_take(m, g->count, &g->key, &g->sorted, &g->number, &g->order, &g->place);
    csrec_cuda_take(m, K + 1, &g->first);
    csrec_cuda_take(m, s->most, &g->component);
    csrec_cuda_take(m, s->most + 1, &g->from);
    csrec_cuda_take(m, K + 1, &g->batch);
    csrec_cuda_take(m, g->count * d, &g->x, &g->v);
    csrec_cuda_take(m, batches * wide * wide, &g->G);
    csrec_cuda_take(m, batches * d, &g->sums);
    csrec_cuda_take(m, K * d, &g->centres);
    csrec_cuda_take(m, squares, &g->S, &g->T);
    csrec_cuda_take(m, g->patches.height, &g->energy);
    if (s->blocks) csrec_cuda_take(m, (int64_t)s->blocks * s->rows * wide, &g->scratch);
    s->temporary = csrec_cuda_block_take(m, (int64_t)s->temporary_bytes, 1);
}

static csrec_status check(const csrec_cuda_mixture_spec *spec, csrec_error *error) {
    const int64_t count = csrec_patches_count(&spec->patches);
    if (csrec_patches_size(&spec->patches) <= CSREC_CUDA_MIXTURE_SIZE && count < INT64_C(1) << 32)
        return CSREC_OK;
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "CUDA: patches of at most %d entries, less than 2^32 patches; use backend "
                      "cpu",
                      CSREC_CUDA_MIXTURE_SIZE);
}

static void set_sizes(csrec_cuda_mixture *s, const csrec_cuda_mixture_spec *spec,
                      const csrec_cuda_size *device) {
    enum { OWN = 4096, BLOCKS = 2 }; /* static shared memory, about; blocks on a multiprocessor */
    csrec_mixture_device *g = &s->g;
    g->patches = spec->patches;
    g->K = spec->K;
    g->d = csrec_patches_size(&spec->patches);
    g->stride = spec->stride;
    g->count = csrec_patches_count(&spec->patches);
    g->values = (int64_t)spec->patches.height * spec->patches.width * spec->patches.channels;
    g->keep = spec->keep;
    g->adapt = spec->adapt;
    g->noise = spec->noise;
    g->evenness = spec->evenness;
    s->most = g->count / CSREC_PATCH_BATCH + g->K;
    s->bits = csrec_bit_length((uint64_t)g->K);
    s->rows = g->d + CSREC_PATCH_ROWS;
    if (s->rows * g->stride * (int)sizeof(float) + OWN > device->shared)
        s->blocks = BLOCKS * device->multiprocessors;
}

static csrec_status fill(csrec_cuda_mixture *s, const csrec_cuda_mixture_spec *spec,
                         csrec_error *error) {
    csrec_mixture_device *g = &s->g;
    const int64_t pixels = g->values / g->patches.channels, K = g->K;
    s->component = (int *)malloc((size_t)s->most * sizeof *s->component);
    s->from = (int64_t *)malloc((size_t)(s->most + 1) * sizeof *s->from);
    s->batch = (int64_t *)malloc((size_t)(K + 1) * sizeof *s->batch);
    if (!s->component || !s->from || !s->batch)
        return csrec_fail(error, CSREC_MEMORY, "out of memory");
    csrec_status status = csrec_cuda_copy(g->mask, spec->mask, (size_t)pixels, error);
    if (!status) status = csrec_cuda_copy(g->y, spec->y, (size_t)g->values * sizeof *g->y, error);
    if (!status) status = csrec_cuda_copy(g->u, spec->u, (size_t)g->values * sizeof *g->u, error);
    return status;
}

csrec_status csrec_cuda_mixture_create(const csrec_cuda_mixture_spec *spec,
                                       csrec_cuda_mixture **mixture, csrec_error *error) {
    csrec_cuda_size size;
    csrec_status status = check(spec, error);
    if (!status) status = csrec_cuda_measure(&size, error);
    if (status) return status;
    csrec_cuda_mixture *s = (csrec_cuda_mixture *)calloc(1, sizeof *s);
    if (!s) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    set_sizes(s, spec, &size);
    status = csrec_shim_sort(NULL, &s->temporary_bytes, s->g.count, s->bits, NULL, NULL, NULL, NULL,
                             error);
    if (!status)
        status = csrec_cuda_lay(&s->memory, "the patches of a picture", error,
                                [&] { lay_out(s, spec->variance); });
    if (!status) status = fill(s, spec, error);
    return CSREC_SETTLE(status, csrec_cuda_mixture_destroy(s), *mixture = s);
}

void csrec_cuda_mixture_destroy(csrec_cuda_mixture *s) {
    if (!s) return;
    csrec_cuda_block_destroy(&s->memory);
    free(s->component);
    free(s->from);
    free(s->batch);
    free(s);
}

static csrec_status send(const csrec_cuda_mixture *s, const csrec_cuda_mixture_round *r,
                         csrec_error *error) {
    const csrec_mixture_device *g = &s->g;
    const size_t K = (size_t)g->K, d = (size_t)g->d, wide = (size_t)g->stride;
    csrec_status status = csrec_cuda_copy(g->whiten, r->whiten,
                                          K * csrec_whiten_size(g->d) * sizeof *g->whiten, error);
    if (!status) status = csrec_cuda_copy(g->offset, r->offset, K * sizeof *g->offset, error);
    if (!status) status = csrec_cuda_copy(g->centre, r->means, K * d * sizeof *g->centre, error);
    if (!status) status = csrec_cuda_copy(g->C, r->C, K * d * wide * sizeof *g->C, error);
    return status ? status : csrec_cuda_copy(g->mean, r->mean, K * wide * sizeof *g->mean, error);
}

/* Patches by component, in their order. */
static csrec_status sort(csrec_cuda_mixture *s, int64_t *first, csrec_error *error) {
    const csrec_mixture_device *g = &s->g;
    size_t bytes = s->temporary_bytes;
    csrec_status status = csrec_shim_sort(s->temporary, &bytes, g->count, s->bits, g->key,
                                          g->sorted, g->number, g->order, error);
    if (status) return status;
    find_firsts<<<csrec_cuda_blocks(g->K + 1, 64), 64>>>(*g);
    status = CSREC_CUDA_EACH(find_places, g->count, 256, error, *g);
    if (status) return status;
    return csrec_cuda_copy(first, g->first, (size_t)(g->K + 1) * sizeof *first, error);
}

/* Batches of one component each, as engine_cpu.c. */
static csrec_status cut(csrec_cuda_mixture *s, const int64_t *first, csrec_error *error) {
    csrec_mixture_device *g = &s->g;
    int64_t n = 0;
    for (int k = 0; k < g->K; k++) {
        s->batch[k] = n;
        for (int64_t at = first[k]; at < first[k + 1]; at += CSREC_PATCH_BATCH) {
            s->component[n] = k;
            s->from[n++] = at;
        }
    }
    s->batch[g->K] = n;
    s->from[n] = g->count;
    g->batches = n;
    csrec_status status =
        csrec_cuda_copy(g->component, s->component, (size_t)n * sizeof *s->component, error);
    if (!status)
        status = csrec_cuda_copy(g->from, s->from, (size_t)(n + 1) * sizeof *s->from, error);
    if (status) return status;
    return csrec_cuda_copy(g->batch, s->batch, (size_t)(g->K + 1) * sizeof *s->batch, error);
}

csrec_status csrec_cuda_mixture_run(csrec_cuda_mixture *s, const csrec_cuda_mixture_round *round,
                                    int64_t *first, csrec_error *error) {
    csrec_status status = send(s, round, error);
    if (!status) status = csrec_mixture_choose_on(&s->g, error);
    if (!status) status = sort(s, first, error);
    if (!status) status = cut(s, first, error);
    if (!status) status = csrec_mixture_condition_on(&s->g, s->rows, s->blocks, error);
    if (!status) status = csrec_mixture_average_on(&s->g, error);
    if (!status && s->g.adapt) status = csrec_mixture_moments_on(&s->g, error);
    return status;
}

csrec_status csrec_cuda_mixture_moments(const csrec_cuda_mixture *s, int k, double *mean, double *S,
                                        double *G, csrec_error *error) {
    const csrec_mixture_device *g = &s->g;
    const size_t d = (size_t)g->d, at = (size_t)k * d;
    csrec_status status = csrec_cuda_copy(mean, g->centres + at, d * sizeof *mean, error);
    if (!status) status = csrec_cuda_copy(S, g->S + at * d, d * d * sizeof *S, error);
    return status ? status : csrec_cuda_copy(G, g->T + at * d, d * d * sizeof *G, error);
}

csrec_status csrec_cuda_mixture_get(csrec_cuda_mixture *s, float *u, float *variance,
                                    double *energy, csrec_error *error) {
    const csrec_mixture_device *g = &s->g;
    const size_t bytes = (size_t)g->values * sizeof *u, rows = (size_t)g->patches.height;
    csrec_status status = csrec_cuda_copy(u, g->u, bytes, error);
    if (!status && variance) status = csrec_cuda_copy(variance, g->variance, bytes, error);
    if (status || !energy) return status;
    double *row = (double *)malloc(rows * sizeof *row);
    if (!row) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    status = csrec_mixture_energy_on(g, error);
    if (!status) status = csrec_cuda_copy(row, g->energy, rows * sizeof *row, error);
    *energy = 0.0;
    for (size_t y = 0; y < rows && !status; y++) *energy += row[y];
    free(row);
    return status;
}
