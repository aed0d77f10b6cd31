/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c - computes a convolution's passes on a device as sums over taps, and transfers the
 * arrays. */
#include "kernels/conv/engine.h"

#include <stdlib.h>

#include "base/threads.h"
#include "conv/engine.h"
#include "kernels/conv/conv2d.h"
#include "kernels/device/device.h"
#include "kernels/device/pipe.h"

static csrec_cuda_conv_sum phase_of(const csrec_conv *conv, bool transposed, int64_t phase) {
    csrec_conv_sum s;
    csrec_conv_phase(conv, transposed, phase, &s);
    csrec_cuda_conv_sum sum = {.batch = s.batch,
                               .rows = s.rows,
                               .channels = s.channels,
                               .row_step = s.row_step,
                               .channel_step = s.channel_step,
                               .kernel_width = s.kernel[2]};
    for (int a = 0; a < 2; a++) sum.axis[a] = s.axis[a + 1];
    return sum;
}

/* The gradient of the weights is the forward sum's, or that of all phases of the transpose with
 * input and result exchanged: whichever pads less. */
static bool exchanges(const csrec_conv *conv) {
    csrec_cuda_conv_sum sum = phase_of(conv, false, 0);
    double work = csrec_cuda_conv_gradient_work(&sum), exchanged = 0.0;
    for (int64_t p = 0; p < csrec_conv_phases(conv, true); p++) {
        sum = phase_of(conv, true, p);
        exchanged += csrec_cuda_conv_gradient_work(&sum);
    }
    return exchanged < work;
}

size_t csrec_cuda_conv2d_room(const csrec_conv2d *c, const int64_t out[2],
                              const csrec_cuda_conv2d_arrays *a, bool backward) {
    csrec_conv conv = csrec_conv2d_geometry(c, out);
    csrec_cuda_conv_sum sum = phase_of(&conv, false, 0);
    if (!backward) return csrec_cuda_conv_multiply_room(&sum);
    size_t room = a->dB ? csrec_cuda_conv_bias_room(conv.channels_out) : 0;
    if (a->dW) room = csrec_cuda_larger(room, csrec_cuda_conv_gradient_room(&sum));
    for (int64_t p = 0; p < csrec_conv_phases(&conv, true); p++) {
        sum = phase_of(&conv, true, p);
        if (a->dX) room = csrec_cuda_larger(room, csrec_cuda_conv_multiply_room(&sum));
        if (a->dW) room = csrec_cuda_larger(room, csrec_cuda_conv_gradient_room(&sum));
    }
    return room;
}

csrec_status csrec_cuda_conv2d_forward(const csrec_conv2d *c, const int64_t out[2],
                                       const csrec_cuda_conv2d_arrays *a, csrec_error *error) {
    csrec_conv conv = csrec_conv2d_geometry(c, out);
    csrec_cuda_conv_sum sum = phase_of(&conv, false, 0);
    CSREC_TRY(csrec_cuda_conv_check(&sum, error));
    return csrec_cuda_conv_multiply(&sum, a->W, a->X, a->B, a->Y, a->scratch, error);
}

static csrec_status weights_gradient(const csrec_conv *conv, const csrec_cuda_conv2d_arrays *a,
                                     csrec_error *error) {
    bool exchanged = exchanges(conv);
    csrec_status status = CSREC_OK;
    int64_t taps = conv->channels_out * conv->channels_in * conv->kernel[1] * conv->kernel[2];
    if (exchanged) /* not every entry of the kernel meets an input */
        status = csrec_cuda_clear(a->dW, (size_t)taps * sizeof *a->dW, NULL, error);
    for (int64_t p = 0; p < csrec_conv_phases(conv, exchanged) && !status; p++) {
        csrec_cuda_conv_sum sum = phase_of(conv, exchanged, p);
        status = csrec_cuda_conv_check(&sum, error);
        if (!status)
            status = csrec_cuda_conv_gradient(&sum, a->fast, exchanged ? a->dY : a->X,
                                              exchanged ? a->X : a->dY, a->dW, a->scratch, error);
    }
    return status;
}

csrec_status csrec_cuda_conv2d_backward(const csrec_conv2d *c, const int64_t out[2],
                                        const csrec_cuda_conv2d_arrays *a, csrec_error *error) {
    csrec_conv conv = csrec_conv2d_geometry(c, out);
    for (int64_t p = 0; a->dX && p < csrec_conv_phases(&conv, true); p++) {
        csrec_cuda_conv_sum sum = phase_of(&conv, true, p);
        CSREC_TRY(csrec_cuda_conv_check(&sum, error));
        CSREC_TRY(csrec_cuda_conv_multiply(&sum, a->W, a->dY, NULL, a->dX, a->scratch, error));
    }
    if (a->dW) CSREC_TRY(weights_gradient(&conv, a, error));
    if (a->dB)
        CSREC_TRY(csrec_cuda_conv_bias(conv.batch, conv.channels_out, out[0] * out[1], a->dY, a->dB,
                                       a->scratch, error));
    return CSREC_OK;
}

