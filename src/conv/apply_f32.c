/* SPDX-License-Identifier: BSD-3-Clause */
/* apply_f32.c - products of convolutions in float. */
#define REAL           float
#define NAME(function) function##_f32
#define LD             CSREC_CONV_LD_F32
#define TILE           tile_f32
#define WIDTH          width_f32
#include "conv/apply_real.h"
