/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_cpu.c - convolutions of pictures on the CPU: workspace, packed weights, passes. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
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
                       csrec_conv_room(conv, transposed, csrec_conv_simd_choose())};
}

static workspace for_gradient(const csrec_conv *conv) {
    return (workspace){0, csrec_conv_gradient_shared(conv), csrec_conv_gradient_room(conv)};
}

static size_t bytes_of(const workspace *w, int threads) {
    return ALIGN - 1 + w->packed + w->shared + (size_t)threads * w->room;
}

static void find_bytes(const csrec_conv *conv, int threads, size_t *forward, size_t *backward) {
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
    CSREC_TRY(csrec_conv2d_check(conv, &g, error));
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
    CSREC_TRY(lay_out(job, &need, !job->weights, &work, &packed, error));
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

/* ---- the public convolution of pictures: checks, and the choice of the device. */

/* Limit of each number; products are limited below. */
static const int64_t MOST = INT32_MAX;

static csrec_status check_ranges(const csrec_conv2d *c, csrec_error *error) {
    const struct {
        const char *field;
        int64_t value, least;
    } fields[] = {{"batch", c->batch, 1},
                  {"channels_in", c->channels_in, 1},
                  {"channels_out", c->channels_out, 1},
                  {"size[0]", c->size[0], 1},
                  {"size[1]", c->size[1], 1},
                  {"kernel[0]", c->kernel[0], 1},
                  {"kernel[1]", c->kernel[1], 1},
                  {"stride[0]", c->stride[0], 0},
                  {"stride[1]", c->stride[1], 0},
                  {"dilation[0]", c->dilation[0], 0},
                  {"dilation[1]", c->dilation[1], 0},
                  {"padding[0]", c->padding[0], 0},
                  {"padding[1]", c->padding[1], 0},
                  {"threads", c->threads, 0}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].value < fields[i].least || fields[i].value > MOST)
            return csrec_fail(error, CSREC_ARGUMENT, "conv2d: %s = %lld is out of range",
                              fields[i].field, (long long)fields[i].value);
    return CSREC_OK;
}

static int64_t at_least_1(int64_t v) {
    return v > 0 ? v : 1;
}

csrec_conv csrec_conv2d_geometry(const csrec_conv2d *c, const int64_t out[2]) {
    return (csrec_conv){.batch = c->batch,
                        .channels_in = c->channels_in,
                        .channels_out = c->channels_out,
                        .size = {1, c->size[0], c->size[1]},
                        .kernel = {1, c->kernel[0], c->kernel[1]},
                        .stride = {1, at_least_1(c->stride[0]), at_least_1(c->stride[1])},
                        .padding = {0, c->padding[0], c->padding[1]},
                        .dilation = {1, at_least_1(c->dilation[0]), at_least_1(c->dilation[1])},
                        .out = {1, out[0], out[1]}};
}

csrec_status csrec_conv2d_check(const csrec_conv2d *c, csrec_conv *conv, csrec_error *error) {
    static const int64_t unknown[2] = {0, 0};
    CSREC_TRY(check_ranges(c, error));
    *conv = csrec_conv2d_geometry(c, unknown);
    int axis;
    if (!csrec_conv_outputs(conv, &axis))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "conv2d: kernel[%d] = %lld at dilation %lld spans %lld, the padded input "
                          "%lld; pad more or use a smaller kernel",
                          axis - 1, (long long)conv->kernel[axis], (long long)conv->dilation[axis],
                          (long long)(conv->dilation[axis] * (conv->kernel[axis] - 1) + 1),
                          (long long)(conv->size[axis] + 2 * conv->padding[axis]));
    const double entries[] = {
        (double)c->batch * (double)c->channels_in * (double)c->size[0] * (double)c->size[1],
        (double)c->batch * (double)c->channels_out * (double)conv->out[1] * (double)conv->out[2],
        (double)c->channels_in * (double)c->channels_out * (double)c->kernel[0] *
            (double)c->kernel[1]};
    static const char *const names[] = {"X", "Y", "W"};
    for (int i = 0; i < 3; i++)
        if (entries[i] > 0x1p56)
            return csrec_fail(error, CSREC_ARGUMENT, "conv2d: %s would have %.3g entries", names[i],
                              entries[i]);
    return CSREC_OK;
}

csrec_status csrec_conv2d_output(const csrec_conv2d *conv, int64_t out[2], csrec_error *error) {
    csrec_conv g;
    csrec_status status = csrec_conv2d_check(conv, &g, error);
    if (!status) memcpy(out, g.out + 1, 2 * sizeof *out);
    return status;
}

csrec_status csrec_conv2d_workspace(const csrec_conv2d *conv, size_t *forward, size_t *backward,
                                    csrec_error *error) {
    csrec_conv g;
    size_t bytes[2];
    CSREC_TRY(csrec_conv2d_check(conv, &g, error));
    find_bytes(&g, csrec_threads(conv->threads), &bytes[0], &bytes[1]);
    if (forward) *forward = bytes[0];
    if (backward) *backward = bytes[1];
    return CSREC_OK;
}

