/* SPDX-License-Identifier: BSD-3-Clause */
/* canvas_raster.c - charts as pixels, with letters of 5 x 7 dots: the distance from the middle of a
 * pixel gives its coverage, which smooths edges; and colours between the stops of a table. */
#include <math.h>
#include <string.h>

#include "chart.h"
#include "output.h"

enum { STOPS_MOST = 9 };

struct cli_colormap {
    const char *name;
    int stops;                 /* at equal distances */
    uint32_t stop[STOPS_MOST]; /* 0xrrggbb */
};

/* In the first two, brighter is larger, also for colour-blind readers: black over blue, violet and
 * orange to white; viridis (van der Walt and Smith 2015). The last has a middle, for signed
 * numbers: blue over white to red (after Moreland 2009). */
static const cli_colormap maps[] = {
    {"heat", 6, {0x000008, 0x281464, 0x781e78, 0xd24650, 0xfaa028, 0xffffdc}},
    {"viridis",
     9,
     {0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c, 0x28ae80, 0x5ec962, 0xaddc30, 0xfde725}},
    {"coolwarm",
     9,
     {0x3b4cc0, 0x6282ea, 0x8db0fe, 0xb9d0f9, 0xdddcdc, 0xf5c4ac, 0xf4987a, 0xdd5f4b, 0xb40426}},
};

const cli_colormap *cli_colormap_info(int i) {
    return i >= 0 && i < (int)(sizeof maps / sizeof *maps) ? &maps[i] : NULL;
}

const char *cli_colormap_name(int i) {
    const cli_colormap *map = cli_colormap_info(i);
    return map ? map->name : NULL;
}

void cli_colormap_color(const cli_colormap *map, double share, uint8_t rgb[3]) {
    double at = (map->stops - 1) * fmin(fmax(share, 0.0), 1.0);
    int k = at < map->stops - 2 ? (int)at : map->stops - 2;
    for (int c = 0; c < 3; c++) {
        double low = map->stop[k] >> (16 - 8 * c) & 255,
               high = map->stop[k + 1] >> (16 - 8 * c) & 255;
        rgb[c] = (uint8_t)lround(low + (at - k) * (high - low));
    }
}

typedef struct glyph {
    char character;
    unsigned char row[7]; /* 5 bits each, the left dot highest */
} glyph;

