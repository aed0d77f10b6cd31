/* made_spots.c - smooth blobs with soft edges: bright spots on dark ground, as a microscope or a
 * telescope sees, and the bodies in bodies of a tomogram. */
#include "learn/made_scene.h"

/* An ellipse: half axes a, c in pixels, and what it adds to every channel. */
typedef struct {
    float x, y, cosine, sine, a, c;
    float edge; /* 1: soft all over; larger: a plateau with an edge of 1 / edge of the radius */
    float add[CSREC_MADE_CHANNELS_MAX];
} spot;

/* From 1 at the centre to 0 at the rim, smooth at both: t^2 (3 - 2 t), t = (1 - q) edge up to 1. */
static void spot_row(const spot *s, float dy, float dx, int n, float *value) {
    float p = 1 / s->a, r = 1 / s->c;
    for (int i = 0; i < n; i++) {
        float x = dx + (float)i;
        float u = (x * s->cosine + dy * s->sine) * p, v = (dy * s->cosine - x * s->sine) * r;
        float t = fminf(1.0f, fmaxf(0.0f, (1 - u * u - v * v) * s->edge));
        value[i] = t * t * (3 - 2 * t);
    }
}

static int clipped(float at, int size) {
    return at < 0 ? 0 : at > (float)size ? size : (int)at;
}

static void spot_add(csrec_made_field *f, const spot *s) {
    float value[CSREC_MADE_SIZE_MAX], reach = fmaxf(s->a, s->c);
    size_t size = (size_t)f->size;
    int first = clipped(s->x - reach, f->size), end = clipped(s->x + reach + 1, f->size);
    int top = clipped(s->y - reach, f->size), bottom = clipped(s->y + reach + 1, f->size);
    if (first >= end) return;
    for (int y = top; y < bottom; y++) {
        spot_row(s, (float)y + 0.5f - s->y, (float)first + 0.5f - s->x, end - first, value);
        for (int c = 0; c < f->channels; c++) {
            float *row = f->picture + ((size_t)c * size + (size_t)y) * size + first;
            for (int i = 0; i < end - first; i++) row[i] += s->add[c] * value[i];
        }
    }
}

static spot spot_place(csrec_made_draws *d, float x, float y, float a, float c) {
    float angle = 6.2831853f * csrec_made_uniform(d);
    return (spot){.x = x, .y = y, .cosine = cosf(angle), .sine = sinf(angle), .a = a, .c = c};
}

void csrec_made_glow_add(csrec_made_field *field, csrec_made_draws *d,
                         const csrec_made_palette *palette, int count, float radius, float bright) {
    float size = (float)field->size;
    for (int k = 0; k < count; k++) {
        float a = csrec_made_scale(d, 1.5f, fmaxf(2, radius));
        float aspect = csrec_made_chance(d, 0.5f) ? 1 : csrec_made_between(d, 0.4f, 1);
        spot s = spot_place(d, csrec_made_between(d, -0.05f, 1.05f) * size,
                            csrec_made_between(d, -0.05f, 1.05f) * size, a, a * aspect);
        s.edge = csrec_made_chance(d, 0.7f) ? 1 : csrec_made_between(d, 1, 4);
        csrec_made_tone_draw(d, palette, bright * csrec_made_scale(d, 0.2f, 1.2f), s.add);
        spot_add(field, &s);
    }
}

/* Bodies in a body: every one inside the first, brighter or darker than what it lies in. */
static void bodies_add(csrec_made_field *f, csrec_made_draws *d,
                       const csrec_made_palette *palette) {
    float size = (float)f->size, a = csrec_made_between(d, 0.3f, 0.48f) * size;
    float c = a * csrec_made_between(d, 0.6f, 1), edge = csrec_made_scale(d, 2, 20);
    spot body = spot_place(d, 0.5f * size, 0.5f * size, a, c);
    int inside = csrec_made_count(d, 4, 24);
    for (int k = inside; k >= 0; k--) {
        float brightness = csrec_made_between(d, 30, 140);
        if (k < inside && csrec_made_chance(d, 0.5f)) brightness *= -0.5f;
        csrec_made_tone_draw(d, palette, brightness, body.add);
        body.edge = edge;
        spot_add(f, &body);
        float u = a * csrec_made_between(d, -0.5f, 0.5f),
              v = c * csrec_made_between(d, -0.5f, 0.5f);
        float b = c * csrec_made_scale(d, 0.03f, 0.45f);
        body =
            spot_place(d, 0.5f * size + u, 0.5f * size + v, b, b * csrec_made_between(d, 0.4f, 1));
    }
}

void csrec_made_spots_draw(csrec_made_field *field, csrec_made_draws *d,
                           const csrec_made_palette *palette) {
    size_t n = (size_t)field->size * (size_t)field->size;
    float ground[CSREC_MADE_CHANNELS_MAX];
    csrec_made_palette own = *palette; /* fluorescent dyes are pure colours */
    if (csrec_made_chance(d, 0.4f)) own.saturated = 0.8f;
    csrec_made_tone_draw(d, palette, csrec_made_between(d, 2, 50), ground);
    for (int c = 0; c < field->channels; c++)
        for (size_t i = 0; i < n; i++) field->picture[(size_t)c * n + i] = ground[c];
    float area = (float)n / 16384; /* of 128 x 128 pixels */
    if (csrec_made_chance(d, 0.4f)) {
        bodies_add(field, d, &own);
        return;
    }
    int count = (int)(csrec_made_scale(d, 8, 150) * fminf(16, fmaxf(0.2f, area)));
    csrec_made_glow_add(field, d, &own, count, csrec_made_between(d, 3, 30), 160);
}
