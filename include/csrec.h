/* csrec.h - sparse recovery of sampled signals: the public header of libcsrec. Its parts in csrec/
 * have one subject each and can be included alone.
 *
 * Letters, used alike everywhere:
 *   M   length of the signal, padded to the 2^L rows of the Haar matrix
 *   N   number of samples (m when an operator A is m x n)
 *   y   samples, r = y - A x residual, x coefficients
 *   Psi the sampled Haar matrix, columns of unit length (Park 2015)
 *
 * Conventions
 *   - Every fallible function returns csrec_status and delivers through trailing pointers.
 *     On failure those are left untouched unless said otherwise.
 *   - A csrec_error pointer may be NULL. When given, it receives one line naming the file, the
 *     field and the remedy. It is written only on failure.
 *   - The library never prints, exits or aborts, and keeps no mutable global state: functions are
 *     thread-safe as long as two threads do not share an object that one of them changes.
 *   - threads: 0 for all cores. Any number is taken and gives the same result; of more than 4 a
 *     processor (64 where that is more) so many run, and fewer where the system starts fewer or has
 *     no memory for them. One runs in a process made by fork (not followed by exec), where OpenMP's
 *     threads do not exist, and in calls from within a parallel region. OpenBLAS is held to one
 *     thread during calls that use it; a number the program sets is put back.
 *   - All memory is host memory. Arrays are in C order (last axis fastest).
 *   - destroy and clear functions accept NULL and already cleared objects.
 */
#ifndef CSREC_H
#define CSREC_H

#include "csrec/status.h"
#include "csrec/array.h"
#include "csrec/sampling.h"
#include "csrec/io.h"
#include "csrec/haar.h"
#include "csrec/operator.h"
#include "csrec/solve.h"
#include "csrec/learn.h"
#include "csrec/recover.h"
#include "csrec/method.h"
#include "csrec/conv.h"

#endif