/* clang-format off */
static const glyph glyphs[] = {
    {'0', {0x0E, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0E}},
    {'1', {0x04, 0x0C, 0x04, 0x04, 0x04, 0x04, 0x0E}},
    {'2', {0x0E, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1F}},
    {'3', {0x1F, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0E}},
    {'4', {0x02, 0x06, 0x0A, 0x12, 0x1F, 0x02, 0x02}},
    {'5', {0x1F, 0x10, 0x1E, 0x01, 0x01, 0x11, 0x0E}},
    {'6', {0x06, 0x08, 0x10, 0x1E, 0x11, 0x11, 0x0E}},
    {'7', {0x1F, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08}},
    {'8', {0x0E, 0x11, 0x11, 0x0E, 0x11, 0x11, 0x0E}},
    {'9', {0x0E, 0x11, 0x11, 0x0F, 0x01, 0x02, 0x0C}},
    {'a', {0x00, 0x00, 0x0E, 0x01, 0x0F, 0x11, 0x0F}},
    {'b', {0x10, 0x10, 0x1E, 0x11, 0x11, 0x11, 0x1E}},
    {'c', {0x00, 0x00, 0x0F, 0x10, 0x10, 0x10, 0x0F}},
    {'d', {0x01, 0x01, 0x0F, 0x11, 0x11, 0x11, 0x0F}},
    {'e', {0x00, 0x00, 0x0E, 0x11, 0x1F, 0x10, 0x0E}},
    {'f', {0x06, 0x08, 0x1E, 0x08, 0x08, 0x08, 0x08}},
    {'g', {0x0F, 0x11, 0x11, 0x11, 0x0F, 0x01, 0x0E}},
    {'h', {0x10, 0x10, 0x1E, 0x11, 0x11, 0x11, 0x11}},
    {'i', {0x04, 0x00, 0x0C, 0x04, 0x04, 0x04, 0x0E}},
    {'j', {0x02, 0x00, 0x06, 0x02, 0x02, 0x12, 0x0C}},
    {'k', {0x10, 0x10, 0x12, 0x14, 0x18, 0x14, 0x12}},
    {'l', {0x0C, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0E}},
    {'m', {0x00, 0x00, 0x1A, 0x15, 0x15, 0x15, 0x15}},
    {'n', {0x00, 0x00, 0x1E, 0x11, 0x11, 0x11, 0x11}},
    {'o', {0x00, 0x00, 0x0E, 0x11, 0x11, 0x11, 0x0E}},
    {'p', {0x1E, 0x11, 0x11, 0x11, 0x1E, 0x10, 0x10}},
    {'q', {0x0F, 0x11, 0x11, 0x11, 0x0F, 0x01, 0x01}},
    {'r', {0x00, 0x00, 0x16, 0x19, 0x10, 0x10, 0x10}},
    {'s', {0x00, 0x00, 0x0F, 0x10, 0x0E, 0x01, 0x1E}},
    {'t', {0x08, 0x08, 0x1E, 0x08, 0x08, 0x08, 0x06}},
    {'u', {0x00, 0x00, 0x11, 0x11, 0x11, 0x11, 0x0F}},
    {'v', {0x00, 0x00, 0x11, 0x11, 0x11, 0x0A, 0x04}},
    {'w', {0x00, 0x00, 0x11, 0x15, 0x15, 0x15, 0x0A}},
    {'x', {0x00, 0x00, 0x11, 0x0A, 0x04, 0x0A, 0x11}},
    {'y', {0x11, 0x11, 0x11, 0x11, 0x0F, 0x01, 0x0E}},
    {'z', {0x00, 0x00, 0x1F, 0x02, 0x04, 0x08, 0x1F}},
    {'A', {0x04, 0x0A, 0x11, 0x11, 0x1F, 0x11, 0x11}},
    {'B', {0x1E, 0x11, 0x11, 0x1E, 0x11, 0x11, 0x1E}},
    {'C', {0x0E, 0x11, 0x10, 0x10, 0x10, 0x11, 0x0E}},
    {'D', {0x1E, 0x11, 0x11, 0x11, 0x11, 0x11, 0x1E}},
    {'E', {0x1F, 0x10, 0x10, 0x1E, 0x10, 0x10, 0x1F}},
    {'F', {0x1F, 0x10, 0x10, 0x1E, 0x10, 0x10, 0x10}},
    {'G', {0x0E, 0x11, 0x10, 0x17, 0x11, 0x11, 0x0E}},
    {'H', {0x11, 0x11, 0x11, 0x1F, 0x11, 0x11, 0x11}},
    {'I', {0x0E, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0E}},
    {'J', {0x07, 0x02, 0x02, 0x02, 0x02, 0x12, 0x0C}},
    {'K', {0x11, 0x12, 0x14, 0x18, 0x14, 0x12, 0x11}},
    {'L', {0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x1F}},
    {'M', {0x11, 0x1B, 0x15, 0x15, 0x11, 0x11, 0x11}},
    {'N', {0x11, 0x19, 0x15, 0x13, 0x11, 0x11, 0x11}},
    {'O', {0x0E, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0E}},
    {'P', {0x1E, 0x11, 0x11, 0x1E, 0x10, 0x10, 0x10}},
    {'Q', {0x0E, 0x11, 0x11, 0x11, 0x15, 0x12, 0x0D}},
    {'R', {0x1E, 0x11, 0x11, 0x1E, 0x14, 0x12, 0x11}},
    {'S', {0x0F, 0x10, 0x10, 0x0E, 0x01, 0x01, 0x1E}},
    {'T', {0x1F, 0x04, 0x04, 0x04, 0x04, 0x04, 0x04}},
    {'U', {0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0E}},
    {'V', {0x11, 0x11, 0x11, 0x11, 0x11, 0x0A, 0x04}},
    {'W', {0x11, 0x11, 0x11, 0x15, 0x15, 0x1B, 0x11}},
    {'X', {0x11, 0x11, 0x0A, 0x04, 0x0A, 0x11, 0x11}},
    {'Y', {0x11, 0x11, 0x0A, 0x04, 0x04, 0x04, 0x04}},
    {'Z', {0x1F, 0x01, 0x02, 0x04, 0x08, 0x10, 0x1F}},
    {'.', {0x00, 0x00, 0x00, 0x00, 0x00, 0x0C, 0x0C}},
    {',', {0x00, 0x00, 0x00, 0x00, 0x0C, 0x04, 0x08}},
    {'-', {0x00, 0x00, 0x00, 0x1F, 0x00, 0x00, 0x00}},
    {'+', {0x00, 0x04, 0x04, 0x1F, 0x04, 0x04, 0x00}},
    {':', {0x00, 0x0C, 0x0C, 0x00, 0x0C, 0x0C, 0x00}},
    {'/', {0x01, 0x01, 0x02, 0x04, 0x08, 0x10, 0x10}},
    {'%', {0x19, 0x19, 0x02, 0x04, 0x08, 0x13, 0x13}},
    {'(', {0x02, 0x04, 0x08, 0x08, 0x08, 0x04, 0x02}},
    {')', {0x08, 0x04, 0x02, 0x02, 0x02, 0x04, 0x08}},
    {'|', {0x04, 0x04, 0x04, 0x04, 0x04, 0x04, 0x04}},
    {'=', {0x00, 0x00, 0x1F, 0x00, 0x1F, 0x00, 0x00}},
    {'^', {0x04, 0x0A, 0x11, 0x00, 0x00, 0x00, 0x00}},
};
/* clang-format on */

