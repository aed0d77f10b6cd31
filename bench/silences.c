/* silences.c [--json FILE] [EDGE [SECONDS [WAY]]] - the longest time between two reports of
 * progress, the first and last included, of each method on a picture of EDGE x EDGE (2048), one
 * thread. After SECONDS (60) the callback asks to stop: `stop` is the time from there to the
 * return. All times are of the thread's processor, which other processes do not disturb. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "problem.h"

typedef struct way {
    const char *name, *solver, *basis;
    int64_t shifts;
} way;

static const way ways[] = {
    {"plain grid, mp", "mp", NULL, 1},
    {"plain grid, omp", "omp", NULL, 1},
    {"grids", "mp", NULL, 8},
    {"dct, threshold", "threshold", "dct", 0},
    {"dct, fista", "fista", "dct", 0},
    {"dct, iht", "iht", "dct", 0},
    {"dct, cosamp", "cosamp", "dct", 0},
    {"dct, omp", "omp", "dct", 0},
    {"wavelet, threshold", "threshold", "wavelet", 0},
    {"wavelet, fista", "fista", "wavelet", 0},
    {"gaussian", "gaussian", NULL, 0},
    {"gmm", "gmm", NULL, 0},
};

typedef struct listener {
    double begun, last, longest, limit, asked;
    char stage[40], before[120];
    int64_t done, calls;
} listener;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void hear(listener *l, const char *stage, int64_t done) {
    double t = now();
    if (l->asked == 0.0 && t - l->last > l->longest) {
        l->longest = t - l->last;
        snprintf(l->before, sizeof l->before, "%s %lld, then %s", l->stage, (long long)l->done,
                 stage);
    }
    snprintf(l->stage, sizeof l->stage, "%s", stage);
    l->last = t;
    l->done = done;
    l->calls++;
}

static bool listen(const csrec_progress *p, void *context) {
    listener *l = context;
    hear(l, p->stage, p->done);
    if (l->asked == 0.0 && l->last - l->begun > l->limit) l->asked = l->last;
    return l->asked > 0.0;
}

static listener begin(double seconds) {
    double t = now();
    return (listener){.begun = t, .last = t, .limit = seconds, .stage = "start"};
}

/* NULL: no file. */
static bench_json *json;

static void end(listener *l, const char *name, int status) {
    double stop = l->asked > 0.0 ? now() - l->asked : 0.0;
    hear(l, "return", 0);
    printf("%-24s %8.1f %8lld %9.3f %9.3f  %s%s\n", name, now() - l->begun, (long long)l->calls,
           l->longest, stop, l->before, status ? " (failed)" : "");
    fflush(stdout);
    if (!json || status) return;
    bench_json_begin(json, NULL, '{');
    bench_json_text(json, "way", name);
    bench_json_number(json, "seconds", now() - l->begun);
    bench_json_number(json, "longest", l->longest);
    bench_json_number(json, "stop", stop);
    bench_json_text(json, "where", l->before);
    bench_json_end(json, '}');
}

static void recover(const csrec_measurement *m, const way *w, double seconds, double *signal) {
    csrec_recover_options o;
    csrec_error error;
    listener l = begin(seconds);
    csrec_recover_defaults(&o);
    o.solve.solver = w->solver;
    o.basis = w->basis;
    o.shifts = w->shifts;
    o.threads = 1;
    o.backend = "cpu";
    o.solve.progress = listen;
    o.solve.context = &l;
    csrec_status status = csrec_recover(m, &o, signal, NULL, NULL, &error);
    end(&l, w->name, (int)status);
    if (status) printf("    %s\n", error.text);
}

typedef struct table {
    int64_t rows, length;
} table;

static csrec_status read_rows(void *context, int64_t first, int64_t count, float *X,
                              csrec_error *error) {
    const table *t = context;
    (void)error;
    for (int64_t i = 0; i < count * t->length; i++)
        X[i] = (float)(((uint64_t)(first * t->length + i) * 2654435761u >> 7) % 1000);
    return CSREC_OK;
}

