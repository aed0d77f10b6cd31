/* SPDX-License-Identifier: BSD-3-Clause */
/* Row orders: bijections with an inverse for every kind of shape, Morton against interleaving bit
 * by bit, Hilbert by its defining property: neighbours along the curve are neighbours in space. */
#include "check.h"

SEED(seed);

static int bits_of(int64_t dim) {
    int bits = 0;
    for (int64_t size = 1; size < dim; size *= 2) bits++;
    return bits;
}

static void coordinates(const csrec_shape *shape, int64_t index, int64_t *x) {
    for (int a = shape->dims - 1; a >= 0; a--) {
        x[a] = index % shape->dim[a];
        index /= shape->dim[a];
    }
}

/* Morton row from the definition: rounds over the bits, axes from last to first. */
static uint64_t morton(const csrec_shape *shape, int64_t index) {
    int64_t x[CSREC_DIMS_MAX];
    coordinates(shape, index, x);
    uint64_t row = 0;
    int place = 0;
    for (int bit = 0; bit < 62; bit++)
        for (int a = shape->dims - 1; a >= 0; a--)
            if (bit < bits_of(shape->dim[a])) row |= (uint64_t)(x[a] >> bit & 1) << place++;
    return row;
}

/* A random shape of `dims` axes with at most about `limit` entries. */
static csrec_shape random_shape(int dims, int64_t limit) {
    csrec_shape shape = {.dims = dims};
    int64_t count = 1;
    for (int a = 0; a < dims; a++) shape.dim[a] = 1;
    for (int turn = 0; turn < dims; turn++) {
        int a = (int)check_below(&seed, dims);
        if (shape.dim[a] > 1 || check_below(&seed, 5) == 0) continue;
        int64_t room = limit / count;
        if (room < 2) break;
        int64_t most = check_below(&seed, 2) && room > 9 ? 9 : room;
        shape.dim[a] = 1 + check_below(&seed, most);
        if (check_below(&seed, 3) == 0)
            shape.dim[a] = INT64_C(1) << (bits_of(shape.dim[a] + 1) - 1);
        count *= shape.dim[a];
    }
    return shape;
}

/* All entries of the shape go to distinct rows below 2^L and back; all other rows go to -1. */
static void check_bijection(const csrec_shape *shape, csrec_order order) {
    int levels = -1, expected = 0;
    assert_ok(csrec_rows_levels(shape, order, &levels));
    for (int a = 0; a < shape->dims; a++) expected += bits_of(shape->dim[a]);
    if (order == CSREC_ORDER_RASTER) expected = bits_of(entries_in(shape));
    assert_int_equal(levels, expected);

    int64_t n = entries_in(shape), M = INT64_C(1) << levels, inside = 0;
    OWNED int64_t *index = malloc((size_t)M * sizeof *index),
                  *owner = malloc((size_t)M * sizeof *owner);
    OWNED uint64_t *rows = malloc((size_t)M * sizeof *rows);
    for (int64_t k = 0; k < M; k++) owner[k] = -1;
    for (int64_t k = 0; k < n; k++) index[k] = k;
    assert_ok(csrec_rows_from_index(shape, order, n, index, rows));
    for (int64_t k = 0; k < n; k++) {
        assert_true(rows[k] < (uint64_t)M);
        assert_int_equal(owner[rows[k]], -1);
        owner[rows[k]] = k;
        if (order == CSREC_ORDER_RASTER) assert_int_equal(rows[k], k);
        if (order == CSREC_ORDER_MORTON) assert_int_equal(rows[k], morton(shape, k));
    }
    for (int64_t k = 0; k < M; k++) rows[k] = (uint64_t)k;
    assert_ok(csrec_rows_to_index(shape, order, M, rows, index));
    for (int64_t k = 0; k < M; k++) {
        assert_int_equal(index[k], owner[k]);
        inside += index[k] >= 0;
    }
    assert_int_equal(inside, n);
}

TEST(orders_are_bijections) {
    for (int round = 0; round < 30; round++)
        for (int dims = 1; dims <= CSREC_DIMS_MAX; dims++) {
            csrec_shape shape = random_shape(dims, 3000);
            for (int order = 0; order < 3; order++) check_bijection(&shape, (csrec_order)order);
        }
    const csrec_shape fixed[] = {{1, {1}},
                                 {8, {1, 1, 1, 1, 1, 1, 1, 1}},
                                 {2, {7, 1}},
                                 {2, {1, 8}},
                                 {3, {5, 1, 64}},
                                 {8, {2, 2, 2, 2, 2, 2, 2, 2}},
                                 {8, {3, 3, 2, 3, 2, 3, 3, 2}}};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        for (int order = 0; order < 3; order++) check_bijection(&fixed[i], (csrec_order)order);
}

/* Distance in steps along the axes between the places of two rows. */
static int64_t steps_between(const csrec_shape *shape, const int64_t *index) {
    int64_t x[CSREC_DIMS_MAX], z[CSREC_DIMS_MAX], steps = 0;
    coordinates(shape, index[0], x);
    coordinates(shape, index[1], z);
    for (int a = 0; a < shape->dims; a++) steps += llabs(x[a] - z[a]);
    return steps;
}

