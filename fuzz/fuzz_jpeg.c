/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_jpeg.c - any bytes as a JPEG: read, checked, and written again with what describes it. */
#include "fuzz.h"

static const int64_t VALUES_MOST = 1 << 22;

/* A block takes a bit: that is more than a fuzzer has a use for. */
static bool is_large(csrec_input *input) {
    csrec_image seen;
    bool transparent;
    csrec_error ignored;
    return !csrec_jpeg_format.peek(input, &seen, &transparent, &ignored) &&
           seen.pixels.count > VALUES_MOST;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csrec_input input = csrec_input_memory(data, size, "fuzz");
    if (!is_large(&input)) fuzz_signal(&csrec_jpeg_format, data, size);
    return 0;
}