static void learn(const char *name, int64_t rows, int64_t length, double seconds) {
    table t = {rows, length};
    csrec_data data = {rows, length, read_rows, &t};
    csrec_model *model = NULL;
    csrec_error error;
    bool stopped = false;
    listener l = begin(seconds);
    csrec_learn_options o = {.components = strcmp(name, "gmm, learning") ? 64 : 20,
                             .threads = 1,
                             .backend = "cpu",
                             .progress = listen,
                             .context = &l};
    csrec_status status = strcmp(name, "gmm, learning")
                              ? csrec_pca_learn(&data, &o, &model, &stopped, &error)
                              : csrec_gmm_learn(&data, &o, &model, &stopped, &error);
    end(&l, name, (int)status);
    if (status) printf("    %s\n", error.text);
    csrec_model_destroy(model);
}

static void learn_filters(int64_t edge, double seconds) {
    float *values = bench_allocate(edge * edge, sizeof *values);
    table t = {edge, edge};
    read_rows(&t, 0, edge, values, NULL);
    csrec_conv_picture picture = {edge, edge, values, NULL};
    csrec_model *model = NULL;
    csrec_error error;
    listener l = begin(seconds);
    csrec_conv_learn_options o = {.filters = 64, .threads = 1, .progress = listen, .context = &l};
    csrec_status status = csrec_conv_learn(1, &picture, &o, &model, NULL, &error);
    end(&l, "filters, learning", (int)status);
    if (status) printf("    %s\n", error.text);
    csrec_model_destroy(model);
    free(values);
}

static void solve_many(int64_t m, int64_t n, int64_t count, int64_t atoms, double seconds) {
    double *matrix = bench_allocate(m * n, sizeof *matrix);
    double *y = bench_allocate(m * count, sizeof *y);
    for (int64_t i = 0; i < m * n; i++)
        matrix[i] = (double)((uint64_t)i * 2654435761u % 1009) - 504;
    for (int64_t i = 0; i < m * count; i++) y[i] = (double)((uint64_t)i * 40503u % 1013) - 506;
    csrec_operator_spec spec = {.name = "dense", .m = m, .n = n, .matrix = matrix};
    csrec_operator *A = NULL;
    csrec_status status = csrec_operator_create(&spec, &A, NULL);
    listener l = begin(seconds);
    csrec_solve_options o = {
        .solver = "omp", .stop = {.atoms = atoms}, .progress = listen, .context = &l};
    if (!status) status = csrec_solve_many(A, count, y, &o, 1, NULL, NULL, NULL, NULL);
    end(&l, "omp, many", (int)status);
    csrec_operator_destroy(A);
    free(matrix);
    free(y);
}

int main(int argc, char **argv) {
    bench_json file;
    if (argc > 2 && strcmp(argv[1], "--json") == 0) {
        file = bench_json_open(argv[2]);
        json = &file;
        argc -= 2;
        argv += 2;
    }
    int64_t edge = argc > 1 ? atoll(argv[1]) : 2048;
    double seconds = argc > 2 ? atof(argv[2]) : 60.0;
    const char *only = argc > 3 ? argv[3] : NULL;
    csrec_measurement m = bench_sampled(edge, 1, CSREC_F64);
    m.scale[1] = 255.0;
    double *signal = bench_allocate(edge * edge, sizeof *signal);
    for (int64_t k = 0; k < m.n; k++) {
        int64_t x = m.index[k] % edge, y = m.index[k] / edge;
        m.y[k] = (double)((x * 5 / edge + y * 3 / edge) % 2 * 120 + x * 60 / edge + k % 11);
    }
    if (json) {
        bench_json_integer(json, "edge", edge);
        bench_json_number(json, "limit", seconds);
        bench_json_begin(json, "rows", '[');
    }
    printf("%-24s %8s %8s %9s %9s  %s\n", "way", "seconds", "reports", "longest", "stop", "where");
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        if (!only || strcmp(only, ways[w].name) == 0) recover(&m, &ways[w], seconds, signal);
    if (!only || strcmp(only, "omp, many") == 0) solve_many(1000, 4000, 6000, 300, seconds);
    if (!only || strcmp(only, "pca, covariance") == 0)
        learn("pca, covariance", 20000, 1024, seconds);
    if (!only || strcmp(only, "pca, gram") == 0) learn("pca, gram", 1500, 20000, seconds);
    if (!only || strcmp(only, "gmm, learning") == 0) learn("gmm, learning", 100000, 64, seconds);
    if (!only || strcmp(only, "filters, learning") == 0) learn_filters(edge / 2, seconds);
    if (json) {
        bench_json_end(json, ']');
        bench_json_close(json);
    }
    free(signal);
    csrec_measurement_clear(&m);
    return 0;
}
