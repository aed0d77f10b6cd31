/* SPDX-License-Identifier: BSD-3-Clause */
/* kspace.c - k-space of others as a measurement; maps and noise of its coils. */
#include "files/kspace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/nufft.h"
#include "files/format.h"
#include "measurement/through.h"

csrec_status csrec_kspace_options(const csrec_input *input, const csrec_read_options *options,
                                  csrec_error *error) {
    csrec_read_options others = *options;
    others.mask = NULL;
    return csrec_read_options_check(&others, false, false, input->name, error);
}

csrec_status csrec_kspace_begin(csrec_input *input, csrec_shape shape, int64_t coils,
                                csrec_measurement *m, csrec_error *error) {
    *m = (csrec_measurement){
        .channels = coils, .dtype = CSREC_F32, .is_complex = true, .shape = {.dims = 0}};
    for (int a = 0; a < shape.dims; a++)
        if (shape.dim[a] > 1) m->shape.dim[m->shape.dims++] = shape.dim[a];
    if (m->shape.dims == 0) m->shape = (csrec_shape){1, {1}};
    if (m->shape.dims > 3)
        return csrec_fail(error, CSREC_DATA, "%s: has %d axes; k-space of 1 to 3 is recovered",
                          input->name, m->shape.dims);
    m->through = calloc(1, sizeof *m->through);
    if (!m->through) return csrec_memory_fail(error, input->name);
    m->through->name = "fourier";
    m->through->complex_signal = m->through->centred = true;
    m->through->norm = "ortho";
    input->kspace = true;
    return CSREC_OK;
}

csrec_status csrec_kspace_choose(csrec_input *input, const csrec_read_options *options,
                                 int64_t slices, int64_t *number, csrec_error *error) {
    if (slices < 1)
        return csrec_fail(error, CSREC_DATA, "%s: has no slices; write the file again",
                          input->name);
    input->facts.slices = slices;
    *number = options->has_slice ? options->slice : slices / 2;
    if (*number < 0 || *number >= slices)
        return csrec_fail(error, CSREC_ARGUMENT, "%s: has slice%s%lld, and not slice %lld",
                          input->name, slices > 1 ? "s 0 to " : " ", (long long)slices - 1,
                          (long long)*number);
    if (slices > 1 && !options->has_slice)
        csrec_input_note(input, "slice %lld of %lld; slice chooses another", (long long)*number,
                         (long long)slices);
    return CSREC_OK;
}

csrec_status csrec_kspace_follow(csrec_input *input, csrec_shape shape, const float *trajectory,
                                 int64_t points, int axes, csrec_measurement *m,
                                 csrec_error *error) {
    if (!CSREC_NUFFT)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: a trajectory needs FINUFFT 2.5, which csrec was built without; "
                          "build it with -DCSREC_FINUFFT=ON, or grid k-space by bart nufft -i",
                          input->name);
    double *k = calloc((size_t)points * (size_t)m->shape.dims, sizeof *k);
    if (!k) return csrec_memory_fail(error, input->name);
    m->through->name = "nufft";
    m->through->centred = false;
    m->through->trajectory = k;
    m->through->points = points;
    for (int64_t i = 0; i < points; i++)
        for (int a = 0; a < shape.dims; a++)
            if (shape.dim[a] > 1) *k++ = (double)trajectory[i * axes + shape.dims - 1 - a];
    return CSREC_OK;
}

static bool is_measured(const float *values, int64_t coils, int64_t entries, int64_t i) {
    for (int64_t c = 0; c < coils; c++, values += 2 * entries)
        if (values[2 * i] != 0.0f || values[2 * i + 1] != 0.0f) return true;
    return false;
}

csrec_status csrec_kspace_take(csrec_input *input, const float *values, const uint8_t *known,
                               csrec_measurement *m, csrec_error *error) {
    int64_t entries = m->through->points, k = 0;
    if (!m->through->trajectory) csrec_shape_count(&m->shape, &entries);
    for (int64_t i = 0; i < entries; i++)
        m->n += known ? known[i] != 0 : is_measured(values, m->channels, entries, i);
    if (m->n == 0)
        return csrec_fail(error, CSREC_DATA, "%s: nothing is measured: %s", input->name,
                          known ? "the mask marks no frequency" : "all values are 0");
    csrec_status status = csrec_measurement_allocate(m, input->name, error);
    for (int64_t i = 0; i < entries && !status; i++) {
        if (!(known ? known[i] != 0 : is_measured(values, m->channels, entries, i))) continue;
        for (int64_t c = 0; c < 2 * m->channels; c++)
            m->y[2 * k * m->channels + c] = (double)values[2 * (c / 2 * entries + i) + c % 2];
        m->index[k++] = i;
    }
    return status;
}