/* A part of the batch, and what it needs on the device. */
typedef struct job {
    csrec_conv2d part;
    const int64_t *out;
    bool backward;
    csrec_cuda_conv2d_arrays device; /* requested arrays are not NULL, even while counting */
    csrec_cuda_block memory;
    csrec_cuda_pipe pipe;
    int64_t x, w, y; /* entries of a picture, of the weights, of a result */
} job;

static float *take(job *j, const float *wanted, int64_t count) {
    if (!wanted) return NULL;
    float *array = csrec_cuda_block_take(&j->memory, count, sizeof *array);
    return array ? array : (float *)wanted; /* counting */
}

static void lay_out(job *j) {
    csrec_cuda_conv2d_arrays *d = &j->device;
    int64_t batch = j->part.batch, rows = j->part.channels_out;
    d->X = take(j, d->X, batch * j->x);
    d->W = take(j, d->W, j->w);
    d->B = take(j, d->B, rows);
    d->dY = take(j, d->dY, batch * j->y);
    d->Y = take(j, d->Y, batch * j->y);
    d->dX = take(j, d->dX, batch * j->x);
    d->dW = take(j, d->dW, j->w);
    d->dB = take(j, d->dB, rows);
    size_t room = csrec_cuda_conv2d_room(&j->part, j->out, d, j->backward);
    d->scratch = csrec_cuda_block_take(&j->memory, (int64_t)room, 1);
}

/* The whole batch, or the largest part that fits. */
static csrec_status create(job *j, const csrec_conv2d *conv, const int64_t out[2],
                           const csrec_cuda_conv2d_arrays *wanted, bool backward,
                           csrec_error *error) {
    *j = (job){.part = *conv, .out = out, .backward = backward, .device = *wanted};
    j->x = conv->channels_in * conv->size[0] * conv->size[1];
    j->w = conv->channels_out * conv->channels_in * conv->kernel[0] * conv->kernel[1];
    j->y = conv->channels_out * out[0] * out[1];
    csrec_cuda_size size;
    CSREC_TRY(csrec_cuda_measure(&size, error));
    for (;; j->part.batch = (j->part.batch + 1) / 2) {
        j->memory.used = 0;
        lay_out(j);
        if (j->memory.used <= size.free - size.free / 16 || j->part.batch == 1) break;
    }
    CSREC_TRY(csrec_cuda_block_create(&j->memory, "a convolution", error));
    lay_out(j);
    csrec_cuda_pipe_create(j->memory.used, &j->pipe);
    return CSREC_OK;
}

static void destroy(job *j) {
    csrec_cuda_pipe_destroy(&j->pipe);
    csrec_cuda_block_destroy(&j->memory);
}

static csrec_status send(job *j, const float *device, const float *host, int64_t count,
                         csrec_error *error) {
    if (!device) return CSREC_OK;
    return csrec_cuda_pipe_send(&j->pipe, (void *)(uintptr_t)device, host,
                                (size_t)count * sizeof *host, error);
}

static csrec_status receive(job *j, float *host, const float *device, int64_t count,
                            csrec_error *error) {
    if (!device) return CSREC_OK;
    return csrec_cuda_pipe_receive(&j->pipe, host, device, (size_t)count * sizeof *host, error);
}

/* The arrays of the pictures from n on. */
static int64_t begin_part(job *j, const csrec_conv2d *conv, int64_t n) {
    if (conv->batch - n < j->part.batch) j->part.batch = conv->batch - n;
    return j->part.batch;
}

static csrec_status forward_parts(job *j, const csrec_conv2d *conv,
                                  const csrec_cuda_conv2d_arrays *host, csrec_error *error) {
    csrec_status status = send(j, j->device.W, host->W, j->w, error);
    if (!status) status = send(j, j->device.B, host->B, conv->channels_out, error);
    for (int64_t n = 0, count; n < conv->batch && !status; n += count) {
        count = begin_part(j, conv, n);
        status = send(j, j->device.X, host->X + n * j->x, count * j->x, error);
        if (!status) status = csrec_cuda_conv2d_forward(&j->part, j->out, &j->device, error);
        if (!status) status = receive(j, host->Y + n * j->y, j->device.Y, count * j->y, error);
    }
    return status;
}

