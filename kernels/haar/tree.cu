/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.cu - building the row tree on the device: launches of tree_items.cuh, prefix sums between.
 */
#include "kernels/haar/tree.h"

#include "kernels/haar/tree_items.cuh"
#include "shim/scan.h"
#include "shim/shim.h"

enum { THREADS = 256 };

typedef void step(const csrec_tree_build &b, int64_t i);

template <step *STEP> __global__ static void each(csrec_tree_build b, int64_t count) {
    int64_t i = csrec_cuda_thread();
    if (i < count) STEP(b, i);
}

template <step *STEP>
static csrec_status run(const csrec_tree_build &b, int64_t count, const char *what, void *stream,
                        csrec_error *error) {
    if (count < 1) return CSREC_OK;
    each<STEP><<<csrec_cuda_blocks(count, THREADS), THREADS, 0, (cudaStream_t)stream>>>(b, count);
    return csrec_cuda_launched(what, error);
}

/* Scratch arrays for building a tree of n samples. */
static void lay_out(csrec_cuda_block *block, int64_t n, bool one_sided, csrec_tree_build *b,
                    void **scratch, size_t *bytes) {
    int64_t items = one_sided ? 3 * n : n - 1;
    csrec_cuda_take(block, n, &b->gap_level, &b->gap_first, &b->gap_size, &b->gap_node);
    csrec_cuda_take(block, n + 1, &b->mask, &b->starts);
    csrec_cuda_take(block, one_sided ? n + 1 : 1, &b->sums, &b->leaves);
    csrec_cuda_take(block, items, &b->shape, &b->first, &b->mid, &b->end, &b->parent);
    csrec_cuda_take(block, items + 1, &b->units);
    csrec_cuda_take(block, 1, &b->depth_max);
    size_t sums = csrec_shim_sums_bytes(items + 1 > n + 1 ? items + 1 : n + 1), sort = 0;
    if (csrec_shim_sort(NULL, &sort, items, 8, NULL, NULL, NULL, NULL, NULL)) sort = 0;
    *bytes = sums > sort ? sums : sort;
    *scratch = csrec_cuda_block_take(block, (int64_t)*bytes, 1);
}

size_t csrec_cuda_tree_scratch(int64_t n, csrec_columns columns) {
    csrec_cuda_block block = {};
    csrec_tree_build b;
    void *scratch;
    size_t bytes;
    lay_out(&block, n, columns == CSREC_COLUMNS_PAPER, &b, &scratch, &bytes);
    return block.used;
}

/* The last of n + 1 prefix sums: the sum of all. */
static csrec_status fetch_last(const uint32_t *sums, int64_t n, uint32_t *last, void *stream,
                               csrec_error *error) {
    return csrec_cuda_download(last, sums + n, 4, stream, error);
}

/* Edges with a column of their own are items too. */
static csrec_status count_edges(csrec_tree_build *b, void *scratch, size_t bytes, void *stream,
                                csrec_error *error) {
    const int64_t n = b->n;
    uint32_t nodes = 0, leaves = 0;
    csrec_status status = run<build_mark_leaf>(*b, n, "leaves", stream, error);
    if (!status)
        status = csrec_shim_sums_u32(b->sums, b->sums, n + 1, scratch, bytes, stream, error);
    if (!status)
        status = csrec_shim_sums_u32(b->leaves, b->leaves, n + 1, scratch, bytes, stream, error);
    if (!status) status = fetch_last(b->sums, n, &nodes, stream, error);
    if (!status) status = fetch_last(b->leaves, n, &leaves, stream, error);
    b->items += nodes + leaves;
    return status;
}

/* All items; counts[2] on the host: tops | buckets << 32, deepest path. */
static csrec_status find_items(csrec_tree_build *b, void *scratch, size_t bytes, void *stream,
                               csrec_error *error) {
    int64_t n = b->n;
    const size_t words = (size_t)(n + 1) * sizeof *b->sums;
    CSREC_TRY(csrec_cuda_clear(b->mask, (size_t)(n + 1) * 8, stream, error));
    CSREC_TRY(run<build_gap>(*b, n - 1, "gaps", stream, error));
    CSREC_TRY(run<build_count_starts>(*b, n + 1, "starts", stream, error));
    CSREC_TRY(csrec_shim_sums_u32(b->starts, b->starts, n + 1, scratch, bytes, stream, error));
    if (b->one_sided) CSREC_TRY(csrec_cuda_clear(b->sums, words, stream, error));
    if (b->one_sided) CSREC_TRY(csrec_cuda_clear(b->leaves, words, stream, error));
    CSREC_TRY(run<build_place>(*b, n - 1, "nodes", stream, error));
    b->items = n - 1;
    if (b->one_sided) CSREC_TRY(count_edges(b, scratch, bytes, stream, error));
    CSREC_TRY(run<build_node_items>(*b, n - 1, "node items", stream, error));
    if (b->one_sided) CSREC_TRY(run<build_leaf_item>(*b, n, "leaf items", stream, error));
    return CSREC_OK;
}

