/* SPDX-License-Identifier: BSD-3-Clause */
/* test_threshold.c - thresholding of pictures: the fast pass over blocks against block cosines by
 * their definition, threads against each other (instruction sets: test_sets.c), and the solver's
 * promises. */

#include "check.h"
#include "operator/dct.h"

SEED(seed);

static double *random_picture(int64_t n) {
    double *v = malloc((size_t)n * sizeof *v);
    for (int64_t k = 0; k < n; k++) v[k] = 255.0 * check_uniform(&seed);
    return v;
}

/* A picture with a reflected border of step - 1, and blocks from `down`, `right` on every step. */
typedef struct plain {
    int64_t height, width, H, W; /* of the picture, and with all that blocks reach */
    int block, step;
    double *u, *sum, *count;
} plain;

static int64_t reflect(int64_t i, int64_t n) {
    while (i < 0 || i >= n) i = i < 0 ? -1 - i : 2 * n - 1 - i;
    return i;
}

static int64_t blocks_along(int64_t extent, int block, int step) {
    int64_t blocks = 1;
    while ((blocks - 1) * step + block < step - 1 + extent) blocks++;
    return blocks;
}

static plain plain_create(int64_t height, int64_t width, int block, int step, const double *from) {
    plain p = {.height = height, .width = width, .block = block, .step = step};
    p.H = blocks_along(height, block, step) * step + block;
    p.W = blocks_along(width, block, step) * step + block;
    p.u = malloc((size_t)(p.H * p.W) * sizeof *p.u);
    p.sum = malloc((size_t)(p.H * p.W) * sizeof *p.sum);
    p.count = malloc((size_t)(p.H * p.W) * sizeof *p.count);
    for (int64_t y = 0; y < p.H; y++)
        for (int64_t x = 0; x < p.W; x++)
            p.u[y * p.W + x] =
                from[reflect(y - (step - 1), height) * width + reflect(x - (step - 1), width)];
    return p;
}

static double cosine(int block, int k, int i) {
    return sqrt((k ? 2.0 : 1.0) / block) * cos(acos(-1.0) * (i + 0.5) * k / block);
}

/* One block: coefficients, threshold (none on the mean), and back. */
static void plain_block(plain *p, int64_t y0, int64_t x0, double threshold, bool soft) {
    int b = p->block;
    for (int u = 0; u < b; u++)
        for (int v = 0; v < b; v++) {
            double c = 0.0;
            for (int i = 0; i < b; i++)
                for (int j = 0; j < b; j++)
                    c += cosine(b, u, i) * cosine(b, v, j) * p->u[(y0 + i) * p->W + x0 + j];
            if (u + v > 0 && fabs(c) <= threshold) continue;
            if (u + v > 0 && soft) c -= copysign(threshold, c);
            for (int i = 0; i < b; i++)
                for (int j = 0; j < b; j++)
                    p->sum[(y0 + i) * p->W + x0 + j] += c * cosine(b, u, i) * cosine(b, v, j);
        }
    for (int i = 0; i < b; i++)
        for (int j = 0; j < b; j++) p->count[(y0 + i) * p->W + x0 + j] += 1.0;
}

static void plain_step(plain *p, int down, int right, const csrec_shrink_step *step,
                       const int64_t *index, int64_t m, const double *y) {
    memset(p->sum, 0, (size_t)(p->H * p->W) * sizeof *p->sum);
    memset(p->count, 0, (size_t)(p->H * p->W) * sizeof *p->count);
    for (int64_t r = 0; r < blocks_along(p->height, p->block, p->step); r++)
        for (int64_t c = 0; c < blocks_along(p->width, p->block, p->step); c++)
            plain_block(p, down + r * p->step, right + c * p->step, step->threshold, step->soft);
    for (int64_t k = 0; k < p->H * p->W; k++)
        p->sum[k] = p->count[k] > 0.0 ? p->sum[k] / p->count[k] : p->u[k];
    for (int64_t k = 0; k < p->H * p->W; k++)
        p->u[k] = p->sum[k] + step->relax * (p->sum[k] - p->u[k]);
    for (int64_t k = 0; k < m; k++) {
        int64_t at = (index[k] / p->width + p->step - 1) * p->W + index[k] % p->width + p->step - 1;
        p->u[at] = p->sum[at] + step->impose * (y[k] - p->sum[at]);
    }
}