/* A frame, for characters without a glyph. */
static const unsigned char unknown[7] = {0x1F, 0x11, 0x11, 0x11, 0x11, 0x11, 0x1F};

int cli_font_drop(char character) {
    return character == 'g' || character == 'p' || character == 'q' || character == 'y' ? 2 : 0;
}

unsigned cli_font_row(char character, int row) {
    if (character == ' ') return 0;
    for (size_t i = 0; i < sizeof glyphs / sizeof *glyphs; i++)
        if (glyphs[i].character == character) return glyphs[i].row[row];
    return unknown[row];
}

enum { SCALE = 2, DOT = 2 /* pixels of a dot of the font */ };

static const uint8_t inks[CLI_INK_SERIES + CLI_SERIES_INKS][3] = {
    {26, 26, 26},  {208, 208, 208}, {0, 96, 176},  {192, 64, 0},   {46, 125, 50}, {142, 36, 170},
    {173, 20, 87}, {0, 121, 107},   {121, 85, 72}, {154, 125, 10}, {92, 107, 192}};

static void blend(cli_raster *r, int64_t x, int64_t y, int ink, double cover) {
    const csrec_shape *shape = &r->image.pixels.shape;
    if (x < 0 || y < 0 || y >= shape->dim[0] || x >= shape->dim[1] || cover <= 0.0) return;
    uint8_t *pixel = (uint8_t *)r->image.pixels.data + 3 * (y * shape->dim[1] + x);
    double share = cover < 1.0 ? cover : 1.0;
    for (int c = 0; c < 3; c++)
        pixel[c] = (uint8_t)lround(pixel[c] + share * (inks[ink][c] - pixel[c]));
}

/* Everything within `reach` pixels of the segment; from = to is a disc. */
static void stroke(cli_raster *r, const double from[2], const double to[2], double reach, int ink) {
    double a[2], b[2], d[2], length2 = 0.0;
    for (int i = 0; i < 2; i++) {
        a[i] = SCALE * (from[i] + r->origin[i]);
        b[i] = SCALE * (to[i] + r->origin[i]);
        d[i] = b[i] - a[i];
        length2 += d[i] * d[i];
    }
    int64_t first[2], last[2];
    for (int i = 0; i < 2; i++) {
        first[i] = (int64_t)floor(fmin(a[i], b[i]) - reach - 1.0);
        last[i] = (int64_t)ceil(fmax(a[i], b[i]) + reach + 1.0);
    }
    for (int64_t y = first[1]; y <= last[1]; y++)
        for (int64_t x = first[0]; x <= last[0]; x++) {
            double px = (double)x + 0.5 - a[0], py = (double)y + 0.5 - a[1];
            double t = length2 > 0.0 ? fmin(fmax((px * d[0] + py * d[1]) / length2, 0.0), 1.0) : 0;
            blend(r, x, y, ink, reach + 0.5 - hypot(px - t * d[0], py - t * d[1]));
        }
}

