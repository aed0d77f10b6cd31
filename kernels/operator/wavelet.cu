/* SPDX-License-Identifier: BSD-3-Clause */
/* wavelet.cu - separable wavelets (operator/wavelet.h) on the device: a level along an
 * axis is one kernel, which writes every pair of every line to the other buffer. */
#include "operator/wavelet.h"
#include "kernels/operator/operator.cuh"

/* ---- operator/wavelet.h's steps along a line, one output at a time: a value after step k
 * is computed from those after step k - 1 that it needs, down to the line itself (9 entries for the
 * longest filter). Operations and their order are the CPU's. */

typedef enum lifting_kind { LIFTING_ANALYZE, LIFTING_SYNTHESIZE, LIFTING_TRANSPOSE } lifting_kind;

/* A line of n = ns + nd entries, `stride` apart. */
struct lifting_line {
    const double *v;
    int64_t stride, ns, nd;
    double left[4], right[4], scale;
};

/* Entry i of s or d before the first step. Analysis and transpose split the line, synthesis reads
 * it split and undoes the scaling. */
template <int WAY, bool LOW>
static __device__ double lifting_entry(const lifting_line &l, int64_t i) {
    if (WAY != LIFTING_SYNTHESIZE) return l.v[(LOW ? 2 * i : 2 * i + 1) * l.stride];
    double factor = 1.0 / l.scale, v = l.v[(LOW ? i : l.ns + i) * l.stride];
    return LOW ? v * factor : v / factor;
}

template <int WAY, int STEPS, int K, bool LOW>
static __device__ double lifting_value(const lifting_line &l, int64_t i);

/* d += left s_i + right s_i+1, beyond the end s_i. */
template <int WAY, int STEPS, int K>
static __device__ double lifting_predicted(const lifting_line &l, double left, double right,
                                           int64_t i) {
    int64_t next = i + 1 < l.ns ? i + 1 : i;
    double d = lifting_value<WAY, STEPS, K - 1, false>(l, i);
    return d + (left * lifting_value<WAY, STEPS, K - 1, true>(l, i) +
                right * lifting_value<WAY, STEPS, K - 1, true>(l, next));
}

/* s += left d_i-1 + right d_i. */
template <int WAY, int STEPS, int K>
static __device__ double lifting_updated(const lifting_line &l, double left, double right,
                                         int64_t i) {
    double s = lifting_value<WAY, STEPS, K - 1, true>(l, i);
    s += left * lifting_value<WAY, STEPS, K - 1, false>(l, i > 0 ? i - 1 : 0);
    if (i < l.nd || csrec_lifting_mirrors(left))
        s += right * lifting_value<WAY, STEPS, K - 1, false>(l, i < l.nd ? i : l.nd - 1);
    return s;
}

/* Transposed prediction: s_i receives from d_i-1 and d_i, to which it contributed, and, as the
 * last, from d_i again. */
template <int WAY, int STEPS, int K>
static __device__ double lifting_unpredicted(const lifting_line &l, double left, double right,
                                             int64_t i) {
    double s = lifting_value<WAY, STEPS, K - 1, true>(l, i);
    if (i > 0 && i - 1 < l.nd) s += right * lifting_value<WAY, STEPS, K - 1, false>(l, i - 1);
    if (i >= l.nd) return s;
    double d = lifting_value<WAY, STEPS, K - 1, false>(l, i);
    s += left * d;
    return i + 1 < l.ns ? s : s + right * d;
}

/* Transposed update: d_i receives from s_i and s_i+1, to which it contributed, and, at the ends,
 * once more. */
template <int WAY, int STEPS, int K>
static __device__ double lifting_undone(const lifting_line &l, double left, double right,
                                        int64_t i) {
    double d = lifting_value<WAY, STEPS, K - 1, false>(l, i);
    double s = lifting_value<WAY, STEPS, K - 1, true>(l, i);
    if (i == 0) d += left * s;
    d += right * s;
    if (i + 1 >= l.ns) return d;
    double next = lifting_value<WAY, STEPS, K - 1, true>(l, i + 1);
    d += left * next;
    return i + 1 == l.nd && csrec_lifting_mirrors(left) ? d + right * next : d;
}

/* s_i (LOW) or d_i after K of the steps. Even steps change d, odd ones s, transposed the other;
 * synthesis runs backwards; it and the transpose use opposite signs. */
