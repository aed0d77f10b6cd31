/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu.h - instruction sets of this processor: the builds of a template (cmake/simd.cmake) are
 * chosen at run time. */
#pragma once

typedef enum csrec_cpu { CSREC_CPU_GENERIC, CSREC_CPU_AVX2, CSREC_CPU_AVX512 } csrec_cpu;

/* The largest set that can be used; it includes the sets listed before it. In a file of its own: a
 * test replaces it (tests/test_sets.c). */
csrec_cpu csrec_cpu_level(void);

/* The address of the best build of a template. On other platforms than x86-64 only one build
 * exists; the others are not referenced. */
#if defined(__x86_64__)
#define CSREC_CPU_CHOOSE(name)                                                                     \
    (csrec_cpu_level() == CSREC_CPU_AVX512 ? &name##_avx512                                        \
     : csrec_cpu_level() == CSREC_CPU_AVX2 ? &name##_avx2                                          \
                                           : &name##_generic)
#else
#define CSREC_CPU_CHOOSE(name) (&name##_generic)
#endif
