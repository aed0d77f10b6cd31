/* fuzz_seeds.c - writes valid small files of every kind, from which the fuzzers start:
 * fuzz_seeds FOLDER, which has the sub-folders npz, png and csv. */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/npz.h"

static char path_text[4096];

static const char *path(const char *folder, const char *name, int number) {
    snprintf(path_text, sizeof path_text, "%s/%s%d", folder, name, number);
    return path_text;
}

static bool write_arrays(const char *folder) {
    static const csrec_shape shapes[] = {{0}, {1, {5}}, {2, {3, 4}}};
    bool good = true;
    for (int dtype = CSREC_BOOL; dtype <= CSREC_F64; dtype++)
        for (int s = 0; s < 3; s++) {
            csrec_array array;
            if (csrec_array_create((csrec_dtype)dtype, &shapes[s], &array) != CSREC_OK)
                return false;
            good &= csrec_array_write(path(folder, "npz/array", 3 * dtype + s), &array, NULL) ==
                    CSREC_OK;
            csrec_array_clear(&array);
        }
    return good;
}

static bool write_bytes(const char *name, const void *data, size_t size) {
    FILE *file = fopen(name, "wb");
    if (!file) return false;
    bool good = fwrite(data, 1, size, file) == size;
    return fclose(file) == 0 && good;
}

/* A list of members as fuzz_npz.c describes it: field number, length, .npy bytes. */
static size_t add_member(uint8_t *list, size_t at, int field, const char *descr, csrec_shape shape,
                         const void *data, size_t bytes) {
    char header[CSREC_NPY_HEADER_MAX];
    size_t head = csrec_npy_header_write(descr, &shape, header);
    list[at] = (uint8_t)field;
    list[at + 1] = (uint8_t)((head + bytes) & 255);
    list[at + 2] = (uint8_t)((head + bytes) >> 8);
    memcpy(list + at + 3, header, head);
    memcpy(list + at + 3 + head, data, bytes);
    return at + 3 + head + bytes;
}

static bool write_lists(const char *folder) {
    static const float y[3] = {1, 2, 3};
    static const int64_t extents[2] = {2, 3}, index[3] = {5, 0, 2}, one = 3;
    static const uint8_t mask[6] = {1, 0, 0, 1, 1, 0};
    static const double scale[2] = {0, 255};
    bool good = true;
    for (int kind = 0; kind < 5; kind++) {
        uint8_t list[4096] = {'F'};
        const csrec_shape scalar = {0}, three = {1, {3}}, two = {1, {2}};
        size_t at = add_member(list, 1, 0, "f4", three, y, sizeof y);
        if (kind != 1) at = add_member(list, at, 1, "i8", two, extents, sizeof extents);
        if (kind == 0) at = add_member(list, at, 2, "i8", three, index, sizeof index);
        if (kind == 1) at = add_member(list, at, 3, "b1", (csrec_shape){2, {2, 3}}, mask, 6);
        if (kind >= 2) {
            at = add_member(list, at, 4, "i8", scalar, &one, 8);
            at = add_member(list, at, 5, "S7", scalar,
                            csrec_pattern_name((csrec_pattern)(kind - 1)), 7);
            at = add_member(list, at, 6, "i8", scalar, &one, 8);
        }
        at = add_member(list, at, 7, "f8", scalar, scale, 8);
        at = add_member(list, at, 8, "f8", two, scale, 16);
        good &= write_bytes(path(folder, "npz/list", kind), list, at);
    }
    return good;
}

/* Stored, so that changed bytes reach the arrays (their checksum still guards the file's end). */
static bool write_masked(const char *folder) {
    static const uint8_t mask[6] = {1, 0, 0, 1, 1, 0};
    static const float y[3] = {1, 2, 3};
    csrec_npz_field fields[2] = {{"y", "f4", {1, {3}}, y, sizeof y},
                                 {"mask", "b1", {2, {2, 3}}, mask, sizeof mask}};
    return csrec_npz_save(path(folder, "npz/mask", 0), 2, fields, true, NULL) == CSREC_OK &&
           csrec_npz_save(path(folder, "npz/mask", 1), 2, fields, false, NULL) == CSREC_OK;
}

