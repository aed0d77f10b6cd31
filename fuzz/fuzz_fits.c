/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_fits.c - any bytes as a FITS: read, checked, and written again with its header. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (fuzz_signal(&csrec_fits_format, data, size) > 4 * size) abort();
    return 0;
}
