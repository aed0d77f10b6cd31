/* backend.c - what methods have on each kind of device. */
#include "device/backend.h"

const csrec_backend *csrec_backend_of(const csrec_context *context) {
    return context->kind == CSREC_DEVICE_CUDA ? &csrec_backend_cuda : &csrec_backend_cpu;
}
