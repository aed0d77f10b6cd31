/* cuda.c - what methods have on a CUDA device. Nothing else in src/ includes kernels/. */
#include "device/backend.h"

#ifdef CSREC_HAS_CUDA
#include <string.h>

#include "kernels/method/adaptive/engine.h"
#include "kernels/method/frames/engine.h"
#include "kernels/method/gaussian/engine.h"
#include "kernels/method/grids/engine.h"

const csrec_backend csrec_backend_cuda = {.name = "cuda",
                                          .recover_grids = csrec_cuda_recover_grids,
                                          .threshold = csrec_cuda_threshold,
                                          .gaussian = &csrec_cuda_gaussian_rounds,
                                          .adaptive = &csrec_cuda_adaptive_passes};
#else
const csrec_backend csrec_backend_cuda = {.name = "cuda"};
#endif
