/* SPDX-License-Identifier: BSD-3-Clause */
/* wgmma.cuh - products of a warpgroup, bulk copies and their barriers in shared memory, as in the
 * PTX manual. Only for code compiled for compute capability 9.0a. */
#pragma once

#include <stdint.h>

__device__ __forceinline__ uint32_t csrec_shared_at(const void *shared) {
    return (uint32_t)__cvta_generic_to_shared(shared);
}

/* ---- barriers */

__device__ __forceinline__ void csrec_barrier_init(uint64_t *barrier, int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(csrec_shared_at(barrier)), "r"(arrivals)
                 : "memory");
}

/* Before threads or copies use barriers that one thread has made. */
__device__ __forceinline__ void csrec_barrier_publish() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void csrec_barrier_arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(csrec_shared_at(barrier)) : "memory");
}

/* Arrives, and extends the phase until `bytes` more have been copied. */
__device__ __forceinline__ void csrec_barrier_expect(uint64_t *barrier, int bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(csrec_shared_at(barrier)),
        "r"(bytes)
        : "memory");
}

/* Waits until the phase of this parity is complete. */
__device__ __forceinline__ void csrec_barrier_wait(uint64_t *barrier, uint32_t parity) {
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(csrec_shared_at(barrier)),
                 "r"(parity)
                 : "memory");
}

/* bytes: a multiple of 16. */
__device__ __forceinline__ void csrec_bulk_copy(void *shared, const void *global, int bytes,
                                                uint64_t *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(csrec_shared_at(shared)),
                 "l"(global), "r"(bytes), "r"(csrec_shared_at(barrier))
                 : "memory");
}

/* ---- products */

/* Sets the registers per thread of the warpgroup for the code that follows. */
template <int COUNT> __device__ __forceinline__ void csrec_registers_give() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

template <int COUNT> __device__ __forceinline__ void csrec_registers_take() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

/* Rows of 64 numbers of 16 bits: 128 bytes, whose 16-byte chunk q lies at q ^ row % 8; 8 rows are
 * 1024 bytes, to which the first must be aligned. 16 numbers further along the rows are 2 more. */
__device__ __forceinline__ uint64_t csrec_wgmma_operand(const void *shared) {
    const uint64_t swizzled = (uint64_t)1 << 62, next_8_rows = (uint64_t)(1024 / 16) << 32;
    return swizzled | next_8_rows | 1 << 16 | csrec_shared_at(shared) >> 4;
}

#define CSREC_EIGHT(d, k)                                                                          \
    "+f"((d)[k]), "+f"((d)[k + 1]), "+f"((d)[k + 2]), "+f"((d)[k + 3]), "+f"((d)[k + 4]),          \
        "+f"((d)[k + 5]), "+f"((d)[k + 6]), "+f"((d)[k + 7])

/* d (64 x 128) = a b + d, or a b alone: 16 columns of a's rows with 16 of b's. Lane 4 g + t of warp
 * w has d[4 k .. 4 k + 3]: rows 16 w + g (two) and 16 w + g + 8 (two), columns 8 k + 2 t, 8 k + 2 t
 * + 1. d may be read after csrec_wgmma_wait, and changed before csrec_wgmma_begin. */
__device__ __forceinline__ void csrec_wgmma_f16(float *d, uint64_t a, uint64_t b, bool add) {
    asm volatile("{\n"
                 ".reg .pred add;\n"
                 "setp.ne.b32 add, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                 "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
                 "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
                 "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, "
                 "%64, %65, add, 1, 1, 0, 0;\n"
                 "}"
                 : CSREC_EIGHT(d, 0), CSREC_EIGHT(d, 8), CSREC_EIGHT(d, 16), CSREC_EIGHT(d, 24),
                   CSREC_EIGHT(d, 32), CSREC_EIGHT(d, 40), CSREC_EIGHT(d, 48), CSREC_EIGHT(d, 56)
                 : "l"(a), "l"(b), "r"((int)add));
}

__device__ __forceinline__ void csrec_wgmma_begin() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/* Waits for all products since begin. d: the accumulators, so that no use is reordered before. */
template <int COUNT> __device__ __forceinline__ void csrec_wgmma_wait(float (&d)[COUNT]) {
    asm volatile("wgmma.commit_group.sync.aligned;\n"
                 "wgmma.wait_group.sync.aligned 0;" ::
                     : "memory");
#pragma unroll
    for (int k = 0; k < COUNT; k++) asm volatile("" : "+f"(d[k])::"memory");
}

#undef CSREC_EIGHT
