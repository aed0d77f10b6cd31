/* SPDX-License-Identifier: BSD-3-Clause */
/* sequence.c - frames one after another. */
#include "csrec/sequence.h"

#include <stdlib.h>

#include "base/error.h"

struct csrec_sequence {
    csrec_recover_options options;
    csrec_measurement frame;
    bool waits;
};

csrec_status csrec_sequence_create(const csrec_recover_options *options, csrec_sequence **sequence,
                                   csrec_error *error) {
    csrec_sequence *s = calloc(1, sizeof *s);
    *sequence = s;
    if (!s) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    if (options)
        s->options = *options;
    else
        csrec_recover_defaults(&s->options);
    return CSREC_OK;
}

void csrec_sequence_destroy(csrec_sequence *s) {
    if (s) csrec_measurement_clear(&s->frame);
    free(s);
}

csrec_status csrec_sequence_push(csrec_sequence *s, const csrec_measurement *frame,
                                 csrec_error *error) {
    csrec_measurement_clear(&s->frame);
    const csrec_measurement *const one[] = {frame};
    csrec_status status = csrec_measurement_merge(1, one, &s->frame, NULL, error);
    s->waits = status == CSREC_OK;
    return status;
}

void csrec_sequence_end(csrec_sequence *s) {
    (void)s;
}

int64_t csrec_sequence_delay(const csrec_sequence *s) {
    (void)s;
    return 0;
}

bool csrec_sequence_ready(const csrec_sequence *s) {
    return s->waits;
}

csrec_status csrec_sequence_take(csrec_sequence *s, double *signal, double *uncertainty,
                                 csrec_recover_report *report, csrec_error *error) {
    if (!s->waits) return csrec_fail(error, CSREC_ARGUMENT, "no frame is ready; push one");
    s->waits = false;
    csrec_status status = csrec_recover(&s->frame, &s->options, signal, NULL, report, error);
    if (!status && uncertainty)
        status = csrec_uncertainty(&s->frame, &s->options, signal, uncertainty, NULL, error);
    return status;
}