static double distance_to(const plain *p, const double *picture) {
    double most = 0.0;
    for (int64_t y = 0; y < p->height; y++)
        for (int64_t x = 0; x < p->width; x++)
            most = fmax(most, fabs(p->u[(y + p->step - 1) * p->W + x + p->step - 1] -
                                   picture[y * p->width + x]));
    return most;
}

TEST(one_step_equals_the_definition) {
    static const int blocks[] = {4, 8, 16, 32}, steps[] = {2, 4, 4, 8};
    for (int round = 0; round < 16; round++) {
        int block = blocks[round % 4], step = round < 8 ? steps[round % 4] : 4;
        csrec_shape shape = {2, {block + check_below(&seed, 9), block + check_below(&seed, 25)}};
        int64_t entries = shape.dim[0] * shape.dim[1], m = 1 + check_below(&seed, entries);
        OWNED int64_t *index = check_order(&seed, entries);
        OWNED double *from = random_picture(entries), *y = random_picture(m);
        OWNED double *picture = random_picture(entries);
        csrec_operator_spec spec = {.name = "dct", .m = m, .shape = &shape, .index = index};
        spec.block = block;
        spec.step = step;
        void *fast;
        ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
        assert_ok(A->type->shrink->create(A, y, from, &fast));
        plain p = plain_create(shape.dim[0], shape.dim[1], block, step, from);
        /* Soft, as the result is then continuous: no coefficient is lost to rounding. */
        csrec_shrink_step how = {.threshold = 30.0 + 100.0 * check_uniform(&seed),
                                 .relax = check_uniform(&seed),
                                 .impose = check_uniform(&seed),
                                 .soft = true,
                                 .draw = check_below(&seed, 1000)};
        assert_ok(A->type->shrink->step(fast, &how));
        A->type->shrink->signal(fast, picture);
        /* Floats of up to 255 * 32 through chains of about 20 operations, some scaled by 10. */
        int down, right;
        csrec_dct_offset(step, how.draw, &down, &right);
        plain_step(&p, down, right, &how, index, m, y);
        double distance = distance_to(&p, picture);
        if (distance > 0.02) fail_msg("block %d step %d: off by %g", block, step, distance);
        A->type->shrink->destroy(fast);
        free(p.u);
        free(p.sum);
        free(p.count);
    }
}

/* Blocks of two cosines whose sizes lie on either side of the threshold. */
TEST(hard_threshold_keeps_what_passes) {
    for (int round = 0; round < 20; round++) {
        int block = 4 << check_below(&seed, 4);
        csrec_shape shape = {2, {block, block}};
        int64_t entries = (int64_t)block * block, all = 0;
        int u = 1 + (int)check_below(&seed, block - 1), v = (int)check_below(&seed, block);
        OWNED double *from = malloc((size_t)entries * sizeof *from),
                     *picture = random_picture(entries);
        for (int64_t k = 0; k < entries; k++) {
            int i = (int)(k / block), j = (int)(k % block);
            from[k] = 100.0 + 50.5 * cosine(block, u, i) * cosine(block, v, j) +
                      49.5 * cosine(block, v, i) * cosine(block, u, j) * (u != v);
        }
        csrec_operator_spec spec = {.name = "dct", .m = 1, .shape = &shape, .index = &all};
        spec.block = spec.step = block;
        void *fast;
        double y = from[0];
        ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
        assert_ok(A->type->shrink->create(A, &y, from, &fast));
        csrec_shrink_step how = {.threshold = 50.0};
        int down = 0, right = 0; /* until the block is the picture */
        while (down + right < 2 * (block - 1)) csrec_dct_offset(block, ++how.draw, &down, &right);
        assert_ok(A->type->shrink->step(fast, &how));
        A->type->shrink->signal(fast, picture);
        for (int64_t k = 0; k < entries; k++) {
            int i = (int)(k / block), j = (int)(k % block);
            double wanted = 100.0 + 50.5 * cosine(block, u, i) * cosine(block, v, j);
            if (fabs(picture[k] - wanted) > 0.01)
                fail_msg("block %d, cosines %d %d: %g for %g", block, u, v, picture[k], wanted);
        }
        A->type->shrink->destroy(fast);
    }
}

