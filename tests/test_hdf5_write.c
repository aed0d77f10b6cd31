/* SPDX-License-Identifier: BSD-3-Clause */
/* test_hdf5_write.c - HDF5: what is written is what libhdf5 reads, with attributes and scales. */
#include "hdf5_file.h"

static csrec_image draw_signal(csrec_dtype dtype) {
    csrec_image image = {.has_channels = toss()};
    csrec_shape shape = {.dims = 1 + (int)check_below(&seed, 3) + image.has_channels};
    for (int a = 0; a < shape.dims; a++) shape.dim[a] = 2 + check_below(&seed, 12);
    assert_ok(csrec_array_create(dtype, &shape, &image.pixels));
    draw_values(&image.pixels, false);
    return image;
}

static void check_values(const char *path, const char *name, const csrec_image *image) {
    const csrec_array *pixels = &image->pixels;
    const size_t bytes = (size_t)pixels->count * csrec_dtype_size(pixels->dtype);
    OWNED void *values = malloc(bytes);
    ENDS_BY(close_id)
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT),
          dataset = H5Dopen2(file, name, H5P_DEFAULT);
    assert_true(file >= 0 && dataset >= 0);
    assert_true(H5Dread(dataset, csrec_hdf5_type(pixels->dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                        values) >= 0);
    assert_memory_equal(values, pixels->data, bytes);
}

static void check_written(const char *path, const char *name, const csrec_image *image) {
    const csrec_array *pixels = &image->pixels;
    const hid_t type = csrec_hdf5_type(pixels->dtype);
    hsize_t extent[6];
    ENDS_BY(close_id)
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT),
          dataset = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(dataset),
          stored = H5Dget_type(dataset);
    assert_true(file >= 0 && dataset >= 0);
    assert_true(H5Tequal(stored, type) > 0);
    assert_int_equal(H5Sget_simple_extent_dims(space, extent, NULL), pixels->shape.dims);
    for (int a = 0; a < pixels->shape.dims; a++) assert_int_equal(extent[a], pixels->shape.dim[a]);
    check_values(path, name, image);
}

TEST(written_signals_are_read_by_libhdf5) {
    const char *path = io_path("written.h5"), *member = check_print("%s:/a/b c", path);
    for (int trial = 0; trial < SANITIZED_SHARE(40); trial++) {
        ENDS_BY(csrec_image_clear)
        csrec_image image = draw_signal((csrec_dtype)(CSREC_U8 + trial % 10));
        bool named = toss();
        write_well(named ? member : path, &image, NULL);
        check_written(path, named ? "/a/b c" : "/data", &image);
        expect_fingerprint(named ? member : path, fingerprint);
        CLEARED(csrec_image) again = read_well(path);
        assert_int_equal(again.pixels.dtype, image.pixels.dtype);
    }
}

typedef struct {
    hobj_ref_t dataset;
    int axis;
} back;

