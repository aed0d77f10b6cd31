/* batch_state.cuh - keys, slots and what the warps of a block share; the picture of the whole is in
 * batch.cu. */
#ifndef CSREC_KERNELS_BATCH_STATE_CUH
#define CSREC_KERNELS_BATCH_STATE_CUH

#include "kernels/batch_pursue.h"

enum { WARP = 32, HEAD = CSREC_UNIT_HEAD, SIZES = CSREC_CUDA_BUCKET + 2, POLL = 1024 };
enum {
    SOLO_BUCKETS = 4,
    HEIGHTS = CSREC_CUDA_HEIGHTS
}; /* a pick over so many is done by one warp */
#define ALL_LANES 0xffffffffu

struct best {
    int64_t key;
    uint32_t unit;
};

__device__ static inline int64_t key_of(double v, double scale, uint32_t level) {
    return (__double_as_longlong(fabs(v) * scale) & ~INT64_C(63)) | level;
}

/* The larger key; of equals the one further left. */
__device__ static inline best better(best a, best b) {
    bool second = b.key > a.key || (b.key == a.key && b.unit < a.unit);
    return second ? b : a;
}

__device__ static inline int64_t largest_key(int64_t key) {
    uint32_t high = (uint32_t)(key >> 32);
    uint32_t top = __reduce_max_sync(ALL_LANES, high);
    uint32_t low = __reduce_max_sync(ALL_LANES, high == top ? (uint32_t)key : 0);
    return (int64_t)((uint64_t)top << 32 | low);
}

__device__ static inline best largest(best b) {
    int64_t key = largest_key(b.key);
    return {key, __reduce_min_sync(ALL_LANES, b.key == key ? b.unit : CSREC_UNIT_NONE)};
}

/* An item of a bucket: fields of its slot. */
__device__ static inline uint32_t slot_size(uint32_t slot) {
    return slot & 0x7f;
}
__device__ static inline uint32_t slot_left(uint32_t slot) {
    return slot >> 7 & 0x7f;
}
__device__ static inline uint32_t slot_level(uint32_t slot) {
    return slot >> 14 & 0x3f;
}
__device__ static inline uint32_t slot_mid(uint32_t slot) {
    return slot >> 20 & 0x3f;
}
__device__ static inline uint32_t slot_last(uint32_t slot) {
    return slot >> 26;
}
__device__ static inline double slot_weight(uint32_t slot) {
    int left = (int)slot_left(slot), size = (int)slot_size(slot);
    return (double)(left ? 2 * left - size : size);
}

/* A change of whole ranges: tops t .. end, buckets likewise, `before` up to mid, `after` from it.
 */
struct shift {
    uint32_t top, top_mid, top_end; /* top: the highest of those whose maxima change */
    uint32_t bucket, bucket_mid, bucket_end;
    uint32_t height;
    bool own; /* the top itself moves too, else its value is as it should be */
    double before, after;
};

/* What a block shares: its signal, the tree, the job all warps join in. */
struct state {
    double2 size[SIZES]; /* 1 / sqrt(n), 1 / n */
    csrec_cuda_tree tree;
    double *value;
    csrec_cuda_record *record;
    shift job;
    bool quit;
    best found; /* the largest key of the job's top, or of all */
    double *x;
    double unit, least, keep, all_scale, x_all;
    uint64_t goal_low;
    int64_t goal_high, limit;
    uint32_t range[2][HEIGHTS]; /* of a large job: its tops of each height, in climb */
};

/* The largest keys in the parts of a job's tops, a thread each: dynamic shared memory. */
struct parts {
    int64_t key[2];
    uint32_t unit[2];
};
extern __shared__ parts kids[];

/* A job with a thread for each top keeps maxima in kids, else they are in the records. */
__device__ static inline void store_best(state &s, bool here, uint32_t parent, best b) {
    if (parent == CSREC_UNIT_NONE) {
        s.found = b;
    } else if (here) {
        parts *p = kids + ((parent >> 1) - s.job.top);
        p->key[parent & 1] = b.key;
        p->unit[parent & 1] = b.unit;
    } else {
        csrec_cuda_record *r = s.record + (parent >> 1);
        r->key[parent & 1] = b.key;
        r->unit[parent & 1] = b.unit;
    }
}

#endif
