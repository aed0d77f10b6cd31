/* SPDX-License-Identifier: BSD-3-Clause */
/* tile.c - selects this processor's build of the inner products of convolutions. */
#include "conv/tile.h"

#include "base/cpu.h"

const csrec_conv_simd *csrec_conv_simd_choose(void) {
    return CSREC_CPU_CHOOSE(csrec_conv);
}