/* The numbers of an array as pairs, after its first `skip`; NULL: out of memory. */
static double *pairs_of(const csrec_image *image, int64_t count) {
    double *made = malloc(2 * (size_t)count * sizeof *made);
    const int64_t each = image->is_complex ? 2 : 1;
    for (int64_t i = 0; i < 2 * count && made; i++)
        made[i] = i % 2 < each ? csrec_array_value(&image->pixels, i / 2 * each + i % 2) : 0.0;
    return made;
}

/* [coils, shape], or the first of several such, as of BART's ecalib; of one coil without it. */
static csrec_status read_maps(csrec_input *input, const char *path, csrec_measurement *m,
                              csrec_error *error) {
    csrec_image image = {0};
    CSREC_TRY(csrec_signal_read(path, &image, error));
    csrec_shape seen = image.pixels.shape;
    seen.dims -= image.is_complex;
    const int64_t coils = m->through->coils ? m->through->n_coils : m->channels;
    const int first = seen.dims - m->shape.dims; /* axes before those of the signal */
    bool fits = first >= (coils > 1) && first <= 2 && !image.bits;
    for (int a = 0; a < m->shape.dims && fits; a++) fits = seen.dim[first + a] == m->shape.dim[a];
    if (fits && first > 0) fits = seen.dim[first - 1] == coils;
    int64_t entries;
    csrec_shape_count(&m->shape, &entries);
    double *maps = fits ? pairs_of(&image, coils * entries) : NULL;
    csrec_image_clear(&image);
    if (!fits)
        return csrec_fail(error, CSREC_DATA,
                          "%s: is no map of %lld coils for %s; give [coils, axes of the picture]",
                          path, (long long)coils, input->name);
    if (!maps) return csrec_memory_fail(error, path);
    if (first > 1 && seen.dim[0] > 1)
        csrec_input_note(input, "of %lld sets of maps the first is used", (long long)seen.dim[0]);
    free((void *)(uintptr_t)m->through->coils);
    m->through->coils = maps;
    m->through->n_coils = coils;
    m->channels = 1;
    return CSREC_OK;
}

/* Of which no maps are given; and the noise of those of which nothing is told. */
static csrec_status estimate(csrec_input *input, bool maps, csrec_measurement *m,
                             csrec_error *error) {
    int64_t entries;
    double sigma = 0.0;
    csrec_error why = {""};
    csrec_measurement plain = *m;
    csrec_operator_spec spec = *m->through;
    csrec_shape_count(&m->shape, &entries);
    plain.channels *= csrec_through_coils(&spec);
    spec.coils = NULL;
    plain.through = &spec;
    double *made = maps ? malloc(2 * (size_t)(entries * m->channels) * sizeof *made) : NULL;
    if (maps && !made) return csrec_memory_fail(error, input->name);
    csrec_status status = csrec_coils_estimate(&plain, NULL, made, &sigma, &why);
    if (status && maps) {
        free(made);
        const char *text = strchr(why.text, ':');
        return csrec_fail(error, status, "%s: coils: %s (--coils MAPS, or none)", input->name,
                          text ? text + 2 : why.text);
    }
    if (maps) {
        csrec_input_note(input, "sensitivities of %lld coils are estimated (ESPIRiT)",
                         (long long)m->channels);
        m->through->coils = made;
        m->through->n_coils = m->channels;
        m->channels = 1;
    }
    if (m->sigma == 0.0 && sigma > 0.0 && input->kspace) {
        csrec_input_note(input, "noise of sigma %.3g is estimated, of each part of y", sigma);
        m->sigma = sigma;
    }
    return CSREC_OK;
}

static bool is_hermitian(int64_t n, const double *C) {
    bool is = true;
    for (int64_t i = 0; i < n * n && is; i++) {
        const double *a = C + 2 * i, *b = C + 2 * (i % n * n + i / n);
        const double close = 1e-5 * fabs(C[2 * (i / n) * (n + 1)] + C[2 * (i % n) * (n + 1)]);
        is = fabs(a[0] - b[0]) <= close && fabs(a[1] + b[1]) <= close;
    }
    return is;
}

