/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.h - large copies in memory by several threads. */
#pragma once

#include <stddef.h>

/* Same arguments and effect as memcpy. */
void csrec_copy(void *to, const void *from, size_t bytes);
