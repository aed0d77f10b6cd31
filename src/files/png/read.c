/* SPDX-License-Identifier: BSD-3-Clause */
/* read.c - PNG to samples as stored, by libpng. */
#include "files/png/png.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "files/format.h"

/* Deflate expands at most 1032 times: a file that declares more pixels is truncated or a bomb. */
enum { EXPANSION_MAX = 1032 };

/* Everything that must survive libpng's longjmp lives here, behind a pointer, so that no local
 * variable of the function that calls setjmp changes between setjmp and longjmp. */
typedef struct {
    const char *name;
    csrec_input *input;
    csrec_reader reader;
    csrec_error *error;
    csrec_status status; /* why decoding stopped */
    png_structp png;
    png_infop info;
    csrec_image image;
    uint8_t *raw; /* rows as libpng delivers them; becomes the pixels */
    uint32_t width, height;
    int channels;    /* colour samples a pixel: 1 or 3 */
    int stored;      /* with alpha: channels + 1 */
    size_t bytes;    /* of a sample: 1 or 2 */
    bool keyed;      /* tRNS names one colour as transparent */
    uint16_t key[3]; /* that colour */
    bool indexed;    /* samples are indices of a palette */
    bool clear[256]; /* indices that tRNS makes transparent, if keyed */
    bool peek;       /* read only what precedes the pixels */
} decoder;

