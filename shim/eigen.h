/* SPDX-License-Identifier: BSD-3-Clause */
/* eigen.h - the symmetric eigenproblem on the device (cuSOLVER), behind a C ABI.
 *
 * cuSOLVER and its dependencies take a gigabyte and are optional: the library is loaded at the
 * first use, and where it is missing only these functions fail. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

/* Whether the library can be loaded: CSREC_OK, or CSREC_DEVICE with the remedy. */
csrec_status csrec_shim_eigen_usable(csrec_error *error);

/* The `count` largest eigenvalues of the symmetric A [n][n], of which the lower triangle is read,
 * ascending, and their unit vectors as rows of V [count][n]. All arrays are in host memory.
 * CSREC_MEMORY names the bytes needed and had; CSREC_DATA: not found. */
csrec_status csrec_shim_eigen(int64_t n, const double *A, int64_t count, double *values, double *V,
                              csrec_error *error);

CSREC_C_END
