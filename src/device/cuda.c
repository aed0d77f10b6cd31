/* cuda.c - what methods have on a CUDA device. Nothing else in src/ includes kernels/. */
#include "device/backend.h"

#ifdef CSREC_HAS_CUDA
#include <string.h>

#include "kernels/method/adaptive/engine.h"
#include "kernels/method/frames/engine.h"
#include "kernels/method/gaussian/engine.h"
#include "kernels/method/grids/engine.h"

/* For solvers that do little between products. Milliseconds of 40 iterations, products on 16
 * threads of the CPU and on the device (bench/cuda_calls.c), whose first use takes 200:
 *
 *                     dct, fista   dct, iht   wavelet, fista   wavelet, iht
 *     128 x 128          112, 42    157, 53           29, 20         76, 64
 *     512 x 512        1909, 667  4395, 1959        835, 131      1570, 563
 */
static bool products_pay(const csrec_measurement *m, const csrec_recover_options *options) {
    enum { ENTRIES = 1 << 16 };
    const char *basis = options->basis, *solver = options->solve.solver;
    int64_t entries;
    if (!basis || (strcmp(basis, "dct") != 0 && strcmp(basis, "wavelet") != 0)) return false;
    if (!solver || (strcmp(solver, "fista") != 0 && strcmp(solver, "iht") != 0)) return false;
    return !csrec_shape_count(&m->shape, &entries) && entries >= ENTRIES;
}

static bool pays(const csrec_measurement *measurement, const csrec_recover_options *options) {
    return csrec_cuda_pays(measurement, options) ||
           csrec_cuda_threshold_pays(measurement, options) || products_pay(measurement, options) ||
           csrec_cuda_adaptive_pays(measurement, options);
}

const csrec_backend csrec_backend_cuda = {.name = "cuda",
                                          .recover_grids = csrec_cuda_recover_grids,
                                          .pays = pays,
                                          .threshold = csrec_cuda_threshold,
                                          .gaussian = &csrec_cuda_gaussian_rounds,
                                          .adaptive = &csrec_cuda_adaptive_passes};
#else
const csrec_backend csrec_backend_cuda = {.name = "cuda"};
#endif
