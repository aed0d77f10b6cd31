/* SPDX-License-Identifier: BSD-3-Clause */
/* Values at the ends of the range of a double, in every recovery configuration that the library's
 * tables list: results are finite and right, or the call is refused in one line.
 *
 * Right means: the recovery of values that are brought to ordinary size by a power of two, which
 * rounds nothing, brought back by the same power: to the bit. For other factors: to rounding. */
#include "boundary.h"

enum { WAYS_MOST = 160 };
static way ways[WAYS_MOST];
static int n_ways;

static way *add_way(const char *what, const char *detail) {
    assert_true(n_ways < WAYS_MOST);
    way *w = &ways[n_ways++];
    *w = (way){.order = CSREC_ORDER_UNSET, .columns = CSREC_COLUMNS_UNSET};
    snprintf(w->name, sizeof w->name, "%s %s", what, detail ? detail : "");
    return w;
}

static void add_pursuits(void) {
    for (int order = 0; order < 3; order++)
        for (int columns = 0; columns < 2; columns++) {
            way *w = add_way("grid, mp,", csrec_order_name((csrec_order)order));
            w->order = (csrec_order)order;
            w->columns = (csrec_columns)columns;
            w->shifts = 1;
        }
    add_way("grids", "3")->shifts = 3;
}

/* Every solver on the Haar matrix and on every basis. */
static void add_solvers(void) {
    const char *solver, *basis, *brief, *source;
    for (int s = 0; csrec_solver_info(s, &solver, &brief, &source); s++) {
        way *plain = add_way("grid,", solver);
        plain->solver = solver;
        plain->shifts = 1;
        for (int b = 0; csrec_operator_info(b, &basis, &brief); b++) {
            if (!csrec_operator_param(b, 0)) continue;
            way *w = add_way("basis", check_print("%s, %s", basis, solver));
            w->solver = solver;
            w->basis = basis;
        }
    }
}

static void add_the_rest(void) {
    const char *name;
    csrec_recover_options preset;
    for (int i = 0; (name = csrec_recover_preset(i, NULL, &preset)); i++)
        if (strcmp(preset.method, "net") !=
            0) /* a small model does for that, and takes no minutes */
            add_way("preset", name)->preset = name;
    add_way("method", "frames")->method = "frames";
    for (int effort = 0; effort < 2; effort++) {
        way *w = add_way("gaussian, effort", effort ? "1" : "0");
        w->solver = "gaussian";
        w->settings[0] = (csrec_setting){"effort", effort};
        w->n_settings = 1;
    }
    add_way("model", "pca")->model = "pca";
    add_way("model", "net")->model = "net";
    way *joined = add_way("model net,", "fitted, with groups");
    joined->model = "net";
    joined->settings[0] = (csrec_setting){"steps", 2};
    joined->settings[1] = (csrec_setting){"groups", 1};
    joined->n_settings = 2;
    way *lengths = add_way("dct, threshold,", "thresholds given");
    lengths->basis = "dct";
    lengths->settings[0] = (csrec_setting){"first", 0.3125};
    lengths->settings[1] = (csrec_setting){"last", 0.015625};
    lengths->n_settings = 2;
}

/* Models of such a kind count in units of their own. */
static bool has_units(const char *kind) {
    return kind && strcmp(kind, "pca") == 0;
}

/* r at 2^exponent against the same at ordinary size. */
static void check_same(const way *w, const problem *p, const run *r, const run *base) {
    bool fits = true;
    int64_t values = p->entries * p->m.channels;
    check_sane(w, p, r);
    for (int64_t i = 0; !base->status && i < values; i++)
        fits = fits && isfinite(ldexp(base->signal[i], r->exponent - base->exponent));
    if (!fits && r->status) return; /* overshoots the range */
    if (r->status != base->status) fail_run(w, p, r, "not as at ordinary size");
    for (int64_t i = 0; !r->status && i < values; i++)
        if (r->signal[i] != ldexp(base->signal[i], r->exponent - base->exponent))
            fail_run(w, p, r, "other bits than at ordinary size");
}

static const double sigmas[] = {0.0, 1e-300, 1.0, 1e155, 1e308};
enum { SIGMAS = sizeof sigmas / sizeof *sigmas };

/* Values and noise of any size beside each other, and noise of ordinary size for the values. */
static void any_sizes(const way *w, const problem *p) {
    for (int s = 0; s < SCALES; s++)
        for (int k = 0; k < SIGMAS; k++) {
            run r = {.factor = scales[s], .sigma = sigmas[k], .scale = check_below(&seed, 2)};
            recover(w, p, &r);
            check_sane(w, p, &r);
        }
}

