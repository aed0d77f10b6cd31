/* SPDX-License-Identifier: BSD-3-Clause */
/* multiply.cu - the product of packed weights and the im2col matrix of the input, which exists only
 * in shared memory.
 *
 * fp32 to about 22 bits on tensor cores: x = big + small in tf32 (11 bits each, the range of a
 * float), and three of the four products; the omitted small * small and the rounding error of small
 * are together at most 2^-21 |x w|. Plain fp32 multiply-adds reach at most 67 Tflop/s on an H200,
 * and the target is 40; mma.sync in tf32 reaches about 300, a third of that with three products. An
 * accumulator starts from zero for every 8 taps and is added outside: tensor cores truncate sums
 * instead of rounding them.
 *
 * window.cu computes sums whose positions advance by one, if tiles fit them; this file the rest: a
 * thread block has 64 (or 16) rows by 256 positions, 16 taps per pipeline stage. A thread lays out
 * the inputs of its own position, tap by tap: threads of a warp read along a line. Weights are
 * split and laid out as fragments once, before. */
#include "kernels/conv/window.cuh"

enum {
    WIDE = 256,
    THREADS = 256,
    DEEP = 16,
    STAGES = 3,
    PITCH = WIDE + 8 /* rows 8 banks apart: fragments' 4 rows by 8 columns fall on all banks */
};

/* The weights' matrix of fragments. */
typedef struct packing {
    int64_t rows, row_step, per_row, tiles, steps, count;
} packing;

/* Weights as fragments: [group of MT tiles of rows][8 taps][tile][big, small][lane][4]. In a sum by
 * taps' rows (per_row > 0), row r is tap r % per_row of row r / per_row. */
__global__ void pack_weights(packing k, const csrec_conv_tap *taps, const csrec_conv_tap *row_taps,
                             const float *w, float *packed) {
    const int64_t at = csrec_cuda_thread();
    if (at >= k.count) return;
    const int q = (int)(at % 4), lane = (int)(at / 4 % 32);
    const int64_t tile = at / 128 % k.tiles, step = at / 128 / k.tiles % k.steps;
    const int64_t group = at / 128 / k.tiles / k.steps;
    const int64_t row = (group * k.tiles + tile) * 16 + lane / 4 + q % 2 * 8;
    const csrec_conv_tap tap = taps[step * 8 + lane % 4 + q / 2 * 4];
    float value = 0.0f;
    if (row < k.rows && tap.down < CSREC_CONV_NOWHERE)
        value = w[row_taps
                      ? row / k.per_row * k.row_step + row_taps[row % k.per_row].weight + tap.weight
                      : row * k.row_step + tap.weight];
    uint32_t big, small;
    csrec_conv_split(value, &big, &small);
    float *to = packed + (at / 128) * 256 + lane * 4 + q;
    to[0] = __uint_as_float(big);
    to[128] = __uint_as_float(small);
}

template <int MT> struct arena {
    enum { A = DEEP / 8 * MT * 256, B = DEEP * PITCH, FLOATS = STAGES * (A + B) };
};

/* 16 taps: a warp's 16 MT rows by 32 positions. */
template <int MT>
__device__ __forceinline__ void multiply_stage(const float *a, const float *b,
                                               float (&sum)[MT][4][4]) {
    const int lane = threadIdx.x % 32, column = threadIdx.x / 32 * 32 + lane / 4;
#pragma unroll
    for (int step = 0; step < DEEP / 8; step++) {
        const float *own = b + (8 * step + lane % 4) * PITCH + column;
        csrec_conv_step<MT>((const uint4 *)a + step * MT * 64 + lane, own, own + 16, PITCH, sum);
    }
}

__device__ __forceinline__ csrec_conv_position own_position(const csrec_conv_place *g) {
    const int64_t number = (int64_t)blockIdx.x * WIDE + threadIdx.x;
    const int64_t plane = (int64_t)g->count[0] * g->count[1], within = number % plane;
    return csrec_conv_locate(g, number / plane, (int)(within / g->count[1]),
                             (int)(within % g->count[1]));
}