static csrec_status forward(const csrec_context *context, const csrec_conv2d_job *given,
                            csrec_error *error) {
    csrec_cuda_conv2d_arrays host = {.X = given->X, .W = given->W, .B = given->B, .Y = given->Y};
    job j = {0};
    csrec_status status = csrec_cuda_enter(context, error);
    if (!status) status = create(&j, &given->conv, given->out, &host, false, error);
    if (!status) status = forward_parts(&j, &given->conv, &host, error);
    destroy(&j);
    return status;
}

/* Sums over the parts, in double. */
typedef struct totals {
    double *sum;
    float *part;
} totals;

static csrec_status add_part(job *j, totals *t, const float *device, int64_t count,
                             csrec_error *error) {
    if (!device) return CSREC_OK;
    csrec_status status = receive(j, t->part, device, count, error);
    for (int64_t i = 0; i < count && !status; i++) t->sum[i] += (double)t->part[i];
    return status;
}

static csrec_status backward_part(job *j, const csrec_cuda_conv2d_arrays *host, int64_t n,
                                  csrec_error *error) {
    int64_t count = j->part.batch;
    csrec_status status = CSREC_OK;
    if (j->device.X) status = send(j, j->device.X, host->X + n * j->x, count * j->x, error);
    if (!status) status = send(j, j->device.dY, host->dY + n * j->y, count * j->y, error);
    if (!status) status = csrec_cuda_conv2d_backward(&j->part, j->out, &j->device, error);
    if (!status && j->device.dX)
        status = receive(j, host->dX + n * j->x, j->device.dX, count * j->x, error);
    return status;
}

static void store(float *to, const double *sum, int64_t count) {
    for (int64_t i = 0; to && i < count; i++) to[i] = (float)sum[i];
}

static csrec_status backward_parts(job *j, const csrec_conv2d *conv,
                                   const csrec_cuda_conv2d_arrays *host, csrec_error *error) {
    int64_t rows = conv->channels_out, most = j->w > rows ? j->w : rows;
    totals w = {calloc((size_t)j->w, sizeof(double)), malloc((size_t)most * sizeof(float))};
    totals b = {calloc((size_t)rows, sizeof(double)), w.part};
    csrec_status status = w.sum && b.sum && w.part
                              ? send(j, j->device.W, host->W, j->w, error)
                              : csrec_fail(error, CSREC_MEMORY, "out of memory");
    for (int64_t n = 0, count; n < conv->batch && !status; n += count) {
        count = begin_part(j, conv, n);
        status = backward_part(j, host, n, error);
        if (!status) status = add_part(j, &w, j->device.dW, j->w, error);
        if (!status) status = add_part(j, &b, j->device.dB, rows, error);
    }
    if (!status) store(host->dW, w.sum, j->w);
    if (!status) store(host->dB, b.sum, rows);
    free(w.sum);
    free(b.sum);
    free(w.part);
    return status;
}

static csrec_status backward(const csrec_context *context, const csrec_conv2d_job *given,
                             csrec_error *error) {
    csrec_cuda_conv2d_arrays host = {.X = given->dW ? given->X : NULL,
                                     .W = given->dX ? given->W : NULL,
                                     .dY = given->dY,
                                     .dX = given->dX,
                                     .dW = given->dW,
                                     .dB = given->dB};
    job j = {0};
    csrec_status status = csrec_cuda_enter(context, error);
    if (!status) status = create(&j, &given->conv, given->out, &host, true, error);
    if (!status) status = backward_parts(&j, &given->conv, &host, error);
    destroy(&j);
    return status;
}

/* Seconds, as for a covariance (bench/cuda.py): a thread of the CPU multiplies 2e10 times a
 * second, X and Y are transferred at 5e9 bytes a second, the first use takes 0.2 s. */
static bool device_faster(const csrec_conv2d_job *given) {
    const csrec_conv2d *c = &given->conv;
    const int64_t *out = given->out;
    const double in = (double)c->channels_in * (double)(c->size[0] * c->size[1]);
    const double made = (double)c->channels_out * (double)(out[0] * out[1]);
    const double products = made * (double)c->channels_in * (double)(c->kernel[0] * c->kernel[1]);
    return (double)c->batch * products / (2e10 * csrec_threads_wanted(c->threads)) >
           0.2 + (double)c->batch * 4.0 * (in + made) / 5e9;
}

/* A batch that does not fit is uploaded in parts. The same bits for the same geometry and requested
 * gradients, on a device with as much memory. Infinite values give NaN (kernels/conv/multiply.cu).
 */
const csrec_conv2d_engine csrec_conv2d_cuda = {forward, backward, device_faster};