/* Exponents of the scales, and two that are not rescaled. */
static void powers_of_two(const way *w, const problem *p) {
    static const int exponents[] = {-1058, -1022, -100, -21, 20, 100, 126, 512, 1022};
    for (int scale = 0; scale < 2; scale++)
        for (int k = 0; k < 2; k++) {
            double sigma = k ? 0.15625 : 0.0;
            run base = {.factor = 1.0, .sigma = sigma, .scale = scale};
            if (has_units(w->model) && !scale) continue;
            recover(w, p, &base);
            check_sane(w, p, &base);
            for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
                run r = {.exponent = exponents[i], .factor = 1.0, .scale = scale};
                r.sigma = ldexp(sigma, r.exponent);
                recover(w, p, &r);
                check_same(w, p, &r, &base);
                if (base.status) break;
            }
        }
}

/* What rounding does not decide. Solvers that pick columns take one of several that are equally
 * good, and in samples of few levels or under a residual that they have made themselves, many are.
 * fista and bpdn take one of several minima, where columns depend on each other; A x, the signal at
 * the samples, is the same in all of them (||y - A x||^2 is strictly convex in it). */
typedef enum compared { PART_ALL, PART_SAMPLES, PART_NONE } compared;

static compared determined(const way *w, const problem *p) {
    static const char *const picks[] = {"mp", "omp", "romp", "cosamp", "iht", "htp"};
    csrec_recover_options o;
    csrec_setting settings[SETTINGS];
    set_options(w, p, &(run){.factor = 1.0}, settings, &o);
    csrec_plan plan;
    if (csrec_recover_plan(&p->m, &o, false, &plan, NULL)) return PART_ALL;
    const char *solver = plan.options.solve.solver;
    for (size_t i = 0; solver && i < sizeof picks / sizeof *picks; i++)
        if (strcmp(solver, picks[i]) == 0) return PART_NONE;
    bool several = solver && (strcmp(solver, "bpdn") == 0 || strcmp(solver, "fista") == 0);
    return several ? PART_SAMPLES : PART_ALL;
}

static void check_close(const way *w, const problem *p, const run *r, const run *base) {
    const compared part = determined(w, p);
    const int64_t c = p->m.channels, n = part == PART_ALL ? p->entries : p->m.n;
    for (int64_t i = 0; i < n * c && part != PART_NONE; i++) {
        int64_t at = part == PART_ALL ? i : p->index[i / c] * c + i % c;
        double off = fabs(r->signal[at] / r->factor - base->signal[at]);
        if (off <= 1e-6) continue;
        fail_run(w, p, r, check_print("value %d off by %g", (int)at, off));
    }
}

/* Factors that round: small differences grow in iterations, but stay invisible. */
static void other_factors(const way *w, const problem *p) {
    const double factors[] = {1.0 / 255.0, 257.0, 1e-30, 1e38};
    for (int k = 0; k < 4; k++) {
        bool scale = has_units(w->model) ? true : k % 2;
        double sigma = k < 2 ? 0.1 : 0.0;
        run base = {.factor = 1.0, .sigma = sigma, .scale = scale}, r = base;
        r.factor = factors[k];
        r.sigma = sigma * r.factor;
        recover(w, p, &base);
        recover(w, p, &r);
        check_sane(w, p, &r);
        if (r.status != base.status) fail_run(w, p, &r, "not as at ordinary size");
        if (!r.status) check_close(w, p, &r, &base);
    }
}

static int turn; /* 0 to 8, by the seed: what is left out differs between runs */

/* bpdn takes three times as long as everything else: one number of channels a shape. Under
 * sanitizers the same holds for every way, with a third of the shapes. */
static bool is_tried(int i, int axes, int c) {
    const bool slow = ways[i].solver && strcmp(ways[i].solver, "bpdn") == 0;
    if (SANITIZED && (i + axes + turn / 3) % 3) return false;
    return !(slow || SANITIZED) || c == (i + axes / 3 + axes + turn) % 3;
}

static void each_way(void (*check)(const way *, const problem *)) {
    const int64_t channels[] = {1, 3, 4};
    for (int i = 0; i < n_ways; i++)
        for (int axes = 1; axes <= 8; axes++)
            for (int c = 0; c < 3; c++) {
                problem p;
                if (!is_tried(i, axes, c)) continue;
                set_measurement(&p, axes, channels[c]);
                if (ways[i].model)
                    p.model = make_model(&p, ways[i].model, check == any_sizes ? c % 2 : true);
                check(&ways[i], &p);
                csrec_model_destroy(p.model);
            }
}

TEST(values_and_noise_of_any_size) {
    each_way(any_sizes);
}

TEST(powers_of_two_change_no_bit) {
    each_way(powers_of_two);
}

TEST(any_factor_goes_through) {
    each_way(other_factors);
}

int main(void) {
    seed = check_seed();
    turn = (int)check_below(&seed, 9);
    add_pursuits();
    add_solvers();
    add_the_rest();
    return check_run();
}
