/* SPDX-License-Identifier: BSD-3-Clause */
/* sort.cu - CUB's radix sort and selection behind a C ABI. */
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "kernels/device/device.h"
#include "shim/shim.h"

csrec_status csrec_shim_sort(void *temporary, size_t *bytes, int64_t n, int bits,
                             const uint64_t *keys_in, uint64_t *keys_out,
                             const uint32_t *payload_in, uint32_t *payload_out,
                             csrec_error *error) {
    return csrec_cuda_check(cub::DeviceRadixSort::SortPairs(temporary, *bytes, keys_in, keys_out,
                                                            payload_in, payload_out, n, 0, bits),
                            "sort", error);
}

namespace {
struct counts {
    __host__ __device__ bool operator()(const csrec_product &product) const {
        return product.count != 0;
    }
};
} // namespace

csrec_status csrec_shim_keep(void *temporary, size_t *bytes, int64_t n, const csrec_product *in,
                             csrec_product *out, int64_t *kept, csrec_error *error) {
    return csrec_cuda_check(cub::DeviceSelect::If(temporary, *bytes, in, out, kept, n, counts()),
                            "selection", error);
}
