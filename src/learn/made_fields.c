/* made_fields.c - pictures without shapes: power-law noise alone, and reliefs with ridges. */
#include "learn/made_scene.h"

/* A window of a table: where it begins and how the picture's axes lie in it. */
typedef struct {
    const float *table;
    double x, y;
    float dx, dy; /* of a pixel to the right; one down is (-dy, dx) */
} window;

/* Of the smooth half of the spectra for `smooth` 1, of all but the roughest for 0. Half of the
 * windows lie on the entries, in one of four directions; the others are turned and stretched, which
 * makes them smoother. */
static window window_draw(csrec_made_draws *d, const csrec_made_bank *bank, int smooth) {
    int spectrum = csrec_made_count(d, smooth ? 7 : 2, CSREC_MADE_SPECTRA - 1);
    window w = {.table = csrec_made_bank_table(bank, 2 * spectrum + csrec_made_below(d, 2))};
    w.x = csrec_made_below(d, CSREC_MADE_SIDE);
    w.y = csrec_made_below(d, CSREC_MADE_SIDE);
    int quarter = csrec_made_below(d, 4);
    if (csrec_made_chance(d, 0.5f)) {
        w.dx = quarter == 0 ? 1.0f : quarter == 2 ? -1.0f : 0;
        w.dy = quarter == 1 ? 1.0f : quarter == 3 ? -1.0f : 0;
        return w;
    }
    float angle = 6.2831853f * csrec_made_uniform(d), scale = csrec_made_between(d, 0.4f, 1.2f);
    w.dx = scale * cosf(angle);
    w.dy = scale * sinf(angle);
    return w;
}

static void window_row(const window *w, int y, int size, float *row) {
    for (int x = 0; x < size; x += 64) {
        int n = size - x < 64 ? size - x : 64;
        csrec_made_bank_line(w->table, w->x + (double)w->dx * x - (double)w->dy * y,
                             w->y + (double)w->dy * x + (double)w->dx * y, w->dx, w->dy, n,
                             row + x);
    }
}

/* To mean 0 and variance 1 over the picture: what is smooth varies less in a window than in the
 * whole table. */
static void plane_standardize(float *plane, int size) {
    size_t n = (size_t)size * (size_t)size;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += plane[i];
        squares += (double)plane[i] * plane[i];
    }
    double mean = sum / (double)n, variance = squares / (double)n - mean * mean;
    float shift = (float)mean, factor = (float)(1 / sqrt(fmax(variance, 1e-6)));
    for (size_t i = 0; i < n; i++) plane[i] = (plane[i] - shift) * factor;
}

/* plane += weight times the window. */
static void window_add(const window *w, int size, float weight, float *plane) {
    float row[CSREC_MADE_SIZE_MAX];
    for (int y = 0; y < size; y++) {
        window_row(w, y, size, row);
        for (int x = 0; x < size; x++)
            plane[(size_t)y * (size_t)size + (size_t)x] += weight * row[x];
    }
}

static void plane_clear(float *plane, int size) {
    for (size_t i = 0; i < (size_t)size * (size_t)size; i++) plane[i] = 0;
}

/* Every channel is its tone and gain times the plane of `work`. */
static void plane_spread(csrec_made_field *f, const float *tone, const float *gain) {
    size_t n = (size_t)f->size * (size_t)f->size;
    for (int c = 0; c < f->channels; c++)
        for (size_t i = 0; i < n; i++)
            f->picture[(size_t)c * n + i] = tone[c] + gain[c] * f->work[i];
}

/* Colour that varies independently of brightness. */
static void tint_add(csrec_made_field *f, csrec_made_draws *d, float size) {
    size_t n = (size_t)f->size * (size_t)f->size;
    float gain[CSREC_MADE_CHANNELS_MAX];
    window w = window_draw(d, f->bank, 1);
    plane_clear(f->work, f->size);
    window_add(&w, f->size, 1, f->work);
    csrec_made_chroma_draw(d, f->channels, size, gain);
    for (int c = 0; c < f->channels; c++)
        for (size_t i = 0; i < n; i++) f->picture[(size_t)c * n + i] += gain[c] * f->work[i];
}

static void field_colour(csrec_made_field *f, csrec_made_draws *d,
                         const csrec_made_palette *palette, float brightness, float contrast) {
    float tone[CSREC_MADE_CHANNELS_MAX], gain[CSREC_MADE_CHANNELS_MAX];
    csrec_made_tone_draw(d, palette, brightness, tone);
    csrec_made_gain_draw(d, palette, tone, gain);
    for (int c = 0; c < f->channels; c++) gain[c] *= contrast;
    plane_spread(f, tone, gain);
    if (f->channels > 1) tint_add(f, d, palette->chroma);
}

/* The sum of two windows, so that no picture is a piece of a table; in 40 % pressed into two tones.
 */
void csrec_made_noise_draw(csrec_made_field *field, csrec_made_draws *d,
                           const csrec_made_palette *palette) {
    size_t n = (size_t)field->size * (size_t)field->size;
    float angle = 1.5707963f * csrec_made_uniform(d);
    plane_clear(field->work, field->size);
    for (int k = 0; k < 2; k++) {
        window w = window_draw(d, field->bank, 0);
        window_add(&w, field->size, k ? cosf(angle) : sinf(angle), field->work);
    }
    plane_standardize(field->work, field->size);
    if (csrec_made_chance(d, 0.4f))
        for (size_t i = 0; i < n; i++) field->work[i] = tanhf(2 * field->work[i]);
    field_colour(field, d, palette, csrec_made_between(d, 90, 165), csrec_made_between(d, 10, 50));
}

/* Ridges where smooth noise passes 0, finer ones on top (Musgrave's ridged multifractal). */
static void ridges_fill(csrec_made_field *f, csrec_made_draws *d) {
    float row[CSREC_MADE_SIZE_MAX], weight = 1, fine = 1;
    int size = f->size;
    window w = window_draw(d, f->bank, 1);
    for (int octave = 0; octave < 4; octave++, weight *= 0.45f, fine *= 2.1f) {
        window o = {w.table, w.x + 131 * octave, w.y + 57 * octave, w.dx * fine, w.dy * fine};
        for (int y = 0; y < size; y++) {
            float *out = f->work + (size_t)y * (size_t)size;
            window_row(&o, y, size, row);
            for (int x = 0; x < size; x++) out[x] += weight * (1 - fabsf(row[x]));
        }
    }
}

/* Light from the left above: the difference to that neighbour. From the last row up, in place. */
static void relief_shade(csrec_made_field *f) {
    size_t size = (size_t)f->size;
    for (size_t y = size; y-- > 0;)
        for (size_t x = size; x-- > 0;) {
            size_t above = y ? y - 1 : 0, left = x ? x - 1 : 0;
            f->work[y * size + x] -= f->work[above * size + left];
        }
}

/* Heights as brightness, with ridges or without, or as lit from a side, as radar and elevation are
 * shown. */
void csrec_made_relief_draw(csrec_made_field *field, csrec_made_draws *d,
                            const csrec_made_palette *palette) {
    window w = window_draw(d, field->bank, 1);
    plane_clear(field->work, field->size);
    if (csrec_made_chance(d, 0.7f)) ridges_fill(field, d);
    window_add(&w, field->size, csrec_made_between(d, 0, 1.5f), field->work);
    if (csrec_made_chance(d, 0.35f)) relief_shade(field);
    plane_standardize(field->work, field->size);
    field_colour(field, d, palette, csrec_made_between(d, 80, 170), csrec_made_between(d, 20, 60));
}
