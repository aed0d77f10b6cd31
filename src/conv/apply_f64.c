/* SPDX-License-Identifier: BSD-3-Clause */
/* apply_f64.c - products of convolutions in double. */
#define REAL           double
#define NAME(function) function##_f64
#define LD             CSREC_CONV_LD_F64
#define TILE           tile_f64
#define WIDTH          width_f64
#include "conv/apply_real.h"
