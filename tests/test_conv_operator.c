/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutional dictionaries: Matching Pursuit finds planted atoms; invalid input is refused. */

#include "operators.h"

SEED(seed);

/* Far apart, atoms come back as they were planted, by their coefficients. */
TEST(planted_atoms_come_back) {
    csrec_shape shape = {2, {40, 40}};
    int64_t kernel[] = {4, 4}, index[1600], m = 0;
    double *x = check_keep_zeros(3 * 43 * 43, sizeof *x), y[1600];
    const double *taps = kept_normals(&seed, 3 * 16);
    for (int64_t i = 0; i < 1600; i++)
        if (check_below(&seed, 8)) index[m++] = i;
    csrec_operator_spec spec = {.name = "conv",
                                .m = m,
                                .shape = &shape,
                                .index = index,
                                .filters = taps,
                                .n_filters = 3,
                                .kernel = kernel};
    ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
    for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 3; j++)
            x[((i + j) % 3 * 43 + 8 + 12 * i) * 43 + 8 + 12 * j] =
                1.0 + (double)i + 3.0 * (double)j;
    assert_ok(csrec_operator_forward(A, x, y));
    CLEARED(csrec_atoms) atoms = {0};
    csrec_solve_report report;
    csrec_solve_options options = {.solver = "mp", .stop.epsilon = 1e-9, .stop.atoms = 400};
    assert_ok(csrec_solve(A, y, &options, &atoms, NULL, &report, NULL));
    double off = 0.0;
    for (int64_t i = 0; i < atoms.n; i++) x[atoms.column[i]] -= atoms.coefficient[i];
    for (int64_t j = 0; j < 3 * 43 * 43; j++) off = fmax(off, fabs(x[j]));
    assert_int_equal(report.outcome, CSREC_CONVERGED);
    assert_true(off < 1e-6);
}

TEST(wrong_specs_are_refused) {
    csrec_shape shape = {2, {6, 5}}, four = {4, {2, 2, 2, 2}};
    int64_t kernel[] = {2, 2, 2, 2}, none[] = {2, 0}, twice[] = {3, 3};
    double taps[] = {1, 2, 3, 4}, wild[] = {1, 2, NAN, 4};
    csrec_operator_spec spec = {
        .name = "conv", .shape = &shape, .kernel = kernel, .n_filters = 1, .filters = taps};
    csrec_operator_spec unset = spec, unfit = spec, empty = spec, deep = spec, again = spec;
    unset.filters = NULL;
    expect_refusal(&unset, CSREC_ARGUMENT, "cslearn");
    unfit.filters = wild;
    expect_refusal(&unfit, CSREC_DATA, "filters[2]");
    empty.kernel = none;
    expect_refusal(&empty, CSREC_ARGUMENT, "kernel[1]");
    deep.shape = &four;
    expect_refusal(&deep, CSREC_UNSUPPORTED, "axes");
    again.m = 2;
    again.index = twice;
    expect_refusal(&again, CSREC_DATA, "twice");
    /* It has no analysis that synthesis undoes, which thresholding needs. */
    double y[30] = {1.0};
    csrec_solve_options options = {.solver = "threshold"};
    ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
    assert_int_equal(csrec_solve(A, y, &options, NULL, NULL, NULL, NULL), CSREC_UNSUPPORTED);
}
