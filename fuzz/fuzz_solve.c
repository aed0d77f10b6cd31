/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_solve.c - a dense system in an archive: A [m, n] and y [m] or [count, m], solved by any
 * solver as the member "options" says, one right-hand side and all of them. */
#include "fuzz.h"

enum { ENTRIES_MAX = 1 << 14, COUNT_MAX = 8 };

static void check(const csrec_atoms *atoms, int64_t m, const double *r,
                  const csrec_solve_report *report) {
    fuzz_check_finite(atoms->n, atoms->coefficient);
    fuzz_check_finite(m, r);
    fuzz_check_finite(1, &report->residual);
    if (report->residual < 0 || report->iterations < 0) abort();
}

static void solve(const csrec_operator *A, int64_t m, int64_t count, const double *y,
                  const csrec_solve_options *options) {
    csrec_error error = {""};
    csrec_atoms atoms[COUNT_MAX] = {{0}};
    csrec_solve_report reports[COUNT_MAX];
    double *r = malloc((size_t)(count * m) * sizeof *r);
    if (!r) abort();
    csrec_status status = csrec_solve(A, y, options, atoms, r, reports, &error);
    if (status)
        fuzz_check_refusal(status, &error);
    else
        check(atoms, m, r, reports);
    csrec_atoms_clear(atoms);
    status = csrec_solve_many(A, count, y, options, 1, atoms, r, reports, &error);
    if (status) fuzz_check_refusal(status, &error);
    for (int64_t k = 0; k < count && !status; k++) {
        check(&atoms[k], m, r + k * m, &reports[k]);
        csrec_atoms_clear(&atoms[k]);
    }
    free(r);
}

/* y as doubles, whose last axis is m; fewer right-hand sides where there are too many. */
static double *read_y(const char *path, int64_t m, int64_t *count) {
    csrec_array y;
    double *values = NULL;
    if (csrec_npz_read(path, "y", &y, NULL)) return NULL;
    *count = y.count / m < COUNT_MAX ? y.count / m : COUNT_MAX;
    if (*count > 0 && (values = malloc((size_t)(*count * m) * sizeof *values)))
        for (int64_t i = 0; i < *count * m; i++) values[i] = csrec_array_value(&y, i);
    csrec_array_clear(&y);
    return values;
}

static void solve_with(const char *path, const csrec_array *matrix, fuzz_bytes *bytes) {
    csrec_error error = {""};
    csrec_operator *A;
    int64_t m = matrix->shape.dim[0], n = matrix->shape.dim[1], count = 0;
    double *values = malloc((size_t)matrix->count * sizeof *values);
    double *y = read_y(path, m, &count);
    if (!values) abort();
    for (int64_t i = 0; i < matrix->count; i++) values[i] = csrec_array_value(matrix, i);
    csrec_operator_spec spec = {.name = "dense", .m = m, .n = n, .matrix = values};
    csrec_status status = y ? csrec_operator_create(&spec, &A, &error) : CSREC_OK;
    if (status) fuzz_check_refusal(status, &error);
    if (y && !status) {
        csrec_measurement line = {.shape = {1, {m}}, .n = m, .channels = 1};
        fuzz_choice choice;
        fuzz_choose(bytes, &line, &choice);
        solve(A, m, count, y, &choice.options.solve);
        csrec_operator_destroy(A);
    }
    free(values);
    free(y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csrec_array A;
    const char *path = fuzz_path(data, size);
    if (csrec_npz_read(path, "A", &A, NULL)) return 0;
    fuzz_bytes bytes = fuzz_options(data, size);
    if (A.shape.dims == 2 && A.count <= ENTRIES_MAX) solve_with(path, &A, &bytes);
    csrec_array_clear(&A);
    return 0;
}
