/* SPDX-License-Identifier: BSD-3-Clause */
/* triangle.cuh - entries of a lower triangle, counted row after row. */
#pragma once

#include <stdint.h>

/* index = i (i + 1) / 2 + j, j <= i */
__device__ __forceinline__ void csrec_triangle_find(int64_t index, int64_t *i, int64_t *j) {
    int64_t row = (int64_t)((sqrt(8.0 * (double)index + 1.0) - 1.0) * 0.5);
    while ((row + 1) * (row + 2) / 2 <= index) row++;
    while (row * (row + 1) / 2 > index) row--;
    *i = row;
    *j = index - row * (row + 1) / 2;
}
