/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_tiff.c - any bytes as a TIFF: read, checked, and written again with its metadata. */
#include "fuzz.h"
#include "files/tiff/tiff.h"

static const double VALUES_MOST = 1 << 22;

/* Without compression, a sparse file may declare what no memory holds, as it must; a fuzzer has no
 * use for that. */
static bool is_large(csrec_input *input) {
    csrec_tiff tiff;
    csrec_tiff_layout l;
    if (csrec_tiff_open(input, &tiff, NULL)) return false;
    bool large = !csrec_tiff_layout_read(&tiff, &l, NULL) &&
                 (double)l.pages * l.height * l.width * l.stored > VALUES_MOST;
    csrec_tiff_close(&tiff);
    return large;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csrec_input input = csrec_input_memory(data, size, "fuzz");
    if (!is_large(&input)) fuzz_signal(&csrec_tiff_format, data, size);
    return 0;
}
