/* SPDX-License-Identifier: BSD-3-Clause */
/* test_numpy.c - files exchanged with NumPy itself, where python3 has it. */
#include "io_file.h"

static bool have_numpy;

/* Runs Python text in the test's folder; true if it ends well. */
static bool python(const char *text) {
    const char *path = io_save("script.py", text, strlen(text));
    return system(check_print("cd '%s' && python3 '%s'", io_folder, path)) == 0;
}

static void need_numpy(void) {
    if (have_numpy) return;
    print_message("skipped: python3 has no NumPy here\n");
    skip();
}

static int setup(void **state) {
    if (io_setup(state) != 0) return -1;
    have_numpy = system("python3 -c 'import numpy' 2>/dev/null") == 0;
    return 0;
}

/* The arrays that both sides make (no random numbers: Python and C would need the same ones):
 * element i of type t is i * (3 + t) % 101, bool i % 2. */
static double rule(csrec_dtype dtype, int64_t i) {
    return dtype == CSREC_BOOL ? (double)(i % 2) : (double)(i * (3 + (int)dtype) % 101);
}

static void check_array(const csrec_array *array, csrec_dtype dtype) {
    assert_int_equal(array->dtype, dtype);
    assert_int_equal(array->shape.dims, 3);
    for (int64_t i = 0; i < array->count; i++)
        assert_true(csrec_array_value(array, i) == rule(dtype, i));
}

#define PREAMBLE                                                                                   \
    "import numpy as np\n"                                                                         \
    "codes = ['b1', 'u1', 'i1', 'u2', 'i2', 'u4', 'i4', 'u8', 'i8', 'f4', 'f8']\n"                 \
    "def make(t):\n"                                                                               \
    "    i = np.arange(60)\n"                                                                      \
    "    return (i % 2 if t == 0 else i * (3 + t) % 101).reshape(3, 4, 5).astype(codes[t])\n"

/* Both byte orders, both axis orders, .npy and both kinds of .npz. */
TEST(numpy_writes_we_read) {
    need_numpy();
    assert_true(python(PREAMBLE "for t, c in enumerate(codes):\n"
                                "    a = make(t)\n"
                                "    v = {'little': a.astype('<' + c), 'big': a.astype('>' + c),\n"
                                "         'fortran': np.asfortranarray(a),\n"
                                "         'both': np.asfortranarray(a.astype('>' + c))}\n"
                                "    for k, x in v.items(): np.save(f'{k}{t}.npy', x)\n"
                                "    np.savez(f'stored{t}.npz', **v)\n"
                                "    np.savez_compressed(f'deflated{t}.npz', **v)\n"));
    static const char *const kinds[] = {"little", "big", "fortran", "both"};
    for (int t = CSREC_BOOL; t <= CSREC_F64; t++)
        for (int k = 0; k < 4; k++) {
            csrec_array array;
            const char *file = io_path(check_print("%s%d.npy", kinds[k], t));
            assert_well(csrec_array_read(file, &array, &told));
            check_array(&array, (csrec_dtype)t);
            csrec_array_clear(&array);
            for (int z = 0; z < 2; z++) {
                file = io_path(check_print("%s%d.npz", z ? "deflated" : "stored", t));
                assert_well(csrec_npz_read(file, kinds[k], &array, &told));
                check_array(&array, (csrec_dtype)t);
                csrec_array_clear(&array);
            }
        }
}

TEST(we_write_numpy_reads) {
    need_numpy();
    static const char *const names[] = {"a0", "a1", "a2", "a3", "a4", "a5",
                                        "a6", "a7", "a8", "a9", "a10"};
    csrec_array arrays[11];
    const csrec_array *pointers[11];
    for (int t = 0; t < 11; t++) {
        char name[32];
        assert_ok(csrec_array_create((csrec_dtype)t, &(csrec_shape){3, {3, 4, 5}}, &arrays[t]));
        for (int64_t i = 0; i < 60; i++) switch (t) {
#define STORE(name, type, code, bytes)                                                             \
    case CSREC_##name:                                                                             \
        ((type *)arrays[t].data)[i] = (type)rule((csrec_dtype)t, i);                               \
        break;
                CSREC_DTYPE_LIST(STORE)
#undef STORE
            }
        snprintf(name, sizeof name, "%s.npy", names[t]);
        assert_ok(csrec_array_write(io_path(name), &arrays[t], NULL));
        pointers[t] = &arrays[t];
    }
    assert_ok(csrec_npz_write(io_path("all.npz"), 11, names, pointers, NULL));
    for (int t = 0; t < 11; t++) csrec_array_clear(&arrays[t]);
    assert_true(python(PREAMBLE
                       "import zipfile\n"
                       "assert zipfile.ZipFile('all.npz').testzip() is None\n"
                       "z = np.load('all.npz')\n"
                       "assert sorted(z.files) == sorted(f'a{t}' for t in range(11))\n"
                       "for t, c in enumerate(codes):\n"
                       "    for a in (np.load(f'a{t}.npy'), z[f'a{t}']):\n"
                       "        assert a.dtype == np.dtype(c) and a.shape == (3, 4, 5), a.dtype\n"
                       "        assert (a == make(t)).all()\n"));
}