static csrec_status find_units(csrec_tree_build *b, void *scratch, size_t bytes, void *stream,
                               csrec_cuda_tree *tree, csrec_error *error) {
    CSREC_TRY(csrec_cuda_clear(b->depth_max, 4, stream, error));
    CSREC_TRY(run<build_mark_unit>(*b, b->items + 1, "units", stream, error));
    CSREC_TRY(csrec_shim_sums_u64(b->units, b->units, b->items + 1, scratch, bytes, stream, error));
    CSREC_TRY(run<build_find_depth>(*b, b->items, "depths", stream, error));
    uint64_t units = 0;
    uint32_t depth = 0;
    CSREC_TRY(csrec_cuda_download(&units, b->units + b->items, 8, stream, error));
    CSREC_TRY(csrec_cuda_download(&depth, b->depth_max, 4, stream, error));
    tree->items = (int32_t)b->items;
    tree->tops = (int32_t)(uint32_t)units;
    tree->buckets = (int32_t)(units >> 32);
    tree->stride = ((int32_t)depth + CSREC_UNIT_HEAD + 7) / 8 * 8;
    return CSREC_OK;
}

/* Copies of what outlives the scratch. */
typedef struct kept {
    uint64_t *shape;
    uint32_t *first, *mid, *end;
} kept;

static void lay_out_tree(csrec_cuda_block *block, const csrec_cuda_tree *tree, csrec_tree_build *b,
                         kept *k) {
    int64_t units = (int64_t)tree->tops + tree->buckets;
    csrec_cuda_take(block, tree->items, &k->shape, &k->first);
    k->mid = k->end = NULL;
    if (tree->one_sided) {
        csrec_cuda_take(block, tree->items, &k->mid, &k->end);
    }
    csrec_cuda_take(block, tree->items, &b->slot);
    csrec_cuda_take(block, tree->tops, &b->top);
    csrec_cuda_take(block, tree->buckets, &b->bucket);
    csrec_cuda_take(block, units * tree->stride, &b->path);
    csrec_cuda_take(block, tree->tops, &b->by_height);
    csrec_cuda_take(block, CSREC_CUDA_HEIGHTS + 1, &b->height_begin);
}

static csrec_status keep(void *to, const void *from, size_t bytes, void *stream,
                         csrec_error *error) {
    return csrec_cuda_check(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, (cudaStream_t)stream),
        "copy of the tree", error);
}

/* Arrays of items that have been copied hold the keys. */
static csrec_status order_by_height(csrec_tree_build *b, int64_t tops, void *scratch, size_t bytes,
                                    void *stream, csrec_error *error) {
    uint64_t *sorted = b->units;
    b->tops = tops;
    b->height_keys = b->shape;
    b->top_number = b->first;
    CSREC_TRY(run<build_height_key>(*b, tops, "height keys", stream, error));
    if (tops > 0)
        CSREC_TRY(csrec_shim_sort(scratch, &bytes, tops, 8, b->height_keys, sorted, b->top_number,
                                  b->by_height, error));
    b->height_keys = sorted;
    return run<build_height_begin>(*b, CSREC_CUDA_HEIGHTS + 1, "heights", stream, error);
}

static csrec_status fill(csrec_tree_build *b, csrec_cuda_tree *tree, void *scratch, size_t bytes,
                         void *stream, csrec_error *error) {
    csrec_cuda_block block = {};
    kept k;
    csrec_status status =
        csrec_cuda_lay(&block, "a row tree", error, [&] { lay_out_tree(&block, tree, b, &k); });
    if (status) return status;
    tree->memory = block.base;
    b->stride = tree->stride;
    size_t units = (size_t)tree->tops + (size_t)tree->buckets, items = (size_t)b->items;
    status = csrec_cuda_clear(b->path, units * (size_t)tree->stride * 4, stream, error);
    if (!status) status = run<build_unit>(*b, b->items, "paths", stream, error);
    if (!status) status = run<build_height>(*b, b->items, "heights", stream, error);
    if (!status) status = run<build_slot>(*b, b->items, "slots", stream, error);
    if (!status) status = keep(k.shape, b->shape, items * 8, stream, error);
    if (!status) status = keep(k.first, b->first, items * 4, stream, error);
    if (!status && k.mid) status = keep(k.mid, b->mid, items * 4, stream, error);
    if (!status && k.end) status = keep(k.end, b->end, items * 4, stream, error);
    if (!status) status = order_by_height(b, tree->tops, scratch, bytes, stream, error);
    tree->shape = k.shape;
    tree->first = k.first;
    tree->mid = k.mid;
    tree->end = k.end;
    tree->slot = b->slot;
    tree->top = b->top;
    tree->bucket = b->bucket;
    tree->path = b->path;
    tree->by_height = b->by_height;
    tree->height_begin = b->height_begin;
    if (status) csrec_cuda_tree_destroy(tree);
    return status;
}

csrec_status csrec_cuda_tree_create(int levels, int64_t n, const uint64_t *rows,
                                    csrec_columns columns, void *scratch, void *stream,
                                    csrec_cuda_tree *tree, csrec_error *error) {
    csrec_tree_build b = {};
    b.n = n;
    b.rows = rows;
    b.one_sided = columns == CSREC_COLUMNS_PAPER;
    csrec_cuda_block block = {(char *)scratch, 0};
    void *sort_scratch;
    size_t bytes;
    lay_out(&block, n, b.one_sided, &b, &sort_scratch, &bytes);
    *tree = csrec_cuda_tree{};
    tree->levels = levels;
    tree->n = (int32_t)n;
    tree->one_sided = b.one_sided;
    tree->rows = rows;
    csrec_status status = find_items(&b, sort_scratch, bytes, stream, error);
    if (!status) status = find_units(&b, sort_scratch, bytes, stream, tree, error);
    return status ? status : fill(&b, tree, sort_scratch, bytes, stream, error);
}

void csrec_cuda_tree_destroy(csrec_cuda_tree *tree) {
    if (!tree) return;
    cudaFree(tree->memory);
    *tree = csrec_cuda_tree{};
}
