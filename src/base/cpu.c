/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu.c - the instruction sets of this processor. */
#include "base/cpu.h"

csrec_cpu csrec_cpu_level(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return CSREC_CPU_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return CSREC_CPU_AVX2;
#endif
    return CSREC_CPU_GENERIC;
}
