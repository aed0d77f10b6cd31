/* SPDX-License-Identifier: BSD-3-Clause */
/* method.h - one method by itself, on a device, in the measurement's own units. */
#ifndef TESTS_METHOD_H
#define TESTS_METHOD_H

#include "check.h"
#include "method/method.h"

static inline csrec_status run_method(const csrec_method_type *method, const csrec_context *context,
                                      const csrec_measurement *m,
                                      const csrec_recover_options *options, double *signal,
                                      csrec_atoms *atoms, csrec_recover_report *report,
                                      csrec_error *error) {
    csrec_recover_options own = *options;
    csrec_whole whole;
    assert_ok(csrec_whole_of(m, &whole, NULL));
    const csrec_recovery recovery = {.measurement = m,
                                     .whole = &whole,
                                     .context = context,
                                     .unit = 1.0,
                                     .signal = signal,
                                     .atoms = atoms,
                                     .report = report};
    own.method = method->info.name;
    csrec_status status = csrec_recover_within(&recovery, &own, error);
    csrec_whole_clear(&whole);
    return status;
}

#endif
