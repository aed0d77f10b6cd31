/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals larger than memory: recovered in slabs they have the bits of the same tiles in one piece;
 * slabs of files are what the whole file has there; files written in slabs have the bytes of those
 * written at once. */
#include "backends.h"
#include "io_signal.h"
#include "tile_cases.h"

SEED(seed);
SEED(drawn); /* seed at the start */

static void take_all(csrec_slabs *slabs, const csrec_measurement *m, double *signal) {
    int64_t entries = entries_in(&m->shape), all = m->shape.dim[0];
    int64_t row = entries / all * m->channels;
    csrec_error error = {""};
    for (int64_t at = 0, count; at < all; at += count) {
        count = 1 + check_below(&seed, all - at < 90 ? all - at : 90);
        csrec_status status =
            csrec_slabs_take(slabs, (csrec_slab){at, count}, signal + at * row, &error);
        if (status) print_error("%s\n", error.text);
        assert_ok(status);
    }
}

static void check_case(const tile_case *c, const char *backend) {
    ENDS_BY(clear) picture p = make(&c->shape, c->channels, 0.2, c->rate, c->sigma, &seed);
    const csrec_recover_options o = tile_case_options(c, backend);
    csrec_recover_report report;
    csrec_error error = {""};
    ENDS_BY(end_slabs) csrec_slabs *slabs = NULL;
    sort_samples(&p, c->factor, &seed);
    csrec_status status = csrec_recover(&p.m, &o, p.signal, NULL, &report, &error);
    if (status) print_error("%s: %s\n", c->name, error.text);
    assert_ok(status);
    assert_true(report.estimate.tiles > 1);
    source from = {&p.m, 0, false};
    csrec_measurement form = p.m;
    form.index = NULL;
    form.y = NULL;
    form.n = 0;
    status = csrec_slabs_create(&form, read_source, &from, &o, &slabs, &error);
    if (status) print_error("%s: %s\n", c->name, error.text);
    assert_ok(status);
    assert_int_equal(csrec_slabs_samples(slabs), p.m.n);
    assert_int_equal(csrec_slabs_plan(slabs)->estimate.tiles, report.estimate.tiles);
    double *signal = check_room(p.entries * c->channels);
    take_all(slabs, &p.m, signal);
    printf("%-20s %lld tiles\n", c->name, (long long)report.estimate.tiles);
    assert_memory_equal(signal, p.signal, (size_t)(p.entries * c->channels) * sizeof *signal);
    csrec_recover_report all;
    csrec_slabs_report(slabs, &all);
    assert_int_equal(all.iterations, report.iterations);
    assert_int_equal(all.pursuits, report.pursuits);
    for (int64_t ch = 0; ch < c->channels; ch++) {
        double least, most, low = INFINITY, high = -INFINITY;
        csrec_slabs_range(slabs, ch, &least, &most);
        for (int64_t k = ch; k < p.m.n * c->channels; k += c->channels) {
            low = fmin(low, p.m.y[k]);
            high = fmax(high, p.m.y[k]);
        }
        assert_true(least == low && most == high);
    }
}

TEST_ON_EACH(slabs_have_the_bits_of_one_piece) {
    const char *backend = check_backend(state);
    for (int i = 0; i < TILE_CASES; i++)
        if (tile_case_runs(i, backend, 1, drawn) && !tile_cases[i].single)
            check_case(&tile_cases[i], backend);
}

static void expect_refusal(const csrec_measurement *form, source *from,
                           const csrec_recover_options *o, csrec_status expected,
                           const char *word) {
    ENDS_BY(end_slabs) csrec_slabs *slabs = NULL;
    csrec_error error = {""};
    csrec_status status = csrec_slabs_create(form, read_source, from, o, &slabs, &error);
    OWNED double *signal = malloc(600 * 520 * sizeof *signal);
    if (!status)
        status = csrec_slabs_take(slabs, (csrec_slab){0, form->shape.dim[0]}, signal, &error);
    assert_int_equal(status, expected);
    assert_non_null(strstr(error.text, word));
}

