/* SPDX-License-Identifier: BSD-3-Clause */
/* through.c - cssample --operator: measures a whole signal through an operator. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

typedef cli_sample_arguments arguments;

const char *cli_rows_name(int i) {
    return csrec_row_choice_name((csrec_row_choice)i);
}

enum { PAD, CUT };

const char *cli_border_name(int i) {
    static const char *const names[] = {[PAD] = "pad", [CUT] = "cut"};
    return i >= PAD && i <= CUT ? names[i] : NULL;
}

static bool is_named(const arguments *a, const char *name) {
    return a->through >= 0 && strcmp(csrec_through_info(a->through), name) == 0;
}

/* By default every row tells as much as any other; who names an ordering wants its first rows. */
static bool is_scrambled(const arguments *a) {
    return a->scramble || (is_named(a, "hadamard") && a->ordering < 0);
}

/* Whether rows are chosen among those of a transform, or of a blur that is not measured whole. */
static bool chooses_rows(const arguments *a) {
    return csrec_through_chooses(a->through) &&
           (!is_named(a, "blur") || a->rate > 0.0 || a->count > 0);
}

/* Options that belong to one operator. */
static const char *stray(const arguments *a) {
    if (!is_named(a, "hadamard") && (a->ordering >= 0 || a->scramble))
        return a->scramble ? "--scramble goes with --operator hadamard"
                           : "--ordering goes with --operator hadamard";
    if (!is_named(a, "fourier") && a->coils) return "--coils goes with --operator fourier";
    if (!is_named(a, "matrix") && (a->matrix || a->block))
        return a->matrix ? "--matrix goes with --operator matrix"
                         : "--block goes with --operator matrix";
    if (a->border >= 0 && !a->block) return "--border goes with --block";
    if (!is_named(a, "blur") && a->kernel) return "--kernel goes with --operator blur";
    if (!is_named(a, "downsample") && a->factor) return "--factor goes with --operator downsample";
    if (a->rows >= 0 && !chooses_rows(a))
        return "--rows goes with --operator hadamard and fourier, and with blur and --rate";
    return NULL;
}

int cli_through_check(const cli_tool *tool, const arguments *a) {
    const char *text = stray(a);
    if (text) return cli_usage(tool, "%s", text);
    if (a->through < 0) return CLI_CONTINUE;
    const bool drawn = is_named(a, "matrix") && !a->matrix;
    const bool all = is_named(a, "blur") || !(csrec_through_chooses(a->through) || drawn);
    if (a->pattern >= 0 || a->mask_out || a->procedural)
        return cli_usage(tool, "--%s is for samples of entries; omit it with --operator",
                         a->pattern >= 0 ? "pattern"
                         : a->mask_out   ? "mask-out"
                                         : "procedural");
    if (is_named(a, "blur") && !a->kernel)
        return cli_usage(tool, "--operator blur needs --kernel FILE.npy");
    if (is_named(a, "downsample") && !a->factor)
        return cli_usage(tool, "--operator downsample needs --factor F");
    if (all && !is_named(a, "blur") && (a->rate > 0.0 || a->count > 0))
        return cli_usage(tool, "--%s: this operator measures all its rows; omit it",
                         a->rate > 0.0 ? "rate" : "count");
    if (!all && (a->rate > 0.0) == (a->count > 0))
        return cli_usage(tool, "give one of --rate and --count");
    return CLI_CONTINUE;
}

/* A whole array of numbers as doubles; parts: as pairs, 0 the imaginary part of real ones. */
static csrec_status read_values(const char *path, bool parts, csrec_shape *shape, double **values,
                                csrec_error *error) {
    csrec_image image = {0};
    csrec_status status = csrec_signal_read(path, &image, error);
    if (status) return status;
    const int64_t n = image.pixels.count, each = parts && !image.is_complex ? 2 : 1;
    *shape = image.pixels.shape;
    *values = calloc((size_t)(n * each), sizeof **values);
    if (image.is_complex) shape->dims--;
    if (!*values)
        status = cli_fail(error, CSREC_MEMORY, "%s: out of memory", path);
    else if (image.is_complex && !parts)
        status = cli_fail(error, CSREC_DATA, "%s: is complex; save real numbers", path);
    for (int64_t i = 0; i < n && !status; i++)
        (*values)[i * each] = csrec_array_value(&image.pixels, i);
    csrec_image_clear(&image);
    return status;
}

/* "8", "8,8" or "8x8": an extent for each axis. */
static csrec_status parse_extents(const char *option, const char *text, const csrec_shape *shape,
                                  const int64_t **extents, csrec_error *error) {
    int64_t *made = calloc(CSREC_DIMS_MAX, sizeof *made);
    int n = 0;
    const char *at = text;
    for (char *end; made && n < CSREC_DIMS_MAX; at = end + 1) {
        made[n] = strtoll(at, &end, 10);
        const bool extent = end != at && made[n] >= 1 && strchr(",x", *end);
        n = extent ? n + 1 : 0;
        if (!extent || !*end) break;
    }
    for (int d = 1; n == 1 && d < shape->dims; d++) made[d] = made[0];
    *extents = made;
    if (n == 1 || n == shape->dims) return CSREC_OK;
    return cli_fail(error, CSREC_ARGUMENT,
                    "--%s %s: give one whole number, or %d with commas, one for each axis", option,
                    text, shape->dims);
}