template <int MT>
__global__ void __launch_bounds__(THREADS, 2)
    multiply(const __grid_constant__ csrec_conv_place g, int stages, const csrec_conv_tap *taps,
             const float *packed, const float *in, csrec_cuda_conv_finish finish, float *out) {
    enum { A = arena<MT>::A, B = arena<MT>::B };
    extern __shared__ __align__(16) float shared[];
    float *a = shared, *b = shared + STAGES * A;
    const csrec_conv_position p = own_position(&g);
    packed += (int64_t)blockIdx.y * stages * A;
    auto fetch = [&](int stage) {
        if (stage < stages) {
            float *to_a = a + stage % STAGES * A, *to_b = b + stage % STAGES * B + threadIdx.x;
            for (int k = threadIdx.x; k < A / 4; k += THREADS)
                csrec_async_16(to_a + 4 * k, packed + (int64_t)stage * A + 4 * k);
#pragma unroll 4
            for (int k = 0; k < DEEP; k++) {
                const csrec_conv_tap tap = taps[stage * DEEP + k];
                csrec_conv_fetch(&g, &p, &tap, in, to_b + k * PITCH);
            }
        }
        csrec_async_commit();
    };
    float sum[MT][4][4] = {};
    for (int s = 0; s < STAGES - 1; s++) fetch(s);
    for (int stage = 0; stage < stages; stage++) {
        csrec_async_wait<STAGES - 2>();
        __syncthreads();
        fetch(stage + STAGES - 1);
        multiply_stage<MT>(a + stage % STAGES * A, b + stage % STAGES * B, sum);
    }
    csrec_async_wait<0>();
    __syncthreads();
    float *line = shared + threadIdx.x / 32 * CSREC_CONV_TURN;
#pragma unroll
    for (int i = 0; i < MT; i++)
        csrec_conv_write_rows(&g, finish, (blockIdx.y * MT + i) * 16, sum[i], p.out, p.there, line,
                              out);
}

/* Scatters the products of all taps' rows with the inputs of a band of lines, adding them up. */
typedef struct band {
    int64_t image;           /* the first */
    int images, line, lines; /* results' */
    int first, height;       /* inputs' */
    int per_row;
} band;

__global__ void gather_taps(const __grid_constant__ csrec_conv_place g,
                            const __grid_constant__ band b, const csrec_conv_tap *row_taps,
                            const float *products, const float *bias, float *out) {
    const int64_t at = csrec_cuda_thread();
    const int64_t image = at / g.count[1] / b.lines;
    if (image >= b.images) return;
    const int row = blockIdx.y;
    const csrec_conv_position p = csrec_conv_locate(
        &g, b.image + image, b.line + (int)(at / g.count[1] % b.lines), (int)(at % g.count[1]));
    const float *from =
        products + (image * g.rows + row) * b.per_row * ((int64_t)b.height * g.in[1]);
    float sum = bias ? bias[row] : 0.0f;
    for (int t = 0; t < b.per_row; t++, from += (int64_t)b.height * g.in[1]) {
        const int down = p.down + row_taps[t].down - b.first, right = p.right + row_taps[t].right;
        if ((unsigned)down < (unsigned)b.height && (unsigned)right < (unsigned)g.in[1])
            sum += from[(int64_t)down * g.in[1] + right];
    }
    out[p.out + row * g.out_plane] = sum;
}

/* The buffers of a product and their places in scratch. */
typedef struct plan {
    bool scatter;                  /* by taps' rows: for few rows, whose tiles would be padding */
    bool windows;                  /* by window.cu, the products if scatter */
    int64_t images, lines, height; /* at once, if so */
    int64_t padded;                /* taps of the matrix */
    packing k;
    csrec_conv_tap *taps, *row_taps;
    float *packed, *products;
    size_t bytes;
} plan;

static int64_t padded_rows(int64_t rows) {
    const int64_t unit = 16 * csrec_conv_tiles_for(rows);
    return csrec_conv_whole(rows, unit) * unit;
}

/* An entry added up costs as much as some 16 multiplications. */
static bool scatters(const csrec_cuda_conv_sum *s) {
    const csrec_conv_axis *a = s->axis;
    const double taps = (double)csrec_conv_taps_of(s), rows = (double)s->rows;
    const double results = (double)a[0].count * (double)a[1].count;
    const double inputs = (double)a[0].in * (double)a[1].in;
    const double gather = (double)padded_rows(s->rows) * (double)s->channels * taps * results;
    const double products = (double)padded_rows(s->rows * (int64_t)taps) * (double)s->channels;
    return taps > 1.0 && products * inputs + 16.0 * rows * taps * results < gather;
}

