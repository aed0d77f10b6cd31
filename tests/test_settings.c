/* SPDX-License-Identifier: BSD-3-Clause */
/* test_settings.c - names that users give: unknown ones are refused before any work by every method
 * and solver, with the names that there are; a parameter's name may say whose it is. */
#include "models.h"

SEED(seed);

enum { SIDE = 24, N = 150 };

static double y[N];
static int64_t index_of[N];

static csrec_measurement picture(void) {
    for (int k = 0; k < N; k++) {
        y[k] = 100.0 + check_uniform(&seed);
        index_of[k] = k * SIDE * SIDE / N;
    }
    return samples_at((csrec_shape){2, {SIDE, SIDE}}, N, 1, index_of, y);
}

static csrec_operator *small_matrix(void) {
    static double a[6] = {1, 2, 3, 4, 5, 7};
    return dense_operator(NULL, 2, 3, a);
}

static const char *const kinds[] = {"method", "solver", "basis"};

static double another(const csrec_param *p) {
    double ends[] = {p->most, p->least, p->value};
    if (strcmp(p->name, "joint") == 0) return p->value; /* a recovery has nothing to join */
    for (int i = 0; i < 3; i++)
        if (ends[i] != p->value && fabs(ends[i]) < 1e3) return ends[i];
    return p->value;
}

/* The plan has the value under the spelling of its owner, and refuses it under another's. */
static int try_param(const csrec_measurement *m, csrec_recover_options options,
                     const csrec_owner owner[3], int which, const csrec_param *p) {
    char name[64];
    csrec_setting set = {name, another(p)};
    csrec_error error = {""};
    csrec_plan plan;
    use_settings(&options.solve, 1, &set);
    for (int kind = 0; kind < 3; kind++) {
        snprintf(name, sizeof name, "%s.%s", kinds[kind], p->name);
        bool has = csrec_param_find(owner[kind].params, p->name);
        csrec_status status = csrec_recover_plan(m, &options, false, &plan, &error);
        if ((status == CSREC_OK) != has) fail_msg("%s: %s", name, error.text);
        if (kind != which) continue;
        bool found = false;
        for (int i = 0; i < plan.n_parameters; i++)
            found |= strcmp(plan.parameter[i].name, p->name) == 0 &&
                     plan.parameter[i].value == set.value;
        assert_true(found);
    }
    return 1;
}

static int try_choice(const csrec_measurement *m, const csrec_method_type *method,
                      const char *solver, const char *basis) {
    ENDS_BY(end_model) csrec_model *model = least_model(method, (csrec_shape){2, {SIDE, SIDE}}, 1);
    csrec_owner owner[3];
    csrec_plan plan;
    int tried = 0;
    csrec_recover_options options = options_by(method->info.name);
    options.model = model;
    options.solve.solver = solver;
    options.basis = basis;
    if (!csrec_recover_plan(m, &options, false, &plan, NULL)) {
        csrec_method_owners(&plan.options, owner);
        for (int i = 0; i < 3; i++)
            for (const csrec_param *p = owner[i].params; p && p->name; p++)
                tried += try_param(m, options, owner, i, p);
    }
    return tried;
}

TEST(names_say_whose_they_are) {
    const csrec_measurement m = picture();
    const csrec_method_type *method;
    int tried = 0;
    for (int i = 0; (method = csrec_method_at(i)); i++) {
        const char *solver = NULL, *basis = NULL, *brief, *source;
        for (int s = -1; s < 0 || csrec_solver_info(s, &solver, &brief, &source); s++)
            for (int b = -1; b < 0 || csrec_operator_info(b, &basis, &brief); b++)
                if (b < 0 || csrec_operator_is_basis(b))
                    tried += try_choice(&m, method, s < 0 ? NULL : solver, b < 0 ? NULL : basis);
    }
    assert_true(tried > 100);
}

/* No table of today shares a name within one choice: two that are made up do. */
TEST(one_name_of_several_is_refused) {
    const csrec_param a[] = {{"k", 1, 0, 9, ""}, {"a", 1, 0, 9, ""}, {0}};
    const csrec_param b[] = {{"b", 1, 0, 9, ""}, {"k", 2, 0, 9, ""}, {0}};
    const csrec_owner owner[] = {{CSREC_OF_METHOD, "m", a, NULL}, {CSREC_OF_SOLVER, "s", b, NULL}};
    const csrec_setting sets[] = {{"k", 3}, {"a", 4}, {"method.k", 5}, {"solver.k", 6}};
    csrec_solve_options options = {.settings = sets, .n_settings = 1};
    assert_refused(csrec_settings_check(&options, 2, owner, &told), CSREC_ARGUMENT,
                   "method.k or solver.k");
    options.settings++;
    options.n_settings = 3;
    assert_well(csrec_settings_check(&options, 2, owner, &told));
    assert_true(csrec_setting_value(&options, CSREC_OF_METHOD, "k", 0.0) == 5.0);
    assert_true(csrec_setting_value(&options, CSREC_OF_SOLVER, "k", 0.0) == 6.0);
    assert_true(csrec_setting_value(&options, CSREC_OF_METHOD, "a", 0.0) == 4.0);
}

