/* device.c - where a convolution is done. */
#include <string.h>

#include "device/backend.h"
#include "conv/conv2d.h"

csrec_status csrec_conv2d_choose(const csrec_conv2d *conv, const int64_t out[2],
                                 const csrec_conv2d_device **device, csrec_error *error) {
    const csrec_conv2d_device *cuda = csrec_backend_cuda.conv2d;
    *device = NULL;
    if (csrec_backend_automatic(conv->backend)) {
        bool pays = cuda && cuda->pays && cuda->pays(conv, out);
        if (pays && !csrec_backend_cuda.usable(NULL)) *device = cuda;
        return CSREC_OK;
    }
    if (strcmp(conv->backend, csrec_backend_cpu.name) == 0) return CSREC_OK;
    if (strcmp(conv->backend, csrec_backend_cuda.name) != 0)
        return csrec_fail(error, CSREC_ARGUMENT, "backend '%s' is unknown; use auto, cpu or cuda",
                          conv->backend);
    csrec_status status = csrec_backend_cuda.usable(error);
    if (!status && !cuda)
        status = csrec_fail(error, CSREC_UNSUPPORTED,
                            "backend cuda: has no convolution; use backend cpu");
    if (!status) *device = cuda;
    return status;
}