/* Bands of lines whose products take 256 MiB, or one line. */
static void choose_band(const csrec_cuda_conv_sum *s, plan *p) {
    const int64_t most = INT64_C(1) << 26;
    const csrec_conv_axis *a = &s->axis[0];
    const int64_t line = s->rows * csrec_conv_taps_of(s) * s->axis[1].in, image = line * a->in;
    const int64_t reach = (a->advance < 0 ? -a->advance : a->advance) * (a->taps - 1) + 1;
    p->images = image < most ? most / image : 1;
    if (p->images > s->batch) p->images = s->batch;
    p->lines = a->count;
    p->height = a->in;
    if (image <= most) return;
    const int64_t spare = most / line - reach;
    p->lines = spare > 0 ? spare / a->step + 1 : 1;
    if (p->lines > a->count) p->lines = a->count;
    p->height = a->step * (p->lines - 1) + reach;
    if (p->height > a->in) p->height = a->in;
}

/* The same sum with one tap at the input's position: its results are products of the taps' rows. */
static csrec_cuda_conv_sum product_sum(const csrec_cuda_conv_sum *s) {
    csrec_cuda_conv_sum one = *s;
    one.rows = s->rows * csrec_conv_taps_of(s);
    for (int a = 0; a < 2; a++) {
        csrec_conv_axis axis = {};
        axis.in = axis.out = axis.count = s->axis[a].in;
        axis.apart = axis.taps = axis.step = axis.kernel_step = 1;
        one.axis[a] = axis;
    }
    return one;
}

static plan plan_for(const csrec_cuda_conv_sum *s, char *scratch) {
    plan p = {};
    csrec_cuda_block block = {scratch, 0};
    p.scatter = scatters(s);
    const csrec_cuda_conv_sum inner = p.scatter ? product_sum(s) : *s;
    const int64_t taps = csrec_conv_taps_of(s);
    p.windows = csrec_conv_windowed(&inner);
    p.k.per_row = p.scatter ? taps : 1;
    p.k.rows = s->rows * p.k.per_row;
    p.k.row_step = s->row_step;
    p.k.tiles = csrec_conv_tiles_for(p.k.rows);
    p.padded = csrec_conv_whole(s->channels * (p.scatter ? 1 : taps), DEEP) * DEEP;
    p.k.steps = p.padded / 8;
    p.k.count = csrec_conv_whole(p.k.rows, 16 * p.k.tiles) * p.k.tiles * p.k.steps * 128;
    csrec_cuda_take(&block, p.padded, &p.taps);
    csrec_cuda_take(&block, p.windows ? csrec_conv_window_packed(&inner, false) : 2 * p.k.count,
                    &p.packed);
    if (p.scatter) {
        choose_band(s, &p);
        p.row_taps = (csrec_conv_tap *)csrec_cuda_block_take(&block, taps, sizeof *p.taps);
        csrec_cuda_take(&block, p.images * p.k.rows * p.height * s->axis[1].in, &p.products);
    }
    p.bytes = block.used;
    return p;
}

size_t csrec_cuda_conv_multiply_room(const csrec_cuda_conv_sum *sum) {
    return plan_for(sum, NULL).bytes;
}

static csrec_status pack(const csrec_cuda_conv_sum *s, const plan *p, const float *w,
                         csrec_error *error) {
    csrec_cuda_conv_sum inner = p->scatter ? product_sum(s) : *s, taps = *s;
    taps.channels = 1;
    csrec_status status = CSREC_OK;
    if (p->scatter) status = csrec_conv_list_taps(&taps, csrec_conv_taps_of(s), p->row_taps, error);
    if (!status && p->windows)
        return csrec_conv_window_pack(s, p->k.per_row, false, w, p->packed, error);
    if (!status) status = csrec_conv_list_taps(&inner, p->padded, p->taps, error);
    if (status || !p->k.count) return status;
    return CSREC_CUDA_EACH(pack_weights, p->k.count, 256, error, p->k, p->taps, p->row_taps, w,
                           p->packed);
}

