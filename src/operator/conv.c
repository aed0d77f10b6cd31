/* SPDX-License-Identifier: BSD-3-Clause */
/* conv.c - the operator of a convolutional dictionary: products by im2col (conv/conv.h). */
#include "operator/devices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *conv_allocate(size_t count) {
    return aligned_alloc(64, (count * sizeof(double) + 63) / 64 * 64);
}

/* out = analysis of a signal, or synthesis of coefficients. */
static csrec_status conv_product(const csrec_conv_dictionary *d, bool synthesis,
                                 const double *packed, const double *in, double *out) {
    const csrec_conv_simd *simd = csrec_conv_simd_choose();
    size_t room = csrec_conv_room(&d->conv, synthesis, simd, sizeof(double));
    csrec_conv_work work = {simd, d->threads, aligned_alloc(64, room * (size_t)d->threads), NULL};
    if (!work.memory) return CSREC_MEMORY;
    csrec_conv_apply_f64(&d->conv, synthesis, &work, packed, in, NULL, out);
    free(work.memory);
    return CSREC_OK;
}

/* ||a||^2 = sum of the squared filter over the samples it meets: analysis of the mask. */
static csrec_status find_norms(csrec_conv_dictionary *d) {
    size_t K = (size_t)d->conv.channels_out, size = (size_t)d->size;
    const csrec_conv_simd *simd = csrec_conv_simd_choose();
    double *squares = malloc(K * size * sizeof *squares);
    double *packed = conv_allocate((size_t)csrec_conv_packed(&d->conv, false, simd));
    double *signal = calloc((size_t)d->mask.entries, sizeof *signal);
    csrec_status status = squares && packed && signal ? CSREC_OK : CSREC_MEMORY;
    if (!status) {
        for (size_t i = 0; i < K * size; i++) squares[i] = d->filters[i] * d->filters[i];
        for (int64_t k = 0; k < d->mask.m; k++) signal[d->mask.index[k]] = 1.0;
        csrec_conv_pack_f64(&d->conv, false, simd, squares, packed);
        status = conv_product(d, false, packed, signal, d->norms);
    }
    for (size_t j = 0; j < K * (size_t)d->places && !status; j++) d->norms[j] = sqrt(d->norms[j]);
    free(squares);
    free(packed);
    free(signal);
    return status;
}

static csrec_status conv_check(const csrec_operator_spec *spec, csrec_conv *conv,
                               csrec_error *error) {
    int64_t extent[3];
    if (!csrec_mask_extents(spec->shape, extent))
        return csrec_fail(error, CSREC_UNSUPPORTED, "operator conv: needs a shape of 1 to 3 axes");
    if (!spec->filters || !spec->kernel || spec->n_filters < 1)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator conv: needs filters; learn a model of them with cslearn conv");
    *conv = (csrec_conv){.batch = 1, .channels_in = 1, .channels_out = spec->n_filters};
    double entries = (double)spec->n_filters, volume = 1.0;
    csrec_mask_axes(spec->shape, spec->kernel, conv->kernel);
    for (int a = 0; a < 3; a++) {
        if (conv->kernel[a] < 1 || conv->kernel[a] > 4096)
            return csrec_fail(error, CSREC_ARGUMENT,
                              "operator conv: kernel[%d] = %lld; must be 1 to 4096",
                              a - (3 - spec->shape->dims), (long long)conv->kernel[a]);
        conv->size[a] = extent[a];
        conv->stride[a] = conv->dilation[a] = 1;
        conv->padding[a] = conv->kernel[a] - 1;
        entries *= (double)(extent[a] + conv->kernel[a] - 1);
        volume *= (double)conv->kernel[a];
    }
    if (entries > 0x1p48 || volume * (double)spec->n_filters > 0x1p32)
        return csrec_fail(error, CSREC_ARGUMENT, "operator conv: %.3g coefficients are too many",
                          entries);
    return CSREC_OK;
}

static csrec_status check_filters(const csrec_operator_spec *spec, int64_t count,
                                  csrec_error *error) {
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(spec->filters[i]))
            return csrec_fail(error, CSREC_DATA, "operator conv: filters[%lld] is not finite",
                              (long long)i);
    return CSREC_OK;
}

static csrec_status fill(csrec_operator *A, csrec_conv_dictionary *d,
                         const csrec_operator_spec *spec) {
    const csrec_conv_simd *simd = csrec_conv_simd_choose();
    size_t count = (size_t)(d->conv.channels_out * d->size);
    CSREC_TAKE(&A->pool, d->filters, count);
    CSREC_TAKE(&A->pool, d->norms, A->n);
    for (int t = 0; t < 2; t++)
        d->packed[t] =
            csrec_pool_keep(&A->pool, conv_allocate((size_t)csrec_conv_packed(&d->conv, t, simd)));
    if (csrec_pool_status(&A->pool)) return CSREC_MEMORY;
    memcpy(d->filters, spec->filters, count * sizeof *d->filters);
    for (int t = 0; t < 2; t++) csrec_conv_pack_f64(&d->conv, t, simd, d->filters, d->packed[t]);
    return find_norms(d);
}

