/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c - the table entry of CUDA devices. */
#include "kernels/device/device.h"

const csrec_device csrec_device_cuda = {.describe = csrec_cuda_describe,
                                        .open = csrec_cuda_open,
                                        .enter = csrec_cuda_enter,
                                        .count = csrec_cuda_devices,
                                        .usable = csrec_cuda_usable};