template <int WAY, int STEPS, int K, bool LOW>
static __device__ double lifting_value(const lifting_line &l, int64_t i) {
    if constexpr (K == 0) {
        return lifting_entry<WAY, LOW>(l, i);
    } else {
        constexpr int step = WAY == LIFTING_SYNTHESIZE ? STEPS - K : K - 1;
        constexpr bool changes_low = (step % 2 == 1) != (WAY == LIFTING_TRANSPOSE);
        double left = l.left[step], right = l.right[step];
        if (WAY != LIFTING_ANALYZE) {
            left = -left;
            right = -right;
        }
        if constexpr (changes_low != LOW)
            return lifting_value<WAY, STEPS, K - 1, LOW>(l, i);
        else if constexpr (WAY == LIFTING_TRANSPOSE)
            return LOW ? lifting_unpredicted<WAY, STEPS, K>(l, left, right, i)
                       : lifting_undone<WAY, STEPS, K>(l, left, right, i);
        else
            return LOW ? lifting_updated<WAY, STEPS, K>(l, left, right, i)
                       : lifting_predicted<WAY, STEPS, K>(l, left, right, i);
    }
}

/* Writes pair i of the line's transform to out, with the line's stride. */
template <int WAY, int STEPS>
static __device__ void lifting_pair(const lifting_line &l, int64_t i, double *out) {
    double s = lifting_value<WAY, STEPS, STEPS, true>(l, i), d = 0.0;
    if (i < l.nd) d = lifting_value<WAY, STEPS, STEPS, false>(l, i);
    if (WAY == LIFTING_ANALYZE) {
        s *= l.scale;
        d /= l.scale;
    } else if (WAY == LIFTING_TRANSPOSE) {
        double factor = 1.0 / l.scale;
        s *= factor;
        d /= factor;
    }
    bool joined = WAY == LIFTING_SYNTHESIZE;
    out[(joined ? 2 * i : i) * l.stride] = s;
    if (i < l.nd) out[(joined ? 2 * i + 1 : l.ns + i) * l.stride] = d;
}

enum { THREADS = CSREC_CUDA_THREADS };

/* An array of three axes and the part of it that a level works on. */
struct volume {
    int64_t extent[3], region[3];
};

typedef struct wavelet_operator {
    csrec_cuda_operator op;
    csrec_wavelet w; /* its mask: while it is made */
    csrec_cuda_samples samples;
    double *other; /* [entries] */
} wavelet_operator;

/* Coordinates of item `at` of a box, the last axis fastest, as an offset in the array. */
static __device__ int64_t offset_of(const volume &v, const int64_t box[3], int64_t at,
                                    int64_t coordinate[3]) {
    coordinate[2] = at % box[2];
    coordinate[1] = at / box[2] % box[1];
    coordinate[0] = at / box[2] / box[1];
    return (coordinate[0] * v.extent[1] + coordinate[1]) * v.extent[2] + coordinate[2];
}

template <int WAY, int STEPS>
static __global__ void lift(volume v, int axis, lifting_line line, const double *in, double *out) {
    int64_t box[3] = {v.region[0], v.region[1], v.region[2]}, c[3];
    box[axis] = line.ns;
    int64_t at = csrec_cuda_thread();
    if (at >= box[0] * box[1] * box[2]) return;
    int64_t start = offset_of(v, box, at, c);
    start -= c[axis] * line.stride;
    line.v = in + start;
    lifting_pair<WAY, STEPS>(line, c[axis], out + start);
}

static __global__ void copy_region(volume v, const double *in, double *out) {
    int64_t c[3], at = csrec_cuda_thread();
    if (at >= v.region[0] * v.region[1] * v.region[2]) return;
    int64_t place = offset_of(v, v.region, at, c);
    out[place] = in[place];
}

static lifting_line line_of(const csrec_lifting *lifting, const volume *v, int axis) {
    lifting_line l = {};
    l.stride = axis == 2 ? 1 : axis == 1 ? v->extent[2] : v->extent[1] * v->extent[2];
    l.ns = (v->region[axis] + 1) / 2;
    l.nd = v->region[axis] / 2;
    for (int k = 0; k < 4; k++) {
        l.left[k] = lifting->left[k];
        l.right[k] = lifting->right[k];
    }
    l.scale = lifting->scale;
    return l;
}

/* One level along one axis, from one buffer to the other. */
static csrec_status lift_axis(const csrec_lifting *lifting, lifting_kind kind, const volume *v,
                              int axis, const double *in, double *out, csrec_error *error) {
    typedef void (*kernel)(volume, int, lifting_line, const double *, double *);
    static const kernel kernels[3][2] = {{lift<LIFTING_ANALYZE, 2>, lift<LIFTING_ANALYZE, 4>},
                                         {lift<LIFTING_SYNTHESIZE, 2>, lift<LIFTING_SYNTHESIZE, 4>},
                                         {lift<LIFTING_TRANSPOSE, 2>, lift<LIFTING_TRANSPOSE, 4>}};
    lifting_line line = line_of(lifting, v, axis);
    int64_t pairs = v->region[0] * v->region[1] * v->region[2] / v->region[axis] * line.ns;
    kernel chosen = kernels[kind][lifting->steps == 4];
    chosen<<<csrec_cuda_blocks(pairs, THREADS), THREADS>>>(*v, axis, line, in, out);
    return csrec_cuda_launched("lift", error);
}

