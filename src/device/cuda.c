/* cuda.c - the CUDA backend, or the word that it is not built. Nothing else includes kernels/. */
#include "device/backend.h"

#ifdef CSREC_HAS_CUDA
#include "kernels/method/adaptive/engine.h"
#include "kernels/conv/engine.h"
#include "kernels/method/gaussian/engine.h"
#include "kernels/method/grids/engine.h"
#include "kernels/learn/learn.h"
#include "kernels/operator/engine.h"
#include "kernels/learn/engine.h"
#include "kernels/method/frames/engine.h"
#include "kernels/device/device.h"
#include "kernels/haar/transform.h"

static bool pays(const csrec_measurement *measurement, const csrec_recover_options *options) {
    return csrec_cuda_pays(measurement, options) ||
           csrec_cuda_threshold_pays(measurement, options) ||
           csrec_cuda_products_pay(measurement, options) ||
           csrec_cuda_adaptive_pays(measurement, options);
}

const csrec_backend csrec_backend_cuda = {.name = "cuda",
                                          .device = csrec_cuda_describe,
                                          .usable = csrec_cuda_use,
                                          .recover_grids = csrec_cuda_recover_grids,
                                          .pays = pays,
                                          .transform = csrec_cuda_products,
                                          .threshold = csrec_cuda_threshold,
                                          .take_operator = csrec_cuda_take_operator,
                                          .release_operator = csrec_cuda_release_operator,
                                          .omp = csrec_cuda_omp,
                                          .statistics = &csrec_cuda_statistics_functions,
                                          .stream = csrec_cuda_stream,
                                          .eigen = &csrec_cuda_eigen,
                                          .conv2d = &csrec_cuda_conv2d,
                                          .gaussian = &csrec_cuda_gaussian_rounds,
                                          .adaptive = &csrec_cuda_adaptive_passes};
#else
#include <stdio.h>

static bool device(int i, char *text, size_t size) {
    if (i == 0) snprintf(text, size, "not built");
    return i == 0;
}

static csrec_status usable(csrec_error *error) {
    return csrec_fail(error, CSREC_DEVICE,
                      "backend cuda: not built; use --backend cpu or rebuild with CUDA");
}

const csrec_backend csrec_backend_cuda = {.name = "cuda", .device = device, .usable = usable};
#endif