static bool write_measurements(const char *folder) {
    bool good = true;
    for (int p = CSREC_PATTERN_UNIFORM; p <= CSREC_PATTERN_JITTER; p++) {
        csrec_measurement m = {.shape = {2, {6, 7}},
                               .channels = p == CSREC_PATTERN_UNIFORM ? 3 : 1,
                               .dtype = CSREC_F32,
                               .sigma = 1,
                               .scale = {0, 255},
                               .pattern = (csrec_pattern)p,
                               .seed = 5,
                               .count = 8};
        csrec_sampling sampling;
        if (csrec_sampling_create(&m.shape, m.pattern, m.count, m.seed, &sampling, NULL))
            return false;
        m.n = sampling.n;
        m.index = sampling.index;
        m.y = calloc((size_t)(m.n * m.channels), sizeof *m.y);
        if (!m.y) return false;
        good &=
            csrec_measurement_write(path(folder, "npz/explicit", p), &m, false, NULL) == CSREC_OK;
        good &= csrec_measurement_write(path(folder, "npz/pattern", p), &m, true, NULL) == CSREC_OK;
        csrec_measurement_clear(&m);
    }
    return good;
}

static bool write_pictures(const char *folder) {
    bool good = true;
    for (int kind = 0; kind < 8; kind++) {
        csrec_image image = {.bits = kind & 1 ? 16 : 8};
        csrec_shape shape = {3, {9, 5, kind & 2 ? 3 : 1}};
        uint8_t alpha[45];
        if (csrec_array_create(kind & 1 ? CSREC_U16 : CSREC_U8, &shape, &image.pixels))
            return false;
        memset(alpha, 1, sizeof alpha);
        if (kind & 4) image.alpha = alpha;
        good &= csrec_image_write(path(folder, "png/picture", kind), &image, NULL) == CSREC_OK;
        csrec_array_clear(&image.pixels);
    }
    return good;
}

/* Palettes, which libcsrec does not write, with and without transparent entries. */
static bool write_palettes(const char *folder) {
    static const uint8_t colours[16] = {9, 8, 7, 0, 6, 5, 4, 128, 3, 2, 1, 255, 0, 1, 2, 255};
    bool good = true;
    for (int alpha = 0; alpha < 2; alpha++) {
        png_image image = {.version = PNG_IMAGE_VERSION, .width = 7, .height = 5};
        uint8_t indices[35];
        for (int i = 0; i < 35; i++) indices[i] = (uint8_t)(i % 4);
        image.format = alpha ? PNG_FORMAT_RGBA_COLORMAP : PNG_FORMAT_RGB_COLORMAP;
        image.colormap_entries = 4;
        good &= png_image_write_to_file(&image, path(folder, "png/palette", alpha), 0, indices, 0,
                                        colours) != 0;
    }
    return good;
}

static bool write_texts(const char *folder) {
    static const char *const texts[] = {
        "0,1,2\n3,4,5.5\n",
        "row;col;value\n0;1;2e3\n",
        "# shape: 5,6\nrow,col,r,g,b\n0,1,1,2,3\n4,5,-1,.5,7\n",
        "i0\ti1\ti2\tvalue\n1\t2\t3\t4\n",
        "t value_a value_b\n1e0 2 3\n",
        "\xEF\xBB\xBF\"row\",\"col\",\"value\"\r\n\"1\",\"2\",\"3\"\r\n"};
    bool good = true;
    for (int i = 0; i < (int)(sizeof texts / sizeof texts[0]); i++)
        good &= write_bytes(path(folder, "csv/text", i), texts[i], strlen(texts[i]));
    return good;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
        return 2;
    }
    bool good = write_arrays(argv[1]) && write_masked(argv[1]) && write_lists(argv[1]) &&
                write_measurements(argv[1]) && write_pictures(argv[1]) && write_palettes(argv[1]) &&
                write_texts(argv[1]);
    if (!good) fprintf(stderr, "%s: seeds cannot be written\n", argv[1]);
    return good ? 0 : 1;
}
