/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec.h - sparse recovery of sampled signals: the public header of libcsrec. The headers in
 * csrec/ have one subject each and can be included alone.
 *
 * Letters:
 *   M   length of the signal, padded to the 2^L rows of the Haar matrix
 *   N   number of samples (m when an operator A is m x n)
 *   y   samples, r = y - A x residual, x coefficients
 *   Psi the sampled Haar matrix, columns of unit length (Park 2015)
 *
 * Conventions
 *   - Every function that can fail returns csrec_status and returns results through its last
 *     pointers, which are unchanged on failure unless stated otherwise.
 *   - A csrec_error pointer may be NULL. On failure it receives one line that names the file, the
 *     field and the remedy.
 *   - The library never prints, exits or aborts, and has no mutable global state: functions are
 *     thread-safe as long as two threads do not share an object that one of them changes.
 *   - threads: 0 for all cores. Any number gives the same result. At most 4 a processor run (64 if
 *     that is more), and fewer if the system starts fewer or has no memory for them. One runs in a
 *     process made by fork without exec, where OpenMP's threads do not exist, and in calls from a
 *     parallel region. OpenBLAS runs on one thread during calls that use it; then its number of
 *     threads is restored.
 *   - All memory is host memory. Arrays are in C order (last axis fastest).
 *   - destroy and clear functions accept NULL and already cleared objects.
 */
#ifndef CSREC_H
#define CSREC_H

#include "csrec/status.h"
#include "csrec/array.h"
#include "csrec/measurement.h"
#include "csrec/noise.h"
#include "csrec/sampling.h"
#include "csrec/format.h"
#include "csrec/io.h"
#include "csrec/haar.h"
#include "csrec/operator.h"
#include "csrec/solve.h"
#include "csrec/learn.h"
#include "csrec/recover.h"
#include "csrec/sequence.h"
#include "csrec/session.h"
#include "csrec/adaptive.h"
#include "csrec/method.h"
#include "csrec/slabs.h"
#include "csrec/tiles.h"
#include "csrec/comm.h"
#include "csrec/conv.h"
#include "csrec/net.h"

#endif
