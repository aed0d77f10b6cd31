/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples of slabs from .npz files: as they were put into archives that are built by hand, with
 * positions in any order; recovered in slabs they have the bits of one piece. Results in .npz. */
#include "io_npy.h"
#include "io_signal.h"
#include "io_zip.h"
#include "tiles.h"

SEED(seed);

typedef enum { ASCENDING, NEARLY, SHUFFLED, MASK, KINDS } kind;

static const char *const kinds[] = {"ascending", "nearly ascending", "shuffled", "mask"};

/* Samples in the order of the file. */
typedef struct scan {
    csrec_shape shape;
    int64_t entries, n, channels;
    int64_t *index;
    double *y;
    bool single; /* stored as big-endian floats of 32 bits */
} scan;

/* Moves samples by at most `reach` places, or so. */
static void shuffle(scan *s, int64_t reach) {
    for (int64_t i = s->n - 1; i > 0; i--) {
        int64_t k = i - check_below(&seed, reach < i ? reach + 1 : i + 1);
        int64_t at = s->index[i];
        s->index[i] = s->index[k];
        s->index[k] = at;
    }
}

static scan draw(kind k, int64_t most) {
    scan s = {.shape = {.dims = 1 + (int)check_below(&seed, 3)},
              .channels = 1 + check_below(&seed, 3),
              .single = check_below(&seed, 2) > 0};
    double rate = check_uniform(&seed);
    int64_t left = most;
    for (int a = s.shape.dims - 1; a >= 0; a--) {
        s.shape.dim[a] = a ? 1 + check_below(&seed, 30) : 1 + check_below(&seed, left);
        left = left / s.shape.dim[a] + 1;
    }
    s.entries = entries_in(&s.shape);
    s.index = check_keep((size_t)s.entries * sizeof *s.index);
    s.y = check_keep((size_t)(s.entries * s.channels) * sizeof *s.y);
    for (int64_t i = 0; i < s.entries; i++)
        if (check_uniform(&seed) < rate) s.index[s.n++] = i;
    if (s.n == 0) s.index[s.n++] = s.entries - 1;
    if (k == NEARLY) shuffle(&s, 500);
    if (k == SHUFFLED) shuffle(&s, s.n);
    for (int64_t i = 0; i < s.n * s.channels; i++) s.y[i] = (double)(float)check_normal(&seed);
    return s;
}

static io_bytes y_bytes(const scan *s, bool fortran) {
    io_bytes b = {0};
    io_npy_header(&b, 1, s->single ? ">f4" : "<f8", fortran,
                  check_print(s->channels > 1 || fortran ? "(%lld, %lld)" : "(%lld,)",
                              (long long)s->n, (long long)s->channels));
    for (int64_t i = 0; i < s->n * s->channels; i++) {
        const float value = (float)s->y[i];
        uint64_t bits = 0;
        uint32_t half;
        memcpy(&bits, &s->y[i], 8);
        memcpy(&half, &value, 4);
        for (int k = 3; k >= 0 && s->single; k--) io_put_le(&b, half >> (8 * k) & 255, 1);
        if (!s->single) io_put_le(&b, bits, 8);
    }
    return b;
}

static io_bytes mask_bytes(const scan *s) {
    char shape[128] = "(";
    OWNED uint8_t *mask = calloc((size_t)s->entries, 1);
    assert_non_null(mask);
    for (int a = 0; a < s->shape.dims; a++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%lld,",
                 (long long)s->shape.dim[a]);
    strcat(shape, ")");
    for (int64_t i = 0; i < s->n; i++) mask[s->index[i]] = 1;
    return io_npy_u1("|b1", shape, s->entries, mask);
}

typedef struct how {
    bool fortran;
    io_zip_how y, places; /* of the archive */
} how;

static const char *save(const scan *s, kind k, how h) {
    io_zip zip = {0};
    const bool zip64 = h.y.zip64 || h.places.zip64;
    if (k == MASK) {
        io_zip_add(&zip, "mask.npy", mask_bytes(s), h.places);
    } else {
        io_zip_add(&zip, "index.npy",
                   io_npy_i8(check_print("(%lld,)", (long long)s->n), s->n, s->index), h.places);
        const char *shape = check_print("(%d,)", s->shape.dims);
        io_zip_add(&zip, "shape.npy", io_npy_i8(shape, s->shape.dims, s->shape.dim),
                   (io_zip_how){0});
    }
    io_zip_add(&zip, "y.npy", y_bytes(s, h.fortran), h.y);
    io_zip_add(&zip, "sigma.npy", io_npy_f8(1, (double[]){0.25}), (io_zip_how){.deflate = true});
    ENDS_BY(io_free) io_bytes bytes = io_zip_finish(&zip, zip64);
    return io_save("scan.npz", bytes.data, bytes.size);
}

