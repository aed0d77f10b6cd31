/* SPDX-License-Identifier: BSD-3-Clause */
/* prior.c - models of kind net: checks, and the planes that their network takes. */
#include "learn/net/prior.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "learn/net/pyramid.h"

static int64_t integer_of(const csrec_model *model, const char *array, int64_t i) {
    return ((const int64_t *)csrec_model_array(model, array)->data)[i];
}

int csrec_prior_channels(const csrec_model *model) {
    return (int)integer_of(model, "channels", 0);
}

/* The rows of the array: kind, channels, the result that is added, relu. */
static int layers_of(const csrec_model *model, csrec_net_layer *layers) {
    int n = (int)csrec_model_array(model, "layers")->shape.dim[0];
    for (int i = 0; i < n; i++)
        layers[i] = (csrec_net_layer){(csrec_net_kind)integer_of(model, "layers", 4 * i),
                                      integer_of(model, "layers", 4 * i + 1),
                                      integer_of(model, "layers", 4 * i + 2),
                                      integer_of(model, "layers", 4 * i + 3) != 0};
    return n;
}

csrec_status csrec_prior_check_layers(const csrec_model *model, int64_t takes, int64_t makes,
                                      const char *name, csrec_error *error) {
    csrec_net_layer layers[CSREC_NET_LAYERS];
    csrec_net_graph graph;
    csrec_error reason;
    int64_t n = csrec_model_array(model, "layers")->shape.dim[0];
    if (n > CSREC_NET_LAYERS)
        return csrec_model_fail(name, "layers", error, "has %lld rows; at most %d are allowed",
                                (long long)n, CSREC_NET_LAYERS);
    for (int64_t i = 0; i < 4 * n; i++) /* before they become ints */
        if (integer_of(model, "layers", i) < -1 || integer_of(model, "layers", i) > 4096)
            return csrec_model_fail(name, "layers", error, "entry %lld is %lld; must be -1 to 4096",
                                    (long long)i, (long long)integer_of(model, "layers", i));
    if (csrec_net_graph_of(takes, layers_of(model, layers), layers, &graph, &reason))
        return csrec_model_fail(name, "layers", error, "%.160s", reason.text);
    if (csrec_net_channels(&graph, graph.n) != makes)
        return csrec_model_fail(name, "layers", error, "makes %lld planes; must be %lld",
                                (long long)csrec_net_channels(&graph, graph.n), (long long)makes);
    int64_t weights = csrec_model_array(model, "weights")->count;
    if (weights == graph.weights) return CSREC_OK;
    return csrec_model_fail(name, "weights", error, "has %lld entries, but the layers have %lld",
                            (long long)weights, (long long)graph.weights);
}

csrec_status csrec_prior_check(const csrec_model *model, const char *name, csrec_error *error) {
    int64_t channels = integer_of(model, "channels", 0);
    if (channels < 1 || channels > CSREC_PRIOR_CHANNELS)
        return csrec_model_fail(name, "channels", error, "is %lld; must be 1 to %d",
                                (long long)channels, CSREC_PRIOR_CHANNELS);
    return csrec_prior_check_layers(model, 2 * channels + 2, 2 * channels, name, error);
}

csrec_status csrec_prior_create(const csrec_model *model, int64_t planes,
                                const csrec_context *context, const csrec_net_options *options,
                                csrec_net **net, csrec_error *error) {
    csrec_net_layer layers[CSREC_NET_LAYERS];
    int n = layers_of(model, layers);
    const csrec_array *array = csrec_model_array(model, "weights");
    csrec_net *made = NULL;
    csrec_status status = csrec_net_open(context, planes, n, layers, options, &made, error);
    if (!status) status = csrec_net_lend_weights(made, array->data, error);
    return CSREC_SETTLE(status, csrec_net_destroy(made), *net = made);
}

/* Mean and variance of a channel's samples, by differences from the first, as an offset may be much
 * larger than they are. */
static void measure(const csrec_prior_samples *s, int c, double *mean, double *variance) {
    const float *v = s->values + c * s->height * s->width;
    double sum = 0.0, squares = 0.0, n = 0.0;
    int64_t i = 0;
    while (i + 1 < s->height * s->width && !s->known[i]) i++;
    const double first = (double)v[i];
    for (; i < s->height * s->width; i++) { /* without branches, which nobody could foresee */
        const double off = s->known[i] ? (double)v[i] - first : 0.0;
        sum += off;
        squares += off * off;
        n += s->known[i] ? 1.0 : 0.0;
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

/* In place: of a plane without gaps between its lines, the last ones first. */
static void pad(const csrec_prior_samples *s, const csrec_prior_frame *frame, float *plane) {
    const int64_t height = s->height, width = s->width;
    for (int64_t y = frame->width > width ? height - 1 : 0; y > 0; y--)
        memmove(plane + y * frame->width, plane + y * width, (size_t)width * sizeof *plane);
    for (int64_t y = 0; y < frame->height; y++) {
        float *own = plane + y * frame->width;
        if (y >= height)
            memcpy(own, plane + csrec_prior_reflect(y, height) * frame->width,
                   (size_t)frame->width * sizeof *own);
        for (int64_t x = width; x < frame->width; x++) own[x] = own[csrec_prior_reflect(x, width)];
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
    frame->height = csrec_prior_padded(s->height, multiple);
    frame->width = csrec_prior_padded(s->width, multiple);
    int64_t plane = frame->height * frame->width;
    normalise(s, frame);
    float *weight = planes + 2 * s->channels * plane, *last = weight + plane;
    for (int c = 0; c < s->channels; c++) {
        float *filled = planes + c * plane, *z = planes + (s->channels + c) * plane;
        spread(s, c, frame, weight, z);
        csrec_pyramid_fill(s->height, s->width, s->threads, z, weight, work, filled);
        pad(s, frame, z);
        pad(s, frame, filled);
    }
    pad(s, frame, weight);
    const float sigma = (float)((double)s->sigma / frame->unit);
    for (int64_t i = 0; i < plane; i++) last[i] = sigma;
}
