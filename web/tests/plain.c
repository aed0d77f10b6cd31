/* SPDX-License-Identifier: BSD-3-Clause */
/* plain.c - the linker puts it in place of csrec_cpu_level: plain C, as WebAssembly has it. */
#include "base/cpu.h"

csrec_cpu __wrap_csrec_cpu_level(void);

csrec_cpu __wrap_csrec_cpu_level(void) {
    return CSREC_CPU_GENERIC;
}