/* One level along the axes that have more than one entry, in place. */
static csrec_status lift_level(const csrec_lifting *lifting, lifting_kind kind, const volume *v,
                               double *x, double *other, csrec_error *error) {
    csrec_status status = CSREC_OK;
    double *from = x, *to = other;
    for (int a = 0; a < 3 && !status; a++) {
        if (v->region[a] < 2) continue;
        status = lift_axis(lifting, kind, v, a, from, to, error);
        double *held = from;
        from = to;
        to = held;
    }
    if (status || from == x) return status;
    return CSREC_CUDA_EACH(copy_region, v->region[0] * v->region[1] * v->region[2], THREADS, error,
                           *v, from, x);
}

static volume volume_of(const csrec_wavelet *w, int level) {
    volume v;
    for (int a = 0; a < 3; a++) {
        v.extent[a] = w->extent[a];
        v.region[a] = w->region[level][a];
    }
    return v;
}

static csrec_status transform(wavelet_operator *own, lifting_kind kind, double *x,
                              csrec_error *error) {
    const csrec_wavelet *w = &own->w;
    for (int k = 0; k < w->levels; k++) {
        volume v = volume_of(w, kind == LIFTING_SYNTHESIZE ? w->levels - 1 - k : k);
        CSREC_TRY(lift_level(w->lifting, kind, &v, x, own->other, error));
    }
    return CSREC_OK;
}

/* ---- column norms, as operator/wavelet.c: the mask summed against the squared functions of each
 * axis; functions are computed in batches, by synthesis of unit vectors */

enum { FUNCTIONS = 1 << 22 }; /* entries of functions at once, or one function */

struct functions {
    int64_t n, rows, some; /* length; number of functions, and per batch */
    double *g, *other;     /* [some][n] */
};

static __global__ void start_functions(functions f, int64_t first, int64_t count) {
    int64_t at = csrec_cuda_thread();
    if (at < count * f.n) f.g[at] = at % f.n == first + at / f.n ? 1.0 : 0.0;
}

/* out[o][first + j][i] = sum_k g_j[k]^2 in[o][k][i]. */
static __global__ void sum_functions(functions f, int64_t first, int64_t count, int64_t outer,
                                     int64_t inner, const double *in, double *out) {
    int64_t at = csrec_cuda_thread();
    if (at >= outer * count * inner) return;
    int64_t i = at % inner, j = at / inner % count, o = at / inner / count;
    const double *g = f.g + j * f.n, *from = in + o * f.n * inner + i;
    double sum = 0.0;
    for (int64_t k = 0; k < f.n; k++)
        if (g[k] != 0.0) sum += g[k] * g[k] * from[k * inner];
    out[(o * f.rows + first + j) * inner + i] = sum;
}

static __global__ void place_norms(volume v, const double *squares, double *norms) {
    int64_t c[3], at = csrec_cuda_thread();
    if (at >= v.region[0] * v.region[1] * v.region[2]) return;
    norms[offset_of(v, v.region, at, c)] = sqrt(squares[at]);
}

/* Functions first .. first + count - 1 of an axis after `level` levels. */
static csrec_status make_functions(const csrec_wavelet *w, int axis, int level, const functions *f,
                                   int64_t first, int64_t count, csrec_error *error) {
    csrec_status status =
        CSREC_CUDA_EACH(start_functions, count * f->n, THREADS, error, *f, first, count);
    for (int k = level; k >= 0 && !status; k--) {
        volume v = {{1, count, f->n}, {1, count, w->region[k][axis]}};
        if (v.region[2] < 2) continue;
        status = lift_axis(w->lifting, LIFTING_SYNTHESIZE, &v, 2, f->g, f->other, error);
        if (status) break;
        status =
            CSREC_CUDA_EACH(copy_region, count * v.region[2], THREADS, error, v, f->other, f->g);
    }
    return status;
}

