/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_cpu.c - convolutions of pictures on the CPU: workspace, packed weights, passes. */
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "conv/conv.h"
#include "conv/conv2d.h"
#include "conv/engine.h"

/* ---- workspace: 63 bytes to align, packed weights, shared arrays, a part for each thread */

enum { ALIGN = 64 };

typedef struct workspace {
    size_t packed, shared, room;
} workspace;

static size_t packed_bytes(const csrec_conv *conv, bool transposed) {
    size_t bytes =
        (size_t)csrec_conv_packed(conv, transposed, csrec_conv_simd_choose()) * sizeof(float);
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static workspace for_product(const csrec_conv *conv, bool transposed) {
    return (workspace){packed_bytes(conv, transposed), 0,
                       csrec_conv_room(conv, transposed, csrec_conv_simd_choose(), sizeof(float))};
}

static workspace for_gradient(const csrec_conv *conv) {
    return (workspace){0, csrec_conv_gradient_shared(conv), csrec_conv_gradient_room(conv)};
}

static size_t bytes_of(const workspace *w, int threads) {
    return ALIGN - 1 + w->packed + w->shared + (size_t)threads * w->room;
}

void csrec_conv2d_bytes(const csrec_conv *conv, int threads, size_t *forward, size_t *backward) {
    workspace y = for_product(conv, false), x = for_product(conv, true), w = for_gradient(conv);
    size_t for_x = bytes_of(&x, threads), for_w = bytes_of(&w, threads);
    *forward = bytes_of(&y, threads);
    *backward = for_x > for_w ? for_x : for_w;
}

/* As many threads as the workspace allows; packed: where to pack weights, or NULL. */
static csrec_status lay_out(const csrec_conv2d_job *job, const workspace *need, bool packs,
                            csrec_conv_work *work, float **packed, csrec_error *error) {
    void *memory = job->workspace;
    size_t bytes = job->bytes;
    size_t skip = (ALIGN - (uintptr_t)memory % ALIGN) % ALIGN;
    size_t fixed = skip + (packs ? need->packed : 0) + need->shared;
    size_t room = memory && bytes > fixed ? (bytes - fixed) / need->room : 0;
    if (room < 1)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "conv2d: a workspace of %zu bytes; csrec_conv2d_workspace asks for %zu, "
                          "%zu for one thread",
                          memory ? bytes : (size_t)0,
                          bytes_of(need, csrec_threads(job->conv.threads)), bytes_of(need, 1));
    int threads = csrec_threads(job->conv.threads);
    char *at = (char *)memory + skip;
    *packed = (float *)(void *)at;
    *work = (csrec_conv_work){.simd = csrec_conv_simd_choose(),
                              .threads = room < (size_t)threads ? (int)room : threads,
                              .memory = at + (packs ? need->packed : 0)};
    return CSREC_OK;
}

/* ---- weights */

void csrec_conv2d_weights_destroy(csrec_conv2d_weights *weights) {
    csrec_pool_destroy(weights);
}

csrec_status csrec_conv2d_weights_create(const csrec_conv2d *conv, const float *W,
                                         csrec_conv2d_weights **weights, csrec_error *error) {
    csrec_conv g;
    csrec_status status = csrec_conv2d_check(conv, &g, error);
    if (status) return status;
    if (!W) return csrec_fail(error, CSREC_ARGUMENT, "conv2d: W is missing");
    csrec_conv2d_weights *made = csrec_pool_create(sizeof *made);
    if (!made) return csrec_fail(error, CSREC_MEMORY, "conv2d: out of memory");
    int64_t count = g.channels_out * g.channels_in * g.kernel[1] * g.kernel[2];
    size_t bytes = (size_t)count * sizeof *W;
    made->conv = *conv;
    CSREC_TAKE(&made->pool, made->W, count);
    for (int t = 0; t < 2; t++)
        made->packed[t] = csrec_pool_keep(&made->pool, aligned_alloc(ALIGN, packed_bytes(&g, t)));
    if (csrec_pool_status(&made->pool)) {
        csrec_conv2d_weights_destroy(made);
        return csrec_fail(error, CSREC_MEMORY, "conv2d: out of memory for %zu bytes of weights",
                          bytes);
    }
    memcpy(made->W, W, bytes);
    for (int t = 0; t < 2; t++)
        csrec_conv_pack_f32(&g, t, csrec_conv_simd_choose(), W, made->packed[t]);
    *weights = made;
    return CSREC_OK;
}

/* ---- products */

static csrec_status apply(const csrec_conv2d_job *job, bool transposed, const float *in,
                          const float *bias, float *out, csrec_error *error) {
    csrec_conv g = csrec_conv2d_geometry(&job->conv, job->out);
    workspace need = for_product(&g, transposed);
    csrec_conv_work work = {0};
    float *packed = NULL;
    csrec_status status = lay_out(job, &need, !job->weights, &work, &packed, error);
    if (status) return status;
    if (!job->weights) csrec_conv_pack_f32(&g, transposed, work.simd, job->W, packed);
    csrec_conv_apply_f32(&g, transposed, &work,
                         job->weights ? job->weights->packed[transposed] : packed, in, bias, out);
    return CSREC_OK;
}

static csrec_status forward(const csrec_context *context, const csrec_conv2d_job *job,
                            csrec_error *error) {
    (void)context;
    return apply(job, false, job->X, job->B, job->Y, error);
}

/* In double; eight independent sums, as a single one would wait for each addition. */
static double sum_of(int64_t n, const float *v) {
    double lane[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++) lane[l] += (double)v[i + l];
    for (; i < n; i++) lane[0] += (double)v[i];
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

/* dB[co] = sum_n sum_o dY[n][co][o] */
static void sum_bias(const csrec_conv2d_job *job) {
    const csrec_conv2d *c = &job->conv;
    int threads = csrec_threads(c->threads);
    int64_t plane = job->out[0] * job->out[1];
#pragma omp parallel for num_threads(threads)
    for (int64_t co = 0; co < c->channels_out; co++) {
        double total = 0.0;
        for (int64_t n = 0; n < c->batch; n++)
            total += sum_of(plane, job->dY + (n * c->channels_out + co) * plane);
        job->dB[co] = (float)total;
    }
}

static csrec_status gradient(const csrec_conv2d_job *job, csrec_error *error) {
    csrec_conv g = csrec_conv2d_geometry(&job->conv, job->out);
    workspace need = for_gradient(&g);
    csrec_conv_work work = {0};
    float *packed = NULL;
    csrec_status status = lay_out(job, &need, false, &work, &packed, error);
    if (!status) csrec_conv_gradient(&g, &work, job->X, job->dY, job->dW);
    return status;
}

static csrec_status backward(const csrec_context *context, const csrec_conv2d_job *job,
                             csrec_error *error) {
    (void)context;
    csrec_status status = CSREC_OK;
    if (job->dX) status = apply(job, true, job->dY, NULL, job->dX, error);
    if (job->dW && !status) status = gradient(job, error);
    if (job->dB && !status) sum_bias(job);
    return status;
}

const csrec_conv2d_engine csrec_conv2d_cpu = {.forward = forward, .backward = backward};
