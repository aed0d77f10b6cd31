/* fuzz_fits.c - any bytes as a FITS: read, checked, and written again with its header. */
#include "fuzz.h"
#include "io/fits/fits.h"
#include "io/format.h"

static void write_again(const csrec_image *image, const char *like) {
    csrec_image plain = *image;
    csrec_files *files = NULL;
    csrec_error error = {""};
    plain.alpha = NULL;
    if (csrec_files_create(NULL, &files, &error)) return;
    csrec_status status =
        csrec_files_add_signal(files, "/dev/null", &csrec_fits_format.format, &plain, like, &error);
    if (status) fuzz_check_refusal(status, &error);
    csrec_files_destroy(files);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csrec_input input = csrec_input_memory(data, size, "fuzz");
    csrec_image image = {0};
    csrec_error error = {""};
    const char *path = fuzz_path(data, size);
    csrec_status status = csrec_fits_signal(&input, &image, &error);
    if (status) {
        fuzz_check_refusal(status, &error);
        return 0;
    }
    int64_t count;
    if (csrec_shape_count(&image.pixels.shape, &count) || count != image.pixels.count) abort();
    if ((size_t)count * csrec_dtype_size(image.pixels.dtype) > 4 * size) abort();
    for (int64_t i = 0; image.alpha && i < count; i++)
        if (image.alpha[i] > 1) abort();
    write_again(&image, path);
    csrec_image_clear(&image);
    return 0;
}