TEST(threads_agree) {
    for (int block = 4; block <= 16; block *= 2) {
        csrec_shape shape = {2, {32 * 4 * block + check_below(&seed, 99), 32}};
        const int64_t entries = shape.dim[0] * shape.dim[1], m = entries / 4;
        OWNED int64_t *index = check_order(&seed, entries);
        OWNED double *y = random_picture(m), *from = random_picture(entries);
        OWNED double *one = random_picture(entries), *many = random_picture(entries);
        double energy = 0.0;
        csrec_operator_spec spec = {.name = "dct", .m = m, .shape = &shape, .index = index};
        spec.block = block;
        spec.step = block >> check_below(&seed, 3);
        ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
        for (A->threads = 1; A->threads <= 4; A->threads++) {
            void *fast;
            csrec_shrink_step how = {.threshold = 50.0, .relax = 1.0};
            assert_ok(A->type->shrink->create(A, y, from, &fast));
            for (; how.draw < 3; how.draw++) assert_ok(A->type->shrink->step(fast, &how));
            A->type->shrink->signal(fast, A->threads == 1 ? one : many);
            if (A->threads == 1) energy = A->type->shrink->energy(fast);
            assert_true(A->type->shrink->energy(fast) == energy);
            if (A->threads > 1) assert_memory_equal(one, many, (size_t)entries * sizeof *one);
            A->type->shrink->destroy(fast);
        }
    }
}

TEST(result_belongs_to_the_operator) {
    static const char *const names[] = {"dct", "wavelet"};
    for (int round = 0; round < 12; round++) {
        csrec_shape shape = {1 + round % 3, {0}};
        int64_t entries = 1;
        for (int a = 0; a < shape.dims; a++) {
            shape.dim[a] = 2 + check_below(&seed, shape.dims == 1 ? 90 : 13);
            entries *= shape.dim[a];
        }
        int64_t m = 1 + check_below(&seed, entries);
        OWNED int64_t *index = check_order(&seed, entries);
        OWNED double *y = random_picture(m), *r = random_picture(m), *Ax = random_picture(m);
        csrec_operator_spec spec = {.name = names[round % 2],
                                    .m = m,
                                    .shape = &shape,
                                    .index = index,
                                    .block = 8,
                                    .step = 4,
                                    .kind = "cdf97"};
        ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
        csrec_setting set[] = {{"steps", 7}, {"last", 5}};
        csrec_solve_options options = {.solver = "threshold", .settings = set, .n_settings = 2};
        CLEARED(csrec_atoms) atoms;
        csrec_solve_report report;
        assert_ok(csrec_solve(A, y, &options, &atoms, r, &report, NULL));
        /* The whole schedule, unless a signal of a few entries is met exactly before. */
        bool met = report.outcome == CSREC_CONVERGED && report.residual <= 1e-12;
        assert_true(met || (report.outcome == CSREC_DONE && report.iterations == 7));
        int64_t n;
        csrec_operator_size(A, &m, &n);
        OWNED double *x = calloc((size_t)n, sizeof *x);
        for (int64_t i = 0; i < atoms.n; i++) {
            x[atoms.column[i]] = atoms.coefficient[i];
            assert_true(fabs(atoms.coefficient[i]) > 5.0);
        }
        assert_ok(csrec_operator_forward(A, x, Ax));
        for (int64_t k = 0; k < m; k++) assert_true(fabs(y[k] - Ax[k] - r[k]) < 1e-9);
    }
}

TEST(unsuitable_operators_are_refused) {
    double matrix[4] = {1, 2, 3, 4}, y[2] = {1, 2};
    csrec_solve_options options = {.solver = "threshold"};
    ENDS_BY(end_operator) csrec_operator *A = dense_operator(NULL, 2, 2, matrix);
    assert_refused(csrec_solve(A, y, &options, NULL, NULL, NULL, &told), CSREC_UNSUPPORTED,
                   "dense");
}