static void on_error(png_structp png, png_const_charp text) {
    decoder *d = png_get_error_ptr(png);
    if (d->status == CSREC_OK) /* else the reader has reported why */
        d->status = csrec_fail(d->error, CSREC_FORMAT,
                               "%s: damaged PNG (%s); write or copy the file again", d->name, text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) { /* the library never prints */
    (void)png, (void)text;
}

static void on_read(png_structp png, png_bytep data, size_t bytes) {
    decoder *d = png_get_io_ptr(png);
    d->status = csrec_reader_take(&d->reader, data, bytes, d->name, d->error);
    if (d->status != CSREC_OK) png_error(png, "read");
}

/* Runs before anything of the picture's size is allocated. */
static csrec_status check_size(decoder *d, int bits, int file_channels, uint64_t file_size) {
    uint64_t row = ((uint64_t)d->width * (unsigned)(bits * file_channels) + 7) / 8 + 1;
    if (row > UINT64_MAX / d->height || row * d->height / EXPANSION_MAX > file_size)
        return csrec_fail(d->error, CSREC_FORMAT,
                          "%s: declares %lu x %lu pixels, more than its %llu bytes can hold; the "
                          "file is truncated or forged, write or copy it again",
                          d->name, (unsigned long)d->width, (unsigned long)d->height,
                          (unsigned long long)file_size);
    uint64_t pixels = (uint64_t)d->width * d->height; /* both below 2^31 */
    return csrec_memory_check(pixels * ((unsigned)d->stored * d->bytes + 1), 2, d->name, d->error);
}

/* A gray or RGB picture may name one colour as transparent. libpng would scale gray below 8 bits
 * while turning that into alpha, so it is compared here on the samples as stored. */
static void take_key(decoder *d, int color) {
    png_color_16p key;
    if (color == PNG_COLOR_TYPE_PALETTE || (color & PNG_COLOR_MASK_ALPHA)) return;
    if (!png_get_tRNS(d->png, d->info, NULL, NULL, &key)) return;
    d->keyed = true;
    d->key[0] = d->channels == 1 ? key->gray : key->red;
    d->key[1] = key->green;
    d->key[2] = key->blue;
}

/* The palette, and of its indices those that are transparent. */
static void take_palette(decoder *d) {
    csrec_palette *to = &d->input->facts.palette;
    png_colorp list;
    png_bytep alpha;
    int n = 0;
    png_get_PLTE(d->png, d->info, &list, &to->n);
    for (int i = 0; i < to->n; i++) {
        to->color[0][i] = (uint16_t)(257 * list[i].red);
        to->color[1][i] = (uint16_t)(257 * list[i].green);
        to->color[2][i] = (uint16_t)(257 * list[i].blue);
    }
    d->indexed = d->input->labels;
    d->keyed = d->indexed && png_get_tRNS(d->png, d->info, &alpha, &n, NULL) != 0;
    for (int i = 0; i < n && d->keyed; i++) d->clear[i] = alpha[i] == 0;
}

static void take_header(decoder *d) {
    int bits, color;
    uint64_t file_size = d->reader.left;
    png_read_info(d->png, d->info);
    png_get_IHDR(d->png, d->info, &d->width, &d->height, &bits, &color, NULL, NULL, NULL);
    bool palette = color == PNG_COLOR_TYPE_PALETTE;
    if (palette) take_palette(d);
    const bool expands = palette && !d->indexed;
    bool transparent = expands ? png_get_valid(d->png, d->info, PNG_INFO_tRNS) != 0
                               : (color & PNG_COLOR_MASK_ALPHA) != 0;
    int file_channels = png_get_channels(d->png, d->info);
    d->channels = color & PNG_COLOR_MASK_COLOR && !d->indexed ? 3 : 1; /* palettes have this bit */
    d->stored = d->channels + transparent;
    d->image.bits = palette ? 8 : bits;
    d->image.palette = palette;
    d->bytes = bits == 16 ? 2 : 1;
    take_key(d, color);
    d->status = check_size(d, bits, file_channels, file_size);
    if (d->status != CSREC_OK) png_error(d->png, "size");
    if (bits < 8) png_set_packing(d->png);
    if (expands) png_set_palette_to_rgb(d->png);
    if (expands && transparent) png_set_tRNS_to_alpha(d->png);
    if (bits == 16 && *(const uint8_t *)&(uint16_t){1}) png_set_swap(d->png);
}

static void take_pixels(decoder *d) {
    int passes = png_set_interlace_handling(d->png);
    png_read_update_info(d->png, d->info);
    size_t row = (size_t)d->width * (size_t)d->stored * d->bytes;
    if (png_get_rowbytes(d->png, d->info) != row) png_error(d->png, "unexpected layout");
    /* Zeroed: damaged data may leave pixels of an interlaced picture unwritten. */
    d->raw = calloc(d->height, row);
    if (!d->raw) {
        d->status = csrec_memory_fail(d->error, d->name);
        png_error(d->png, "memory");
    }
    for (int pass = 0; pass < passes; pass++)
        for (size_t y = 0; y < d->height; y++) png_read_row(d->png, d->raw + y * row, NULL);
    png_read_end(d->png, NULL);
}

/* The only function with a setjmp; its locals are set before and not changed after it. */
static csrec_status decode(decoder *d) {
    if (setjmp(png_jmpbuf(d->png))) return d->status;
    png_set_read_fn(d->png, d, on_read);
    png_set_crc_action(d->png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_set_user_limits(d->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* check_size limits the size */
    /* Times, texts, profiles: not needed, and they could make the library allocate. */
    png_set_keep_unknown_chunks(d->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    take_header(d);
    if (d->peek) return CSREC_OK;
    take_pixels(d);
    if (d->reader.left)
        return csrec_fail(d->error, CSREC_FORMAT,
                          "%s: %llu bytes follow the end of the PNG; write or copy the file again",
                          d->name, (unsigned long long)d->reader.left);
    return CSREC_OK;
}

/* Moves colours to the front of raw, their final place; alpha goes to its own plane. */
static void split_alpha(decoder *d, size_t pixels) {
    const size_t colours = (size_t)d->channels * d->bytes;
    const uint8_t *from = d->raw;
    uint16_t alpha = 0;
    for (size_t i = 0; i < pixels; i++, from += colours + d->bytes) {
        memmove(d->raw + i * colours, from, colours);
        if (d->bytes == 2)
            memcpy(&alpha, from + colours, sizeof alpha);
        else
            alpha = from[colours];
        d->image.alpha[i] = alpha > 0;
        d->image.partial += alpha > 0 && alpha < (d->bytes == 2 ? 65535 : 255);
    }
}

static void compare_key(decoder *d, size_t pixels) {
    size_t i = 0;
    for (size_t p = 0; p < pixels && d->indexed; p++) d->image.alpha[p] = !d->clear[d->raw[p]];
    for (size_t p = 0; p < pixels && !d->indexed; p++) {
        bool equal = true;
        for (int c = 0; c < d->channels; c++, i++) {
            uint16_t value = d->bytes == 2 ? ((uint16_t *)(void *)d->raw)[i] : d->raw[i];
            equal = equal && value == d->key[c];
        }
        d->image.alpha[p] = !equal;
    }
}

static csrec_array describe(const decoder *d) {
    return (csrec_array){.dtype = d->bytes == 2 ? CSREC_U16 : CSREC_U8,
                         .shape = {3, {(int64_t)d->height, (int64_t)d->width, d->channels}},
                         .count = (int64_t)d->height * (int64_t)d->width * d->channels};
}

static csrec_status arrange(decoder *d) {
    size_t pixels = (size_t)d->width * d->height;
    bool transparent = d->stored > d->channels;
    if (transparent || d->keyed) {
        d->image.alpha = malloc(pixels);
        if (!d->image.alpha) return csrec_memory_fail(d->error, d->name);
    }
    if (transparent) split_alpha(d, pixels);
    if (d->keyed) compare_key(d, pixels);
    if (transparent) {
        uint8_t *smaller = realloc(d->raw, pixels * (size_t)d->channels * d->bytes);
        if (smaller) d->raw = smaller;
    }
    d->image.pixels = describe(d);
    d->image.pixels.data = d->raw;
    d->raw = NULL;
    return CSREC_OK;
}

/* Runs the decoder; on return everything that libpng allocated is released. */
static csrec_status run(decoder *d, csrec_input *input, csrec_error *error) {
    d->name = input->name;
    d->input = input;
    d->reader = csrec_input_reader(input);
    d->error = error;
    if (csrec_input_format(input) != &csrec_png_format)
        return csrec_fail(error, CSREC_FORMAT, "%s: is not a PNG; convert the picture to PNG",
                          input->name);
    d->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, d, on_error, on_warning);
    if (d->png) d->info = png_create_info_struct(d->png);
    csrec_status status = CSREC_MEMORY;
    if (d->info)
        status = decode(d);
    else
        csrec_memory_fail(error, input->name);
    png_destroy_read_struct(&d->png, &d->info, NULL);
    return status;
}

csrec_status csrec_image_decode(csrec_input *input, csrec_image *image, csrec_error *error) {
    decoder d = {.peek = false};
    csrec_status status = run(&d, input, error);
    if (!status) status = arrange(&d);
    if (!status) *image = d.image;
    if (status) free(d.image.alpha);
    free(d.raw);
    return status;
}

static csrec_status peek(csrec_input *input, csrec_image *image, bool *transparent,
                         csrec_error *error) {
    decoder d = {.peek = true};
    csrec_status status = run(&d, input, error);
    if (input->file) rewind(input->file);
    if (status) return status;
    *image = d.image;
    image->pixels = describe(&d);
    *transparent = d.stored > d.channels || d.keyed;
    return CSREC_OK;
}

csrec_status csrec_image_read(const char *path, csrec_image *image, csrec_error *error) {
    csrec_input input;
    CSREC_TRY(csrec_input_open(path, &input, error));
    csrec_status status = csrec_image_decode(&input, image, error);
    csrec_input_close(&input);
    return status;
}

void csrec_image_clear(csrec_image *image) {
    if (!image) return;
    csrec_array_clear(&image->pixels);
    free(image->alpha);
    *image = (csrec_image){0};
}

/* Chunks that say how a picture is shown, where it was taken and what it is; not how it is stored,
 * when it was changed, or what belongs to single values. */
static bool keeps(const char *type) {
    return strlen(type) == 4 && !strchr(type, ' ') &&
           strstr("cHRM gAMA iCCP sRGB cICP mDCV cLLI pHYs sCAL oFFs eXIf tEXt zTXt iTXt", type);
}

/* The decoder has checked the header alone; chunks that do not fit the file end the list. */
static csrec_status tell(csrec_input *input, csrec_about *about, csrec_error *error) {
    uint8_t head[8];
    char type[5] = "";
    csrec_image image;
    bool transparent;
    CSREC_TRY(csrec_input_load(input, error));
    CSREC_TRY(peek(input, &image, &transparent, error));
    for (int i = 0; i < 3; i++) about->extent[i] = image.pixels.shape.dim[i];
    for (uint64_t at = 8; csrec_input_peek(input, at, head, sizeof head) == sizeof head;) {
        const uint32_t size = csrec_about_number(head, 4);
        memcpy(type, head + 4, 4);
        if (size > INT32_MAX || size > input->size - at - sizeof head) break;
        const size_t before = about->size;
        uint8_t *data = keeps(type) ? csrec_about_add(about, type, size) : NULL;
        if (!data && keeps(type)) return csrec_memory_fail(error, input->name);
        if (data) csrec_input_peek(input, at + sizeof head, data, size);
        if (data && csrec_about_is_fingerprint(data, size)) about->size = before;
        at += size + 12; /* and a checksum */
    }
    return CSREC_OK;
}

static const char *refusal(const csrec_shape *shape, int64_t channels) {
    if (shape->dims != 2) return "only a 2-D signal fits in a PNG; write .npy";
    return channels == 1 || channels == 3 ? NULL : "a PNG has 1 or 3 channels; write .npy";
}

const csrec_format_row csrec_png_format = {
    .format = {"png", ".png", "PNG", "a PNG picture",
               CSREC_USE_READ | CSREC_USE_WRITE | CSREC_USE_PICTURE | CSREC_USE_SAMPLES, NULL},
    .magic = {{"\x89PNG\r\n\x1a\n", 8}},
    .signal = csrec_image_decode,
    .peek = peek,
    .about = tell,
    .refusal = refusal,
    .write = csrec_png_write,
};
