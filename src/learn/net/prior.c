/* SPDX-License-Identifier: BSD-3-Clause */
/* prior.c - models of kind net: checks, and the planes that their network takes. */
#include "learn/net/prior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"

/* ------------------------------------------------------------------ the model */

static int64_t integer_of(const csrec_model *model, const char *array, int64_t i) {
    return ((const int64_t *)csrec_model_array(model, array)->data)[i];
}

int csrec_prior_channels(const csrec_model *model) {
    return (int)integer_of(model, "channels", 0);
}

/* The rows of the array: kind, channels, the result that is added, relu. */
int csrec_prior_layers(const csrec_model *model, csrec_net_layer *layers) {
    int n = (int)csrec_model_array(model, "layers")->shape.dim[0];
    for (int i = 0; i < n; i++)
        layers[i] = (csrec_net_layer){(csrec_net_kind)integer_of(model, "layers", 4 * i),
                                      integer_of(model, "layers", 4 * i + 1),
                                      integer_of(model, "layers", 4 * i + 2),
                                      integer_of(model, "layers", 4 * i + 3) != 0};
    return n;
}

csrec_status csrec_prior_check(const csrec_model *model, const char *name, csrec_error *error) {
    csrec_net_layer layers[CSREC_NET_LAYERS];
    csrec_net_graph graph;
    csrec_error reason;
    int64_t channels = integer_of(model, "channels", 0);
    int64_t n = csrec_model_array(model, "layers")->shape.dim[0];
    if (channels < 1 || channels > CSREC_PRIOR_CHANNELS)
        return csrec_model_fail(name, "channels", error, "is %lld; must be 1 to %d",
                                (long long)channels, CSREC_PRIOR_CHANNELS);
    if (n > CSREC_NET_LAYERS)
        return csrec_model_fail(name, "layers", error, "has %lld rows; at most %d are allowed",
                                (long long)n, CSREC_NET_LAYERS);
    for (int64_t i = 0; i < 4 * n; i++) /* before they become ints */
        if (integer_of(model, "layers", i) < -1 || integer_of(model, "layers", i) > 4096)
            return csrec_model_fail(name, "layers", error, "entry %lld is %lld; must be -1 to 4096",
                                    (long long)i, (long long)integer_of(model, "layers", i));
    if (csrec_net_graph_of(2 * channels + 2, csrec_prior_layers(model, layers), layers, &graph,
                           &reason))
        return csrec_model_fail(name, "layers", error, "%.160s", reason.text);
    if (csrec_net_channels(&graph, graph.n) != 2 * channels)
        return csrec_model_fail(name, "layers", error, "makes %lld planes; must be %lld",
                                (long long)csrec_net_channels(&graph, graph.n),
                                (long long)(2 * channels));
    int64_t weights = csrec_model_array(model, "weights")->count;
    if (weights == graph.weights) return CSREC_OK;
    return csrec_model_fail(name, "weights", error, "has %lld entries, but the layers have %lld",
                            (long long)weights, (long long)graph.weights);
}

csrec_status csrec_prior_create(const csrec_model *model, const csrec_context *context,
                                const csrec_net_options *options, csrec_net **net,
                                csrec_error *error) {
    csrec_net_layer layers[CSREC_NET_LAYERS];
    int n = csrec_prior_layers(model, layers);
    const csrec_array *array = csrec_model_array(model, "weights");
    csrec_net *made = NULL;
    csrec_status status = csrec_net_open(context, 2 * csrec_prior_channels(model) + 2, n, layers,
                                         options, &made, error);
    if (!status) status = csrec_net_set_weights(made, array->data, error);
    if (status)
        csrec_net_destroy(made);
    else
        *net = made;
    return status;
}

/* ------------------------------------------------------------------ normal values */

/* Mean and variance of a channel's samples, by differences from the first, as an offset may be much
 * larger than they are. */
static void measure(const csrec_prior_samples *s, int c, double *mean, double *variance) {
    const float *v = s->values + c * s->height * s->width;
    double first = 0.0, sum = 0.0, squares = 0.0, n = 0.0;
    for (int64_t i = 0; i < s->height * s->width; i++) {
        if (!s->known[i]) continue;
        if (n == 0.0) first = (double)v[i];
        double off = (double)v[i] - first;
        sum += off;
        squares += off * off;
        n += 1.0;
    }
    *mean = first + sum / n;
    *variance = fmax(squares / n - sum / n * (sum / n), 0.0);
}

static void normalise(const csrec_prior_samples *s, csrec_prior_frame *frame) {
    double variance = 0.0;
    for (int c = 0; c < s->channels; c++) {
        double own;
        measure(s, c, &frame->mean[c], &own);
        variance += own / s->channels;
    }
    frame->unit = sqrt(variance + (double)s->tone * (double)s->tone);
}

/* ------------------------------------------------------------------ the pyramid */

/* Level k + 1 has half the extents of level k, rounded up. */
static int64_t half(int64_t extent) {
    return (extent + 1) / 2;
}

int64_t csrec_prior_work(int64_t height, int64_t width) {
    int64_t floats = 2 * height * width;
    while (height > 1 || width > 1) {
        height = half(height);
        width = half(width);
        floats += 3 * height * width;
    }
    return floats;
}

