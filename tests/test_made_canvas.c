/* The canvas of made-up pictures: at every pixel the front shape, found by trying all shapes there;
 * and surfaces that do not depend on what is in front of them. */
#include "check.h"

#include <string.h>

#include "learn/made_canvas.h"

static uint64_t seed;

static csrec_made_bank *bank;

/* A shape as drawn, kept beside what the canvas makes of it. */
typedef struct {
    int kind; /* ellipse, box, ring, polygon, half a ring */
    double x, y, angle, a, c, inner;
    csrec_made_shape shape;
} leaf;

static leaf leaf_draw(int side) {
    leaf l = {.kind = (int)check_below(&seed, 5)};
    l.x = (check_uniform(&seed) * 1.4 - 0.2) * side;
    l.y = (check_uniform(&seed) * 1.4 - 0.2) * side;
    l.angle = check_below(&seed, 3) ? 6.3 * check_uniform(&seed) : 0;
    l.a = side * 0.4 * pow(check_uniform(&seed), 2) + 0.4;
    l.c = check_below(&seed, 4) ? l.a * (0.1 + 0.9 * check_uniform(&seed)) : 0.3;
    l.inner = 0.2 + 0.7 * check_uniform(&seed);
    float a = (float)l.a, c = (float)l.c, inner = (float)l.inner;
    csrec_made_shape_start(&l.shape, (float)l.x, (float)l.y, (float)l.angle,
                           l.kind == 1 ? hypotf(a, c) : fmaxf(a, c));
    csrec_made_draws d = csrec_made_draws_of(check_next(&seed), 0, CSREC_MADE_FOR_PICTURE);
    if (l.kind == 1) csrec_made_shape_box(&l.shape, a, c);
    if (l.kind == 3) csrec_made_shape_polygon(&l.shape, &d, a, c);
    if (l.kind == 0 || l.kind == 2 || l.kind == 4) csrec_made_shape_outer(&l.shape, a, c);
    if (l.kind == 2 || l.kind == 4) csrec_made_shape_inner(&l.shape, a * inner, c * inner);
    if (l.kind == 4) csrec_made_shape_cut(&l.shape, 0, 1, 0);
    return l;
}

/* By how much the point is inside, negative outside, in some unit of the shape. */
static double depth(const leaf *l, double x, double y) {
    double dx = x - l->x, dy = y - l->y;
    double u = dx * cos(l->angle) + dy * sin(l->angle), v = dy * cos(l->angle) - dx * sin(l->angle);
    double r = hypot(u / l->a, v / l->c);
    if (l->kind == 0) return 1 - r;
    if (l->kind == 1) return fmin(l->a - fabs(u), l->c - fabs(v));
    if (l->kind == 2) return fmin(1 - r, r - l->inner);
    if (l->kind == 4) return fmin(fmin(1 - r, r - l->inner), -v / l->c);
    double least = 1e9;
    for (int k = 0; k < l->shape.planes; k++) {
        const float *p = l->shape.plane[k];
        least = fmin(least, (double)p[2] - (double)p[0] * dx - (double)p[1] * dy);
    }
    return least;
}

/* The first leaf that has the point, `count` if none, -1 if a border is too near to tell. */
static int first_at(const leaf *leaves, int count, double x, double y) {
    for (int k = 0; k < count; k++) {
        double inside = depth(&leaves[k], x, y);
        if (fabs(inside) < 1e-3) return -1;
        if (inside > 0) return k;
    }
    return count;
}

static csrec_made_canvas canvas_start(int side, int channels, void **work) {
    csrec_made_canvas canvas;
    assert_int_equal(posix_memalign(work, 64, csrec_made_canvas_room(channels, side)), 0);
    memset(*work, 0xFF, csrec_made_canvas_room(channels, side)); /* not numbers */
    csrec_made_canvas_start(&canvas, bank, channels, side, 1, *work);
    return canvas;
}