/* A scale of one axis, attached as the specification of dimension scales says. */
static void put_scale(hid_t file, hid_t dataset, int rank, int axis, hsize_t extent) {
    double values[8] = {0};
    for (hsize_t i = 0; i < extent; i++) values[i] = 10.0 + 3.0 * (double)i;
    ENDS_BY(close_id)
    hid_t space = H5Screate_simple(1, &extent, NULL), list = H5Tvlen_create(H5T_STD_REF_OBJ),
          scale =
              H5Dcreate2(file, "/y", H5T_IEEE_F64BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(scale, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    put_text(scale, "CLASS", "DIMENSION_SCALE", toss());
    put_text(scale, "NAME", "y", toss());
    put_text(scale, "units", "m", toss());
    hobj_ref_t to;
    hvl_t axes[4] = {{0, NULL}};
    H5Rcreate(&to, file, "/y", H5R_OBJECT, -1);
    axes[axis] = (hvl_t){1, &to};
    put_numbers(dataset, "DIMENSION_LIST", list, rank, list, axes);
}

static void check_text(hid_t object, const char *name, const char *expected) {
    ENDS_BY(close_id)
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(attribute);
    char fixed[64] = "", *text = fixed;
    bool variable = H5Tis_variable_str(type) > 0;
    assert_true(H5Aread(attribute, type, variable ? (void *)&text : fixed) >= 0);
    assert_string_equal(text, expected);
    if (variable) H5free_memory(text);
}

static void check_scale(hid_t file, hid_t dataset, int rank, int axis) {
    hvl_t axes[4] = {{0, NULL}};
    double values[8];
    back to;
    ENDS_BY(close_id)
    hid_t list = H5Tvlen_create(H5T_STD_REF_OBJ), pair = H5Tcreate(H5T_COMPOUND, sizeof(back));
    H5Tinsert(pair, "dataset", offsetof(back, dataset), H5T_STD_REF_OBJ);
    H5Tinsert(pair, "dimension", offsetof(back, axis), H5T_NATIVE_INT);
    ENDS_BY(close_id)
    hid_t attribute = H5Aopen(dataset, "DIMENSION_LIST", H5P_DEFAULT),
          space = H5Aget_space(attribute);
    assert_int_equal(H5Sget_simple_extent_npoints(space), rank);
    assert_true(H5Aread(attribute, list, axes) >= 0);
    for (int a = 0; a < rank; a++) assert_int_equal(axes[a].len, a == axis);
    hid_t scale = H5Rdereference2(file, H5P_DEFAULT, H5R_OBJECT, axes[axis].p);
    assert_true(H5Dread(scale, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    assert_true(values[0] == 10.0 && values[3] == 19.0);
    check_text(scale, "CLASS", "DIMENSION_SCALE");
    check_text(scale, "NAME", "y");
    check_text(scale, "units", "m");
    hid_t known = H5Aopen(scale, "REFERENCE_LIST", H5P_DEFAULT);
    assert_true(H5Aread(known, pair, &to) >= 0);
    hid_t same = H5Rdereference2(file, H5P_DEFAULT, H5R_OBJECT, &to.dataset);
    H5O_info_t one, other;
    H5Oget_info(same, &one);
    H5Oget_info(dataset, &other);
    assert_true(one.addr == other.addr && to.axis == axis);
    H5Dvlen_reclaim(list, space, H5P_DEFAULT, axes);
}

/* A field of 1 x 4 x 3 with everything that is kept or left out. */
static void put_field(const char *path) {
    static const int16_t values[12] = {1, -9, 3, 4, 5, 6, -9, 8, 9, 10, 11, -9};
    const hsize_t extent[3] = {1, 4, 3}, most[3] = {H5S_UNLIMITED, 4, 3}, chunk[3] = {1, 3, 2};
    const double scale = 0.5, count[3] = {1, 2, 3};
    ENDS_BY(close_id)
    hid_t file = new_file(path), space = H5Screate_simple(3, extent, most),
          creation = H5Pcreate(H5P_DATASET_CREATE), links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    H5Pset_chunk(creation, 3, chunk);
    H5Pset_shuffle(creation);
    H5Pset_deflate(creation, 3);
    hid_t dataset = H5Dcreate2(file, "/g/t", H5T_STD_I16BE, space, links, creation, H5P_DEFAULT);
    H5Dwrite(dataset, H5T_NATIVE_INT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    put_numbers(dataset, "_FillValue", H5T_STD_I16BE, 1, H5T_NATIVE_INT16, &values[1]);
    put_numbers(dataset, "scale_factor", H5T_IEEE_F64LE, 1, H5T_NATIVE_DOUBLE, &scale);
    put_numbers(dataset, "weights", H5T_IEEE_F32BE, 3, H5T_NATIVE_DOUBLE, count);
    put_text(dataset, "units", "kelvin", toss());
    put_text(file, "title", "what it shows", toss());
    put_text(H5Gopen2(file, "/g", H5P_DEFAULT), "place", "Uppsala", toss());
    put_scale(file, dataset, 3, 1, 4);
}

static void check_field(const char *path, const csrec_image *image) {
    ENDS_BY(close_id)
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT),
          dataset = H5Dopen2(file, "/g/t", H5P_DEFAULT), group = H5Gopen2(file, "/g", H5P_DEFAULT),
          creation = H5Dget_create_plist(dataset), space = H5Dget_space(dataset),
          attribute = H5Aopen(dataset, "weights", H5P_DEFAULT);
    assert_true(file >= 0 && dataset >= 0);
    hsize_t extent[3], most[3], chunk[3];
    float values[12];
    double weights[3];
    assert_int_equal(H5Sget_simple_extent_dims(space, extent, most), 3);
    assert_true(extent[0] == 1 && extent[1] == 4 && extent[2] == 3 && most[0] == H5S_UNLIMITED);
    assert_int_equal(H5Pget_chunk(creation, 3, chunk), 3);
    assert_true(chunk[0] == 1 && chunk[1] == 3 && chunk[2] == 2);
    assert_int_equal(H5Pget_nfilters(creation), 2);
    H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    assert_memory_equal(values, image->pixels.data, sizeof values);
    check_text(dataset, "units", "kelvin");
    check_text(group, "place", "Uppsala");
    check_text(file, "title", "what it shows");
    assert_true(H5Aread(attribute, H5T_NATIVE_DOUBLE, weights) >= 0 && weights[2] == 3.0);
    assert_true(H5Aexists(dataset, "_FillValue") == 0);
    assert_true(H5Aexists(dataset, "scale_factor") == 0);
    check_scale(file, dataset, 3, 1);
}

TEST(attributes_and_scales_are_kept) {
    const char *from = io_path("from.nc"), *to = io_path("to.nc");
    for (int trial = 0; trial < SANITIZED_SHARE(10); trial++) {
        CLEARED(csrec_image) image = {0};
        put_field(from);
        CLEARED(csrec_measurement) m = expect_known(from, 0.5, 0.0);
        assert_int_equal(m.shape.dims, 2);
        assert_ok(csrec_array_create(CSREC_F32, &m.shape, &image.pixels));
        for (int i = 0; i < 12; i++) csrec_array_set(&image.pixels, i, check_normal(&seed));
        write_well(to, &image, from);
        check_field(to, &image);
    }
}

static void check_same_file(const csrec_image *image, const char *like) {
    const char *whole = io_path("whole.h5");
    expect_same_in_slabs(whole, io_path("s.h5"), image, like, fingerprint,
                         check_below(&seed, image->pixels.shape.dim[0]));
    check_values(whole, "/entry/data", image);
}

/* Of a file of the same shape, chunked or not, with its attributes. */
TEST(slabs_make_the_same_file) {
    const char *like = check_print("%s", io_path("like.h5")); /* io_path takes turns */
    for (int trial = 0; trial < SANITIZED_SHARE(60); trial++) {
        ENDS_BY(free_drawn) drawn d = draw(trial % KINDS);
        CLEARED(csrec_image) image = {0};
        assert_ok(csrec_array_create((csrec_dtype)(CSREC_U8 + check_below(&seed, 10)),
                                     &d.values.shape, &image.pixels));
        draw_values(&image.pixels, false);
        save_drawn(like, &d);
        check_same_file(&image, like);
    }
}

/* A slab has 4 MiB: these are several, of whole chunks. */
TEST(many_slabs_make_the_same_file) {
    const char *like = check_print("%s", io_path("large.h5"));
    for (int chunked = 0; chunked < 2; chunked++) {
        const hsize_t extent[2] = {1600 + (hsize_t)check_below(&seed, 400), 700};
        const hsize_t chunk[2] = {1 + (hsize_t)check_below(&seed, 900), 300};
        const csrec_shape shape = {2, {(int64_t)extent[0], (int64_t)extent[1]}};
        CLEARED(csrec_image) image = {0};
        assert_ok(csrec_array_create(CSREC_F64, &shape, &image.pixels));
        draw_values(&image.pixels, false);
        ENDS_BY(close_id)
        hid_t creation = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, extent, NULL);
        hid_t file = new_file(like), group;
        if (chunked) H5Pset_chunk(creation, 2, chunk);
        if (chunked && toss()) H5Pset_deflate(creation, 1);
        group = H5Gcreate2(file, "/entry", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Dcreate2(group, "data", H5T_STD_U8LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
        H5Fclose(file);
        check_same_file(&image, like);
    }
}

FIXTURE(io_setup, io_teardown);
