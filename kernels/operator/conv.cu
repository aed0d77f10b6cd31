/* SPDX-License-Identifier: BSD-3-Clause */
/* conv.cu - the convolutional dictionary of a sampled signal (operator/devices.h) on the
 * device.
 *
 * Both products gather, a thread a result, in double: an entry of the signal from the coefficients
 * around it, only at the samples if no more is needed; a coefficient from the entries under its
 * filter, SOME filters a thread, as the entries are the same for all. Filters pass through shared
 * memory, where a warp reads one value at a time. Sums run over filters and their entries in order.
 */
#include "kernels/operator/operator.cuh"

enum {
    THREADS = CSREC_CUDA_THREADS,
    LONGEST = 4096,  /* entries of a filter along an axis (operator/conv.c) */
    SOME = 8,        /* filters of a thread */
    TAPS = 512,      /* of their entries at once: as many as LONGEST in all */
    MOST_ROWS = 4096 /* maximum of blocks along y; blocks loop over the items */
};

struct dictionary {
    int64_t extent[3], kernel[3], out[3]; /* extents of the signal, a filter, the positions */
    int64_t entries, size, places, filters;
};

typedef struct conv_operator {
    csrec_cuda_operator op;
    const csrec_conv_dictionary *d; /* while it is made */
    csrec_cuda_samples samples;
    dictionary geometry;
    double *filters; /* [filters][size] */
    double *signal;  /* [entries] */
} conv_operator;

/* Coordinates of item `at` of a box, the last axis fastest. */
static __device__ void locate(const int64_t box[3], int64_t at, int64_t c[3]) {
    c[2] = at % box[2];
    c[1] = at / box[2] % box[1];
    c[0] = at / box[2] / box[1];
}

/* The position of the atom that has entry 0 of its filter at entry `at` of the signal. */
static __device__ int64_t first_place(const dictionary &d, int64_t at) {
    int64_t c[3];
    locate(d.extent, at, c);
    for (int a = 0; a < 3; a++) c[a] += d.kernel[a] - 1;
    return (c[0] * d.out[1] + c[1]) * d.out[2] + c[2];
}

/* Where the next line of the filters' entries meets the coefficients: entry u of a filter
 * multiplies the coefficient at the position u before. */
struct walk {
    int64_t at, u0, u1;
};

static __device__ void next_line(const dictionary &d, walk *w) {
    w->at -= d.out[2];
    if (++w->u1 < d.kernel[1]) return;
    w->u1 = 0;
    w->at -= (d.out[1] - d.kernel[1]) * d.out[2];
    if (++w->u0 < d.kernel[0]) return;
    w->u0 = 0;
    w->at += d.kernel[0] * d.out[1] * d.out[2] + d.places;
}

/* out[t] = signal[index[t]], or signal[t] without an index: the sum over filters, a line of their
 * entries after another. All atoms that cover an entry exist, also those that cross the border. */
static __global__ void __launch_bounds__(THREADS)
    synthesize(dictionary d, const double *filters, int64_t count, const int64_t *index,
               const double *x, double *out) {
    __shared__ double part[LONGEST];
    const int64_t at = csrec_cuda_thread(), lines = d.filters * d.kernel[0] * d.kernel[1];
    const int wide = (int)d.kernel[2], some = LONGEST / wide;
    walk w = {at < count ? first_place(d, index ? index[at] : at) : 0, 0, 0};
    double sum = 0.0;
    for (int64_t first = 0; first < lines; first += some) {
        const int n = lines - first < some ? (int)(lines - first) : some;
        for (int t = (int)threadIdx.x; t < n * wide; t += THREADS)
            part[t] = filters[first * wide + t];
        __syncthreads();
        for (int l = 0; l < n && at < count; l++) {
            for (int j = 0; j < wide; j++) sum = fma(part[l * wide + j], x[w.at - j], sum);
            next_line(d, &w);
        }
        __syncthreads();
    }
    if (at < count) out[at] = sum;
}

/* Entries t = first .. first + n - 1 of filters k .. , 0 beyond the last filter. */
static __device__ void load_filters(const dictionary &d, const double *filters, bool squared,
                                    int64_t k, int64_t first, int n, double *part) {
    for (int t = (int)threadIdx.x; t < SOME * n; t += THREADS) {
        const int64_t filter = k + t / n;
        const double v = filter < d.filters ? filters[filter * d.size + first + t % n] : 0.0;
        part[t / n * TAPS + t % n] = squared ? v * v : v;
    }
}

/* The entry of the signal under entry u of a filter at corner c; 0 outside. */
static __device__ double entry_at(const dictionary &d, const double *signal, const int64_t c[3],
                                  const int64_t u[3]) {
    const int64_t i0 = c[0] + u[0], i1 = c[1] + u[1], i2 = c[2] + u[2];
    const bool inside =
        i0 >= 0 && i0 < d.extent[0] && i1 >= 0 && i1 < d.extent[1] && i2 >= 0 && i2 < d.extent[2];
    return inside ? signal[(i0 * d.extent[1] + i1) * d.extent[2] + i2] : 0.0;
}

