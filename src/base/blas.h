/* blas.h - linear algebra whose results do not depend on OpenBLAS's own threads.
 *
 * OpenBLAS splits products by the number of its threads, which rounds them differently, and waits
 * for ever where it finds no memory for its buffers. Calls of it that may use either stand between
 * begin and end.
 */
#ifndef CSREC_BASE_BLAS_H
#define CSREC_BASE_BLAS_H

#include "csrec.h"

/* Until `end`, OpenBLAS works on the thread that calls it. Returns how many threads may call it at
 * once, at most `callers`: as many as there is memory for. 0: none, and there is no end to call.
 * The number of OpenBLAS's threads is the process's: it is put back when the last of overlapping
 * calls ends. */
int csrec_blas_begin(int callers);
void csrec_blas_end(int callers);

#endif
