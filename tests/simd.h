/* SPDX-License-Identifier: BSD-3-Clause */
/* simd.h - every build of a template that this processor can run. */
#pragma once

#include "base/cpu.h"

/* Fills sets [3], plain C first; how many there are. */
#if defined(__x86_64__)
#define SIMD_SETS(sets, generic, avx2, avx512)                                                     \
    ((sets)[0] = (generic), (sets)[1] = (avx2), (sets)[2] = (avx512), 1 + (int)csrec_cpu_level())
#else
#define SIMD_SETS(sets, generic, avx2, avx512) ((sets)[0] = (generic), 1)
#endif