static __device__ void advance(const int64_t box[3], int64_t u[3]) {
    if (++u[2] < box[2]) return;
    u[2] = 0;
    if (++u[1] < box[1]) return;
    u[1] = 0;
    u[0]++;
}

/* x[k][p] = sum_u d_k[u] signal[p - (h - 1) + u]; squared: the root of the sum with d_k[u]^2. */
static __global__ void __launch_bounds__(THREADS)
    analyze(dictionary d, const double *filters, bool squared, const double *signal, double *x) {
    __shared__ double part[SOME * TAPS];
    const int64_t place = csrec_cuda_thread();
    int64_t corner[3];
    locate(d.out, place, corner);
    for (int a = 0; a < 3; a++) corner[a] -= d.kernel[a] - 1;
    for (int64_t k = (int64_t)blockIdx.y * SOME; k < d.filters; k += (int64_t)gridDim.y * SOME) {
        double sum[SOME] = {};
        int64_t u[3] = {0, 0, 0};
        for (int64_t first = 0; first < d.size; first += TAPS) {
            const int n = d.size - first < TAPS ? (int)(d.size - first) : TAPS;
            load_filters(d, filters, squared, k, first, n, part);
            __syncthreads();
            for (int t = 0; t < n && place < d.places; t++) {
                const double v = entry_at(d, signal, corner, u);
#pragma unroll
                for (int f = 0; f < SOME; f++) sum[f] = fma(part[f * TAPS + t], v, sum[f]);
                advance(d.kernel, u);
            }
            __syncthreads();
        }
#pragma unroll
        for (int f = 0; f < SOME; f++)
            if (k + f < d.filters && place < d.places)
                x[(k + f) * d.places + place] = squared ? sqrt(sum[f]) : sum[f];
    }
}

/* index NULL: all entries. */
static csrec_status queue_synthesis(const conv_operator *own, int64_t count, const int64_t *index,
                                    const double *x, double *out, csrec_error *error) {
    return CSREC_CUDA_EACH(synthesize, count, THREADS, error, own->geometry, own->filters, count,
                           index, x, out);
}

/* Of own->signal. */
static csrec_status queue_analysis(const conv_operator *own, bool squared, double *x,
                                   csrec_error *error) {
    const dictionary *d = &own->geometry;
    const int64_t rows = (d->filters + SOME - 1) / SOME;
    const dim3 grid(csrec_cuda_blocks(d->places, THREADS),
                    (unsigned)(rows < MOST_ROWS ? rows : (int64_t)MOST_ROWS));
    return CSREC_CUDA_RUN(analyze, grid, THREADS, error, *d, own->filters, squared, own->signal, x);
}

static csrec_status queue(csrec_cuda_operator *op, csrec_cuda_product product, double *in,
                          double *out, csrec_error *error) {
    const conv_operator *own = (const conv_operator *)op;
    csrec_status status;
    switch (product) {
    case CSREC_CUDA_FORWARD:
        return queue_synthesis(own, op->m, own->samples.index, in, out, error);
    case CSREC_CUDA_SYNTHESIZE:
        return queue_synthesis(own, op->entries, NULL, in, out, error);
    case CSREC_CUDA_ADJOINT:
        status = csrec_cuda_samples_scatter(&own->samples, in, own->signal, error);
        return status ? status : queue_analysis(own, false, out, error);
    case CSREC_CUDA_NORMS:
        status = csrec_cuda_samples_scatter(&own->samples, NULL, own->signal, error);
        return status ? status : queue_analysis(own, true, out, error);
    default:
        return CSREC_UNSUPPORTED;
    }
}

static void lay_out(csrec_cuda_operator *op, csrec_cuda_block *block) {
    conv_operator *own = (conv_operator *)op;
    const dictionary *d = &own->geometry;
    csrec_cuda_samples_take(op, block, &own->samples, &own->d->mask);
    csrec_cuda_operator_take(op, block, d->filters * d->size, &own->filters, own->d->filters);
    csrec_cuda_take(block, d->entries, &own->signal);
}

static dictionary geometry_of(const csrec_conv_dictionary *from) {
    dictionary d = {};
    for (int a = 0; a < 3; a++) {
        d.extent[a] = from->conv.size[a];
        d.kernel[a] = from->conv.kernel[a];
        d.out[a] = from->conv.out[a];
    }
    d.entries = from->mask.entries;
    d.size = from->size;
    d.places = from->places;
    d.filters = from->conv.channels_out;
    return d;
}

csrec_status csrec_cuda_operator_conv(const csrec_conv_dictionary *from, csrec_cuda_operator **made,
                                      csrec_error *error) {
    conv_operator own = {};
    own.geometry = geometry_of(from);
    own.op = csrec_cuda_operator_of(from->mask.m, own.geometry.filters * own.geometry.places,
                                    lay_out, queue);
    own.op.entries = own.geometry.entries;
    own.d = from;
    return csrec_cuda_operator_open(&own.op, sizeof own, "operator conv", made, error);
}
