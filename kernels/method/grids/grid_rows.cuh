/* SPDX-License-Identifier: BSD-3-Clause */
/* grid_rows.cuh - the row of the Haar matrix that an entry becomes on a dyadic grid. The readable
 * counterparts are src/sampling/order.c and src/method/grid.c. */
#pragma once

#include "kernels/method/grids/synthesis.h"

/* Skilling's transformation, as src/sampling/order.c; x: coordinates by axis of the grid. */
__device__ static inline void hilbert(const csrec_cuda_grid &grid, uint64_t *x) {
    int axes = grid.axes;
    uint64_t low = (UINT64_C(1) << grid.hilbert_bits) - 1;
    for (int bit = grid.hilbert_bits - 1; bit > 0; bit--) {
        uint64_t below = (UINT64_C(1) << bit) - 1;
        for (int a = 0; a < axes; a++) {
            uint64_t exchange = (x[0] ^ x[a]) & below;
            if (x[a] >> bit & 1) {
                x[0] ^= below;
            } else {
                x[0] ^= exchange;
                x[a] ^= exchange;
            }
        }
    }
    for (int a = 1; a < axes; a++) x[a] ^= x[a - 1] & low;
    uint64_t carry = x[axes - 1] & low;
    for (int step = 1; step < 64; step *= 2) carry ^= carry >> step;
    carry >>= 1;
    for (int a = 0; a < axes; a++) x[a] ^= carry;
}

__device__ static inline uint64_t row_of(const csrec_cuda_grid &grid, int64_t index) {
    uint64_t row = 0, x[CSREC_DIMS_MAX];
    uint64_t rest = (uint64_t)index;
    for (int a = grid.dims - 1; a >= 0; a--) {
        uint64_t dim = (uint64_t)grid.dim[a], quotient = rest / dim;
        uint64_t coordinate = rest - quotient * dim + (uint64_t)grid.shift[a];
        rest = quotient;
        uint32_t unit = (uint32_t)(coordinate >> grid.unit_bits[a]);
        uint32_t slot = (unit * grid.slots[a] + grid.phase[a]) / grid.units[a];
        coordinate += (uint64_t)(slot - unit) << grid.unit_bits[a];
        if (grid.stride[a]) row += coordinate * (uint64_t)grid.stride[a];
        int axis = grid.axis[a];
        if (axis < 0) continue;
        if (grid.hilbert_bits) {
            x[axis] = coordinate;
            continue;
        }
        for (int b = 0; b < grid.bits[axis]; b++)
            row |= (coordinate >> b & 1) << grid.place[axis][b];
    }
    if (!grid.hilbert_bits) return row;
    hilbert(grid, x);
    for (int axis = 0; axis < grid.axes; axis++)
        for (int b = 0; b < grid.bits[axis]; b++) row |= (x[axis] >> b & 1) << grid.place[axis][b];
    return row;
}
