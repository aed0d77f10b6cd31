/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_fits.c - any bytes as a FITS: read, checked, and written again with its header. */
#include "fuzz.h"

/* cfitsio unpacks tiles without a look at what they hold. */
static bool has_tiles(const uint8_t *data, size_t size) {
    for (size_t at = 0; at + 6 <= size; at++)
        if (memcmp(data + at, "ZIMAGE", 6) == 0) return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (has_tiles(data, size)) return 0;
    if (fuzz_signal(&csrec_fits_format, data, size) > 4 * size) abort();
    return 0;
}