/* Independent Gaussian numbers of variance 1 / rows, so that ||A x|| is ||x|| in the mean. */
static csrec_status draw_matrix(const arguments *a, csrec_operator_spec *spec,
                                const csrec_shape *shape, csrec_error *error) {
    static const uint64_t stream = UINT64_C(0x6d6174726978); /* "matrix" */
    int64_t each = 1;
    for (int d = 0; d < shape->dims; d++) each *= spec->kernel ? spec->kernel[d] : shape->dim[d];
    spec->m = a->count > 0 ? a->count : llround(a->rate * (double)each);
    if (spec->m < 1) spec->m = 1;
    double *matrix =
        spec->m <= INT64_MAX / 8 / each ? malloc((size_t)(spec->m * each) * sizeof *matrix) : NULL;
    if (!matrix)
        return cli_fail(error, CSREC_MEMORY,
                        "%s: out of memory for a matrix of %lld x %lld; give --block H,W", a->input,
                        (long long)spec->m, (long long)each);
    for (int64_t i = 0; i < spec->m * each; i++)
        matrix[i] = csrec_random_normal(a->seed, stream, (uint64_t)i) / sqrt((double)spec->m);
    spec->matrix = matrix;
    return CSREC_OK;
}

static csrec_status read_matrix(const arguments *a, csrec_operator_spec *spec,
                                const csrec_shape *shape, csrec_error *error) {
    csrec_shape seen;
    double *values = NULL;
    csrec_status status = CSREC_OK;
    int64_t each = 1;
    if (a->block) status = parse_extents("block", a->block, shape, &spec->kernel, error);
    if (status || !a->matrix) return status ? status : draw_matrix(a, spec, shape, error);
    status = read_values(a->matrix, false, &seen, &values, error);
    spec->matrix = values;
    if (status) return status;
    for (int d = 0; d < shape->dims; d++) each *= spec->kernel ? spec->kernel[d] : shape->dim[d];
    spec->m = seen.dim[0];
    if (seen.dims == 2 && seen.dim[1] == each) return CSREC_OK;
    return cli_fail(error, CSREC_DATA,
                    "%s: does not fit a %s of %lld entries; save it as [rows, %lld]", a->matrix,
                    spec->kernel ? "block" : "signal", (long long)each, (long long)each);
}

static csrec_status read_coils(const arguments *a, csrec_operator_spec *spec,
                               const csrec_shape *shape, csrec_error *error) {
    csrec_shape seen;
    double *values = NULL;
    csrec_status status = read_values(a->coils, true, &seen, &values, error);
    spec->coils = values;
    if (status) return status;
    spec->n_coils = seen.dim[0];
    bool same = seen.dims == shape->dims + 1;
    for (int d = 0; d < shape->dims && same; d++) same = seen.dim[d + 1] == shape->dim[d];
    if (same) return CSREC_OK;
    return cli_fail(error, CSREC_DATA,
                    "%s: its axes are not coils and those of the signal; save [coils, shape]",
                    a->coils);
}

static csrec_status read_kernel(const arguments *a, csrec_operator_spec *spec,
                                const csrec_shape *shape, csrec_error *error) {
    csrec_shape seen;
    double *values = NULL;
    int64_t *extents = calloc(CSREC_DIMS_MAX, sizeof *extents);
    csrec_status status = read_values(a->kernel, false, &seen, &values, error);
    spec->filters = values;
    spec->kernel = extents;
    if (status || !extents) return status ? status : CSREC_MEMORY;
    memcpy(extents, seen.dim, (size_t)seen.dims * sizeof *extents);
    if (seen.dims == shape->dims) return CSREC_OK;
    return cli_fail(error, CSREC_DATA, "%s: has %d axes, the signal %d; save one of as many",
                    a->kernel, seen.dims, shape->dims);
}

static csrec_status specify(const arguments *a, const cli_signal *signal, csrec_operator_spec *spec,
                            csrec_error *error) {
    spec->name = csrec_through_info(a->through);
    if (a->ordering >= 0) spec->ordering = csrec_ordering_info(a->ordering);
    spec->scrambled = is_scrambled(a);
    spec->seed = spec->scrambled ? a->seed : 0;
    if (is_named(a, "fourier")) spec->complex_signal = signal->is_complex;
    if (is_named(a, "matrix")) return read_matrix(a, spec, &signal->shape, error);
    if (a->coils) return read_coils(a, spec, &signal->shape, error);
    if (a->kernel) return read_kernel(a, spec, &signal->shape, error);
    return a->factor ? parse_extents("factor", a->factor, &signal->shape, &spec->factor, error)
                     : CSREC_OK;
}

