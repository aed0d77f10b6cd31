/* SPDX-License-Identifier: BSD-3-Clause */
/* The C faces of Thrust and CUB against plain loops on the host: sort with payload, prefix
 * sums. */

#include "cuda_check.h"
#include "shim/scan.h"
#include "shim/shim.h"

SEED(seed);

/* Arrays on the device, big enough for every test, and a workspace. */
typedef struct device {
    csrec_cuda_block block;
    uint64_t *keys, *sorted;
    uint32_t *payload, *moved;
    void *workspace;
    size_t bytes;
} device;

static void lay_out(device *d, int64_t n) {
    d->keys = csrec_cuda_block_take(&d->block, n, 8);
    d->sorted = csrec_cuda_block_take(&d->block, n, 8);
    d->payload = csrec_cuda_block_take(&d->block, n, 4);
    d->moved = csrec_cuda_block_take(&d->block, n, 4);
    d->workspace = csrec_cuda_block_take(&d->block, (int64_t)d->bytes, 1);
}

/* Room for the most that any of them asks for. */
static device device_create(int64_t n) {
    device d = {.bytes = 0};
    assert_ok(csrec_shim_sort(NULL, &d.bytes, n, 64, NULL, NULL, NULL, NULL, NULL));
    if (d.bytes < csrec_shim_sums_bytes(n)) d.bytes = csrec_shim_sums_bytes(n);
    lay_out(&d, n);
    assert_ok(csrec_cuda_block_create(&d.block, "a test", NULL));
    lay_out(&d, n);
    return d;
}

static uint64_t *draw_keys(int64_t n, int64_t below) {
    uint64_t *keys = malloc((size_t)n * sizeof *keys);
    for (int64_t i = 0; i < n; i++) keys[i] = (uint64_t)check_below(&seed, below);
    return keys;
}

static void put(void *to, const void *from, int64_t count, size_t size) {
    assert_ok(csrec_cuda_copy(to, from, (size_t)count * size, NULL));
}

static void check_sort(device *d, int64_t n, int64_t below) {
    OWNED uint64_t *keys = draw_keys(n, below), *out = malloc((size_t)n * 8);
    OWNED uint32_t *payload = malloc((size_t)n * 4);
    for (int64_t i = 0; i < n; i++) payload[i] = (uint32_t)i;
    put(d->keys, keys, n, 8);
    put(d->payload, payload, n, 4);
    assert_ok(csrec_shim_sort(d->workspace, &d->bytes, n, 64, d->keys, d->sorted, d->payload,
                              d->moved, NULL));
    put(out, d->sorted, n, 8);
    put(payload, d->moved, n, 4);
    for (int64_t i = 0; i < n; i++) {
        assert_true(out[i] == keys[payload[i]]);
        if (i)
            assert_true(out[i - 1] < out[i] ||
                        (out[i - 1] == out[i] && payload[i - 1] < payload[i]));
    }
}

static void check_sums(device *d, int64_t n) {
    OWNED uint64_t *keys = draw_keys(n, n / 2 + 1), *sums = malloc((size_t)n * 8);
    uint64_t sum = 0;
    put(d->keys, keys, n, 8);
    assert_ok(csrec_shim_sums_u64(d->keys, d->keys, n, d->workspace, d->bytes, NULL, NULL));
    put(sums, d->keys, n, 8);
    for (int64_t i = 0; i < n; sum += keys[i++]) assert_true(sums[i] == sum);
}

/* More than any device has: an error that names both numbers, and nothing leaks. */
TEST_THERE(too_much_memory_is_refused, false) {
    ENDS_BY(csrec_cuda_block_destroy) csrec_cuda_block block = {0};
    csrec_cuda_block_take(&block, INT64_C(1) << 50, 1);
    assert_refused(csrec_cuda_block_create(&block, "a test", &told), CSREC_MEMORY,
                   "1125899906842624 bytes");
}

TEST_THERE(shims_equal_plain_loops, false) {
    const int64_t sizes[] = {1, 2, 31, 1000, 70001};
    for (int k = 0; k < 5; k++) {
        int64_t n = sizes[k];
        device d = device_create(n);
        check_sort(&d, n, INT64_MAX);
        check_sort(&d, n, 1 + n / 3);
        check_sums(&d, n);
        csrec_cuda_block_destroy(&d.block);
    }
}