TEST(wrong_calls_are_refused) {
    ENDS_BY(clear) picture p = make(&(csrec_shape){2, {600, 520}}, 1, 0.0, 0.1, 0.0, &seed);
    csrec_slabs *slabs = NULL;
    double value[1040];
    sort_samples(&p, 1.0, &seed);
    source from = {&p.m, 0, false};
    csrec_recover_options o = options_by("grids");
    expect_refusal(&p.m, &from, &o, CSREC_UNSUPPORTED, "needs the whole signal");
    o.method = "frames";
    o.tile = -1;
    expect_refusal(&p.m, &from, &o, CSREC_ARGUMENT, "tile");
    o.tile = 100000;
    o.memory = 1 << 20;
    expect_refusal(&p.m, &from, &o, CSREC_MEMORY, "memory");
    o.memory = 0;
    from.changes = true;
    expect_refusal(&p.m, &from, &o, CSREC_DATA, "changed");
    from.changes = false;
    for (int calls = 0; calls < 8; calls = 2 * calls + 1) {
        int left = calls;
        report_to(&o.solve, stop_by_count, &left);
        expect_refusal(&p.m, &from, &o, CSREC_STOPPED, "stopped");
    }
    o.solve.progress = NULL;
    assert_well(csrec_slabs_create(&p.m, read_source, &from, &o, &slabs, &told));
    assert_fails(csrec_slabs_take(slabs, (csrec_slab){1, 1}, value, &told), CSREC_ARGUMENT);
    assert_well(csrec_slabs_take(slabs, (csrec_slab){0, 2}, value, &told));
    assert_fails(csrec_slabs_take(slabs, (csrec_slab){0, 1}, value, &told), CSREC_ARGUMENT);
    assert_fails(csrec_slabs_take(slabs, (csrec_slab){2, 599}, value, &told), CSREC_ARGUMENT);
    csrec_slabs_destroy(slabs);
    csrec_slabs_destroy(NULL);
    p.m.n = 0;
    expect_refusal(&p.m, &from, &o, CSREC_DATA, "known");
}

static csrec_dtype any_type(void) {
    static const csrec_dtype types[] = {CSREC_U8,  CSREC_I16, CSREC_U16,
                                        CSREC_I32, CSREC_F32, CSREC_F64};
    return types[check_below(&seed, 6)];
}

/* A signal of random values, some of which are NaN in float types. */
static csrec_image any_signal(bool channels) {
    csrec_image image = {.has_channels = channels};
    csrec_shape shape = {.dims = 2 + (int)check_below(&seed, 2)};
    for (int a = 0; a < shape.dims; a++) shape.dim[a] = 2 + check_below(&seed, 40);
    if (channels) shape.dim[shape.dims++] = 2 + check_below(&seed, 3);
    assert_ok(csrec_array_create(any_type(), &shape, &image.pixels));
    for (int64_t i = 0; i < image.pixels.count; i++) {
        csrec_array_set(&image.pixels, i, (double)check_below(&seed, 200));
        bool nan = check_below(&seed, 4) == 0;
        if (nan && image.pixels.dtype == CSREC_F32) ((float *)image.pixels.data)[i] = NAN;
        if (nan && image.pixels.dtype == CSREC_F64) ((double *)image.pixels.data)[i] = NAN;
    }
    return image;
}