/* C [coils][coils][2] of samples of noise [coils][n][2], n >= 1. */
static void find_covariance(int64_t coils, int64_t n, const double *noise, double *C) {
    for (int64_t i = 0; i < coils * coils; i++) {
        const double *a = noise + 2 * n * (i / coils), *b = noise + 2 * n * (i % coils);
        double sum[2] = {0.0, 0.0};
        for (int64_t k = 0; k < 2 * n; k += 2) {
            sum[0] += a[k] * b[k] + a[k + 1] * b[k + 1];
            sum[1] += a[k + 1] * b[k] - a[k] * b[k + 1];
        }
        C[2 * i] = sum[0] / (double)n;
        C[2 * i + 1] = sum[1] / (double)n;
    }
}

/* A covariance [coils, coils], or samples of noise [coils, ...]. */
static csrec_status read_noise(csrec_input *input, const char *path, int64_t coils,
                               csrec_error *error) {
    csrec_image image = {0};
    CSREC_TRY(csrec_signal_read(path, &image, error));
    const csrec_shape seen = image.pixels.shape;
    const int dims = seen.dims - image.is_complex;
    const int64_t count = image.pixels.count / (image.is_complex ? 2 : 1), n = count / coils;
    const bool fits = !image.bits && (coils == 1 || (dims > 1 && seen.dim[0] == coils));
    double *read = fits ? pairs_of(&image, count) : NULL;
    double *C = fits ? malloc(2 * (size_t)(coils * coils) * sizeof *C) : NULL;
    csrec_image_clear(&image);
    if (!fits)
        return csrec_fail(error, CSREC_DATA,
                          "%s: is no noise of %lld coils; give its covariance [coils, coils] or "
                          "samples [coils, n]",
                          path, (long long)coils);
    if (!read || !C) {
        free(read);
        free(C);
        return csrec_memory_fail(error, path);
    }
    if (n == coils && is_hermitian(coils, read))
        memcpy(C, read, 2 * (size_t)(n * n) * sizeof *C);
    else
        find_covariance(coils, n, read, C);
    free(read);
    free(input->noise);
    input->noise = C;
    input->noise_coils = coils;
    return CSREC_OK;
}

static csrec_status whiten(csrec_input *input, int64_t coils, csrec_measurement *m,
                           csrec_error *error) {
    csrec_error why = {""};
    if (input->noise_coils != coils)
        return csrec_fail(error, CSREC_DATA, "%s: has noise of %lld coils, and y has %lld",
                          input->name, (long long)input->noise_coils, (long long)coils);
    csrec_status status = csrec_coils_whiten(m, input->noise, &why);
    return status ? csrec_fail(error, status, "%s: %s", input->name, why.text) : CSREC_OK;
}

csrec_status csrec_kspace_finish(csrec_input *input, const csrec_read_options *options,
                                 csrec_measurement *m, csrec_error *error) {
    const char *coils = options->coils ? options->coils : input->kspace ? "estimate" : "none";
    const bool kspace = m->is_complex && csrec_through_kspace(m->through);
    const bool chooses = strcmp(coils, "none") != 0, asks = strcmp(coils, "estimate") == 0;
    if (options->trajectory && !input->followed)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: is no k-space of BART (.cfl); leave out trajectory", input->name);
    if (!kspace && (options->coils || options->noise || options->has_slice || input->noise))
        return csrec_fail(
            error, CSREC_ARGUMENT, "%s: is no k-space (operator fourier or nufft); leave out %s",
            input->name,
            options->coils ? "coils"
            : options->noise
                ? "noise, or name a law: poisson[:GAIN[,OFFSET[,SIGMA]]] or light[:LOG]"
            : options->has_slice ? "slice"
                                 : "noise_covariance");
    if (!kspace) return CSREC_OK;
    const int64_t n = m->through->coils ? m->through->n_coils : m->channels;
    csrec_status status = CSREC_OK;
    if (!input->facts.slices) status = csrec_kspace_choose(input, options, 1, &(int64_t){0}, error);
    if (!status && chooses && !asks) status = read_maps(input, coils, m, error);
    if (!status && options->noise) status = read_noise(input, options->noise, n, error);
    if (!status && input->noise) status = whiten(input, n, m, error);
    const bool maps = asks && !m->through->coils && m->channels > 1;
    if (status || !(maps || (input->kspace && m->sigma == 0.0))) return status;
    return estimate(input, maps, m, error);
}
