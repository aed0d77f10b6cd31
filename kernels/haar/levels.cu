/* levels.cu - the procedural random partial Haar transform, one thread a sample, one launch a level
 * (T. Park 2015). The CPU's reading of the same page is src/haar/levels.c.
 *
 * Thread k holds the entry of the group whose first sample is k: add, #, and end, the first sample
 * past the group. In step n, with span = 2^n and row index j,
 *
 *     group  g = j / span           member m = j % span           column = M / span + g.
 *
 * An entry meets the next one if that is in the same group; the left one of the two goes on.
 */
#include "kernels/haar/levels.h"

#include "kernels/device/device.h"
#include "shim/shim.h"

enum { THREADS = 256, COLUMN_0 = 63 };

struct entries {
    int64_t n;
    const uint64_t *rows;
    double *add;   /* sum of r over the group */
    int64_t *size; /* # */
    int64_t *end;
};

static __device__ int64_t thread_number() {
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __global__ void start(entries e, const double *r) {
    int64_t k = thread_number();
    if (k >= e.n) return;
    e.add[k] = r[k];
    e.size[k] = 1;
    e.end[k] = k + 1;
}

/* Step n of the paper; where samples lie on both sides, two_sided. sub of thread k's group, or
 * false where the entry went on in one to its left. */
static __device__ bool step(const entries &e, int64_t k, int n, double *sub, bool *two_sided) {
    const uint64_t group = e.rows[k] >> n;
    if (k > 0 && e.rows[k - 1] >> n == group) return false;
    const bool in_left_half = (e.rows[k] >> (n - 1) & 1) == 0;
    const int64_t right = e.end[k];
    *two_sided = right < e.n && e.rows[right] >> n == group;
    *sub = in_left_half ? e.add[k] : -e.add[k];
    if (*two_sided) {
        *sub = e.add[k] - e.add[right];
        e.add[k] += e.add[right];
        e.size[k] += e.size[right];
        e.end[k] = e.end[right];
    }
    return true;
}

/* One level for the transform; count 0 marks threads without a group. */
static __global__ void reduce(entries e, int levels, int n, csrec_product *products) {
    int64_t k = thread_number();
    if (k >= e.n) return;
    double sub;
    bool two_sided;
    products[k].count = 0;
    if (!step(e, k, n, &sub, &two_sided)) return;
    uint64_t column = ((uint64_t)1 << (levels - n)) + (e.rows[k] >> n);
    products[k] = {column, sub * (1.0 / sqrt((double)e.size[k])), e.size[k]};
}

/* What the pursuit must know of a group, when the levels above have gone over its entry. */
struct candidate {
    double sum; /* sub, or add for column 0 */
    double size;
    uint64_t row;
    int64_t key;
};

/* One level for the pursuit: keys as csrec_pursuit_key, -1 for threads without a group. */
static __global__ void reduce_keys(entries e, int n, bool one_sided, double *subs, int64_t *keys) {
    int64_t k = thread_number();
    if (k >= e.n) return;
    double sub;
    bool two_sided = false;
    keys[k] = -1;
    if (!step(e, k, n, &sub, &two_sided) || !(two_sided || one_sided)) return;
    double score = fabs(sub) * (1.0 / sqrt((double)e.size[k]));
    keys[k] = (__double_as_longlong(score) & ~INT64_C(63)) | n;
    subs[k] = sub;
}

/* The group with the best key of a level, before the levels above go over its entry. */
static __global__ void keep_best(entries e, int64_t k, const double *subs, const int64_t *keys,
                                 candidate *best) {
    *best = {subs[k], (double)e.size[k], e.rows[k], keys[k]};
}

static __global__ void column_0(entries e, candidate *best) {
    double size = (double)e.n, score = fabs(e.add[0]) * (1.0 / sqrt(size));
    *best = {e.add[0], size, 0, (__double_as_longlong(score) & ~INT64_C(63)) | COLUMN_0};
}

/* r -= d Psi sqrt(#) of the group of span 2^n with that number; n = COLUMN_0: d everywhere. */
static __global__ void subtract(entries e, int n, uint64_t group, double d, double *r) {
    int64_t k = thread_number();
    if (k >= e.n) return;
    if (n == COLUMN_0)
        r[k] -= d;
    else if (e.rows[k] >> n == group)
        r[k] -= e.rows[k] >> (n - 1) & 1 ? -d : d;
}

/* Device memory of both ways. */
struct level_run {
    entries e;
    uint64_t *rows;
    double *r;
    double *subs;
    candidate *best;
    int64_t *keys, *kept;
    csrec_product *products, *chosen;
    void *temporary;
    size_t bytes;
    csrec_cuda_block block;
};

static void lay_out(level_run *run, bool pursuit) {
    int64_t n = run->e.n;
    csrec_cuda_block *b = &run->block;
    run->rows = (uint64_t *)csrec_cuda_block_take(b, n, sizeof *run->rows);
    run->r = (double *)csrec_cuda_block_take(b, n, sizeof *run->r);
    run->e.rows = run->rows;
    run->e.add = (double *)csrec_cuda_block_take(b, n, sizeof *run->e.add);
    run->e.size = (int64_t *)csrec_cuda_block_take(b, n, sizeof *run->e.size);
    run->e.end = (int64_t *)csrec_cuda_block_take(b, n, sizeof *run->e.end);
    int64_t kept = pursuit ? n : 0;
    run->subs = (double *)csrec_cuda_block_take(b, kept, sizeof *run->subs);
    run->best = (candidate *)csrec_cuda_block_take(b, 1, sizeof *run->best);
    run->keys = (int64_t *)csrec_cuda_block_take(b, kept, sizeof *run->keys);
    int64_t listed = pursuit ? 0 : n;
    run->products = (csrec_product *)csrec_cuda_block_take(b, listed, sizeof *run->products);
    run->chosen = (csrec_product *)csrec_cuda_block_take(b, listed, sizeof *run->chosen);
    run->kept = (int64_t *)csrec_cuda_block_take(b, 1, sizeof *run->kept);
    run->temporary = csrec_cuda_block_take(b, (int64_t)run->bytes, 1);
}

static csrec_status begin(level_run *run, const uint64_t *rows, const double *r, bool pursuit,
                          csrec_error *error) {
    size_t n = (size_t)run->e.n;
    csrec_status status = CSREC_OK;
    run->bytes = n / 4 + (1 << 20);
    if (!pursuit) status = csrec_shim_keep(NULL, &run->bytes, run->e.n, NULL, NULL, NULL, error);
    if (status) return status;
    lay_out(run, pursuit);
    status = csrec_cuda_block_create(&run->block, "the transform by levels", error);
    if (status) return status;
    lay_out(run, pursuit);
    status = csrec_cuda_check(cudaMemcpy(run->rows, rows, n * sizeof *rows, cudaMemcpyHostToDevice),
                              "rows", error);
    if (!status)
        status = csrec_cuda_check(cudaMemcpy(run->r, r, n * sizeof *r, cudaMemcpyHostToDevice),
                                  "residual", error);
    return status;
}

/* All levels from fine to coarse; the products of a level go before those of the level before.
 * products NULL: counts them. */
static csrec_status list_levels(level_run *run, int levels, csrec_product *products, int64_t total,
                                int64_t *found, csrec_error *error) {
    const entries e = run->e;
    const unsigned blocks = csrec_cuda_blocks(e.n, THREADS);
    int64_t place = total;
    *found = 1;
    start<<<blocks, THREADS>>>(e, run->r);
    csrec_status status = csrec_cuda_launched("start", error);
    for (int n = 1; n <= levels && !status; n++) {
        int64_t kept = 0;
        reduce<<<blocks, THREADS>>>(e, levels, n, run->products);
        status = csrec_cuda_launched("reduce", error);
        if (!status)
            status = csrec_shim_keep(run->temporary, &run->bytes, e.n, run->products, run->chosen,
                                     run->kept, error);
        if (!status)
            status = csrec_cuda_check(
                cudaMemcpy(&kept, run->kept, sizeof kept, cudaMemcpyDeviceToHost), "reduce", error);
        *found += kept;
        place -= kept;
        if (!status && products)
            status = csrec_cuda_check(cudaMemcpy(products + place, run->chosen,
                                                 (size_t)kept * sizeof *products,
                                                 cudaMemcpyDeviceToHost),
                                      "products", error);
    }
    double sum = 0.0;
    if (!status)
        status = csrec_cuda_check(cudaMemcpy(&sum, e.add, sizeof sum, cudaMemcpyDeviceToHost),
                                  "sum", error);
    double one = 1.0 / sqrt((double)e.n);
    if (!status && products) products[0] = {0, sum * one, e.n};
    return status;
}

csrec_status csrec_cuda_levels(int levels, int64_t n, const uint64_t *rows, const double *r,
                               int64_t capacity, csrec_product *products, int64_t *found,
                               csrec_error *error) {
    level_run run = {};
    run.e.n = n;
    int64_t total = 0;
    csrec_status status = begin(&run, rows, r, false, error);
    if (!status) status = list_levels(&run, levels, NULL, 0, &total, error);
    if (!status && total <= capacity)
        status = list_levels(&run, levels, products, total, &total, error);
    if (!status) *found = total;
    csrec_cuda_block_destroy(&run.block);
    return status;
}

struct pick {
    candidate best;
    int level;
};

/* What a kernel just launched left in run->best, if it is better. */
static csrec_status compare(const level_run *run, int level, pick *p, csrec_error *error) {
    candidate found;
    csrec_status status = csrec_cuda_launched("keep_best", error);
    if (!status) status = csrec_cuda_copy(&found, run->best, sizeof found, error);
    if (!status && found.key > p->best.key) *p = {found, level};
    return status;
}

/* The best column of r. Keys of different levels differ; within one the first is the smallest. */
static csrec_status choose(level_run *run, int levels, bool one_sided, pick *p,
                           csrec_error *error) {
    const unsigned blocks = csrec_cuda_blocks(run->e.n, THREADS);
    p->best.key = -1;
    start<<<blocks, THREADS>>>(run->e, run->r);
    csrec_status status = csrec_cuda_launched("start", error);
    for (int n = 1; n <= levels && !status; n++) {
        int64_t place = 0;
        reduce_keys<<<blocks, THREADS>>>(run->e, n, one_sided, run->subs, run->keys);
        status = csrec_cuda_launched("reduce_keys", error);
        if (!status)
            status = csrec_shim_max(run->temporary, run->bytes, run->e.n, run->keys, &place, error);
        if (status) break;
        keep_best<<<1, 1>>>(run->e, place, run->subs, run->keys, run->best);
        status = compare(run, n, p, error);
    }
    if (status) return status;
    column_0<<<1, 1>>>(run->e, run->best);
    return compare(run, COLUMN_0, p, error);
}

static csrec_status iterate(level_run *run, int levels, bool one_sided, uint64_t *column,
                            bool *gained, csrec_error *error) {
    pick p = {{0.0, 1.0, 0, -1}, COLUMN_0};
    csrec_status status = choose(run, levels, one_sided, &p, error);
    if (status) return status;
    const candidate best = p.best;
    double d = rint(best.sum * (1.0 / best.size));
    /* Only the sign matters; 2 v - d # is exact. */
    *gained = (2.0 * best.sum - d * best.size) * d > 0.0;
    uint64_t group = p.level == COLUMN_0 ? 0 : best.row >> p.level;
    *column = p.level == COLUMN_0 ? 0 : ((uint64_t)1 << (levels - p.level)) + group;
    if (!*gained) return CSREC_OK;
    subtract<<<csrec_cuda_blocks(run->e.n, THREADS), THREADS>>>(run->e, p.level, group, d, run->r);
    return csrec_cuda_launched("subtract", error);
}

csrec_status csrec_cuda_levels_pursuit(int levels, int64_t n, const uint64_t *rows, const double *y,
                                       csrec_columns columns, int64_t iterations, uint64_t *picks,
                                       double *r, int64_t *done, double *microseconds,
                                       csrec_error *error) {
    level_run run = {};
    run.e.n = n;
    cudaEvent_t begun = NULL, ended = NULL;
    float milliseconds = 0;
    csrec_status status = begin(&run, rows, y, true, error);
    if (!status) status = csrec_cuda_check(cudaEventCreate(&begun), "event", error);
    if (!status) status = csrec_cuda_check(cudaEventCreate(&ended), "event", error);
    if (!status) status = csrec_cuda_check(cudaEventRecord(begun), "event", error);
    int64_t k = 0;
    for (bool gained = true; k < iterations && !status; k += gained) {
        uint64_t column = 0;
        status = iterate(&run, levels, columns == CSREC_COLUMNS_PAPER, &column, &gained, error);
        if (status || !gained) break;
        if (picks) picks[k] = column;
    }
    if (!status) status = csrec_cuda_check(cudaEventRecord(ended), "event", error);
    if (!status) status = csrec_cuda_check(cudaEventSynchronize(ended), "pursuit", error);
    if (!status) cudaEventElapsedTime(&milliseconds, begun, ended);
    if (!status && r)
        status = csrec_cuda_check(
            cudaMemcpy(r, run.r, (size_t)n * sizeof *r, cudaMemcpyDeviceToHost), "residual", error);
    if (!status && done) *done = k;
    if (!status && microseconds) *microseconds = 1e3 * milliseconds / (double)(k ? k : 1);
    if (begun) cudaEventDestroy(begun);
    if (ended) cudaEventDestroy(ended);
    csrec_cuda_block_destroy(&run.block);
    return status;
}
