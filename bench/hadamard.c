/* hadamard.c - the fast Hadamard transform on one core beside a copy of as many doubles in the same
 * run, for sizes from a cache to beyond the last one. A JSON object a line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "operator/hadamard.h"

int main(void) {
    for (int bits = 10; bits <= 26; bits += 2) {
        const int64_t n = INT64_C(1) << bits;
        double *x = bench_allocate(n, sizeof *x), *y = bench_allocate(n, sizeof *y);
        double copy = INFINITY, transform = INFINITY;
        for (int64_t i = 0; i < n; i++) x[i] = (double)(i % 7) - 3.0;
        for (int k = 0; k < 5 || (k < 1000 && (double)k * transform < 0.5); k++) {
            double start = bench_seconds();
            memcpy(y, x, (size_t)n * sizeof *y);
            double middle = bench_seconds();
            csrec_hadamard_transform(n, y);
            copy = fmin(copy, middle - start);
            transform = fmin(transform, bench_seconds() - middle);
        }
        printf("{\"n\": %lld, \"ms\": %.4f, \"copy_ms\": %.4f, \"times_a_copy\": %.2f, "
               "\"ns_an_entry\": %.3f}\n",
               (long long)n, 1e3 * transform, 1e3 * copy, transform / copy,
               1e9 * transform / (double)n);
        fflush(stdout);
        free(x);
        free(y);
    }
    return 0;
}
