/* fuzz_exr.c - any bytes as OpenEXR: read, checked, and written again with its attributes. */
#include "fuzz.h"
#include "io/exr/exr.h"
#include "io/format.h"

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

static void write_again(const csrec_image *image, const char *like) {
    csrec_image plain = *image;
    csrec_files *files = NULL;
    csrec_error error = {""};
    plain.alpha = NULL;
    if (csrec_files_create(NULL, &files, &error)) return;
    csrec_status status =
        csrec_files_add_signal(files, "/dev/null", &csrec_exr_format.format, &plain, like, &error);
    if (status) fuzz_check_refusal(status, &error);
    csrec_files_destroy(files);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csrec_input input = csrec_input_memory(data, size, "fuzz");
    csrec_image image = {0};
    csrec_error error = {""};
    if (is_large(&input)) return 0;
    const char *path = fuzz_path(data, size);
    csrec_status status = csrec_exr_signal(&input, &image, &error);
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
