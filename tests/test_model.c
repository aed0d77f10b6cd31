/* SPDX-License-Identifier: BSD-3-Clause */
/* test_model.c - model files: written, read, read by NumPy, and refused by name. */
#include "io_file.h"

#include "base/half.h"
#include "files/npz/npz.h"

SEED(seed);

typedef struct parts {
    const char *names[12];
    csrec_array arrays[12];
    int n;
} parts;

static double *add(parts *p, const char *name, csrec_dtype dtype, csrec_shape shape) {
    p->names[p->n] = name;
    assert_ok(csrec_array_create(dtype, &shape, &p->arrays[p->n]));
    return p->arrays[p->n++].data;
}

static void clear(parts *p) {
    for (int i = 0; i < p->n; i++) csrec_array_clear(&p->arrays[i]);
    *p = (parts){.n = 0};
}

/* 3 components of 2 x 3 patches of 2 channels. */
static parts make_pca(void) {
    parts p = {.n = 0};
    double *mean = add(&p, "mean", CSREC_F64, (csrec_shape){1, {12}});
    double *components = add(&p, "components", CSREC_F64, (csrec_shape){2, {3, 12}});
    double *variances = add(&p, "variances", CSREC_F64, (csrec_shape){1, {3}});
    for (int i = 0; i < 12; i++) mean[i] = check_uniform(&seed);
    for (int i = 0; i < 36; i++) components[i] = check_uniform(&seed) - 0.5;
    for (int i = 0; i < 3; i++) variances[i] = 3.0 - i;
    *add(&p, "noise", CSREC_F64, (csrec_shape){0}) = 0.25;
    int64_t *shape = (int64_t *)(void *)add(&p, "shape", CSREC_I64, (csrec_shape){1, {2}});
    shape[0] = 2;
    shape[1] = 3;
    *(int64_t *)(void *)add(&p, "channels", CSREC_I64, (csrec_shape){0}) = 2;
    add(&p, "scale", CSREC_F64, (csrec_shape){1, {2}})[1] = 255.0;
    return p;
}

static csrec_status create(const char *kind, const parts *p, csrec_model **model,
                           csrec_error *error) {
    const csrec_array *arrays[12];
    for (int i = 0; i < p->n; i++) arrays[i] = &p->arrays[i];
    return csrec_model_create(kind, p->n, p->names, arrays, model, error);
}

/* Weights of 16 bits: each number is its own nearest, 0 and those below 2^-14 included; between
 * two, the nearer. */
TEST(halves_are_the_nearest) {
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        float value = csrec_half_value((uint16_t)bits);
        if (isnan(value)) continue;
        assert_int_equal(csrec_half_bits(value), bits);
        if ((bits & 0x7fff) >= 0x7bff) continue;
        float next = csrec_half_value((uint16_t)(bits + 1));
        assert_int_equal(csrec_half_bits(value + 0.49f * (next - value)), bits);
        assert_int_equal(csrec_half_bits(value + 0.51f * (next - value)), bits + 1);
        assert_int_equal(csrec_half_bits(value + 0.5f * (next - value)), bits + (bits & 1));
    }
}

TEST(what_is_written_is_read) {
    ENDS_BY(clear) parts p = make_pca();
    ENDS_BY(end_model) csrec_model *model, *again;
    const char *path = io_path("model.npz");
    assert_ok(create("pca", &p, &model, NULL));
    assert_ok(csrec_model_set_text(model, "source", "a \"folder\""));
    assert_int_equal(csrec_model_set_text(model, "colour", "red"), CSREC_ARGUMENT);
    assert_ok(csrec_model_write(path, model, NULL));
    assert_ok(csrec_model_read(path, &again, NULL));
    assert_string_equal(csrec_model_kind(again), "pca");
    assert_string_equal(csrec_model_text(again, "source"), "a \"folder\"");
    assert_string_equal(csrec_model_text(again, "version"), csrec_version());
    assert_null(csrec_model_text(again, "note"));
    assert_null(csrec_model_array(again, "nothing"));
    for (int i = 0; i < p.n; i++) {
        const csrec_array *array = csrec_model_array(again, p.names[i]);
        assert_non_null(array);
        assert_int_equal(array->count, p.arrays[i].count);
        assert_int_equal(array->shape.dims, p.arrays[i].shape.dims);
        assert_memory_equal(array->data, p.arrays[i].data, (size_t)array->count * 8);
    }
    csrec_model_destroy(NULL);
}

/* A file as NumPy would write it, checked by nobody. */
static void save(const char *path, const char *kind, const parts *p) {
    csrec_npz_field fields[13];
    uint32_t letters[8] = {0};
    for (size_t i = 0; i < strlen(kind); i++) letters[i] = (unsigned char)kind[i];
    const char *descr = check_print("U%d", (int)strlen(kind));
    fields[0] = (csrec_npz_field){
        .name = "kind", .descr = descr, .data = letters, .bytes = 4 * strlen(kind)};
    for (int i = 0; i < p->n; i++)
        fields[i + 1] = (csrec_npz_field){.name = p->names[i],
                                          .descr = csrec_dtype_code(p->arrays[i].dtype),
                                          .shape = p->arrays[i].shape,
                                          .data = p->arrays[i].data,
                                          .bytes = (uint64_t)p->arrays[i].count * 8};
    assert_ok(csrec_npz_save(path, p->n + 1, fields, false, NULL));
}