static csrec_made_surface flat(float tone) {
    csrec_made_surface surface = {.texture = CSREC_MADE_FLAT};
    for (int c = 0; c < 4; c++) surface.tone[c] = tone + 1000 * (float)c;
    return surface;
}

static void front_hides_what_is_behind(void **state) {
    (void)state;
    int64_t told = 0, all = 0;
    for (int round = 0; round < 60; round++) {
        int side = 1 + (int)check_below(&seed, 200), count = (int)check_below(&seed, 60);
        int channels = 1 + (int)check_below(&seed, 3);
        leaf leaves[60];
        void *work;
        csrec_made_canvas canvas = canvas_start(side, channels, &work);
        for (int k = 0; k <= count; k++) {
            csrec_made_surface surface = flat((float)k);
            if (k == count) {
                csrec_made_canvas_close(&canvas, &surface);
                continue;
            }
            leaves[k] = leaf_draw(side);
            csrec_made_canvas_add(&canvas, &leaves[k].shape, &surface);
        }
        assert_int_equal(canvas.n_open, 0);
        for (int i = 0; i < channels * side * side; i++, all++) {
            int at = i % (side * side), c = i / (side * side);
            int front = first_at(leaves, count, at % side + 0.5, at / side + 0.5);
            double painted = (double)canvas.plane[i];
            assert_true(painted >= 1000 * c && painted <= count + 1000 * c);
            if (front < 0) continue;
            told++;
            if (painted != front + 1000 * c)
                fail_msg("(%d, %d): %g, not %d", at % side, at / side, painted, front);
        }
        free(work);
    }
    assert_true(told > all / 10 * 9);
}

/* Surfaces without jumps, so that the rounding of a run's start changes little. */
static csrec_made_surface smooth_draw(void) {
    static const int textures[] = {CSREC_MADE_RAMP, CSREC_MADE_WAVES, CSREC_MADE_NOISE,
                                   CSREC_MADE_CREASES, CSREC_MADE_CHECKS};
    csrec_made_surface s = {.texture = textures[check_below(&seed, 5)],
                            .tone = {100},
                            .gain = {1},
                            .amplitude = 30,
                            .grain = (float)check_uniform(&seed),
                            .fu = 0.2f * (float)check_normal(&seed),
                            .fv = 0.2f * (float)check_normal(&seed),
                            .phase = (float)check_uniform(&seed),
                            .second = 0.7f,
                            .warp = (float)check_uniform(&seed) * 0.3f,
                            .threshold = -0.5f,
                            .noise_scale = 0.2f + (float)check_uniform(&seed)};
    s.noise = csrec_made_bank_table(bank, (int)check_below(&seed, CSREC_MADE_TABLES));
    return s;
}

static void surfaces_do_not_depend_on_what_is_in_front(void **state) {
    (void)state;
    for (int round = 0; round < 60; round++) {
        enum { SIDE = 150 };
        void *work, *work_whole;
        csrec_made_canvas canvas = canvas_start(SIDE, 1, &work);
        csrec_made_canvas whole = canvas_start(SIDE, 1, &work_whole);
        csrec_made_surface front = flat(-5000), behind = smooth_draw();
        for (int k = 0; k < 20; k++) {
            leaf l = leaf_draw(SIDE);
            csrec_made_canvas_add(&canvas, &l.shape, &front);
        }
        csrec_made_canvas_close(&canvas, &behind);
        csrec_made_canvas_close(&whole, &behind);
        for (int i = 0; i < SIDE * SIDE; i++)
            assert_true(canvas.plane[i] == -5000.0f ||
                        fabsf(canvas.plane[i] - whole.plane[i]) < 0.5f);
        free(work);
        free(work_whole);
    }
}

int main(void) {
    seed = check_seed();
    if (csrec_made_bank_create(seed, &bank, NULL) != CSREC_OK) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(front_hides_what_is_behind),
        cmocka_unit_test(surfaces_do_not_depend_on_what_is_in_front),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    csrec_made_bank_destroy(bank);
    return failed;
}
