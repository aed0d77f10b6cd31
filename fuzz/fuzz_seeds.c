/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_seeds.c - writes valid small files of every kind, from which the fuzzers start:
 * fuzz_seeds FOLDER, which has a sub-folder a target. */
#include <png.h>
#include <stdio.h>

#include "fuzz.h"
#include "files/npz/npz.h"

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

/* ------------------------------------------------------------------ archives with options */

static void add(fuzz_archive *archive, const char *name, csrec_dtype dtype, csrec_shape shape,
                const void *values) {
    fuzz_member *member = &archive->member[archive->n++];
    *member = (fuzz_member){.data = NULL};
    snprintf(member->name, sizeof member->name, "%s.npy", name);
    fuzz_member_array(member, dtype, shape, values);
}

static bool write_archive(fuzz_archive *archive, const uint8_t *options, size_t n,
                          const char *name) {
    static uint8_t bytes[1 << 16];
    fuzz_member *member = &archive->member[archive->n++];
    *member = (fuzz_member){.name = "options"};
    fuzz_member_set(member, options, n);
    size_t size = fuzz_archive_write(archive, bytes, sizeof bytes);
    fuzz_archive_clear(archive);
    return size && write_bytes(name, bytes, size);
}

/* A wave, sampled at two entries of three. */
static void make_signal(fuzz_archive *archive, csrec_shape shape, int64_t channels) {
    static double y[4096];
    static int64_t index[4096];
    static const double scale[2] = {0, 255};
    int64_t entries = 0, n = 0;
    csrec_shape_count(&shape, &entries);
    archive->n = 0;
    for (int64_t i = 0; i < entries; i++)
        if (i % 3 != 1) index[n++] = i;
    for (int64_t i = 0; i < n * channels; i++) y[i] = 60.0 + (double)(i * i % 131);
    add(archive, "y", CSREC_F64, (csrec_shape){2, {n, channels}}, y);
    add(archive, "shape", CSREC_I64, (csrec_shape){1, {shape.dims}}, shape.dim);
    add(archive, "index", CSREC_I64, (csrec_shape){1, {n}}, index);
    add(archive, "scale", CSREC_F64, (csrec_shape){1, {2}}, scale);
}

/* Every preset, and every basis with every solver, numbered as fuzz_choose counts them. */
static bool write_recoveries(const char *folder) {
    static const csrec_shape shapes[] = {{1, {40}},         {2, {11, 13}},
                                         {2, {8, 9}},       {3, {5, 6, 4}},
                                         {4, {3, 4, 2, 3}}, {8, {2, 2, 2, 2, 2, 2, 2, 2}}};
    const char *name, *brief, *source;
    bool good = true;
    int files = 0;
    fuzz_archive archive;
    for (int s = 0; s < (int)(sizeof shapes / sizeof *shapes); s++) {
        int64_t channels = s == 2 ? 3 : 1;
        for (int preset = 1; csrec_recover_preset(preset - 1, NULL, NULL); preset++) {
            make_signal(&archive, shapes[s], channels);
            good &= write_archive(&archive, (uint8_t[]){(uint8_t)preset}, 1,
                                  path(folder, "recover/preset", files++));
        }
        for (int basis = 0; !basis || csrec_operator_info(basis - 1, &name, &brief); basis++)
            for (int solver = 0; !solver || csrec_solver_info(solver - 1, &name, &brief, &source);
                 solver++) {
                make_signal(&archive, shapes[s], channels);
                good &= write_archive(&archive, (uint8_t[]){0, (uint8_t)basis, (uint8_t)solver, 0},
                                      4, path(folder, "recover/method", files++));
            }
    }
    return good;
}

/* The file again, with options. */
static bool add_options(const char *name, const uint8_t *options, size_t n) {
    static uint8_t bytes[1 << 16];
    fuzz_archive archive;
    FILE *file = fopen(name, "rb");
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file) fclose(file);
    return size && fuzz_archive_read(bytes, size, &archive) &&
           write_archive(&archive, options, n, name);
}