template <int MT>
static csrec_status launch(const csrec_conv_place *g, const plan *p, const float *in,
                           const csrec_cuda_conv_finish *finish, float *out, csrec_error *error) {
    const int shared = arena<MT>::FLOATS * (int)sizeof(float);
    CSREC_TRY(csrec_cuda_check(
        cudaFuncSetAttribute(multiply<MT>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
        "multiply", error));
    const dim3 grid(csrec_cuda_blocks(g->positions, WIDE),
                    csrec_cuda_blocks(p->k.rows, 16 * p->k.tiles));
    multiply<MT><<<grid, THREADS, shared>>>(*g, (int)(p->padded / DEEP), p->taps, p->packed, in,
                                            *finish, out);
    return csrec_cuda_launched("multiply", error);
}

/* s: of the products if scatter */
static csrec_status launch_any(const csrec_cuda_conv_sum *s, const plan *p, const float *in,
                               const float *bias, float *out, csrec_error *error) {
    const csrec_cuda_conv_finish finish = {bias, NULL, NULL, false};
    if (p->windows)
        return csrec_conv_window_multiply(s, false, csrec_conv_chunks(s), p->packed, in, &finish,
                                          out, error);
    const csrec_conv_place g = csrec_conv_place_of(s);
    if (p->k.tiles == 1) return launch<1>(&g, p, in, &finish, out, error);
    if (p->k.tiles == 2) return launch<2>(&g, p, in, &finish, out, error);
    return launch<4>(&g, p, in, &finish, out, error);
}

/* Input lines that result lines line .. line + lines - 1 read. */
static void find_inputs(const csrec_conv_axis *a, band *b) {
    const int64_t span = a->advance * (a->taps - 1);
    int64_t first = a->step * b->line + a->base + (span < 0 ? span : 0);
    int64_t last = a->step * (b->line + b->lines - 1) + a->base + (span > 0 ? span : 0);
    if (first < 0) first = 0;
    if (last > a->in - 1) last = a->in - 1;
    b->first = first <= last ? (int)first : 0;
    b->height = first <= last ? (int)(last - first + 1) : 0;
}

static csrec_status scatter_band(const csrec_cuda_conv_sum *s, const plan *p, const band *b,
                                 const float *in, const float *bias, float *out,
                                 csrec_error *error) {
    csrec_cuda_conv_sum inner = product_sum(s);
    inner.batch = b->images;
    inner.axis[0].count = inner.axis[0].out = b->height;
    inner.axis[0].base = b->first;
    csrec_status status = CSREC_OK;
    if (b->height) {
        const float *from = in + b->image * s->channels * s->axis[0].in * s->axis[1].in;
        status = launch_any(&inner, p, from, NULL, p->products, error);
    }
    if (status) return status;
    const csrec_conv_place place = csrec_conv_place_of(s);
    const int64_t results = (int64_t)b->images * b->lines * s->axis[1].count;
    return CSREC_CUDA_RUN(gather_taps, dim3(csrec_cuda_blocks(results, 256), (unsigned)s->rows),
                          256, error, place, *b, p->row_taps, p->products, bias, out);
}

static csrec_status scatter(const csrec_cuda_conv_sum *s, const plan *p, const float *in,
                            const float *bias, float *out, csrec_error *error) {
    csrec_status status = CSREC_OK;
    for (int64_t n = 0; n < s->batch && !status; n += p->images)
        for (int64_t line = 0; line < s->axis[0].count && !status; line += p->lines) {
            band b = {};
            b.image = n;
            b.images = (int)(s->batch - n < p->images ? s->batch - n : p->images);
            b.line = (int)line;
            b.lines =
                (int)(s->axis[0].count - line < p->lines ? s->axis[0].count - line : p->lines);
            b.per_row = (int)p->k.per_row;
            find_inputs(&s->axis[0], &b);
            status = scatter_band(s, p, &b, in, bias, out, error);
        }
    return status;
}

csrec_status csrec_cuda_conv_multiply(const csrec_cuda_conv_sum *sum, const float *w,
                                      const float *in, const float *bias, float *out, void *scratch,
                                      csrec_error *error) {
    if (sum->batch == 0 || sum->axis[0].count == 0 || sum->axis[1].count == 0) return CSREC_OK;
    const plan p = plan_for(sum, (char *)scratch);
    CSREC_TRY(pack(sum, &p, w, error));
    return p.scatter ? scatter(sum, &p, in, bias, out, error)
                     : launch_any(sum, &p, in, bias, out, error);
}
