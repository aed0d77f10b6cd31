/* fits.c - cfitsio over memory; the row of the format. */
#include "files/fits/fits.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "files/format.h"
#include "files/measurement.h"

/* ------------------------------------------------------------------ open and close ------------ */

csrec_status csrec_fits_damaged(csrec_fits *fits, csrec_error *error) {
    char text[FLEN_STATUS] = "";
    fits_get_errstatus(fits->status, text);
    if (fits->status == MEMORY_ALLOCATION)
        return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", fits->name);
    return csrec_fail(error, CSREC_FORMAT, "%s: damaged FITS (%s); write or copy the file again",
                      fits->name, text);
}

/* cfitsio reads whole blocks, also past the end of memory: the last one is made whole. */
static csrec_status pad(csrec_fits *fits, const csrec_input *input, csrec_error *error) {
    size_t size = (size_t)input->size, rest = size % CSREC_FITS_BLOCK;
    fits->bytes = (void *)(uintptr_t)input->bytes;
    fits->there = fits->size = size;
    if (rest == 0) return CSREC_OK;
    csrec_status status = csrec_memory_check(input->size, 1, fits->name, error);
    if (status) return status;
    fits->size = size - rest + CSREC_FITS_BLOCK;
    fits->bytes = fits->padded = malloc(fits->size);
    if (!fits->padded) return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", fits->name);
    memcpy(fits->padded, input->bytes, size);
    memset((char *)fits->padded + size, 0, fits->size - size);
    return CSREC_OK;
}

csrec_status csrec_fits_open(csrec_input *input, csrec_fits *fits, csrec_error *error) {
    *fits = (csrec_fits){.name = input->name};
    csrec_status status = csrec_input_load(input, error);
    if (!status) status = pad(fits, input, error);
    if (status) return status;
    fits_write_errmark();
    fits_open_memfile(&fits->file, "memory", READONLY, &fits->bytes, &fits->size, 0, NULL,
                      &fits->status);
    if (!fits->status) return CSREC_OK;
    status = csrec_fits_damaged(fits, error);
    fits->file = NULL;
    free(fits->padded);
    fits_clear_errmark();
    return status;
}

csrec_status csrec_fits_create(const char *name, size_t bytes, csrec_fits *fits,
                               csrec_error *error) {
    *fits = (csrec_fits){.name = name, .size = bytes};
    csrec_status status = csrec_memory_check(bytes, 1, name, error);
    if (status) return status;
    fits->bytes = calloc(bytes, 1);
    if (!fits->bytes) return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", name);
    fits_write_errmark();
    fits_create_memfile(&fits->file, &fits->bytes, &fits->size, 1 << 16, realloc, &fits->status);
    if (!fits->status) return CSREC_OK;
    status = csrec_fits_damaged(fits, error);
    fits->file = NULL;
    fits_clear_errmark();
    free(fits->bytes);
    return status;
}

bool csrec_fits_close(csrec_fits *fits) {
    int closing = 0;
    if (!fits->file) return false;
    fits_close_file(fits->file, &closing);
    fits_clear_errmark();
    fits->file = NULL;
    free(fits->padded);
    if (!fits->status) fits->status = closing;
    return fits->status == 0;
}

/* ------------------------------------------------------------------ the row ------------------- */

static const char *refusal(const csrec_shape *shape, int64_t channels) {
    bool fits = shape->dims + (channels > 1) <= 4;
    return fits ? NULL : "a FITS image has at most 4 axes, channels being one of them; write .npy";
}

const csrec_format_row csrec_fits_format = {
    .format = {"fits", ".fits .fit .fts", "FITS", "a FITS image",
               CSREC_USE_READ | CSREC_USE_WRITE | CSREC_USE_SAMPLES | CSREC_USE_TYPES,
               CSREC_FITS_NEEDS},
    .magic = {{CSREC_FITS_MAGIC, sizeof CSREC_FITS_MAGIC - 1}},
    .signal = csrec_fits_signal,
    .refusal = refusal,
    .write = csrec_fits_write,
};