/* Every operator of measurements, and complex samples; with every solver. */
static bool write_through(const char *folder) {
    static const double coils[2 * 24 * 2] = {1, 0.5, -0.25}, matrix[2 * 24] = {1, 2, -1};
    static const double kernel[3] = {0.25, 0.5, 0.25};
    static const int64_t block[2] = {2, 3}, extents[2] = {1, 3}, factor[2] = {2, 1};
    const csrec_operator_spec specs[] = {
        {.name = "hadamard", .scrambled = true, .seed = 3, .ordering = "sequency"},
        {.name = "fourier"},
        {.name = "fourier", .complex_signal = true, .centred = true, .norm = "ortho"},
        {.name = "fourier", .complex_signal = true, .coils = coils, .n_coils = 2},
        {.name = "matrix", .m = 2, .matrix = matrix},
        {.name = "matrix", .m = 2, .matrix = matrix, .kernel = block},
        {.name = "blur", .filters = kernel, .kernel = extents},
        {.name = "downsample", .factor = factor},
        {.name = NULL}};
    const char *name, *brief, *source;
    bool good = true;
    int files = 0;
    uint8_t wavelet = 1;
    while (csrec_operator_info(wavelet - 1, &name, &brief) && strcmp(name, "wavelet") != 0)
        wavelet++;
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int solver = 0; !solver || csrec_solver_info(solver - 1, &name, &brief, &source);
             solver++) {
            csrec_operator_spec spec = specs[k];
            double y[2 * 2 * 24];
            int64_t index[24], rows;
            csrec_measurement m = {.shape = {2, {4, 6}},
                                   .channels = 1,
                                   .n = 1,
                                   .index = index,
                                   .y = y,
                                   .dtype = CSREC_F64,
                                   .through = spec.name ? &spec : NULL};
            m.is_complex = !spec.name || strcmp(spec.name, "fourier") == 0;
            if (csrec_measurement_rows(&m, &rows, NULL)) return false;
            const bool all = spec.matrix || spec.factor; /* these have no index */
            m.n = all ? rows : rows / 2;
            for (int64_t i = 0; i < 24; i++) index[i] = i;
            for (int i = 0; i < 2 * 2 * 24; i++) y[i] = (double)(i * i % 13) - 5.0;
            const char *to = path(folder, "recover/through", files++);
            /* Samples also by pursuits on one grid. */
            uint8_t options[] = {0, spec.name ? wavelet : 0, (uint8_t)solver, !spec.name};
            if (csrec_measurement_write(to, &m, false, NULL)) return false;
            good &= add_options(to, options, sizeof options);
        }
    return good;
}

static bool write_systems(const char *folder) {
    const char *name, *brief, *source;
    double A[48], y[12];
    bool good = true;
    fuzz_archive archive;
    for (int i = 0; i < 48; i++) A[i] = (double)(i * i * 7 % 23) - 11.0;
    for (int i = 0; i < 12; i++) y[i] = A[i * 4] - 0.5 * A[i * 3 + 1];
    for (int solver = 1; csrec_solver_info(solver - 1, &name, &brief, &source); solver++) {
        archive.n = 0;
        add(&archive, "A", CSREC_F64, (csrec_shape){2, {6, 8}}, A);
        add(&archive, "y", CSREC_F64, (csrec_shape){2, {2, 6}}, y);
        good &= write_archive(&archive, (uint8_t[]){0, 0, (uint8_t)solver}, 3,
                              path(folder, "solve/system", solver));
    }
    return good;
}

/* ------------------------------------------------------------------ models */

/* An array of a model: values are `first`, first + step, ... */
typedef struct part {
    const char *name;
    csrec_shape shape;
    double first, step;
} part;

enum { PARTS = 8 };

/* Down to half the size and up again, as rows of kind, channels, result that is added, relu. */
static const int64_t network[] = {1, 2, -1, 0, 2, 2, -1, 0};

/* The model as csrec_model_write has it, then with options for three kinds of measurements. */
static bool write_model(const char *folder, const char *kind, const part *parts, int number) {
    const char *names[PARTS];
    const csrec_array *arrays[PARTS];
    csrec_array made[PARTS] = {{0}};
    csrec_model *model = NULL;
    int n = 0;
    for (; n < PARTS && parts[n].name; n++) {
        names[n] = parts[n].name;
        arrays[n] = &made[n];
        if (csrec_array_create(CSREC_F64, &parts[n].shape, &made[n])) return false;
        for (int64_t i = 0; i < made[n].count; i++)
            ((double *)made[n].data)[i] = parts[n].first + parts[n].step * (double)i;
        /* Whole numbers are int64; a covariance is a diagonal. */
        bool whole = strcmp(names[n], "shape") == 0 || strcmp(names[n], "channels") == 0;
        for (int64_t i = 0; whole && i < made[n].count; i++)
            ((int64_t *)made[n].data)[i] = (int64_t)((double *)made[n].data)[i];
        bool layers = strcmp(names[n], "layers") == 0;
        if (layers) memcpy(made[n].data, network, sizeof network);
        if (whole || layers) made[n].dtype = CSREC_I64;
        int64_t d = parts[n].shape.dim[2];
        for (int64_t i = 0; strcmp(names[n], "covariances") == 0 && i < made[n].count; i++)
            ((double *)made[n].data)[i] = i % (d * d) % (d + 1) ? 0.0 : parts[n].first;
    }
    csrec_error error;
    const char *name = path(folder, "model/model", number);
    bool good = csrec_model_create(kind, n, names, arrays, &model, &error) == CSREC_OK &&
                csrec_model_write(name, model, &error) == CSREC_OK;
    if (!good) fprintf(stderr, "%s\n", error.text);
    csrec_model_destroy(model);
    for (int i = 0; i < n; i++) csrec_array_clear(&made[i]);
    return good;
}