static csrec_slab_file *open_scan(const char *path, csrec_measurement *form) {
    csrec_slab_file *file = NULL;
    assert_well(csrec_slab_file_open(path, NULL, form, &file, &told));
    return file;
}

/* What the file has of the slab, in its order. */
static void check_slab(const scan *s, csrec_slab slab, const csrec_measurement *part) {
    const int64_t row = s->entries / s->shape.dim[0], C = s->channels;
    csrec_shape shape = s->shape;
    int64_t k = 0;
    shape.dim[0] = slab.count;
    assert_true(csrec_shape_equal(&part->shape, &shape));
    assert_int_equal(part->channels, C);
    assert_int_equal(part->dtype, s->single ? CSREC_F32 : CSREC_F64);
    for (int64_t i = 0; i < s->n; i++) {
        int64_t at = s->index[i] - slab.first * row;
        if (at < 0 || at >= slab.count * row) continue;
        assert_true(k < part->n);
        assert_int_equal(part->index[k], at);
        assert_memory_equal(part->y + k * C, s->y + i * C, (size_t)C * sizeof *part->y);
        k++;
    }
    assert_int_equal(part->n, k);
}

static void check_scan(const scan *s, const char *path) {
    csrec_measurement form, part;
    csrec_slab_file *file = open_scan(path, &form);
    assert_true(csrec_shape_equal(&form.shape, &s->shape));
    assert_int_equal(form.n, s->n);
    assert_true(form.sigma == 0.25);
    for (int turn = 0; turn < 4; turn++) {
        csrec_slab slab = {check_below(&seed, s->shape.dim[0]), 0};
        slab.count = 1 + check_below(&seed, s->shape.dim[0] - slab.first);
        if (turn == 3) slab = (csrec_slab){0, s->shape.dim[0]};
        assert_well(csrec_slab_file_read(file, slab, &part, &told));
        check_slab(s, slab, &part);
        csrec_measurement_clear(&part);
    }
    assert_fails(csrec_slab_file_read(file, (csrec_slab){s->shape.dim[0], 1}, &part, &told),
                 CSREC_ARGUMENT);
    assert_fails(csrec_slab_file_read(file, (csrec_slab){0, 0}, &part, &told), CSREC_ARGUMENT);
    csrec_slab_file_close(file);
}

TEST(slabs_have_the_samples_of_the_file) {
    for (int trial = 0; trial < SANITIZED_SHARE(40); trial++) {
        const kind k = (kind)(trial % KINDS);
        const how h = {.y = {.zip64 = check_below(&seed, 4) == 0},
                       .places = {.zip64 = check_below(&seed, 4) == 0}};
        scan s = draw(k, trial % 5 ? 3000 : 400000); /* several pieces of 65,536 */
        if (trial % 5 == 0)
            printf("%s: %lld of %lld\n", kinds[k], (long long)s.n, (long long)s.entries);
        check_scan(&s, save(&s, k, h));
    }
}

static void expect_bits(const picture *p, const scan *s, kind k, const csrec_recover_options *o) {
    csrec_measurement whole, form;
    csrec_recover_report report;
    ENDS_BY(end_slabs) csrec_slabs *slabs = NULL;
    const char *path = save(s, k, (how){0});
    double *signal = check_room(p->entries * s->channels);
    assert_well(csrec_measurement_read(path, NULL, &whole, &told));
    assert_well(csrec_recover(&whole, o, p->signal, NULL, &report, &told));
    csrec_slab_file *file = open_scan(path, &form);
    assert_well(csrec_slabs_create(&form, csrec_slab_file_read, file, o, &slabs, &told));
    assert_well(csrec_slabs_take(slabs, (csrec_slab){0, s->shape.dim[0]}, signal, &told));
    assert_memory_equal(signal, p->signal, (size_t)(p->entries * s->channels) * sizeof *signal);
    csrec_slab_file_close(file);
    csrec_measurement_clear(&whole);
}

/* In every order of the samples, which decides how their sums are rounded. */
TEST(slabs_have_the_bits_of_one_piece) {
    const csrec_shape shape = {2, {340 + check_below(&seed, 60), 460}};
    ENDS_BY(clear) picture p = make(&shape, 2, 0.2, 0.15, 0.0, &seed);
    csrec_recover_options o = options_on_cpu("frames", NULL);
    o.tile = 70000;
    scan s = {shape, p.entries, p.m.n, 2, p.m.index, p.m.y, false};
    if (!SANITIZED) expect_bits(&p, &s, ASCENDING, &o);
    shuffle(&s, s.n);
    expect_bits(&p, &s, SHUFFLED, &o);
}

