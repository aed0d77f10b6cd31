/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_recover.c - a measurement file that says, in a member "options" (fuzz.h), how it is
 * recovered: all methods; what comes out is finite, or one line of text. */
#include "fuzz.h"
#include "files/measurement.h"

enum { VALUES_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csrec_error error = {""};
    csrec_measurement m;
    const char *path = fuzz_path(data, size);
    if (fuzz_shape_exceeds(path, 16 * VALUES_MAX)) return 0;
    csrec_status status = csrec_measurement_read(path, NULL, &m, &error);
    if (status) {
        fuzz_check_refusal(status, &error);
        return 0;
    }
    int64_t entries = 0;
    csrec_shape_count(&m.shape, &entries);
    if (entries <= VALUES_MAX / m.channels) {
        fuzz_bytes bytes = fuzz_options(data, size);
        fuzz_choice choice;
        fuzz_choose(&bytes, &m, &choice);
        fuzz_recover(&m, NULL, &choice);
    }
    csrec_measurement_clear(&m);
    return 0;
}
