/* SPDX-License-Identifier: BSD-3-Clause */
/* reference.h - the paper's pursuit on a CUDA device: csrec_pursuit_reference of haar/pursuit.h
 * with transform, argmax and update on the device, and bitwise the same picks. The whole pursuit
 * runs on the calling thread's device. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

#include "haar/pursuit.h"

extern const csrec_pursuit_type csrec_cuda_pursuit_reference;

CSREC_C_END