static csrec_status conv_create(csrec_operator *A, const csrec_operator_spec *spec,
                                csrec_error *error) {
    csrec_conv conv;
    int axis;
    csrec_status status = conv_check(spec, &conv, error);
    if (status) return status;
    csrec_conv_outputs(&conv, &axis);
    csrec_conv_dictionary *d = csrec_operator_data(A, sizeof *d);
    if (!d) return CSREC_MEMORY;
    d->conv = conv;
    d->places = conv.out[0] * conv.out[1] * conv.out[2];
    d->size = conv.kernel[0] * conv.kernel[1] * conv.kernel[2];
    d->threads = spec->threads > 0 ? spec->threads : 1;
    status = check_filters(spec, conv.channels_out * d->size, error);
    if (!status) status = csrec_mask_attach(A, spec, &d->mask, error);
    if (status) return status;
    A->n = conv.channels_out * d->places;
    status = fill(A, d, spec);
    return status ? csrec_fail(error, status, "operator conv: out of memory for %lld coefficients",
                               (long long)A->n)
                  : CSREC_OK;
}

static csrec_status conv_synthesize(const csrec_operator *A, const double *x, double *signal) {
    const csrec_conv_dictionary *d = A->data;
    return conv_product(d, true, d->packed[1], x, signal);
}

static csrec_status conv_adjoint(const csrec_operator *A, const double *y, double *x) {
    const csrec_conv_dictionary *d = A->data;
    double *signal = csrec_operator_borrow(A, d->mask.entries);
    if (!signal) return CSREC_MEMORY;
    csrec_mask_scatter(&d->mask, y, signal);
    csrec_status status = conv_product(d, false, d->packed[0], signal, x);
    csrec_operator_give_back(A, signal);
    return status;
}

static csrec_status conv_column_norms(const csrec_operator *A, double *norms) {
    const csrec_conv_dictionary *d = A->data;
    memcpy(norms, d->norms, (size_t)A->n * sizeof *norms);
    return CSREC_OK;
}

static csrec_status conv_correlate(const csrec_operator *A, const double *r, double *c) {
    const csrec_conv_dictionary *d = A->data;
    csrec_status status = conv_adjoint(A, r, c);
    for (int64_t j = 0; j < A->n && !status; j++)
        c[j] = d->norms[j] > 0.0 ? c[j] / d->norms[j] : 0.0;
    return status;
}

/* The position of an atom's entry 0, which may be outside the signal. */
static void conv_corner(const csrec_conv_dictionary *d, int64_t place, int64_t corner[3]) {
    for (int a = 2; a >= 0; a--) {
        corner[a] = place % d->conv.out[a] - (d->conv.kernel[a] - 1);
        place /= d->conv.out[a];
    }
}

static csrec_status conv_column(const csrec_operator *A, int64_t j, double *a) {
    const csrec_conv_dictionary *d = A->data;
    const int64_t *h = d->conv.kernel, *size = d->conv.size;
    const double *filter = d->filters + j / d->places * d->size;
    double *signal = calloc((size_t)d->mask.entries, sizeof *signal);
    if (!signal) return CSREC_MEMORY;
    int64_t corner[3], u[3];
    conv_corner(d, j % d->places, corner);
    for (u[0] = 0; u[0] < h[0]; u[0]++)
        for (u[1] = 0; u[1] < h[1]; u[1]++)
            for (u[2] = 0; u[2] < h[2]; u[2]++, filter++) {
                int64_t i[3] = {corner[0] + u[0], corner[1] + u[1], corner[2] + u[2]};
                bool inside = true;
                for (int b = 0; b < 3; b++) inside = inside && i[b] >= 0 && i[b] < size[b];
                if (inside) signal[(i[0] * size[1] + i[1]) * size[2] + i[2]] = *filter;
            }
    csrec_mask_gather(&d->mask, signal, a);
    free(signal);
    return CSREC_OK;
}

static const csrec_param params[] = {
    {"base", 4, 0, 64, "width in pixels of the smooth layer that is subtracted; 0: the mean"}, {0}};

/* Norms of all atoms, and products that take the threads themselves. */
static csrec_operator_need conv_need(const csrec_operator_spec *spec) {
    static const double per_product = 2.1e-10; /* seconds of one thread, a tap */
    double K = (double)spec->n_filters, taps = 1.0, places = 1.0;
    for (int a = 0; spec->kernel && a < spec->shape->dims; a++) {
        taps *= (double)spec->kernel[a];
        places *= (double)(spec->shape->dim[a] + spec->kernel[a] - 1);
    }
    double threads = spec->threads > 1 ? (double)spec->threads : 1.0;
    return (csrec_operator_need){.n = K * places,
                                 .product = per_product * K * places * taps / threads,
                                 .stored = true,
                                 .own = 8.0 * K * places + 8.0 * (double)spec->m};
}

const csrec_operator_type csrec_operator_conv = {
    .name = "conv",
    .brief = "convolutional dictionary of a sampled signal, 1 to 3 axes",
    .params = params,
    .takes = CSREC_TAKES_INDEX,
    .create = conv_create,
    .forward = csrec_mask_forward,
    .adjoint = conv_adjoint,
    .column_norms = conv_column_norms,
    .correlate = conv_correlate,
    .column = conv_column,
    .synthesize = conv_synthesize,
    .need = conv_need};
