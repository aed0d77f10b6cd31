/* SPDX-License-Identifier: BSD-3-Clause */
/* fits_file.h - FITS files made byte by byte, of random arrangements. */
#pragma once

#include "io_signal.h"

enum { BLOCK = 2880, CARD = 80 };

SEED(seed);

static inline void put_card(io_bytes *b, const char *text) {
    io_put(b, check_print("%-80s", text), CARD);
}

static inline void put_number(io_bytes *b, const char *key, double value) {
    put_card(b, check_print("%-8s= %20.17G", key, value));
}

static inline void fill(io_bytes *b, char with) {
    while (b->size % BLOCK) io_put(b, &with, 1);
}

typedef struct {
    int bitpix, naxis;
    int64_t naxes[6], count;
    double scale, zero;
    bool blank;
    int64_t unknown;
    csrec_dtype dtype; /* expected */
    int64_t *raw;      /* integers, or the bits of floats */
} drawn;

static inline void put_image(io_bytes *b, const drawn *d, const char *first) {
    put_card(b, first);
    put_number(b, "BITPIX", d->bitpix);
    put_number(b, "NAXIS", d->naxis);
    for (int a = 0; a < d->naxis; a++)
        put_number(b, check_print("NAXIS%d", a + 1), (double)d->naxes[a]);
    if (first[0] == 'X') put_card(b, "PCOUNT  =                    0");
    if (first[0] == 'X') put_card(b, "GCOUNT  =                    1");
    if (d->scale != 1.0) put_number(b, "BSCALE", d->scale);
    if (d->zero != 0.0) put_number(b, "BZERO", d->zero);
    if (d->blank) put_number(b, "BLANK", (double)d->unknown);
    put_card(b, "END");
    fill(b, ' ');
    for (int64_t i = 0; i < d->count; i++) io_put_be(b, (uint64_t)d->raw[i], abs(d->bitpix) / 8);
    fill(b, '\0');
}

static const char primary[] = "SIMPLE  =                    T",
                  extension[] = "XTENSION= 'IMAGE   '";

static inline void put_file(io_bytes *b, const drawn *d, bool extended) {
    if (extended) put_image(b, &(drawn){.bitpix = 8, .scale = 1.0}, primary);
    put_image(b, d, extended ? extension : primary);
}

/* Bits of a random value of the stored type. */
static inline int64_t draw_raw(int bitpix) {
    float single = (float)(2e3 * check_uniform(&seed) - 1e3);
    double number = 1e200 * check_uniform(&seed) - 3.0;
    int kind = (int)check_below(&seed, 10);
    uint32_t bits = 0;
    uint64_t all = 0;
    if (kind == 0) single = NAN, number = NAN;
    if (kind == 1) single = 1e-42f, number = -1e-310;
    memcpy(&bits, &single, sizeof bits);
    memcpy(&all, &number, sizeof all);
    if (bitpix == -32) return (int64_t)bits;
    if (bitpix == -64) return (int64_t)all;
    uint64_t any = (uint64_t)check_below(&seed, 1 << 30) << 34 ^
                   (uint64_t)check_below(&seed, 1 << 30) << 17 ^
                   (uint64_t)check_below(&seed, 1 << 30);
    return bitpix == 8    ? (int64_t)(any & 255)
           : bitpix == 16 ? (int16_t)any
           : bitpix == 32 ? (int32_t)any
                          : (int64_t)any;
}

static const struct {
    int bitpix;
    double scale, zero;
    csrec_dtype dtype;
} kinds[] = {
    {8, 1, 0, CSREC_U8},        {8, 1, -128, CSREC_I8},      {16, 1, 0, CSREC_I16},
    {16, 1, 32768, CSREC_U16},  {32, 1, 0, CSREC_I32},       {32, 1, 2147483648.0, CSREC_U32},
    {64, 1, 0, CSREC_I64},      {64, 1, 0x1p63, CSREC_U64},  {-32, 1, 0, CSREC_F32},
    {-64, 1, 0, CSREC_F64},     {8, 0.5, 3, CSREC_F32},      {16, 1, 100, CSREC_F32},
    {32, 0.125, -7, CSREC_F64}, {64, 3, 0, CSREC_F64},       {-32, 2.5, 1, CSREC_F32},
    {-64, 0.5, 20, CSREC_F64},  {16, 1.25, 32768, CSREC_F32}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static inline drawn draw(int trial) {
    const int k = trial % KINDS;
    drawn d = {.bitpix = kinds[k].bitpix,
               .naxis = 1 + (int)check_below(&seed, 4),
               .scale = kinds[k].scale,
               .zero = kinds[k].zero,
               .dtype = kinds[k].dtype,
               .count = 1};
    for (int a = 0; a < d.naxis; a++) {
        d.naxes[a] = 1 + check_below(&seed, a ? 5 : 40);
        d.count *= d.naxes[a];
    }
    for (int64_t more = check_below(&seed, 3); more-- > 0;) d.naxes[d.naxis++] = 1;
    d.raw = check_keep((size_t)d.count * sizeof *d.raw);
    for (int64_t i = 0; i < d.count; i++) d.raw[i] = draw_raw(d.bitpix);
    d.blank = d.bitpix > 0 && d.bitpix < 64 && check_below(&seed, 2);
    d.unknown = d.raw[check_below(&seed, d.count)];
    return d;
}

static inline int count_cards(const io_bytes *b, const char *card, size_t length) {
    int count = 0;
    for (size_t at = 0; at < BLOCK && at < b->size; at += CARD)
        count += memcmp(b->data + at, card, length) == 0;
    return count;
}