static bool write_models(const char *folder) {
    static const part models[][PARTS] = {{{"mean", {1, {6}}, 100, 10},
                                          {"components", {2, {1, 6}}, 0.40824829046386302, 0},
                                          {"variances", {1, {1}}, 900, 0},
                                          {"noise", {0}, 4, 0},
                                          {"shape", {1, {2}}, 2, 1},
                                          {"channels", {0}, 1, 0},
                                          {"scale", {1, {2}}, 0, 255}},
                                         {{"layers", {2, {2, 4}}, 0, 0},
                                          {"weights", {1, {52}}, -0.5, 0.02},
                                          {"channels", {0}, 1, 0}}};
    static const char *const kinds[] = {"pca", "net"};
    bool good = true;
    for (int i = 0; i < 2; i++) good &= write_model(folder, kinds[i], models[i], i);
    return good;
}

/* ------------------------------------------------------------------ TIFF, FITS, HDF5 */

#if defined CSREC_HAS_TIFF || defined CSREC_HAS_FITS || defined CSREC_HAS_HDF5
/* Types, axes and channels, as libcsrec writes them. */
static bool write_signals(const char *folder, const char *to, const char *ending) {
    static const csrec_shape shapes[] = {{3, {9, 5, 1}}, {3, {9, 5, 3}}, {4, {2, 9, 5, 1}}};
    bool good = true;
    for (int dtype = CSREC_U8; dtype <= CSREC_F64; dtype++)
        for (int s = 0; s < 3; s++) {
            csrec_image image = {.has_channels = true};
            csrec_files *files = NULL;
            const char *name = path(folder, to, 3 * dtype + s);
            if (csrec_array_create((csrec_dtype)dtype, &shapes[s], &image.pixels) ||
                csrec_files_create(NULL, &files, NULL))
                return false;
            good &= csrec_files_add_signal(files, name, csrec_format_of(ending), &image, NULL,
                                           NULL) == CSREC_OK &&
                    csrec_files_commit(files, NULL) == CSREC_OK;
            csrec_files_destroy(files);
            csrec_image_clear(&image);
        }
    return good;
}
#endif

#ifdef CSREC_HAS_TIFF
#include <tiffio.h>

/* Tiles, planes, alpha, a palette and GDAL's nodata, which it does not write. */
static bool write_arrangement(const char *name, int kind) {
    uint16_t map[256] = {0}, alpha = EXTRASAMPLE_UNASSALPHA;
    uint8_t block[256] = {1, 2, 3};
    TIFF *file = TIFFOpen(name, kind & 1 ? "wb" : "w8");
    if (!file) return false;
    bool palette = kind == 3, planes = kind == 1;
    TIFFSetField(file, TIFFTAG_IMAGEWIDTH, 13);
    TIFFSetField(file, TIFFTAG_IMAGELENGTH, 11);
    TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, planes ? 2 : 1);
    TIFFSetField(file, TIFFTAG_PLANARCONFIG, planes ? 2 : 1);
    TIFFSetField(file, TIFFTAG_PHOTOMETRIC, palette ? PHOTOMETRIC_PALETTE : PHOTOMETRIC_MINISBLACK);
    if (planes) TIFFSetField(file, TIFFTAG_EXTRASAMPLES, 1, &alpha);
    if (palette) TIFFSetField(file, TIFFTAG_COLORMAP, map, map, map);
    TIFFSetField(file, TIFFTAG_COMPRESSION, kind ? COMPRESSION_LZW : COMPRESSION_NONE);
    TIFFSetField(file, TIFFTAG_TILEWIDTH, 16);
    TIFFSetField(file, TIFFTAG_TILELENGTH, 16);
    bool good = true;
    for (uint32_t tile = 0; tile < 1u + planes; tile++)
        good &= TIFFWriteEncodedTile(file, tile, block, sizeof block) >= 0;
    TIFFClose(file);
    return good;
}