/* Sums of 2 x 2. */
static void pull(int64_t height, int64_t width, int threads, const float *from, float *to) {
    const int64_t across = half(width);
    threads = csrec_threads_for(height * width, threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t y = 0; y < half(height); y++)
        for (int64_t x = 0; x < across; x++) {
            const float *at = from + 2 * y * width + 2 * x;
            bool right = 2 * x + 1 < width, below = 2 * y + 1 < height;
            to[y * across + x] = at[0] + (right ? at[1] : 0.0f) +
                                 (below ? at[width] + (right ? at[width + 1] : 0.0f) : 0.0f);
        }
}

/* Where entry i of a level lies in the next one, whose entries are its pairs: the two entries
 * between which it is, and the share of the second. */
static void place(int64_t i, int64_t extent, int64_t at[2], float *share) {
    at[0] = (i - 1) / 2;
    at[1] = (i + 1) / 2;
    if (i == 0) at[0] = 0;
    if (at[1] > half(extent) - 1) at[1] = half(extent) - 1;
    *share = i % 2 ? 0.25f : 0.75f;
}

/* Line y of push. */
static void push_line(int64_t height, int64_t width, int64_t y, const float *sum,
                      const float *weight, const float *coarse, float *values) {
    int64_t row[2], across = half(width);
    float down;
    place(y, height, row, &down);
    const float *above = coarse + row[0] * across, *below = coarse + row[1] * across;
    for (int64_t x = 0; x < width; x++) {
        int64_t at[2];
        float right;
        if (weight[x] > 0.0f) {
            values[x] = sum[x] / weight[x];
            continue;
        }
        place(x, width, at, &right);
        float first = above[at[0]] + right * (above[at[1]] - above[at[0]]);
        float second = below[at[0]] + right * (below[at[1]] - below[at[0]]);
        values[x] = first + down * (second - first);
    }
}

/* values = sum / weight where there is weight, else the coarser level between its entries. */
static void push(int64_t height, int64_t width, int threads, const float *sum, const float *weight,
                 const float *coarse, float *values) {
    threads = csrec_threads_for(height * width, threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t y = 0; y < height; y++)
        push_line(height, width, y, sum + y * width, weight + y * width, coarse,
                  values + y * width);
}

/* filled [height][width] from z, 0 where unknown, and weight, 1 or 0. work: after both of them. */
static void fill(int64_t height, int64_t width, int threads, const float *z, const float *weight,
                 float *work, float *filled) {
    if (height <= 1 && width <= 1) {
        filled[0] = weight[0] > 0.0f ? z[0] / weight[0] : 0.0f;
        return;
    }
    int64_t count = half(height) * half(width);
    float *sum = work, *sums = work + count, *coarse = work + 2 * count;
    pull(height, width, threads, z, sum);
    pull(height, width, threads, weight, sums);
    fill(half(height), half(width), threads, sum, sums, work + 3 * count, coarse);
    push(height, width, threads, z, weight, coarse, filled);
}

/* ------------------------------------------------------------------ planes */

static void pad(const csrec_prior_samples *s, const float *from, const csrec_prior_frame *frame,
                float *to) {
    const int64_t width = s->width;
    const int threads = csrec_threads_for(s->height * width, s->threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t y = 0; y < frame->height; y++) {
        const float *line = from + csrec_prior_reflect(y, s->height) * width;
        float *own = to + y * frame->width;
        memcpy(own, line, (size_t)width * sizeof *own);
        for (int64_t x = width; x < frame->width; x++) own[x] = line[csrec_prior_reflect(x, width)];
    }
}

/* A channel's normal values z, 0 where unknown, and their weight, 1 or 0. */
static void spread(const csrec_prior_samples *s, int c, const csrec_prior_frame *frame,
                   float *weight, float *z) {
    const int64_t count = s->height * s->width;
    const float *v = s->values + c * count;
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(count, s->threads))
    for (int64_t i = 0; i < count; i++) {
        weight[i] = s->known[i] ? 1.0f : 0.0f;
        z[i] = s->known[i] ? (float)(((double)v[i] - frame->mean[c]) / frame->unit) : 0.0f;
    }
}

void csrec_prior_planes(const csrec_prior_samples *s, int64_t multiple, float *work, float *planes,
                        csrec_prior_frame *frame) {
    int64_t count = s->height * s->width;
    frame->height = csrec_prior_padded(s->height, multiple);
    frame->width = csrec_prior_padded(s->width, multiple);
    int64_t plane = frame->height * frame->width;
    normalise(s, frame);
    float *weight = work, *z = work + count, *rest = work + 2 * count;
    for (int c = 0; c < s->channels; c++) {
        float *filled = planes + c * plane; /* padded below: it has room for the picture */
        spread(s, c, frame, weight, z);
        pad(s, z, frame, planes + (s->channels + c) * plane);
        fill(s->height, s->width, s->threads, z, weight, rest, filled);
        memcpy(z, filled, (size_t)count * sizeof *z);
        pad(s, z, frame, filled);
    }
    pad(s, weight, frame, planes + 2 * s->channels * plane);
    float sigma = (float)((double)s->sigma / frame->unit),
          *last = planes + (2 * s->channels + 1) * plane;
    for (int64_t i = 0; i < plane; i++) last[i] = sigma;
}