static void line(cli_canvas *canvas, const double from[2], const double to[2], int ink,
                 bool dashed) {
    cli_raster *r = (cli_raster *)canvas;
    double length = hypot(to[0] - from[0], to[1] - from[1]);
    double dash = dashed ? 6.0 : length, gap = dashed ? 4.0 : 1.0;
    for (double at = 0.0; at < length; at += dash + gap) {
        double u = at / length, v = fmin((at + dash) / length, 1.0);
        double a[2] = {from[0] + u * (to[0] - from[0]), from[1] + u * (to[1] - from[1])};
        double b[2] = {from[0] + v * (to[0] - from[0]), from[1] + v * (to[1] - from[1])};
        stroke(r, a, b, 0.5, ink);
    }
}

static void curve(cli_canvas *canvas, int64_t n, const double (*at)[2], int ink) {
    for (int64_t i = 1; i < n; i++) stroke((cli_raster *)canvas, at[i - 1], at[i], 1.0, ink);
}

/* A rectangle of whole pixels. */
static void fill(cli_raster *r, const double at[2], const double size[2], int ink, double cover) {
    int64_t first[2], last[2];
    for (int i = 0; i < 2; i++) {
        first[i] = lround(SCALE * (at[i] + r->origin[i]));
        last[i] = lround(SCALE * (at[i] + size[i] + r->origin[i]));
    }
    for (int64_t y = first[1]; y < last[1]; y++)
        for (int64_t x = first[0]; x < last[0]; x++) blend(r, x, y, ink, cover);
}

static void shade(cli_canvas *canvas, const double at[2], const double size[2], double share) {
    fill((cli_raster *)canvas, at, size, CLI_INK_TEXT, 0.85 * share);
}

static void datum(cli_canvas *canvas, const double at[2], const double *size, int ink, double x,
                  double y) {
    cli_raster *r = (cli_raster *)canvas;
    (void)x, (void)y;
    if (size)
        fill(r, at, size, ink, 1.0);
    else
        stroke(r, at, at, 3.0, ink);
}

static void put_dot(cli_raster *r, int64_t x, int64_t y) {
    for (int64_t i = 0; i < DOT * DOT; i++) blend(r, x + i % DOT, y + i / DOT, CLI_INK_TEXT, 1.0);
}

static void text(cli_canvas *canvas, const double at[2], cli_anchor anchor, const char *words) {
    cli_raster *r = (cli_raster *)canvas;
    int64_t length = (int64_t)strlen(words), width = DOT * (6 * length - 1);
    int64_t back = anchor == CLI_LEFT ? 0 : anchor == CLI_MIDDLE ? width / 2 : width;
    int64_t x0 = lround(SCALE * (at[0] + r->origin[0]));
    int64_t y0 = lround(SCALE * (at[1] + r->origin[1]));
    for (int64_t k = 0; k < length; k++)
        for (int dot = 0; dot < 35; dot++) {
            if (!(cli_font_row(words[k], dot / 5) >> (4 - dot % 5) & 1)) continue;
            int64_t along = DOT * (6 * k + dot % 5) - back,
                    up = DOT * (7 - dot / 5 - cli_font_drop(words[k]));
            put_dot(r, x0 + along, y0 - up);
        }
}

static void begin(cli_canvas *canvas, const char *name, double x, double y, double width,
                  double height) {
    cli_raster *r = (cli_raster *)canvas;
    (void)name, (void)width, (void)height;
    if (r->depth++ > 0) return; /* nested groups keep its origin */
    r->origin[0] = x;
    r->origin[1] = y;
}

static void end(cli_canvas *canvas) {
    cli_raster *r = (cli_raster *)canvas;
    if (--r->depth == 0) memset(r->origin, 0, sizeof r->origin);
}

csrec_status cli_raster_open(cli_raster *raster, double width, double height) {
    *raster =
        (cli_raster){.canvas = {line, curve, datum, shade, text, begin, end}, .image = {.bits = 8}};
    csrec_shape shape = {3, {lround(SCALE * height), lround(SCALE * width), 3}};
    csrec_status status = csrec_array_create(CSREC_U8, &shape, &raster->image.pixels);
    if (!status) memset(raster->image.pixels.data, 255, (size_t)raster->image.pixels.count);
    return status;
}