/* Scrambled rows are alike: chosen at random; those of an ordering from its first on. */
static csrec_row_choice rows_of(const arguments *a, const csrec_shape *shape) {
    if (a->rows >= 0) return (csrec_row_choice)a->rows;
    if (is_named(a, "fourier")) return shape->dims > 1 ? CSREC_ROWS_LINES : CSREC_ROWS_VARIABLE;
    return is_named(a, "hadamard") && a->ordering > 0 && !is_scrambled(a) ? CSREC_ROWS_FIRST
                                                                          : CSREC_ROWS_UNIFORM;
}

static csrec_status choose_rows(const arguments *a, const cli_signal *signal, csrec_measurement *m,
                                csrec_error *error) {
    int64_t all;
    csrec_sampling sampling = {0};
    CLI_TRY(csrec_measurement_rows(m, &all, error));
    int64_t count = a->count > 0 ? a->count : llround(a->rate * (double)signal->entries);
    if ((a->rate == 0.0 && a->count == 0) || is_named(a, "matrix")) count = all;
    if (count < 1) count = 1;
    csrec_row_choice rows = count == all ? CSREC_ROWS_UNIFORM : rows_of(a, &m->shape);
    csrec_status status = csrec_sampling_rows(m, rows, count, a->seed, &sampling, error);
    m->index = sampling.index;
    m->n = sampling.n;
    return status;
}

/* The part that whole blocks cover. */
static void cut_shape(const arguments *a, csrec_measurement *m) {
    const int64_t *edge = m->through->kernel;
    for (int d = 0; d < m->shape.dims && a->border == CUT; d++)
        if (edge[d] <= m->shape.dim[d]) m->shape.dim[d] -= m->shape.dim[d] % edge[d];
}

/* The entry of the whole signal that entry `at` of its part, from 0 on along each axis, is. */
static int64_t entry_of(const csrec_shape *whole, const csrec_shape *part, int64_t at) {
    int64_t entry = 0, stride = 1;
    for (int d = part->dims - 1; d >= 0; d--) {
        entry += at % part->dim[d] * stride;
        at /= part->dim[d];
        stride *= whole->dim[d];
    }
    return entry;
}

static csrec_status take_values(const arguments *a, const cli_signal *signal, csrec_measurement *m,
                                csrec_error *error) {
    const int64_t n = csrec_measurement_values(m), values = csrec_measurement_signal_values(m);
    double *x = malloc((size_t)values * sizeof *x);
    m->y = malloc((size_t)n * sizeof *m->y);
    csrec_status status = x && m->y ? CSREC_OK : CSREC_MEMORY;
    const int64_t wide = signal->channels;
    for (int64_t i = 0; i < values && !status; i++) {
        const int64_t entry = entry_of(&signal->shape, &m->shape, i / wide);
        x[i] = csrec_array_value(&signal->values, entry * wide + i % wide);
    }
    if (status)
        cli_fail(error, status, "%s: out of memory", a->input);
    else
        status = csrec_measurement_simulate(m, x, m->y, error);
    for (int64_t i = 0; i < n && !status && a->noise > 0.0; i++)
        m->y[i] += a->noise * csrec_random_normal(a->seed, CLI_NOISE_STREAM, (uint64_t)i);
    free(x);
    return status;
}

static bool is_transparent(const cli_signal *signal) {
    int64_t i = 0;
    while (signal->alpha && i < signal->entries && signal->alpha[i]) i++;
    return signal->alpha && i < signal->entries;
}

int cli_through_measure(const cli_tool *tool, const arguments *a, const cli_signal *signal,
                        csrec_measurement *m) {
    csrec_error error = {""};
    csrec_status status = CSREC_OK;
    *m = (csrec_measurement){.shape = signal->shape,
                             .channels = signal->channels,
                             .dtype = signal->values.dtype == CSREC_F64 ? CSREC_F64 : CSREC_F32,
                             .sigma = a->noise};
    m->is_complex = signal->is_complex || is_named(a, "fourier");
    if (signal->is_complex) m->channels /= 2;
    if (signal->bits) m->scale[1] = (double)((1 << signal->bits) - 1);
    m->through = calloc(1, sizeof *m->through);
    if (!m->through) return cli_failure(tool, "%s: out of memory", a->input);
    if (is_transparent(signal))
        status =
            cli_fail(&error, CSREC_DATA, "%s: has transparent pixels, but operator %s needs all",
                     a->input, csrec_through_info(a->through));
    if (!status) status = specify(a, signal, m->through, &error);
    if (!status) cut_shape(a, m);
    if (!status) status = choose_rows(a, signal, m, &error);
    if (!status) status = take_values(a, signal, m, &error);
    if (!status) status = csrec_measurement_check(m, a->input, &error);
    return status ? cli_failure(tool, "%s", error.text) : CLI_CONTINUE;
}