static bool write_tiffs(const char *folder) {
    bool good = write_signals(folder, "tiff/signal", ".tif");
    for (int kind = 0; kind < 4; kind++)
        good &= write_arrangement(path(folder, "tiff/arranged", kind), kind);
    return good;
}
#else
static bool write_tiffs(const char *folder) {
    (void)folder;
    return true;
}
#endif

static bool write_fits(const char *folder) {
#ifdef CSREC_HAS_FITS
    return write_signals(folder, "fits/signal", ".fits");
#else
    (void)folder;
    return true;
#endif
}

/* As libcsrec writes them; fuzz/corpus has others. */
static bool write_hdf5(const char *folder) {
#ifdef CSREC_HAS_HDF5
    return write_signals(folder, "hdf5/signal", ".h5");
#else
    (void)folder;
    return true;
#endif
}

/* ------------------------------------------------------------------ OpenEXR */

#ifdef CSREC_HAS_EXR
/* As libcsrec writes them; fuzz/corpus has other arrangements. */
static bool write_exrs(const char *folder) {
    bool good = true;
    for (int channels = 1; channels <= 3; channels += 2) {
        csrec_image image = {.has_channels = true};
        const csrec_shape shape = {3, {9, 5, channels}};
        csrec_files *files = NULL;
        const char *name = path(folder, "exr/signal", channels);
        if (csrec_array_create(CSREC_F32, &shape, &image.pixels) ||
            csrec_files_create(NULL, &files, NULL))
            return false;
        for (int64_t i = 0; i < image.pixels.count; i++)
            csrec_array_set(&image.pixels, i, (double)(i % 7));
        good &= csrec_files_add_signal(files, name, csrec_format_of(".exr"), &image, NULL, NULL) ==
                    CSREC_OK &&
                csrec_files_commit(files, NULL) == CSREC_OK;
        csrec_files_destroy(files);
        csrec_image_clear(&image);
    }
    return good;
}
#else
static bool write_exrs(const char *folder) {
    (void)folder;
    return true;
}
#endif

/* ------------------------------------------------------------------ JPEG */

#ifdef CSREC_HAS_JPEG
#include <jpeglib.h>

/* Gray and colours, at once and progressive, with EXIF of one tag. */
static bool write_jpeg(const char *name, bool colours, bool progressive) {
    static const uint8_t exif[] = "Exif\0\0MM\0*\0\0\0\10\0\1\1\22\0\3\0\0\0\1\0\6\0\0\0\0\0\0";
    uint8_t pixels[3 * 13] = {9, 8, 200};
    struct jpeg_error_mgr errors;
    struct jpeg_compress_struct f = {.err = jpeg_std_error(&errors)};
    FILE *file = fopen(name, "wb");
    if (!file) return false;
    jpeg_create_compress(&f);
    jpeg_stdio_dest(&f, file);
    f.image_height = f.image_width = 13;
    f.input_components = colours ? 3 : 1;
    f.in_color_space = colours ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(&f);
    if (progressive) jpeg_simple_progression(&f);
    jpeg_start_compress(&f, TRUE);
    jpeg_write_marker(&f, JPEG_APP0 + 1, exif, sizeof exif - 1);
    for (int y = 0; y < 13; y++) jpeg_write_scanlines(&f, &(JSAMPROW){pixels}, 1);
    jpeg_finish_compress(&f);
    jpeg_destroy_compress(&f);
    return fclose(file) == 0;
}
#endif

static bool write_jpegs(const char *folder) {
    bool good = true;
#ifdef CSREC_HAS_JPEG
    for (int kind = 0; kind < 4; kind++)
        good &= write_jpeg(path(folder, "jpeg/picture", kind), kind & 1, kind & 2);
#else
    (void)folder;
#endif
    return good;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
        return 2;
    }
    bool good = write_arrays(argv[1]) && write_masked(argv[1]) && write_measurements(argv[1]) &&
                write_pictures(argv[1]) && write_palettes(argv[1]) && write_texts(argv[1]) &&
                write_recoveries(argv[1]) && write_through(argv[1]) && write_systems(argv[1]) &&
                write_models(argv[1]) && write_tiffs(argv[1]) && write_fits(argv[1]) &&
                write_exrs(argv[1]) && write_hdf5(argv[1]) && write_jpegs(argv[1]);
    if (!good) fprintf(stderr, "%s: seeds cannot be written\n", argv[1]);
    return good ? 0 : 1;
}
