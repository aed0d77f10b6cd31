/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_png.c - any bytes as a picture, whole, with samples in it, and as the mask of one. */
#include "fuzz.h"
#include "files/png/png.h"
#include "files/measurement.h"

static void check_image(const csrec_image *image) {
    int64_t count;
    if (csrec_shape_count(&image->pixels.shape, &count) != CSREC_OK) abort();
    if (count != image->pixels.count) abort();
    double most = (double)((1 << image->bits) - 1);
    for (int64_t i = 0; i < count; i++)
        if (csrec_array_value(&image->pixels, i) > most) abort();
    for (int64_t i = 0; image->alpha && i < count / image->pixels.shape.dim[2]; i++)
        if (image->alpha[i] > 1) abort();
}

static void try_image(const uint8_t *data, size_t size) {
    csrec_error error = {""};
    csrec_image image;
    csrec_input input = csrec_input_memory(data, size, "fuzz");
    csrec_status status = csrec_image_decode(&input, &image, &error);
    if (status) {
        fuzz_check_refusal(status, &error);
    } else {
        check_image(&image);
        csrec_image_clear(&image);
    }
    csrec_input_close(&input);
}

static void try_measurement(const char *path, const char *mask) {
    csrec_error error = {""};
    csrec_measurement m;
    csrec_status status = csrec_measurement_read(path, mask, &m, &error);
    if (status) {
        fuzz_check_refusal(status, &error);
        return;
    }
    if (csrec_measurement_check(&m, "fuzz", &error) != CSREC_OK) abort();
    csrec_measurement_clear(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = fuzz_path(data, size);
    try_image(data, size);
    fuzz_signal(&csrec_png_format, data, size); /* written again with what describes it */
    try_measurement(path, NULL);
    try_measurement(path, path);
    return 0;
}
