/* SPDX-License-Identifier: BSD-3-Clause */
/* products.h - what methods share that need products with A alone, of a measurement of entries or
 * through an operator. */
#pragma once

#include "method/method.h"
#include "operator/engine.h"

/* A of the recovery's measurement with its norm, and eps: sigma sqrt(y_values), or epsilon ||y||.
 * To be cleared after a failure, too. */
csrec_status csrec_products_create(const csrec_recovery *recovery, csrec_measured *A,
                                   csrec_error *error);

void csrec_products_clear(csrec_measured *A);

/* ||A x - y|| / ||y||, and squares: those of both lengths. */
csrec_status csrec_products_residual(const csrec_measured *A, const double *x, double squares[2],
                                     double *residual);

/* The end of a recovery: the signal is 0 where all coils are, ||A x - y|| / ||y|| into the report.
 * Where it is above what eps allows the outcome is CSREC_UNMET, and the remark says so. */
csrec_status csrec_products_report(const csrec_recovery *recovery, const csrec_measured *A,
                                   int64_t iterations, bool stopped);

/* Bytes of the operator and of vectors, about, and seconds of a product, one thread. */
csrec_need csrec_products_need(const csrec_task *task);

/* csrec_method_type.complete: without epsilon the measurements are met as sigma says. */
void csrec_products_complete(const csrec_measurement *measurement, bool atoms,
                             csrec_recover_options *options);

/* One to three axes. */
bool csrec_products_suits(const csrec_measurement *measurement);
