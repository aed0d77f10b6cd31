/* SPDX-License-Identifier: BSD-3-Clause */
/* sort.cu - CUB's radix sort behind a C ABI. */
#include <cub/device/device_radix_sort.cuh>

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
