/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.c - the rows of a .npy file of any size, read in pieces. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#include "csrec/learn.h"
#include "files/format.h"
#include "files/npy/npy.h"

struct csrec_rows {
    csrec_input input;
    csrec_npy_header header; /* of the whole file */
    uint64_t start;          /* byte of the first element */
    int64_t m, n, next;      /* next: the reader's current row */
    csrec_reader reader;
    double *buffer; /* [PIECE] of types that are not float */
};

enum { PIECE = 1 << 14 };

void csrec_rows_close(csrec_rows *rows) {
    if (!rows) return;
    csrec_input_close(&rows->input);
    free(rows->buffer);
    free(rows);
}

static csrec_status seek(csrec_rows *rows, int64_t row, csrec_error *error) {
    uint64_t offset = rows->start + (uint64_t)(row * rows->n) * rows->header.bytes;
    if (row == rows->next) return CSREC_OK;
    if (rows->input.file && fseeko(rows->input.file, (off_t)offset, SEEK_SET) != 0)
        return csrec_fail(error, CSREC_FILE, "%s: cannot be read again; check that it still exists",
                          rows->input.name);
    rows->reader = csrec_input_reader(&rows->input);
    rows->reader.left -= offset;
    if (rows->reader.memory) rows->reader.memory += offset;
    rows->next = row;
    return CSREC_OK;
}

static csrec_status read_rows(void *context, int64_t first, int64_t count, float *X,
                              csrec_error *error) {
    csrec_rows *rows = context;
    if (first < 0 || count < 1 || count > rows->m - first)
        return csrec_fail(error, CSREC_ARGUMENT, "%s: has %lld rows", rows->input.name,
                          (long long)rows->m);
    csrec_status status = seek(rows, first, error);
    csrec_npy_header part = rows->header;
    rows->next = -1; /* unknown if reading fails */
    for (int64_t at = 0, all = count * rows->n; at < all && !status; at += part.count) {
        bool direct = part.dtype == CSREC_F32;
        part.count = direct || all - at < PIECE ? all - at : PIECE;
        if (direct) {
            status = csrec_npy_values(&rows->reader, &part, rows->input.name, X, error);
            continue;
        }
        status = csrec_npy_values_f64(&rows->reader, &part, rows->input.name, rows->buffer, error);
        for (int64_t i = 0; i < part.count && !status; i++) X[at + i] = (float)rows->buffer[i];
    }
    if (!status) rows->next = first + count;
    return status;
}

static csrec_status rows_check(const csrec_rows *rows, csrec_error *error) {
    const csrec_npy_header *h = &rows->header;
    if (h->kind == 'U' || h->kind == 'S')
        return csrec_fail(error, CSREC_FORMAT, "%s: holds text; save numbers", rows->input.name);
    if (h->shape.dims < 1)
        return csrec_fail(error, CSREC_DATA, "%s: is one number; save rows, [m, n]",
                          rows->input.name);
    if (h->fortran && h->shape.dims > 1)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: is in Fortran order, so its rows are not contiguous; save "
                          "numpy.ascontiguousarray of it",
                          rows->input.name);
    return CSREC_OK;
}

static csrec_status begin(csrec_rows *rows, csrec_error *error) {
    if (csrec_input_format(&rows->input) != &csrec_npy_format)
        return csrec_fail(error, CSREC_FORMAT, "%s: is not .npy data; write it with numpy.save",
                          rows->input.name);
    rows->reader = csrec_input_reader(&rows->input);
    csrec_status status =
        csrec_npy_header_read(&rows->reader, rows->input.name, &rows->header, error);
    if (!status && rows->header.is_complex)
        return csrec_fail(
            error, CSREC_DATA,
            "%s: has complex numbers; save real ones, as with .real.astype(np.float32)",
            rows->input.name);
    if (!status) status = rows_check(rows, error);
    if (status) return status;
    rows->start = rows->input.size - rows->reader.left;
    rows->m = rows->header.shape.dim[0];
    rows->n = rows->header.count / rows->m;
    rows->header.fortran = false;
    if (rows->header.dtype != CSREC_F32) {
        rows->buffer = malloc(PIECE * sizeof *rows->buffer);
        if (!rows->buffer) return csrec_memory_fail(error, rows->input.name);
    }
    return CSREC_OK;
}

csrec_status csrec_rows_open(const char *path, csrec_rows **rows, csrec_data *data,
                             csrec_shape *row, csrec_error *error) {
    csrec_rows *r = calloc(1, sizeof *r);
    if (!r) return csrec_memory_fail(error, path);
    csrec_status status = csrec_input_open(path, &r->input, error);
    if (!status) status = begin(r, error);
    if (status) {
        csrec_rows_close(r);
        return status;
    }
    *rows = r;
    *data = (csrec_data){.m = r->m, .n = r->n, .read = read_rows, .context = r};
    if (!row) return CSREC_OK;
    *row = (csrec_shape){.dims = r->header.shape.dims - 1};
    for (int d = 0; d < row->dims; d++) row->dim[d] = r->header.shape.dim[d + 1];
    return CSREC_OK;
}
