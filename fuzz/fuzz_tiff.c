/* fuzz_tiff.c - any bytes as a TIFF: read, checked, and written again with its metadata. */
#include "fuzz.h"
#include "io/format.h"
#include "io/tiff/tiff.h"

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

static void write_again(const csrec_image *image, const char *like) {
    csrec_image plain = *image;
    csrec_files *files = NULL;
    csrec_error error = {""};
    plain.alpha = NULL;
    if (csrec_files_create(NULL, &files, &error)) return;
    csrec_status status = csrec_files_add_signal(files, "/dev/null", &csrec_tiff_format.format,
                                                 &plain, like, &error);
    if (status) fuzz_check_refusal(status, &error);
    csrec_files_destroy(files);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csrec_input input = csrec_input_memory(data, size, "fuzz");
    csrec_image image = {0};
    csrec_error error = {""};
    if (is_large(&input)) return 0;
    const char *path = fuzz_path(data, size);
    csrec_status status = csrec_tiff_signal(&input, &image, &error);
    if (status) {
        fuzz_check_refusal(status, &error);
        return 0;
    }
    int64_t count;
    if (csrec_shape_count(&image.pixels.shape, &count) || count != image.pixels.count) abort();
    int64_t channels = image.pixels.shape.dim[image.pixels.shape.dims - 1];
    for (int64_t i = 0; image.alpha && i < count / channels; i++)
        if (image.alpha[i] > 1) abort();
    write_again(&image, path);
    csrec_image_clear(&image);
    return 0;
}