TEST(hilbert_neighbours_touch) {
    for (int dims = 1; dims <= CSREC_DIMS_MAX; dims++)
        for (int bits = 1; bits * dims <= 16; bits++) {
            /* a cube, doubled or quadrupled along one axis, an idle axis where there is room */
            csrec_shape shape = {.dims = dims};
            for (int a = 0; a < dims; a++) shape.dim[a] = INT64_C(1) << bits;
            const uint64_t cube = (uint64_t)1 << bits * dims;
            uint64_t M = cube;
            if (dims > 1) {
                shape.dim[check_below(&seed, dims)] *= 4;
                M *= 4;
            }
            if (dims < CSREC_DIMS_MAX) shape.dim[shape.dims++] = 1;
            /* Within every cube, consecutive rows are one step apart. */
            OWNED uint64_t *rows = malloc(M * sizeof *rows);
            OWNED int64_t *index = malloc(M * sizeof *index);
            for (uint64_t row = 0; row < M; row++) rows[row] = row;
            assert_ok(csrec_rows_to_index(&shape, CSREC_ORDER_HILBERT, (int64_t)M, rows, index));
            for (uint64_t row = 0; row + 1 < M; row++)
                if ((row + 1) % cube) assert_int_equal(steps_between(&shape, index + row), 1);
        }
}

/* Shapes near 2^62 rows: no whole enumeration, random positions there and back. */
TEST(large_shapes) {
    const csrec_shape shapes[] = {{2, {INT64_C(1) << 31, INT64_C(1) << 31}},
                                  {2, {(INT64_C(1) << 30) - 3, INT64_C(1) << 32}},
                                  {1, {INT64_C(1) << 62}},
                                  {3, {1000003, 1 << 20, (1 << 21) - 5}},
                                  {3, {3, INT64_C(1) << 58, 2}},
                                  {8, {100, 100, 100, 100, 100, 100, 100, 100}},
                                  {5, {4096, 4096, 1, 4096, 4096}}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int order = 0; order < 3; order++)
            for (int round = 0; round < 20; round++) {
                int64_t index[300], back[300], n = 1 + check_below(&seed, 300);
                uint64_t rows[300];
                for (int64_t k = 0; k < n; k++)
                    index[k] = check_below(&seed, entries_in(&shapes[i]));
                index[0] = entries_in(&shapes[i]) - 1;
                assert_ok(csrec_rows_from_index(&shapes[i], (csrec_order)order, n, index, rows));
                assert_ok(csrec_rows_to_index(&shapes[i], (csrec_order)order, n, rows, back));
                assert_memory_equal(index, back, (size_t)n * sizeof *index);
                for (int64_t k = 0; k < n && order == CSREC_ORDER_MORTON; k++)
                    assert_int_equal(rows[k], morton(&shapes[i], index[k]));
            }
}

/* Enough positions for several threads, equal to those taken one at a time. */
TEST(many_positions) {
    const csrec_shape shape = {2, {700, 513}};
    enum { n = 100000 };
    OWNED int64_t *index = malloc(n * sizeof *index);
    OWNED uint64_t *rows = malloc(n * sizeof *rows);
    for (int k = 0; k < n; k++) index[k] = check_below(&seed, 700 * 513);
    assert_ok(csrec_rows_from_index(&shape, CSREC_ORDER_HILBERT, n, index, rows));
    for (int k = 0; k < n; k += 7) {
        uint64_t row;
        assert_ok(csrec_rows_from_index(&shape, CSREC_ORDER_HILBERT, 1, &index[k], &row));
        assert_int_equal(rows[k], row);
    }
}

TEST(unusable_shapes) {
    int levels = 77;
    int64_t count = 77;
    const csrec_shape bad[] = {{0, {0}},
                               {9, {1, 1, 1, 1, 1, 1, 1, 1}},
                               {2, {4, 0}},
                               {2, {-4, -4}},
                               {2, {INT64_C(1) << 32, INT64_C(1) << 31}},
                               {1, {INT64_MAX}},
                               {3, {INT64_MAX, INT64_MAX, 2}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(csrec_shape_count(&bad[i], &count), CSREC_DATA);
        for (int order = 0; order < 3; order++)
            assert_int_equal(csrec_rows_levels(&bad[i], (csrec_order)order, &levels), CSREC_DATA);
    }
    assert_int_equal(count, 77);
    /* 2^62 entries or fewer, but more than 62 bits once every axis is rounded up */
    const csrec_shape wide = {3, {1025, (1 << 30) + 1, (1 << 20) + 1}};
    assert_ok(csrec_shape_count(&(csrec_shape){2, {INT64_C(1) << 31, INT64_C(1) << 31}}, &count));
    assert_int_equal(count, INT64_C(1) << 62);
    assert_ok(csrec_shape_count(&wide, &count));
    assert_int_equal(csrec_rows_levels(&wide, CSREC_ORDER_MORTON, &levels), CSREC_DATA);
    assert_int_equal(csrec_rows_levels(&wide, CSREC_ORDER_HILBERT, &levels), CSREC_DATA);
    assert_int_equal(levels, 77);
    assert_ok(csrec_rows_levels(&wide, CSREC_ORDER_RASTER, &levels));
    assert_int_equal(levels, 61);
}

/* Rows past 2^L are padding as well. */
TEST(rows_out_of_range) {
    const csrec_shape shape = {2, {4, 4}};
    const uint64_t rows[] = {16, (uint64_t)1 << 62, UINT64_MAX};
    for (int order = 0; order < 3; order++) {
        int64_t index[3];
        assert_ok(csrec_rows_to_index(&shape, (csrec_order)order, 3, rows, index));
        for (int k = 0; k < 3; k++) assert_int_equal(index[k], -1);
    }
}