/* A name with one letter after the first changed, left out, put in, or swapped. */
static void misspell(const char *name, char to[64]) {
    size_t n = strlen(name), at = 1 + (size_t)check_below(&seed, (int64_t)n - 1);
    snprintf(to, 64, "%s", name);
    switch (check_below(&seed, 3)) {
    case 0:
        to[at] = to[at] == 'q' ? 'z' : 'q';
        break;
    case 1:
        snprintf(to + at, 64 - at, "x%s", name + at);
        break;
    default:
        memmove(to + at, to + at + 1, n - at);
    }
}

static void expect_listed(csrec_status status, const csrec_error *error, const char *name,
                          const char *given) {
    const char *hint = check_print("did you mean %s?", name);
    if (status != CSREC_ARGUMENT || !strstr(error->text, name) || strchr(error->text, '\n') ||
        (strlen(name) > 4 && !strstr(error->text, hint)))
        fail_msg("%s for %s: status %d, %s", given, name, (int)status, error->text);
}

TEST(unknown_names_are_answered_with_the_table) {
    const csrec_measurement m = picture();
    const char *name, *brief, *source;
    char given[64];
    csrec_plan plan;
    csrec_error error = {""};
    csrec_operator *A = small_matrix(), *made;
    const csrec_method_type *method;
    csrec_recover_options options;
    for (int i = 0; csrec_solver_info(i, &name, &brief, &source); i++) {
        misspell(name, given);
        if (csrec_solver_find(given)) continue;
        csrec_solve_options solve = {.solver = given};
        expect_listed(csrec_solve(A, y, &solve, NULL, NULL, NULL, &error), &error, name, given);
        expect_listed(csrec_solve_many(A, 1, y, &solve, 1, NULL, NULL, NULL, &error), &error, name,
                      given);
        csrec_recover_defaults(&options);
        options.solve.solver = given;
        options.method = "sparse";
        expect_listed(csrec_recover_plan(&m, &options, false, &plan, &error), &error, name, given);
    }
    for (int i = 0; (method = csrec_method_at(i)); i++) {
        misspell(method->info.name, given);
        csrec_recover_defaults(&options);
        options.method = given;
        expect_listed(csrec_recover_plan(&m, &options, false, &plan, &error), &error,
                      method->info.name, given);
    }
    for (int i = 0; csrec_operator_info(i, &name, &brief); i++) {
        misspell(name, given);
        const csrec_operator_spec spec = {.name = given};
        expect_listed(csrec_operator_create(&spec, &made, &error), &error, name, given);
        if (!csrec_operator_is_basis(i)) continue;
        csrec_recover_defaults(&options);
        options.method = "sparse";
        options.basis = given;
        expect_listed(csrec_recover_plan(&m, &options, false, &plan, &error), &error, name, given);
    }
    csrec_operator_destroy(A);
}

TEST(near_names) {
    const char *const names[] = {"quality", "method", "cpu", "omp", "Total"};
    assert_string_equal(csrec_name_near("qualty", 5, names), "quality");
    assert_string_equal(csrec_name_near("qaulity", 5, names), "quality");
    assert_string_equal(csrec_name_near("opm", 5, names), "omp");
    assert_string_equal(csrec_name_near("total", 5, names), "Total");
    assert_string_equal(csrec_name_near("qual", 5, names), "quality");
    assert_null(csrec_name_near("qu", 5, names));
    assert_null(csrec_name_near("lasso", 5, names));
    assert_string_equal(csrec_name_near("LASSO", 1, (const char *const[]){"fista"}), "fista");
    assert_null(csrec_name_near("gpu", 5, names));
    assert_null(csrec_name_near("", 5, names));
    assert_null(csrec_name_near("quick", 5, names));
    assert_null(csrec_name_near("a name that is longer than any of a table is", 5, names));
    assert_null(csrec_name_near("omp", 0, names));
}
