/* learn.c - statistics, principal components and mixtures: bandwidth against a copy, covariance
 * against BLAS and float64, seconds a round, and the recovery of a family of aligned pictures.
 *
 * --rows M: of the data matrix, default 40000 (202599 is that of the source documents, 2 GB).
 * --quick: small sizes, to see that it runs. */
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../tests/family.h"
#include "bench.h"

enum { H = 55, W = 45, N = H * W, CHECKED = 48 };

typedef struct options {
    const char *json;
    int64_t rows;
    bool quick;
} options;

static bench_json json;

/* Shortest of some runs. */
#define SHORTEST(seconds, times, ...)                                                              \
    do {                                                                                           \
        seconds = INFINITY;                                                                        \
        for (int run_ = 0; run_ < (times); run_++) {                                               \
            double began_ = bench_seconds();                                                       \
            __VA_ARGS__;                                                                           \
            seconds = fmin(seconds, bench_seconds() - began_);                                     \
        }                                                                                          \
    } while (0)

/* ------------------------------------------------------------------ statistics */

/* Faces with noise, far from 0: a few hundred members over and over. */
static void fill(int64_t m, float *X) {
    enum { MEMBERS = 256 };
    float *member = bench_allocate(MEMBERS * N, sizeof *member);
    for (int k = 0; k < MEMBERS; k++) family_make(1, (uint64_t)k, H, W, member + k * N);
    uint32_t state = 1;
    for (int64_t i = 0; i < m; i++) {
        float gain = 0.5f + (float)(i % 97) / 97.0f;
        for (int64_t j = 0; j < N; j++) {
            state = state * 1664525u + 1013904223u;
            X[i * N + j] =
                1000.0f + gain * member[i % MEMBERS * N + j] + (float)(state >> 24) / 16.0f;
        }
    }
    free(member);
}

/* Largest error against sqrt(C_jj C_kk) of the first columns, from sums in double. */
static double error_of(int64_t m, const float *X, const double *mean, const double *C) {
    static double sum[CHECKED][CHECKED];
    double most = 0.0;
    memset(sum, 0, sizeof sum);
    for (int64_t i = 0; i < m; i++)
        for (int j = 0; j < CHECKED; j++)
            for (int k = 0; k <= j; k++)
                sum[j][k] += ((double)X[i * N + j] - mean[j]) * ((double)X[i * N + k] - mean[k]);
    for (int j = 0; j < CHECKED; j++)
        for (int k = 0; k <= j; k++) {
            double size = sqrt(sum[j][j] * sum[k][k]) / (double)m;
            most = fmax(most, fabs(C[j * N + k] - sum[j][k] / (double)m) / size);
        }
    return most;
}

static void time_threads(int64_t m, float *X, float *copy, int threads) {
    double *mean = bench_allocate(N, sizeof *mean), *C = bench_allocate(N * N, sizeof *C);
    double bytes = (double)m * N * sizeof(float), mean_s, centre_s, covariance_s;
    csrec_error error;
    SHORTEST(mean_s, 3, bench_check(csrec_mean(m, N, X, NULL, threads, mean, &error), error.text));
    memcpy(copy, X, (size_t)m * N * sizeof *X);
    SHORTEST(centre_s, 3, bench_check(csrec_center(m, N, copy, mean, threads, &error), error.text));
    SHORTEST(covariance_s, 1,
             bench_check(csrec_covariance(m, N, X, NULL, NULL, threads, C, &error), error.text));
    bench_json_begin(&json, NULL, '{');
    bench_json_integer(&json, "threads", threads);
    bench_json_number(&json, "mean_gbs", 1e-9 * bytes / mean_s);
    bench_json_number(&json, "centre_gbs", 2e-9 * bytes / centre_s);
    bench_json_number(&json, "covariance_s", covariance_s);
    bench_json_number(&json, "covariance_gflops", 1e-9 * (double)m * N * N / covariance_s);
    bench_json_number(&json, "covariance_error", error_of(m, X, mean, C));
    bench_json_end(&json, '}');
    printf("%d threads: mean %.1f GB/s, centre %.1f GB/s, covariance %.2f s\n", threads,
           1e-9 * bytes / mean_s, 2e-9 * bytes / centre_s, covariance_s);
    free(mean);
    free(C);
}