/* In memory and from a file: one line with the array's name and the words. */
static void check_refused(const char *kind, const parts *p, const char *array, const char *words) {
    csrec_error error;
    csrec_model *model;
    const char *named = check_print("array '%s'", array);
    assert_int_equal(create(kind, p, &model, &error), CSREC_DATA);
    if (!strstr(error.text, named) || !strstr(error.text, words)) fail_msg("%s", error.text);
    const char *path = io_path("bad.npz");
    save(path, kind, p);
    assert_int_equal(csrec_model_read(path, &model, &error), CSREC_DATA);
    io_assert_line(&error, path, named);
}

/* What to change in a good model. */
static const struct {
    const char *array, *words;
    int64_t at;
    double value;
} faults[] = {
    {"mean", "not finite", 3, NAN},   {"components", "not finite", 35, INFINITY},
    {"variances", ">= 0", 1, -1e-9},  {"noise", ">= 0", 0, -1.0},
    {"scale", "must differ", 1, 0.0}, {"scale", "must differ", 1, -9e-101},
};

static int find(const parts *p, const char *name) {
    int i = 0;
    while (strcmp(p->names[i], name) != 0) i++;
    return i;
}

TEST(bad_entries_are_refused_by_name) {
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        ENDS_BY(clear) parts p = make_pca();
        double *values = p.arrays[find(&p, faults[f].array)].data;
        values[faults[f].at] = faults[f].value;
        check_refused("pca", &p, faults[f].array, faults[f].words);
    }
}

/* The last axis one longer than the others make it, the new entries 1. */
TEST(shapes_must_agree) {
    static const char *const arrays[] = {"components", "variances", "shape", "scale"};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) {
        ENDS_BY(clear) parts p = make_pca();
        csrec_array *array = &p.arrays[find(&p, arrays[a])], longer;
        csrec_shape shape = array->shape;
        shape.dim[shape.dims - 1]++;
        assert_ok(csrec_array_create(array->dtype, &shape, &longer));
        for (int64_t i = 0; i < longer.count; i++)
            csrec_array_set(&longer, i, longer.dtype == CSREC_F64 ? 1.0 : 7.0);
        csrec_array_clear(array);
        *array = longer;
        check_refused("pca", &p, arrays[a], "");
    }
}

TEST(axes_are_counted) {
    ENDS_BY(clear) parts p = make_pca();
    p.arrays[find(&p, "components")].shape = (csrec_shape){1, {36}};
    check_refused("pca", &p, "components", "1 axes");
}

TEST(missing_arrays_are_named) {
    ENDS_BY(clear) parts p = make_pca();
    const char *name = p.names[0];
    const csrec_array *arrays[12];
    csrec_error error;
    csrec_model *model;
    for (int i = 1; i < p.n; i++) arrays[i - 1] = &p.arrays[i];
    assert_int_equal(csrec_model_create("pca", p.n - 1, p.names + 1, arrays, &model, &error),
                     CSREC_DATA);
    assert_non_null(strstr(error.text, check_print("array '%s': is missing", name)));
    assert_refused(csrec_model_create("ica", 0, NULL, NULL, &model, &told), CSREC_ARGUMENT,
                   "pca, net, beside or rendered");
}

/* A NumPy user's file, and ours in NumPy. */
TEST(numpy_reads_and_writes) {
    if (system("python3 -c 'import numpy' 2>/dev/null") != 0) {
        print_message("skipped: python3 has no NumPy here\n");
        skip();
    }
    parts p = make_pca();
    ENDS_BY(end_model) csrec_model *model;
    assert_ok(create("pca", &p, &model, NULL));
    assert_ok(csrec_model_set_text(model, "source", "pictures"));
    assert_ok(csrec_model_write(io_path("ours.npz"), model, NULL));
    csrec_model_destroy(model);
    clear(&p);
    assert_int_equal(
        system(check_print(
            "cd '%s' && python3 -c \"\nimport numpy as np\nm = np.load('ours.npz')\n"
            "assert m['kind'] == 'pca' and m['source'] == 'pictures', m['kind']\n"
            "assert m['components'].shape == (3, 12) and m['noise'] == 0.25\n"
            "np.savez('theirs.npz', kind='pca', mean=np.float32([0.5] * 4), noise=0.5,\n"
            "  components=np.eye(4)[:2], variances=[2, 1], shape=[2, 2], channels=[1])\n\"",
            io_folder)),
        0);
    assert_ok(csrec_model_read(io_path("theirs.npz"), &model, NULL));
    assert_string_equal(csrec_model_kind(model), "pca");
    assert_true(((const double *)csrec_model_array(model, "mean")->data)[1] == 0.5);
}

FIXTURE(io_setup, io_teardown);