static void expect_two(const char *name) {
    CLEARED(csrec_measurement) m;
    assert_well(csrec_measurement_read(io_path(name), NULL, &m, &told));
    assert_int_equal(m.shape.dims, 2);
    assert_int_equal(m.shape.dim[0], 4);
    assert_int_equal(m.shape.dim[1], 5);
    assert_int_equal(m.n, 7);
    for (int64_t k = 0; k < m.n; k++) /* the picture is x = 0 .. 19, so each sample is its place */
        assert_true(m.y[k * m.channels] == (double)m.index[k]);
}

/* The one-liner of the documentation, and what else a user may write in a line. */
TEST(numpy_measurements_are_read) {
    need_numpy();
    assert_true(
        python("import numpy as np\n"
               "x = np.arange(20.).reshape(4, 5)\n"
               "mask = np.zeros((4, 5), bool); mask.flat[[1, 4, 5, 9, 13, 17, 19]] = True\n"
               "np.savez('mask.npz', y=x[mask], mask=mask)\n"
               "np.savez('fortran.npz', y=x[mask], mask=np.asfortranarray(mask))\n"
               "np.savez('u8.npz', y=x[mask].astype('u1'), mask=mask.astype('u1') * 255)\n"
               "c = np.stack([x, -x, x * 2], axis=2)\n"
               "np.savez_compressed('colour.npz', y=c[mask], mask=mask)\n"
               "i = np.flatnonzero(mask)[::-1]\n"
               "np.savez('index.npz', y=x.flat[i], shape=x.shape, index=i)\n"
               "np.savez('big.npz', y=x.flat[i].astype('>f4'), shape=np.array(x.shape, '>i2'),\n"
               "         index=i.astype('>u8'), sigma=0.5, scale=(0, 255))\n"
               "r, c = np.nonzero(mask)\n"
               "np.savetxt('s.csv', np.c_[r, c, x[mask]], delimiter=',', header='shape: 4,5')\n"
               "np.savetxt('t.csv', np.c_[r, c, x[mask]], fmt='%d %d %.17g')\n"));
    static const char *const names[] = {"mask.npz",  "fortran.npz", "u8.npz", "colour.npz",
                                        "index.npz", "big.npz",     "s.csv",  "t.csv"};
    for (int i = 0; i < 8; i++) expect_two(names[i]);
}

/* Every finite number of 16 bits, in both byte orders and axis orders. */
TEST(halves_are_read_exactly) {
    need_numpy();
    assert_true(
        python("import numpy as np\n"
               "h = np.arange(65536).astype('u2').view('f2')\n"
               "h = h[np.isfinite(h)].reshape(2, 31, 1024)\n"
               "np.save('h.npy', h), np.save('b.npy', h.astype('>f2'))\n"
               "np.save('f.npy', np.asfortranarray(h)), np.save('d.npy', h.astype('f8'))\n"));
    csrec_array d = {0}, h = {0};
    assert_ok(csrec_array_read(io_path("d.npy"), &d, NULL));
    for (const char *k = "hbf"; *k; k++) {
        assert_ok(csrec_array_read(io_path(check_print("%c.npy", *k)), &h, NULL));
        assert_int_equal(h.dtype, CSREC_F32);
        assert_int_equal(h.count, d.count);
        for (int64_t i = 0; i < d.count; i++)
            assert_true(csrec_array_value(&h, i) == csrec_array_value(&d, i));
        csrec_array_clear(&h);
    }
    csrec_array_clear(&d);
}

TEST(our_measurements_are_read_by_numpy) {
    need_numpy();
    csrec_measurement m = {.shape = {2, {40, 50}},
                           .channels = 3,
                           .dtype = CSREC_F32,
                           .sigma = 0.25,
                           .scale = {0, 255},
                           .pattern = CSREC_PATTERN_UNIFORM,
                           .seed = UINT64_MAX - 7};
    csrec_sampling sampling;
    assert_ok(csrec_sampling_create(&m.shape, m.pattern, 100, m.seed, &sampling, NULL));
    m.n = sampling.n;
    m.index = sampling.index;
    m.y = malloc(300 * sizeof *m.y);
    for (int i = 0; i < 300; i++) m.y[i] = (double)m.index[i / 3] + i % 3 * 0.25;
    assert_ok(csrec_measurement_write(io_path("e.npz"), &m, false, NULL));
    assert_ok(csrec_measurement_write(io_path("p.npz"), &m, true, NULL));
    csrec_measurement_clear(&m);
    assert_true(python(
        "import numpy as np\n"
        "e, p = np.load('e.npz'), np.load('p.npz')\n"
        "assert set(e.files) == {'y', 'shape', 'index', 'sigma', 'scale'}, e.files\n"
        "assert set(p.files) == {'y', 'shape', 'pattern', 'seed', 'count', 'sigma', 'scale'}\n"
        "assert e['y'].dtype == np.float32 and e['y'].shape == (100, 3)\n"
        "assert (e['y'] == e['index'][:, None] + np.arange(3) * 0.25).all()\n"
        "assert list(e['shape']) == [40, 50] and e['sigma'] == 0.25 and list(e['scale']) == [0, "
        "255]\n"
        "assert str(p['pattern']) == 'uniform' and p['pattern'].dtype.kind == 'U'\n"
        "assert int(p['seed']) == 2**64 - 8 and int(p['count']) == 100\n"));
}

FIXTURE(setup, io_teardown);
