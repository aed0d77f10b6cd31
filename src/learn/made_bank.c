/* made_bank.c - power-law noise: the inverse Fourier transform of white noise times f^-exponent.
 *
 * A complex white spectrum without symmetry gives a complex field whose real and imaginary parts
 * are independent fields of the same law: two tables a transform. */
#include "learn/made_bank.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { SIDE = CSREC_MADE_SIDE, AREA = SIDE * SIDE, BITS = 9 };

struct csrec_made_bank {
    float table[CSREC_MADE_TABLES][AREA];
};

typedef struct {
    float re, im;
} complex_float;

/* What making the tables needs besides them. */
typedef struct {
    complex_float field[AREA];
    complex_float root[SIDE / 2]; /* exp(2 pi i k / SIDE) */
} workshop;

static void roots_fill(complex_float *root) {
    for (int k = 0; k < SIDE / 2; k++) {
        double angle = 6.283185307179586 * k / SIDE;
        root[k] = (complex_float){(float)cos(angle), (float)sin(angle)};
    }
}

static void bits_reverse(complex_float *row) {
    for (int i = 0; i < SIDE; i++) {
        int j = 0;
        for (int b = 0; b < BITS; b++) j |= (i >> b & 1) << (BITS - 1 - b);
        if (j <= i) continue;
        complex_float held = row[i];
        row[i] = row[j];
        row[j] = held;
    }
}

/* Inverse transform in place, not scaled: radix 2, Cooley and Tukey 1965. */
static void row_transform(complex_float *row, const complex_float *root) {
    bits_reverse(row);
    for (int half = 1; half < SIDE; half *= 2)
        for (int first = 0; first < SIDE; first += 2 * half)
            for (int k = 0; k < half; k++) {
                complex_float w = root[k * (SIDE / 2 / half)];
                complex_float *a = row + first + k, *b = a + half;
                complex_float p = {b->re * w.re - b->im * w.im, b->re * w.im + b->im * w.re};
                *b = (complex_float){a->re - p.re, a->im - p.im};
                *a = (complex_float){a->re + p.re, a->im + p.im};
            }
}

static void transpose(complex_float *field) {
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < y; x++) {
            complex_float held = field[y * SIDE + x];
            field[y * SIDE + x] = field[x * SIDE + y];
            field[x * SIDE + y] = held;
        }
}

/* White noise times the filter, the constant left out. */
static void spectrum_fill(workshop *w, csrec_made_draws *d, int spectrum) {
    double exponent = 0.3 + 2.0 * spectrum / (CSREC_MADE_SPECTRA - 1);
    bool grain = csrec_made_bank_is_grain(2 * spectrum);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            double fx = (double)(x < SIDE / 2 ? x : x - SIDE) / SIDE;
            double fy = (double)(y < SIDE / 2 ? y : y - SIDE) / SIDE;
            double size = x || y ? pow(fx * fx + fy * fy, -exponent / 2) : 0.0;
            if (grain) size /= 1.0 + fx * fx * 1600.0;
            float radius = sqrtf(-2.0f * logf(1.0f - csrec_made_uniform(d))) * (float)size;
            float angle = 6.2831853f * csrec_made_uniform(d);
            w->field[y * SIDE + x] = (complex_float){radius * cosf(angle), radius * sinf(angle)};
        }
}

static void field_invert(workshop *w) {
    for (int pass = 0; pass < 2; pass++) {
        for (int y = 0; y < SIDE; y++) row_transform(w->field + y * SIDE, w->root);
        transpose(w->field);
    }
}

/* To variance 1; the mean is 0, since the spectrum has no constant. */
static void table_scale(float *table) {
    double squares = 0;
    for (int i = 0; i < AREA; i++) squares += (double)table[i] * table[i];
    float factor = (float)(1.0 / sqrt(squares / AREA));
    for (int i = 0; i < AREA; i++) table[i] *= factor;
}

static void bank_fill(uint64_t seed, csrec_made_bank *bank, workshop *w) {
    roots_fill(w->root);
    for (int s = 0; s < CSREC_MADE_SPECTRA; s++) {
        csrec_made_draws d = csrec_made_draws_of(seed, (uint64_t)s, CSREC_MADE_FOR_BANK);
        spectrum_fill(w, &d, s);
        field_invert(w);
        for (int i = 0; i < AREA; i++) {
            bank->table[2 * s][i] = w->field[i].re;
            bank->table[2 * s + 1][i] = w->field[i].im;
        }
        table_scale(bank->table[2 * s]);
        table_scale(bank->table[2 * s + 1]);
    }
}

csrec_status csrec_made_bank_create(uint64_t seed, csrec_made_bank **bank, csrec_error *error) {
    csrec_made_bank *made = malloc(sizeof *made);
    workshop *w = malloc(sizeof *w);
    if (made && w) bank_fill(seed, made, w);
    free(w);
    if (made && w) {
        *bank = made;
        return CSREC_OK;
    }
    free(made);
    return csrec_fail(error, CSREC_MEMORY, "no memory for the noise of made-up pictures, 26 MiB");
}

void csrec_made_bank_destroy(csrec_made_bank *bank) {
    free(bank);
}

const float *csrec_made_bank_table(const csrec_made_bank *bank, int table) {
    return bank->table[table];
}

bool csrec_made_bank_is_grain(int table) {
    return table / 2 % 3 == 2;
}

/* The start is brought into one period in double; from there on floats are exact to 2^-13. */
void csrec_made_bank_line(const float *table, double x, double y, float dx, float dy, int n,
                          float *value) {
    float fx = (float)(x - SIDE * floor(x / SIDE)) + SIDE;
    float fy = (float)(y - SIDE * floor(y / SIDE)) + SIDE;
    for (int i = 0; i < n; i++) {
        float gx = fx + dx * (float)i, gy = fy + dy * (float)i;
        int ix = (int)gx, iy = (int)gy; /* positive: truncated is floor */
        float px = gx - (float)ix, py = gy - (float)iy;
        int left = ix & (SIDE - 1), right = (ix + 1) & (SIDE - 1);
        const float *top = table + (iy & (SIDE - 1)) * SIDE;
        const float *low = table + ((iy + 1) & (SIDE - 1)) * SIDE;
        float a = top[left] + (top[right] - top[left]) * px;
        float b = low[left] + (low[right] - low[left]) * px;
        value[i] = a + (b - a) * py;
    }
}
