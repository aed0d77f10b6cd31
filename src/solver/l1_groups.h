/* SPDX-License-Identifier: BSD-3-Clause */
/* l1_groups.h - the l1 problem on a Gram matrix (l1_gram.h) whose entries are groups of `parts`
 * columns, as of complex x, whose norm is the sum of the lengths of the groups. */
#ifndef CSREC_SOLVER_L1_GROUPS_H
#define CSREC_SOLVER_L1_GROUPS_H

#include "solver/l1_gram.h"

/* By how much the worst group misses its conditions beyond what is allowed: c = lambda x / |x|
 * where x is not 0, else |c| <= lambda. */
double csrec_l1_groups_miss(const csrec_l1_gram *q);

/* next = z + c_z / L, each group shortened by lambda / L. */
void csrec_l1_groups_shrink(csrec_l1_gram *q);

/* A proximal point by Newton's steps. True: another one would not help now. */
bool csrec_l1_groups_newton(csrec_l1_gram *q);

/* Shared with l1_gram.c and l1_signs.c: the increase of the objective from x = z, where c was c_z;
 * c_v of v; R^T d = d. */
double csrec_l1_gram_rise(const csrec_l1_gram *q);
void csrec_l1_gram_gradient(csrec_l1_gram *q, const double *v, double *c_v);
void csrec_l1_gram_solve_back(const csrec_l1_gram *q, int64_t k, double *d);

#endif