static csrec_image draw_signal(bool large) {
    csrec_image image = {0};
    csrec_shape shape = {.dims = 1 + (int)check_below(&seed, 4)};
    for (int a = 0; a < shape.dims; a++) shape.dim[a] = 1 + check_below(&seed, 12);
    if (large) shape = (csrec_shape){2, {1100 + check_below(&seed, 200), 900}};
    csrec_dtype type = large ? CSREC_F64 : (csrec_dtype)(CSREC_U8 + check_below(&seed, 10));
    assert_ok(csrec_array_create(type, &shape, &image.pixels));
    for (int64_t i = 0; i < image.pixels.count; i++)
        csrec_array_set(&image.pixels, i, (double)check_below(&seed, 100));
    return image;
}

TEST(results_have_the_same_bytes_in_slabs) {
    const char *whole = check_print("%s", io_path("whole.npz"));
    const char *slabs = check_print("%s", io_path("slabs.npz"));
    for (int trial = 0; trial < 42; trial++) {
        CLEARED(csrec_image) image = draw_signal(trial % 20 == 0); /* slabs have 4 MiB */
        const char *print = trial % 2 ? fingerprint : NULL;
        expect_same_in_slabs(whole, slabs, &image, NULL, print,
                             check_below(&seed, image.pixels.shape.dim[0]));
        /* libzip compares the checksums. */
        CLEARED(csrec_array) read = {0};
        assert_well(csrec_npz_read(whole, "x", &read, &told));
        assert_true(csrec_shape_equal(&read.shape, &image.pixels.shape));
        assert_int_equal(read.dtype, image.pixels.dtype);
        assert_memory_equal(read.data, image.pixels.data,
                            (size_t)image.pixels.count * csrec_dtype_size(image.pixels.dtype));
        expect_fingerprint(whole, print ? print : "");
    }
}

static void expect_wrong(const char *path, csrec_status expected, const char *part) {
    csrec_measurement form, made;
    csrec_slab_file *file = NULL;
    csrec_error error = {""};
    csrec_status status = csrec_slab_file_open(path, NULL, &form, &file, &error);
    if (!status)
        status = csrec_slab_file_read(file, (csrec_slab){0, form.shape.dim[0]}, &made, &error);
    if (status != expected) fail_msg("%d: %s", status, error.text);
    io_assert_line(&error, path, part);
    csrec_slab_file_close(file);
}

TEST(wrong_files_are_one_line) {
    for (int trial = 0; trial < 20; trial++) {
        scan s = draw(SHUFFLED, 3000);
        if (s.n < 4) continue;
        const int64_t k = 2 + check_below(&seed, s.n - 2), kept = s.index[k];
        const io_zip_how deflated = {.deflate = true}, broken = {.crc_flip = 1};
        expect_wrong(save(&s, SHUFFLED, (how){.y = deflated}), CSREC_UNSUPPORTED, "compressed");
        expect_wrong(save(&s, MASK, (how){.places = deflated}), CSREC_UNSUPPORTED, "compressed");
        expect_wrong(save(&s, SHUFFLED, (how){.fortran = true}), CSREC_UNSUPPORTED, "C order");
        expect_wrong(save(&s, SHUFFLED, (how){.y = broken}), CSREC_FORMAT, "checksum");
        expect_wrong(save(&s, MASK, (how){.places = broken}), CSREC_FORMAT, "checksum");
        s.index[k] = s.index[0];
        expect_wrong(save(&s, SHUFFLED, (how){0}), CSREC_DATA, "there twice");
        s.index[k] = s.entries;
        expect_wrong(save(&s, SHUFFLED, (how){0}), CSREC_DATA, "outside 0 to");
        s.index[k] = -1;
        expect_wrong(save(&s, SHUFFLED, (how){0}), CSREC_DATA, "outside 0 to");
        s.index[k] = kept;
        s.y[k * s.channels] = INFINITY;
        expect_wrong(save(&s, SHUFFLED, (how){0}), CSREC_DATA, "is infinite");
    }
    csrec_measurement form;
    csrec_slab_file *file = NULL;
    assert_fails(csrec_slab_file_open("-", NULL, &form, &file, &told), CSREC_UNSUPPORTED);
    csrec_slab_file_close(NULL);
}

FIXTURE(io_setup, io_teardown);
