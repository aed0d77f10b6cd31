/* SPDX-License-Identifier: BSD-3-Clause */
/* blas.h - linear algebra whose results do not depend on OpenBLAS's own threads.
 *
 * OpenBLAS splits products by the number of its threads, which rounds them differently, and waits
 * for ever if it finds no memory for its buffers. Calls of it that may use either stand between
 * begin and end. */
#pragma once

/* Until `end`, OpenBLAS runs on the calling thread only. Returns how many threads may call it at
 * once, at most `callers`, limited by available memory. 0: none; do not call end. OpenBLAS's thread
 * count is global to the process: it is restored when the last of overlapping calls ends. */
int csrec_blas_begin(int callers);
void csrec_blas_end(int callers);
