/* SPDX-License-Identifier: BSD-3-Clause */
/* stop.c - validates stopping rules. */
#include "base/stop.h"

#include <math.h>

#include "base/error.h"

csrec_status csrec_stop_check(const csrec_stop *stop, csrec_error *error) {
    if (!(stop->epsilon >= 0.0 && stop->epsilon < 1.0))
        return csrec_fail(error, CSREC_ARGUMENT, "epsilon = %g; must be at least 0 and below 1",
                          stop->epsilon);
    if (stop->atoms < 0)
        return csrec_fail(error, CSREC_ARGUMENT, "atoms = %lld; must not be negative",
                          (long long)stop->atoms);
    if (!(stop->min_coefficient >= 0.0 && isfinite(stop->min_coefficient)))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "min_coefficient = %g; must be finite and not negative",
                          stop->min_coefficient);
    if (!(stop->sigma >= 0.0 && isfinite(stop->sigma)))
        return csrec_fail(error, CSREC_ARGUMENT, "sigma = %g; must be finite and not negative",
                          stop->sigma);
    if (!(stop->stagnation >= 0.0 && stop->stagnation < 1.0))
        return csrec_fail(error, CSREC_ARGUMENT, "stagnation = %g; must be at least 0 and below 1",
                          stop->stagnation);
    if (!(stop->precision >= 0.0 && stop->precision < 1.0))
        return csrec_fail(error, CSREC_ARGUMENT, "precision = %g; must be at least 0 and below 1",
                          stop->precision);
    return CSREC_OK;
}