/* BLAS on rows that are centred already; it takes what cores it wants. */
static void time_blas(int64_t m, const float *X, float *centred) {
    double *mean = bench_allocate(N, sizeof *mean), *C = bench_allocate(N * N, sizeof *C), seconds;
    float *S = bench_allocate(N * N, sizeof *S);
    csrec_error error;
    bench_check(csrec_mean(m, N, X, NULL, 0, mean, &error), error.text);
    memcpy(centred, X, (size_t)m * N * sizeof *X);
    bench_check(csrec_center(m, N, centred, mean, 0, &error), error.text);
    SHORTEST(seconds, 1,
             cblas_ssyrk(CblasRowMajor, CblasLower, CblasTrans, N, (int)m, 1.0f / (float)m, centred,
                         N, 0.0f, S, N));
    for (int j = 0; j < N; j++)
        for (int k = 0; k <= j; k++) C[j * N + k] = (double)S[j * N + k];
    bench_json_number(&json, "ssyrk_s", seconds);
    bench_json_number(&json, "ssyrk_error", error_of(m, X, mean, C));
    printf("ssyrk %.2f s\n", seconds);
    free(mean);
    free(C);
    free(S);
}

static void measure_statistics(const options *o) {
    int64_t m = o->rows;
    float *X = bench_allocate(m * N, sizeof *X), *copy = bench_allocate(m * N, sizeof *copy);
    double seconds;
    fill(m, X);
    memset(copy, 1, (size_t)m * N * sizeof *X);
    SHORTEST(seconds, 3, memcpy(copy, X, (size_t)m * N * sizeof *X));
    bench_json_begin(&json, "statistics", '{');
    bench_json_integer(&json, "rows", m);
    bench_json_integer(&json, "columns", N);
    bench_json_number(&json, "memcpy_gbs", 2e-9 * (double)m * N * sizeof(float) / seconds);
    printf("memcpy %.1f GB/s\n", 2e-9 * (double)m * N * sizeof(float) / seconds);
    time_blas(m, X, copy);
    bench_json_begin(&json, "threads", '[');
    time_threads(m, X, copy, 1);
    if (bench_cores() > 1) time_threads(m, X, copy, bench_cores());
    bench_json_end(&json, ']');
    bench_json_end(&json, '}');
    free(X);
    free(copy);
}

/* ------------------------------------------------------------------ learning */

static csrec_status read_family(void *context, int64_t first, int64_t count, float *X,
                                csrec_error *error) {
    (void)context;
    (void)error;
    for (int64_t i = 0; i < count; i++) family_make(2, (uint64_t)(first + i), H, W, X + i * N);
    return CSREC_OK;
}

static csrec_status read_array(void *context, int64_t first, int64_t count, float *X,
                               csrec_error *error) {
    (void)error;
    memcpy(X, (float *)context + first * 64, (size_t)count * 64 * sizeof *X);
    return CSREC_OK;
}

static csrec_model *learn_family(int64_t members, int64_t components, double *seconds) {
    csrec_data data = {members, N, read_family, NULL};
    csrec_learn_options o = {.shape = {2, {H, W}}, .components = components};
    csrec_model *model = NULL;
    csrec_error error;
    SHORTEST(*seconds, 1,
             bench_check(csrec_pca_learn(&data, &o, &model, NULL, &error), error.text));
    return model;
}

static void measure_pca(const options *o) {
    double gram, covariance;
    int64_t few = o->quick ? 100 : 1000, many = o->quick ? 200 : 5000;
    csrec_model_destroy(learn_family(few, 100, &gram));
    csrec_model_destroy(learn_family(many, 100, &covariance));
    bench_json_begin(&json, "pca", '{');
    bench_json_integer(&json, "few", few);
    bench_json_number(&json, "few_s", gram);
    bench_json_integer(&json, "many", many);
    bench_json_number(&json, "many_s", covariance);
    bench_json_end(&json, '}');
    printf("pca of %d members %.2f s, of %d %.2f s\n", (int)few, gram, (int)many, covariance);
}

static double time_rounds(csrec_data *data, int rounds, int threads) {
    csrec_learn_options o = {
        .components = 20, .rounds = rounds, .tolerance = 1e-300, .threads = threads};
    csrec_model *model = NULL;
    csrec_error error;
    double began = bench_seconds();
    bench_check(csrec_gmm_learn(data, &o, &model, NULL, &error), error.text);
    csrec_model_destroy(model);
    return bench_seconds() - began;
}

