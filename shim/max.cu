/* SPDX-License-Identifier: BSD-3-Clause */
/* max.cu - Thrust's maximum behind a C ABI. */
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/system_error.h>

#include "shim/shim.h"

namespace {

/* Hands out the caller's workspace; it may be reused when the algorithm ends. */
struct workspace {
    using value_type = char;
    char *base;
    size_t bytes;
    char *allocate(std::ptrdiff_t wanted) {
        if ((size_t)wanted > bytes) throw std::bad_alloc();
        return base;
    }
    void deallocate(char *, size_t) {}
};

} // namespace

csrec_status csrec_shim_max(void *temporary, size_t bytes, int64_t n, const int64_t *keys,
                            int64_t *place, csrec_error *error) {
    try {
        workspace space = {(char *)temporary, bytes};
        thrust::device_ptr<const int64_t> first(keys);
        *place = thrust::max_element(thrust::cuda::par(space), first, first + n) - first;
        return CSREC_OK;
    } catch (const std::bad_alloc &) {
        return csrec_fail(error, CSREC_MEMORY, "maximum of %lld keys: workspace too small",
                          (long long)n);
    } catch (const thrust::system_error &failure) {
        return csrec_fail(error, CSREC_DEVICE, "CUDA: maximum: %s", failure.what());
    } catch (...) {
        return csrec_fail(error, CSREC_DEVICE, "CUDA: maximum failed");
    }
}
