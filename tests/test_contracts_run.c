/* SPDX-License-Identifier: BSD-3-Clause */
/* test_contracts_run.c - runs every method and solver of the tables, and those of the examples of
 * CONTRIBUTING.md, as their headers say: unknown settings are refused before any work, every entry
 * of the signal is set, the report is filled, results that are not wanted may be NULL, a request to
 * stop ends the work with what there is, one thread and three give the same bits; for shapes of 1 x
 * 1, 1 x N, prime sides, several channels and one sample. What solvers say of their x is in
 * test_solver_results.c, products of operators are in test_operators.c. */
#include "measurement/through.h"
#include "recover/recover.h"
#include "models.h"
#include "prior_model.h"

static csrec_error error;

static void expect_line(csrec_status status, const char *who) {
    if (!status || !*error.text || strchr(error.text, '\n'))
        fail_msg("%s: status %d, '%s'", who, (int)status, error.text);
}

typedef struct listener {
    int64_t calls;
    bool stops;
} listener;

static bool listen(const csrec_progress *progress, void *context) {
    listener *l = context;
    assert_non_null(progress->stage);
    l->calls++;
    return l->stops;
}

static const struct {
    csrec_shape shape;
    int64_t channels;
    double rate; /* 0: one sample */
    const char *through;
    int guides;
    bool sequence, rays;
} cases[] = {{{2, {53, 47}}, 1, .rate = 0.4},
             {{2, {1, 1}}, 1, .rate = 1.0},
             {{2, {1, 61}}, 1, .rate = 0.5},
             {{2, {31, 1}}, 3, .rate = 0.5},
             {{2, {29, 23}}, 3, .rate = 0.3},
             {{1, {67}}, 2, .rate = 0.4},
             {{3, {5, 13, 7}}, 1, .rate = 0.4},
             {{4, {2, 3, 5, 2}}, 1, .rate = 0.5},
             {{2, {11, 13}}, 1, .rate = 0.0},
             {{2, {19, 17}}, 3, .rate = 0.6, .through = "hadamard"},
             {{2, {1, 1}}, 1, .rate = 1.0, .through = "staircase"},
             {{1, {37}}, 1, .rate = 1.0, .through = "staircase"},
             {{2, {13, 11}}, 1, .rate = 1.0, .through = "staircase"},
             {{2, {29, 23}}, 1, .rate = 0.3, .guides = 3},
             {{3, {4, 13, 11}}, 1, .rate = 0.4, .sequence = true},
             {{2, {29, 23}}, 3, .rate = 0.3, .guides = 3, .rays = true},
             {{2, {1, 1}}, 1, .rate = 1.0, .rays = true},
             {{2, {1, 61}}, 2, .rate = 0.5, .rays = true}};

enum { CASES = sizeof cases / sizeof *cases };

typedef struct scene {
    csrec_measurement m;
    csrec_operator_spec through;
    csrec_guides guides;
    int64_t entries, values;
} scene;

/* Ramps and steps, of random height; rows of an operator are random numbers. */
static void draw_scene(int number, scene *s) {
    *s = (scene){.m = {.shape = cases[number].shape,
                       .channels = cases[number].channels,
                       .dtype = CSREC_F64,
                       .sequence = cases[number].sequence},
                 .guides.n = cases[number].guides};
    int64_t rows;
    s->entries = entries_in(&s->m.shape);
    s->through.name = cases[number].through;
    if (s->through.name) s->m.through = &s->through;
    assert_ok(csrec_measurement_rows(&s->m, &rows, NULL));
    if (s->through.name && !csrec_through_find(s->through.name)->chosen)
        s->m.n = rows;
    else
        s->m.n = llround(cases[number].rate * (double)s->entries);
    if (s->m.n < 1) s->m.n = 1;
    s->values = s->entries * s->m.channels;
    s->guides.values = check_keep((size_t)(s->guides.n * s->entries) * sizeof(float));
    for (int64_t i = 0; i < s->guides.n * s->entries; i++)
        s->guides.values[i] = i % 7 == 3 ? NAN : (float)check_normal(&seed);
    if (s->guides.n) s->m.guides = &s->guides;
    s->m.index = check_keep((size_t)s->m.n * sizeof *s->m.index);
    s->m.y = check_keep((size_t)(s->m.n * s->m.channels) * sizeof *s->m.y);
    if (cases[number].rays) s->m.rays = check_room(s->m.n);
    for (int64_t k = 0; k < s->m.n && s->m.rays; k++)
        s->m.rays[k] = 1.0 + (double)check_below(&seed, 8);
    const double step = 100.0 * check_uniform(&seed);
    for (int64_t k = 0; k < s->m.n; k++) {
        s->m.index[k] = k * rows / s->m.n;
        for (int64_t c = 0; c < s->m.channels; c++)
            s->m.y[k * s->m.channels + c] =
                s->m.through ? check_normal(&seed) : (double)(k % 31) + (k % 7 > 3 ? step : 0.0);
    }
}

