/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_exr.c - any bytes as OpenEXR: read, checked, and written again with its attributes; and as a
 * measurement with its guides. */
#include "fuzz.h"
#include "files/exr/exr.h"

/* OpenEXR 3.1 forgets parts of headers that it refuses. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:libOpenEXRCore";
}

static const double BYTES_MOST = 1 << 24;

/* DWA may declare what a fuzzer has no use for. */
static bool is_large(csrec_input *input) {
    csrec_exr exr;
    csrec_exr_layout l;
    if (csrec_exr_open(input, &exr, NULL)) return false;
    bool large = !csrec_exr_layout_read(&exr, &l, NULL) && l.stored > BYTES_MOST;
    csrec_exr_close(&exr);
    return large;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csrec_input input = csrec_input_memory(data, size, "fuzz");
    if (is_large(&input)) return 0;
    fuzz_signal(&csrec_exr_format, data, size);
    fuzz_measurement(data, size);
    return 0;
}
