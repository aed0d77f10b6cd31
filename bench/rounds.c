/* rounds.c - a round of measuring where a recovery expects errors, on the CPU and on a device: the
 * expected errors of what is known, then the places. A JSON object a line.
 *
 *     bench_rounds
 *
 * 5 % of the picture is known before the round, which finds another 2.5 %. Milliseconds are the
 * shortest of some rounds after a first one. */
#include <math.h>
#include <stdlib.h>

#include "bench.h"
#include "csrec/adaptive.h"
#include "device/device.h"
#include "problem.h"

enum { REPEATS = 8, KNOWN = 20, NEXT = 40 };

typedef struct round_ms {
    double density, places;
} round_ms;

static csrec_measurement scan(int64_t side) {
    csrec_measurement m = {.shape = {2, {side, side}}, .channels = 1};
    csrec_sampling places;
    bench_check(csrec_sampling_create(&m.shape, CSREC_PATTERN_POISSON, side * side / KNOWN, 1,
                                      &places, NULL),
                "places");
    m.n = places.n;
    m.index = places.index;
    m.y = bench_allocate(m.n, sizeof *m.y);
    for (int64_t k = 0; k < m.n; k++) {
        int64_t i = m.index[k];
        m.y[k] = bench_picture_value(((double)(i % side) + 0.5) / (double)side,
                                     ((double)(i / side) + 0.5) / (double)side, side);
    }
    return m;
}

static round_ms time_round(const csrec_measurement *m, const csrec_recover_options *recover,
                           double *density) {
    const csrec_next_options options = {.count = m->n * KNOWN / NEXT, .seed = 1};
    csrec_sampling next = {0};
    csrec_error error;
    double begin = bench_seconds();
    if (csrec_uncertainty_density(m, recover, density, &error)) bench_fail("density", error.text);
    double between = bench_seconds();
    if (csrec_where_next(m, density, &options, &next, &error)) bench_fail("places", error.text);
    double end = bench_seconds();
    csrec_sampling_clear(&next);
    return (round_ms){1e3 * (between - begin), 1e3 * (end - between)};
}

static void measure(int64_t side, const char *backend) {
    csrec_measurement m = scan(side);
    csrec_recover_options recover;
    round_ms least = {INFINITY, INFINITY};
    double *density = bench_allocate(side * side, sizeof *density);
    csrec_recover_defaults(&recover);
    recover.backend = backend;
    for (int k = 0; k <= REPEATS; k++) {
        round_ms took = time_round(&m, &recover, density);
        if (k == 0) continue;
        least.density = fmin(least.density, took.density);
        least.places = fmin(least.places, took.places);
    }
    printf("{\"side\": %d, \"backend\": \"%s\", \"density_ms\": %.2f, \"places_ms\": %.2f}\n",
           (int)side, backend, least.density, least.places);
    fflush(stdout);
    free(density);
    csrec_measurement_clear(&m);
}

int main(void) {
    csrec_error error;
    csrec_context context;
    const char *const backends[] = {"cpu", "cuda"};
    bool device = csrec_context_create("cuda", &context, &error) == CSREC_OK;
    if (device)
        csrec_context_destroy(&context);
    else
        printf("SKIPPED on a device: %s\n", error.text);
    for (int b = 0; b <= device; b++)
        for (int64_t side = 256; side <= 512; side *= 2) measure(side, backends[b]);
    return 0;
}
