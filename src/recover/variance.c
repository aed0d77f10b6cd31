/* SPDX-License-Identifier: BSD-3-Clause */
/* variance.c - the errors to expect of a method that tells none. */
#include <math.h>

#include "base/unravel.h"
#include "recover/recover.h"

void csrec_boxes_sum(const csrec_shape *shape, int64_t channels, int64_t radius, double *line,
                     double *v) {
    int64_t entries = 0, apart = channels;
    csrec_shape_count(shape, &entries);
    for (int a = shape->dims - 1; a >= 0; a--) {
        csrec_windows_sum(entries * channels / shape->dim[a], apart, shape->dim[a], radius, line,
                          v);
        apart *= shape->dim[a];
    }
}

csrec_status csrec_variance_guess(const csrec_measurement *m, const double *signal,
                                  const double *noise, double *variance, csrec_error *error) {
    const csrec_shape *shape = &m->shape;
    const int64_t C = m->channels;
    int64_t longest = 1, entries = 0;
    csrec_shape_count(shape, &entries);
    const int64_t values = entries * C;
    for (int a = 0; a < shape->dims; a++)
        if (shape->dim[a] > longest) longest = shape->dim[a];
    csrec_pool pool = {0};
    double *sum = CSREC_TAKE(&pool, sum, values), *count = CSREC_TAKE(&pool, count, values);
    double *line = CSREC_TAKE(&pool, line, longest), mean = 0.0;
    csrec_status status = pool.lacks ? csrec_memory_fail(error, NULL) : CSREC_OK;
    int64_t radius =
        (int64_t)ceil(0.5 * pow((double)entries / (double)(m->n + 1), 1.0 / shape->dims));
    for (int64_t i = 0; i < values && !status; i++) {
        /* of a large offset the squares would round */
        const double origin = isfinite(signal[i % C]) ? signal[i % C] : 0.0;
        sum[i] = signal[i] - origin;
        variance[i] = sum[i] * sum[i];
        count[i] = 1.0;
    }
    for (int k = 0; k < 3 && !status; k++)
        csrec_boxes_sum(shape, C, radius, line, k == 0 ? sum : k == 1 ? variance : count);
    for (int64_t i = 0; i < values && !status; i++) {
        double at = sum[i] / count[i];
        variance[i] = fmax(variance[i] / count[i] - at * at, 0.0);
        mean += variance[i] / (double)values;
    }
    for (int64_t i = 0; i < values && !status; i++) {
        const double v = variance[i] + 0.05 * mean, own = noise[i / C];
        variance[i] = own > 0.0 ? v * (own / (v + own)) : v; /* both say something */
    }
    csrec_pool_clear(&pool);
    return status;
}
