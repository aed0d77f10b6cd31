/* backend_cpu.c - the backend that is always there. */
#include "device/backend.h"
#include "recover/recover.h"

static csrec_status transform(int levels, int64_t n, const uint64_t *rows, const double *r,
                              csrec_transform_method method, int64_t capacity,
                              csrec_product *products, int64_t *found, csrec_error *error) {
    csrec_status status =
        csrec_haar_transform(levels, n, rows, r, method, capacity, products, found);
    if (status)
        csrec_fail(error, status, "transform of %lld samples: %s", (long long)n,
                   csrec_status_text(status));
    return status;
}

const csrec_backend csrec_backend_cpu = {
    .name = "cpu", .recover_grids = csrec_recover_grids, .transform = transform};