/* NULL: the method needs none. */
static csrec_model *model_for(const csrec_method_type *method, const scene *s) {
    const char *kind = method->info.model ? method->info.model : "";
    if (strcmp(kind, "net") == 0) return draw_model(s->m.channels == 3 ? 3 : 1);
    if (strcmp(kind, "beside") == 0) return draw_beside(3, 2, 0.05);
    if (strcmp(kind, "rendered") == 0) return draw_rendered(0.05);
    return least_model(method, s->m.shape, s->m.channels);
}

static double *fresh(int64_t n) {
    double *v = check_keep((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = NAN;
    return v;
}

static void expect_set(const char *name, int64_t n, const double *v) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(v[i])) fail_msg("%s: entry %d is %g", name, (int)i, v[i]);
}

static void expect_report(const char *name, const csrec_recover_report *report) {
    assert_string_equal(report->method, name);
    assert_string_equal(report->backend, "cpu");
    assert_non_null(csrec_outcome_text(report->outcome));
    assert_true(report->pursuits >= 1 && report->iterations >= 0);
    assert_true(report->residual >= 0.0 && report->seconds_total > 0.0);
    assert_string_equal(report->estimate.method, name);
    assert_true(report->estimate.bytes > 0 && report->estimate.seconds >= 0.0);
}

/* The signal of one thread, which three give, too. */
static double *recover_twice(const scene *s, csrec_recover_options *options) {
    double *signal[2];
    csrec_recover_report report[2];
    for (int i = 0; i < 2; i++) {
        signal[i] = fresh(s->values);
        options->threads = i ? 3 : 1;
        assert_well(csrec_recover(&s->m, options, signal[i], NULL, &report[i], &told));
        expect_report(options->method, &report[i]);
        expect_set(options->method, s->values, signal[i]);
    }
    assert_memory_equal(signal[0], signal[1], (size_t)s->values * sizeof(double));
    check_same_report(&report[0], &report[1]);
    return signal[0];
}

static void expect_stop(const scene *s, csrec_recover_options options) {
    listener l = {.stops = true};
    csrec_recover_report report;
    double *signal = fresh(s->values);
    options.threads = 1; /* others might end before this one asks */
    report_to(&options.solve, listen, &l);
    assert_well(csrec_recover(&s->m, &options, signal, NULL, &report, &told));
    /* What is easy may have ended by then. */
    if (report.outcome != CSREC_INTERRUPTED && l.calls > 0 && s->m.n > 50)
        fail_msg("%s, %d entries: %s after %d requests to stop", options.method, (int)s->entries,
                 csrec_outcome_text(report.outcome), (int)l.calls);
    expect_report(options.method, &report);
    expect_set(options.method, s->values, signal);
}

static void expect_variance(const scene *s, const csrec_method_type *method,
                            const csrec_recover_options *options, const double *signal) {
    double *again = fresh(s->values), *variance = fresh(s->values);
    for (int64_t i = 0; i < s->values; i++) variance[i] = -1.0;
    assert_ok(csrec_recover_variance(&s->m, options, again, variance, NULL, &error));
    assert_memory_equal(signal, again, (size_t)s->values * sizeof *again);
    for (int64_t i = 0; i < s->values && method->info.predicts_error; i++)
        if (!(variance[i] >= 0.0)) fail_msg("%s: variance %g", method->info.name, variance[i]);
}

/* Atoms without a signal; refused by methods that have none. */
static void try_atoms(const scene *s, const csrec_method_type *method,
                      csrec_recover_options options) {
    csrec_atoms atoms[3] = {{0}};
    csrec_recover_report report;
    if (method->info.accepts & CSREC_ACCEPTS(SHIFTS)) options.shifts = 1;
    csrec_status status = csrec_recover(&s->m, &options, NULL, atoms, &report, &error);
    if (!(method->info.accepts & CSREC_ACCEPTS(COEFFICIENTS))) {
        expect_line(status, method->info.name);
        return;
    }
    if (status) fail_msg("%s", error.text);
    expect_report(method->info.name, &report);
    for (int64_t c = 0; c < s->m.channels; c++) {
        expect_set(method->info.name, atoms[c].n, atoms[c].coefficient);
        csrec_atoms_clear(&atoms[c]);
    }
}

/* Unknown ones, and values beyond the range. */
static void expect_settings(const scene *s, const csrec_method_type *method,
                            csrec_recover_options options) {
    csrec_setting set = {"nobody", 1.0};
    double *signal = fresh(s->values);
    listener l = {0};
    use_settings(&options.solve, 1, &set);
    report_to(&options.solve, listen, &l);
    expect_line(csrec_recover(&s->m, &options, signal, NULL, NULL, &error), method->info.name);
    assert_non_null(strstr(error.text, "no parameter 'nobody'"));
    for (const csrec_param *p = method->params; p && p->name; p++) {
        set = (csrec_setting){p->name, p->least - 1.0};
        expect_line(csrec_recover(&s->m, &options, signal, NULL, NULL, &error), p->name);
        assert_non_null(strstr(error.text, p->name));
    }
    assert_int_equal(l.calls, 0);
    for (int64_t i = 0; i < s->values; i++) assert_true(isnan(signal[i]));
}

