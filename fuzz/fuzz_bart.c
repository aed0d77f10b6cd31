/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_bart.c - any bytes as BART's files: the text of a .hdr up to a 0, then the numbers of its
 * .cfl; read as a signal, as k-space with itself as mask, maps and noise, and as the trajectory of
 * eight numbers. */
#define _GNU_SOURCE /* mkdtemp */
#include <stdio.h>
#include <unistd.h>

#include "fuzz.h"

static char folder[] = "/tmp/fuzz_bart_XXXXXX", cfl[64], hdr[64], eight[64], eight_hdr[64];

static void put(const char *path, const uint8_t *data, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file)) abort();
}

static void forget(void) {
    unlink(cfl);
    unlink(hdr);
    unlink(eight);
    unlink(eight_hdr);
    rmdir(folder);
}

static void try_measurement(const char *path, const csrec_read_options *options) {
    csrec_error error = {""};
    csrec_measurement m;
    csrec_status status = csrec_measurement_read_with(path, options, &m, &error);
    if (status)
        fuzz_check_refusal(status, &error);
    else if (csrec_measurement_check(&m, "fuzz", &error))
        abort();
    else
        csrec_measurement_clear(&m);
}

static void try_signal(void) {
    csrec_error error = {""};
    csrec_image image = {0};
    csrec_status status = csrec_signal_read(cfl, &image, &error);
    if (status) fuzz_check_refusal(status, &error);
    if (!status) csrec_image_clear(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    const size_t head = end ? (size_t)(end - data) : size;
    static const char eight_text[] = "# Dimensions\n1 4 2\n";
    static const float numbers[16] = {1.0f, 2.0f, -1.0f};
    if (!*cfl) {
        if (!mkdtemp(folder)) abort();
        snprintf(cfl, sizeof cfl, "%s/a.cfl", folder);
        snprintf(hdr, sizeof hdr, "%s/a.hdr", folder);
        snprintf(eight, sizeof eight, "%s/8.cfl", folder);
        snprintf(eight_hdr, sizeof eight_hdr, "%s/8.hdr", folder);
        put(eight, (const uint8_t *)numbers, sizeof numbers);
        put(eight_hdr, (const uint8_t *)eight_text, sizeof eight_text - 1);
        atexit(forget);
    }
    put(hdr, data, head);
    put(cfl, data + head + (end != NULL), size - head - (end != NULL));
    try_signal();
    try_measurement(cfl, &(csrec_read_options){.coils = "none"});
    try_measurement(cfl, &(csrec_read_options){.mask = cfl});
    try_measurement(cfl, &(csrec_read_options){.coils = cfl, .noise = cfl});
    try_measurement(eight, &(csrec_read_options){.coils = "none", .trajectory = cfl});
    return 0;
}
