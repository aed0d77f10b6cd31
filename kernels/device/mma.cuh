/* SPDX-License-Identifier: BSD-3-Clause */
/* mma.cuh - products on tensor cores and asynchronous copies, as in the PTX manual.
 *
 * Fragments of a warp, lane = 4 g + t:
 *   f16 m16n8k16   A: a[0] row g, a[1] row g + 8, columns 2t, 2t + 1; a[2], a[3] the same, k + 8
 *                  B: b[0] column g, rows 2t, 2t + 1; b[1] the same, k + 8
 *   tf32 m16n8k8   A: a[0] row g, a[1] row g + 8, column t; a[2], a[3] the same, k + 4
 *                  B: b[0] column g, row t; b[1] the same, k + 4
 *   C, D of both   c[0], c[1] row g, columns 2t, 2t + 1; c[2], c[3] row g + 8 */
#pragma once

#include <cuda_fp16.h>
#include <stdint.h>

/* d = a b + c */
__device__ __forceinline__ void csrec_mma_f16(float *d, const uint32_t *a, const uint32_t *b,
                                              const float *c) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]),
          "f"(c[2]), "f"(c[3]));
}

__device__ __forceinline__ void csrec_mma_tf32(float *d, const uint32_t *a, const uint32_t *b,
                                               const float *c) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]),
          "f"(c[2]), "f"(c[3]));
}

/* Four 8 x 8 matrices of 16-bit numbers; lane l names row l % 8 of matrix l / 8. Lane 4 g + t gets
 * columns 2t, 2t + 1 of row g of each. */
__device__ __forceinline__ void csrec_ldmatrix(uint32_t *r, const void *shared) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(shared))
                 : "memory");
}

__device__ __forceinline__ void csrec_async_16(void *shared, const void *global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(shared)),
                 "l"(global)
                 : "memory");
}

/* Writes zeros if the source is absent; global is then not read. */
__device__ __forceinline__ void csrec_async_16(void *shared, const void *global, bool there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(shared)),
                 "l"(global), "r"(there ? 16 : 0)
                 : "memory");
}

__device__ __forceinline__ void csrec_async_4(void *shared, const void *global, bool there) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(shared)),
                 "l"(global), "r"(there ? 4 : 0)
                 : "memory");
}

__device__ __forceinline__ void csrec_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until all but the N groups committed last have arrived. */
template <int N> __device__ __forceinline__ void csrec_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