static bool try_method(const csrec_method_type *method, int number) {
    scene s;
    draw_scene(number, &s);
    ENDS_BY(end_model) csrec_model *model = model_for(method, &s);
    csrec_plan plan;
    csrec_recover_options options = options_on_cpu(method->info.name, model);
    const csrec_status status =
        csrec_recover_plan(&s.m, &options, CSREC_RESULT_SIGNAL, &plan, &error);
    if (status) {
        expect_line(status, method->info.name);
        assert_non_null(strstr(error.text, method->info.name));
    } else if (csrec_recover(&s.m, &options, (double[4096]){0}, NULL, NULL, &error)) {
        expect_line(CSREC_DATA, method->info.name); /* such as a picture of less than a patch */
    } else {
        expect_settings(&s, method, options);
        double *signal = recover_twice(&s, &options);
        expect_stop(&s, options);
        if (!s.m.through) expect_variance(&s, method, &options, signal);
        try_atoms(&s, method, options);
    }
    return !status;
}

TEST(methods_keep_their_contract) {
    const csrec_method_type *method;
    for (int i = 0; (method = csrec_method_at(i)); i++) {
        int ran = 0;
        for (int k = 0; k < CASES; k++)
            if (!sanitized_leaves()) ran += try_method(method, k);
        if (!SANITIZED && ran < 1) fail_msg("%s ran on nothing", method->info.name);
    }
}

typedef struct problem {
    int64_t m, n;
    double *y, *r; /* y of three right-hand sides */
    csrec_operator *A;
} problem;

/* The frame of cosines, of which each solver can solve. */
static problem draw_problem(const csrec_shape *shape, int64_t m) {
    problem p = {.m = m};
    int64_t entries = entries_in(shape), *index = check_keep((size_t)m * sizeof *index);
    for (int64_t k = 0; k < m; k++) index[k] = k * entries / m;
    const csrec_operator_spec spec = {
        .name = "dct", .m = m, .shape = shape, .index = index, .block = 8, .step = 4};
    assert_well(csrec_operator_create(&spec, &p.A, &told));
    csrec_operator_size(p.A, &p.m, &p.n);
    p.y = kept_normals(&seed, 3 * m);
    p.r = check_keep((size_t)m * sizeof *p.r);
    return p;
}

static void expect_solver_refusals(const problem *p, const char *name) {
    const char *const wrong[] = {"nobody", "method.k", "basis.k", "nobody.k", "solver.", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const csrec_setting set = {wrong[i], 1.0};
        const csrec_solve_options o = {.solver = name, .settings = &set, .n_settings = 1};
        expect_line(csrec_solve(p->A, p->y, &o, NULL, NULL, NULL, &error), name);
        assert_non_null(strstr(error.text, "no parameter"));
        expect_line(csrec_solve_many(p->A, 1, p->y, &o, 1, NULL, NULL, NULL, &error), name);
    }
}

static void try_solver(const problem *p, const char *name) {
    CLEARED(csrec_atoms) atoms = {0};
    csrec_solve_report report;
    listener l = {.stops = true};
    csrec_solve_options o = {.solver = name,
                             .stop = {.epsilon = 1e-3, .atoms = p->m < 40 ? p->m : 40}};
    assert_well(csrec_solve(p->A, p->y, &o, &atoms, p->r, &report, &told));
    csrec_atoms_clear(&atoms);
    assert_ok(csrec_solve(p->A, p->y, &o, NULL, NULL, NULL, &error));
    /* Three right-hand sides on one thread and on three. */
    double *r[2];
    for (int i = 0; i < 2; i++) {
        r[i] = fresh(3 * p->m);
        assert_ok(csrec_solve_many(p->A, 3, p->y, &o, i ? 3 : 1, NULL, r[i], NULL, &error));
    }
    assert_memory_equal(r[0], r[1], (size_t)(3 * p->m) * sizeof(double));
    expect_solver_refusals(p, name);
    report_to(&o, listen, &l);
    assert_ok(csrec_solve(p->A, p->y, &o, &atoms, p->r, &report, &error));
    if (l.calls) assert_int_equal(report.outcome, CSREC_INTERRUPTED);
    csrec_atoms_clear(&atoms);
    OWNED double *zero = calloc((size_t)p->m, sizeof *zero);
    o.progress = NULL;
    assert_ok(csrec_solve(p->A, zero, &o, &atoms, p->r, &report, &error));
    for (int64_t i = 0; i < atoms.n; i++) assert_true(atoms.coefficient[i] == 0.0);
}

TEST(solvers_keep_their_contract) {
    static const struct {
        csrec_shape shape;
        int64_t m;
    } sizes[] = {{{2, {1, 1}}, 1},
                 {{2, {1, 13}}, 5},
                 {{1, {17}}, 1},
                 {{2, {13, 11}}, 60},
                 {{3, {3, 5, 2}}, 11}};
    const char *name, *brief, *source;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const problem p = draw_problem(&sizes[k].shape, sizes[k].m);
        for (int i = 0; csrec_solver_info(i, &name, &brief, &source); i++) try_solver(&p, name);
        csrec_operator_destroy(p.A);
    }
}