/* 8 x 8 patches of faces: a round is the difference of a long run and a short one. */
static void measure_em(const options *o) {
    enum { SHORT = 1, LONG = 5 };
    int64_t m = o->quick ? 5000 : 100000;
    float *X = bench_allocate(m * 64, sizeof *X), *member = bench_allocate(N, sizeof *member);
    for (int64_t i = 0; i < m; i++) {
        if (i % 200 == 0) family_make(3, (uint64_t)(i / 200), H, W, member);
        int top = (int)(i * 7 % (H - 7)), left = (int)(i * 5 % (W - 7));
        for (int k = 0; k < 64; k++) X[i * 64 + k] = member[(top + k / 8) * W + left + k % 8];
    }
    csrec_data data = {m, 64, read_array, X};
    bench_json_begin(&json, "em", '{');
    bench_json_integer(&json, "rows", m);
    bench_json_integer(&json, "components", 20);
    for (int all = 0; all < 2; all++) {
        double brief = time_rounds(&data, SHORT, all ? 0 : 1);
        double round = (time_rounds(&data, LONG, all ? 0 : 1) - brief) / (LONG - SHORT);
        bench_json_number(&json, all ? "round_s_all" : "round_s_one", round);
        printf("EM, %d rows, %s: %.3f s a round\n", (int)m, all ? "all cores" : "one core", round);
    }
    bench_json_end(&json, '}');
    free(X);
    free(member);
}

/* ------------------------------------------------------------------ a family of pictures */

static double recover_psnr(const csrec_measurement *m, const csrec_model *model, const char *basis,
                           const double *truth, double *signal) {
    csrec_recover_options o;
    csrec_error error;
    csrec_recover_defaults(&o);
    o.model = model;
    o.basis = basis;
    bench_check(csrec_recover(m, &o, signal, NULL, NULL, &error), error.text);
    return csrec_psnr(N, truth, signal, 255.0);
}

static void measure_rate(const csrec_model *model, double rate, int members) {
    const char *const names[] = {"pca_db", "haar_db", "dct_db"};
    double psnr[3] = {0}, truth[N], signal[N];
    csrec_shape shape = {2, {H, W}};
    csrec_error error;
    for (int k = 0; k < members; k++) {
        float member[N];
        csrec_sampling s;
        family_make(2, UINT64_C(1000000) + (uint64_t)k, H, W, member);
        for (int i = 0; i < N; i++) truth[i] = (double)member[i];
        bench_check(csrec_sampling_create(&shape, CSREC_PATTERN_UNIFORM, (int64_t)ceil(rate * N),
                                          (uint64_t)k + 1, &s, &error),
                    "sampling");
        csrec_measurement m = {
            .shape = shape, .n = s.n, .channels = 1, .index = s.index, .dtype = CSREC_F64};
        m.y = bench_allocate(s.n, sizeof *m.y);
        for (int64_t i = 0; i < s.n; i++) m.y[i] = truth[s.index[i]];
        psnr[0] += recover_psnr(&m, model, NULL, truth, signal) / members;
        psnr[1] += recover_psnr(&m, NULL, NULL, truth, signal) / members;
        psnr[2] += recover_psnr(&m, NULL, "dct", truth, signal) / members;
        csrec_measurement_clear(&m);
    }
    bench_json_begin(&json, NULL, '{');
    bench_json_number(&json, "rate", rate);
    for (int i = 0; i < 3; i++) bench_json_number(&json, names[i], psnr[i]);
    bench_json_end(&json, '}');
    printf("%5.1f %%: pca %.2f, haar %.2f, dct %.2f dB\n", 100.0 * rate, psnr[0], psnr[1], psnr[2]);
}

static void measure_family(const options *o) {
    static const double rates[] = {0.01, 0.02, 0.05, 0.1, 0.25, 0.5};
    double seconds;
    int64_t members = o->quick ? 200 : 2000, components = o->quick ? 50 : 200;
    csrec_model *model = learn_family(members, components, &seconds);
    bench_json_begin(&json, "family", '{');
    bench_json_integer(&json, "members", members);
    bench_json_integer(&json, "components", components);
    bench_json_begin(&json, "rates", '[');
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        measure_rate(model, rates[i], o->quick ? 2 : 10);
    bench_json_end(&json, ']');
    bench_json_end(&json, '}');
    csrec_model_destroy(model);
}

int main(int argc, char **argv) {
    options o = {.rows = 40000};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            o.quick = true;
        else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
            o.json = argv[++i];
        else if (strcmp(argv[i], "--rows") == 0 && i + 1 < argc)
            o.rows = strtoll(argv[++i], NULL, 10);
        else
            bench_fail("usage", "bench_learn [--quick] [--rows M] [--json FILE]");
    }
    if (o.quick) o.rows = 3000;
    if (o.rows < 1 || o.rows > INT32_MAX) bench_fail("--rows", "must be 1 to 2147483647");
    json = bench_json_open(o.json);
    measure_statistics(&o);
    measure_pca(&o);
    measure_em(&o);
    measure_family(&o);
    bench_json_close(&json);
    return 0;
}