static void expect_same_samples(const char *path, const csrec_read_options *options) {
    csrec_measurement whole, part;
    csrec_read_options own = *options;
    csrec_error error = {""};
    csrec_status status = csrec_measurement_read_with(path, options, &whole, &error);
    if (status) { /* nothing is unknown, or nothing known */
        io_assert_line(&error, path, "known");
        return;
    }
    int64_t all = whole.shape.dim[0], entries = entries_in(&whole.shape), k = 0;
    for (int64_t at = 0, count; at < all; at += count) {
        count = 1 + check_below(&seed, all - at);
        own.slab = (csrec_slab){at, count};
        assert_ok(csrec_measurement_read_with(path, &own, &part, &error));
        assert_int_equal(part.shape.dim[0], count);
        assert_int_equal(part.channels, whole.channels);
        for (int64_t i = 0; i < part.n; i++, k++) {
            assert_int_equal(part.index[i] + at * (entries / all), whole.index[k]);
            assert_memory_equal(part.y + i * whole.channels, whole.y + k * whole.channels,
                                (size_t)whole.channels * sizeof *whole.y);
        }
        csrec_measurement_clear(&part);
    }
    assert_int_equal(k, whole.n);
    own.slab = (csrec_slab){all, 1};
    assert_int_equal(csrec_measurement_read_with(path, &own, &part, &error), CSREC_ARGUMENT);
    csrec_measurement_clear(&whole);
}

static void check_format(const char *ending, int turn) {
    csrec_error error = {""};
    csrec_image image = any_signal(turn % 2), look;
    const char *whole = check_print("%s%s", io_path("whole"), ending);
    const char *slabs = check_print("%s%s", io_path("slabs"), ending);
    const char *mask = check_print("%s%s", io_path("mask"), ending);
    expect_same_in_slabs(whole, slabs, &image, NULL, fingerprint,
                         check_below(&seed, image.pixels.shape.dim[0]));
    assert_ok(csrec_signal_look(whole, &look, &error));
    CLEARED(csrec_image) seen = read_well(whole);
    assert_true(csrec_shape_equal(&look.pixels.shape, &seen.pixels.shape));
    assert_int_equal(look.pixels.dtype, seen.pixels.dtype);
    assert_int_equal(look.pixels.count, seen.pixels.count);
    assert_int_equal(look.bits, seen.bits);
    csrec_read_options options = {
        .channels_last = image.has_channels, .volume = true, .has_unknown = true};
    options.unknown = (double)check_below(&seed, 200);
    expect_same_samples(whole, &options);
    CLEARED(csrec_image) marks = {0};
    csrec_shape shape = look.pixels.shape;
    if (image.has_channels || shape.dims > image.pixels.shape.dims) shape.dims--;
    assert_ok(csrec_array_create(CSREC_U8, &shape, &marks.pixels));
    for (int64_t i = 0; i < marks.pixels.count; i++)
        csrec_array_set(&marks.pixels, i, (double)check_below(&seed, 2));
    csrec_array_set(&marks.pixels, 0, 1.0);
    write_well(mask, &marks, NULL);
    options.has_unknown = false;
    options.mask = mask;
    expect_same_samples(whole, &options);
    csrec_image_clear(&image);
}

TEST(slabs_of_files_are_parts_of_the_whole) {
    const csrec_format *format;
    for (int i = 0; (format = csrec_format_info(i)); i++) {
        if (!(format->uses & CSREC_USE_SLABS)) continue;
        const char *ending =
            check_print("%.*s", (int)strcspn(format->endings, " "), format->endings);
        for (int turn = 0; turn < 40; turn++) check_format(ending, turn);
    }
}

TEST(other_files_are_refused) {
    csrec_image look, image = {.bits = 8};
    csrec_measurement m;
    const csrec_read_options options = {.slab = {0, 1}};
    const csrec_shape shape = {3, {4, 5, 1}};
    const char *path = io_path("p.png");
    assert_ok(csrec_array_create(CSREC_U8, &shape, &image.pixels));
    write_well(path, &image, NULL);
    io_refused(csrec_signal_look(path, &look, &error), CSREC_UNSUPPORTED, "p.png", "as a whole");
    io_refused(csrec_measurement_read_with(path, &options, &m, &error), CSREC_UNSUPPORTED, "p.png",
               "as a whole");
    slab_rows from = {&image, 0, -1, NULL};
    assert_fails(write_image(io_path("q.png"), &image, &from, NULL, fingerprint, &told),
                 CSREC_UNSUPPORTED);
    csrec_image_clear(&image);
}

FIXTURE(io_setup, io_teardown);