/* Sums an axis of `size` in[outer][n][inner] into out[outer][rows][inner]. */
static csrec_status sum_axis(const csrec_wavelet *w, int axis, int level, functions *f,
                             int64_t outer, int64_t inner, const double *in, double *out,
                             csrec_error *error) {
    f->n = w->extent[axis];
    f->rows = w->region[level][axis];
    f->some = FUNCTIONS / f->n > 0 ? FUNCTIONS / f->n : 1;
    csrec_status status = CSREC_OK;
    for (int64_t first = 0; first < f->rows && !status; first += f->some) {
        int64_t count = f->rows - first < f->some ? f->rows - first : f->some;
        status = make_functions(w, axis, level, f, first, count, error);
        if (status) break;
        status = CSREC_CUDA_EACH(sum_functions, outer * count * inner, THREADS, error, *f, first,
                                 count, outer, inner, in, out);
    }
    return status;
}

struct norm_arrays {
    functions f;
    double *mask, *a, *b; /* [entries] */
};

static csrec_status level_norms(const csrec_wavelet *w, int level, norm_arrays *n, double *norms,
                                csrec_error *error) {
    const int64_t *r = w->region[level], *e = w->extent;
    CSREC_TRY(sum_axis(w, 2, level, &n->f, e[0] * e[1], 1, n->mask, n->a, error));
    CSREC_TRY(sum_axis(w, 1, level, &n->f, e[0], r[2], n->a, n->b, error));
    CSREC_TRY(sum_axis(w, 0, level, &n->f, 1, r[1] * r[2], n->b, n->a, error));
    return CSREC_CUDA_EACH(place_norms, r[0] * r[1] * r[2], THREADS, error, volume_of(w, level),
                           n->a, norms);
}

static void lay_out_norms(const csrec_wavelet *w, csrec_cuda_block *block, norm_arrays *n) {
    int64_t entries = w->extent[0] * w->extent[1] * w->extent[2], most = FUNCTIONS;
    for (int a = 0; a < 3; a++)
        if (w->extent[a] > most) most = w->extent[a];
    csrec_cuda_take(block, most, &n->f.g, &n->f.other);
    csrec_cuda_take(block, entries, &n->mask, &n->a, &n->b);
}

/* Without levels x is the signal, and the norms are the mask. */
static csrec_status norms(wavelet_operator *own, double *norms, csrec_error *error) {
    norm_arrays n = {};
    csrec_cuda_block block = {};
    csrec_status status = csrec_cuda_lay(&block, "the norms of wavelets", error,
                                         [&] { lay_out_norms(&own->w, &block, &n); });
    if (!status) status = csrec_cuda_samples_scatter(&own->samples, NULL, norms, error);
    if (!status) status = csrec_cuda_samples_scatter(&own->samples, NULL, n.mask, error);
    for (int level = 0; level < own->w.levels && !status; level++)
        status = level_norms(&own->w, level, &n, norms, error);
    if (!status) status = csrec_cuda_check(cudaDeviceSynchronize(), "norms", error);
    csrec_cuda_block_destroy(&block);
    return status;
}

static csrec_status queue(csrec_cuda_operator *op, csrec_cuda_product product, double *in,
                          double *out, csrec_error *error) {
    wavelet_operator *own = (wavelet_operator *)op;
    csrec_status status;
    switch (product) {
    case CSREC_CUDA_FORWARD:
        status = transform(own, LIFTING_SYNTHESIZE, in, error);
        return status ? status : csrec_cuda_samples_gather(&own->samples, in, out, error);
    case CSREC_CUDA_ADJOINT:
        status = csrec_cuda_samples_scatter(&own->samples, in, out, error);
        return status ? status : transform(own, LIFTING_TRANSPOSE, out, error);
    case CSREC_CUDA_NORMS:
        return norms(own, out, error);
    case CSREC_CUDA_SYNTHESIZE:
    case CSREC_CUDA_ANALYZE:
        CSREC_TRY(csrec_cuda_copy(out, in, (size_t)op->n * sizeof *out, error));
        return transform(own, product == CSREC_CUDA_ANALYZE ? LIFTING_ANALYZE : LIFTING_SYNTHESIZE,
                         out, error);
    default:
        return CSREC_UNSUPPORTED;
    }
}

static void lay_out(csrec_cuda_operator *op, csrec_cuda_block *block) {
    wavelet_operator *own = (wavelet_operator *)op;
    csrec_cuda_samples_take(op, block, &own->samples, &own->w.mask);
    csrec_cuda_take(block, op->n, &own->other);
}

csrec_status csrec_cuda_operator_wavelet(const csrec_wavelet *wavelet, csrec_cuda_operator **made,
                                         csrec_error *error) {
    wavelet_operator own = {};
    own.w = *wavelet;
    own.op = csrec_cuda_operator_of(wavelet->mask.m, wavelet->mask.entries, lay_out, queue);
    own.op.entries = wavelet->mask.entries;
    return csrec_cuda_operator_open(&own.op, sizeof own, "operator wavelet", made, error);
}