/* What the layout depends on; padding shifts the remainders of the transposed product. */
static bool fits(const csrec_conv2d_weights *weights, const csrec_conv *g) {
    csrec_conv own = csrec_conv2d_geometry(&weights->conv, g->out + 1);
    bool same = own.channels_in == g->channels_in && own.channels_out == g->channels_out;
    for (int a = 0; a < 3; a++)
        same = same && own.kernel[a] == g->kernel[a] && own.stride[a] == g->stride[a] &&
               own.dilation[a] == g->dilation[a] &&
               own.padding[a] % own.stride[a] == g->padding[a] % g->stride[a];
    return same;
}

static csrec_status check_weights(const csrec_conv *g, const float *W,
                                  const csrec_conv2d_weights *weights, csrec_error *error) {
    if (!W == !weights)
        return csrec_fail(error, CSREC_ARGUMENT, "conv2d: give W or packed weights, %s",
                          W ? "not both" : "one of them");
    if (weights && !fits(weights, g))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "conv2d: weights were packed for other channels, kernel, stride, "
                          "dilation or padding; pack them again");
    return CSREC_OK;
}

/* Values may be NULL. */
static csrec_status check_finite(const char *name, int64_t n, const float *values,
                                 csrec_error *error) {
    bool finite = true;
    for (int64_t i = 0; values && i < n; i++) finite &= fabsf(values[i]) <= FLT_MAX;
    return finite ? CSREC_OK
                  : csrec_fail(error, CSREC_DATA,
                               "conv2d: %s is beyond the range of float32; scale the arrays down, "
                               "or remove entries that are not finite",
                               name);
}

static csrec_status check_backward(const csrec_conv *g, const float *X, const float *W,
                                   const csrec_conv2d_weights *weights, const float *dY,
                                   const float *dX, const float *dW, csrec_error *error) {
    if (!dY) return csrec_fail(error, CSREC_ARGUMENT, "conv2d: dY is missing");
    if (dW && !X) return csrec_fail(error, CSREC_ARGUMENT, "conv2d: dW needs X");
    return dX ? check_weights(g, W, weights, error) : CSREC_OK;
}

/* ---- on a device */

static const csrec_conv2d_engine *const engines[CSREC_DEVICE_KINDS] =
    CSREC_ENGINES(&csrec_conv2d_cpu, &csrec_conv2d_cuda);

static bool device_faster(csrec_device_kind kind, const void *job) {
    return engines[kind] && engines[kind]->device_faster && engines[kind]->device_faster(job);
}

static csrec_status run(const csrec_context *context, void *job, csrec_error *error) {
    const csrec_conv2d_engine *engine = engines[context->kind];
    return (((csrec_conv2d_job *)job)->dY ? engine->backward : engine->forward)(context, job,
                                                                                error);
}

/* With the defaults of strides, dilations and W. */
static csrec_status run_job(csrec_conv2d_job *job, const csrec_conv *g, csrec_error *error) {
    static const csrec_device_work work = {.device_faster = device_faster, .run = run};
    memcpy(job->conv.stride, g->stride + 1, sizeof job->conv.stride);
    memcpy(job->conv.dilation, g->dilation + 1, sizeof job->conv.dilation);
    memcpy(job->out, g->out + 1, sizeof job->out);
    if (job->weights) job->W = job->weights->W;
    return csrec_device_run(job->conv.backend, &work, job, NULL, error);
}

csrec_status csrec_conv2d_forward(const csrec_conv2d *conv, const float *X, const float *W,
                                  const csrec_conv2d_weights *weights, const float *B, float *Y,
                                  void *workspace_memory, size_t workspace_bytes,
                                  csrec_error *error) {
    csrec_conv2d_job job = {.conv = *conv,
                            .X = X,
                            .W = W,
                            .B = B,
                            .Y = Y,
                            .weights = weights,
                            .workspace = workspace_memory,
                            .bytes = workspace_bytes};
    csrec_conv g;
    CSREC_TRY(csrec_conv2d_check(conv, &g, error));
    CSREC_TRY(check_weights(&g, W, weights, error));
    if (!X || !Y) return csrec_fail(error, CSREC_ARGUMENT, "conv2d: %s is missing", X ? "Y" : "X");
    csrec_status status = run_job(&job, &g, error);
    int64_t outputs = g.batch * g.channels_out * g.out[1] * g.out[2];
    return status ? status : check_finite("Y", outputs, Y, error);
}

csrec_status csrec_conv2d_backward(const csrec_conv2d *conv, const float *X, const float *W,
                                   const csrec_conv2d_weights *weights, const float *dY, float *dX,
                                   float *dW, float *dB, void *workspace_memory,
                                   size_t workspace_bytes, csrec_error *error) {
    csrec_conv2d_job job = {.conv = *conv,
                            .X = X,
                            .W = W,
                            .dY = dY,
                            .dX = dX,
                            .dW = dW,
                            .dB = dB,
                            .weights = weights,
                            .workspace = workspace_memory,
                            .bytes = workspace_bytes};
    csrec_conv g;
    CSREC_TRY(csrec_conv2d_check(conv, &g, error));
    CSREC_TRY(check_backward(&g, X, W, weights, dY, dX, dW, error));
    csrec_status status = run_job(&job, &g, error);
    int64_t inputs = g.batch * g.channels_in * g.size[1] * g.size[2];
    int64_t taps = g.channels_out * g.channels_in * g.kernel[1] * g.kernel[2];
    if (!status) status = check_finite("dX", inputs, dX, error);
    if (!status) status = check_finite("dW", taps, dW, error);
    return status ? status : check_finite("dB", g.channels_out, dB, error);
}
