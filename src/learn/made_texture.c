/* made_texture.c - what is on a shape, for a run of pixels: loops over small arrays without calls
 * or branches, so that the compiler makes vectors of them. */
#include "learn/made_canvas.h"

enum { RUN = 64 };

/* Of pixel i of a run: coordinates on the shape, phases along and across in turns, noise, texture.
 */
typedef struct {
    float u[RUN], along[RUN], across[RUN], noise[RUN], value[RUN];
} run;

/* floor(t) for |t| < 2^31. */
static inline int whole(float t) {
    int i = (int)t;
    return i - (t < (float)i);
}

/* sin(2 pi t) to 0.001: two parabolas, and a correction by the square. */
static inline float wave(float t) {
    float f = t - (float)whole(t) - 0.5f; /* sin(2 pi t) = -sin(2 pi f) */
    float p = 16.0f * f * fabsf(f) - 8.0f * f;
    return p * (0.775f + 0.225f * fabsf(p));
}

/* -1 to 1, of a cell of a pattern. */
static inline float cell_tone(int i, int j, uint32_t salt) {
    uint32_t h = ((uint32_t)i * 0x9E3779B1u) ^ ((uint32_t)j * 0x85EBCA77u) ^ salt;
    h = (h ^ h >> 15) * 0x2C1B3C6Du;
    h = (h ^ h >> 12) * 0x297A2D39u;
    return (float)(h >> 8) * 0x1p-23f - 1.0f;
}

/* 0 to 1 within a soft edge a pixel or so wide; `steep` is one over its width. */
static inline float step_at(float t, float steep) {
    return fminf(1.0f, fmaxf(0.0f, t * steep + 0.5f));
}

static void coordinates_fill(const csrec_made_shape *s, const csrec_made_surface *f, int x, int y,
                             int n, run *r) {
    float dx = (float)x + 0.5f - s->x, dy = (float)y + 0.5f - s->y;
    float u = dx * s->cosine + dy * s->sine, v = dy * s->cosine - dx * s->sine;
    float along = f->fu * u + f->fv * v + f->phase;
    float across = f->second * (f->fu * v - f->fv * u) + f->phase;
    float d_along = f->fu * s->cosine - f->fv * s->sine;
    float d_across = -f->second * (f->fu * s->sine + f->fv * s->cosine);
    float diagonal = u + v, d_diagonal = s->cosine - s->sine;
    for (int i = 0; i < n; i++) {
        r->u[i] = diagonal + d_diagonal * (float)i;
        r->along[i] = along + d_along * (float)i + f->warp * r->noise[i];
        r->across[i] = across + d_across * (float)i;
    }
}

static void noise_fill(const csrec_made_shape *s, const csrec_made_surface *f, int x, int y, int n,
                       run *r) {
    bool used = f->grain != 0 || f->warp != 0 || f->texture == CSREC_MADE_NOISE ||
                f->texture == CSREC_MADE_STAINS || f->texture == CSREC_MADE_CREASES;
    if (!used) {
        for (int i = 0; i < n; i++) r->noise[i] = 0;
        return;
    }
    float c = s->cosine * f->noise_scale, q = s->sine * f->noise_scale;
    double px = x + 0.5, py = y + 0.5;
    csrec_made_bank_line(f->noise, px * c + py * q + 512.0 * f->phase,
                         py * c - px * q + 313.0 * f->phase, c, -q, n, r->noise);
}

/* Walls: rows of bricks, each its own tone, every second row half a brick on (threshold > 0) or in
 * columns, as tiles are; mortar between them. */
static void bricks_fill(const csrec_made_surface *f, int n, run *r) {
    float shift = f->threshold > 0 ? 0.5f : 0.0f, mortar = 0.04f + 0.2f * fabsf(f->threshold);
    for (int i = 0; i < n; i++) {
        int row = whole(r->across[i]);
        float at = r->along[i] + shift * (float)(row & 1);
        int column = whole(at);
        float edge = fminf(at - (float)column, (r->across[i] - (float)row) * 2);
        edge = step_at(edge - mortar, 12.0f);
        float brick = 0.4f + 0.6f * cell_tone(column, row, f->salt);
        r->value[i] = edge * (brick + 1.0f) - 1.0f;
    }
}

static void checks_fill(const csrec_made_surface *f, int n, run *r) {
    float steep = 1.0f + 6.0f * fmaxf(0.0f, f->threshold);
    for (int i = 0; i < n; i++) {
        float p = steep * wave(r->along[i]) * wave(r->across[i]);
        r->value[i] = fminf(1.0f, fmaxf(-1.0f, p));
    }
}

static void dots_fill(const csrec_made_surface *f, int n, run *r) {
    float radius = 0.25f + 0.15f * f->threshold;
    for (int i = 0; i < n; i++) {
        int row = whole(r->across[i]);
        float at = r->along[i] + 0.5f * (float)(row & 1);
        float p = at - (float)whole(at) - 0.5f, q = r->across[i] - (float)row - 0.5f;
        r->value[i] = 2 * step_at(radius * radius - p * p - q * q, 16.0f) - 1;
    }
}

static void value_fill(const csrec_made_surface *f, int n, run *r) {
    float t = f->threshold;
    float *value = r->value;
    switch (f->texture) {
    case CSREC_MADE_RAMP:
        for (int i = 0; i < n; i++) value[i] = r->u[i] * 0.02f;
        break;
    case CSREC_MADE_WAVES:
        for (int i = 0; i < n; i++) value[i] = wave(r->along[i]);
        break;
    case CSREC_MADE_STRIPES:
        for (int i = 0; i < n; i++) value[i] = wave(r->along[i]) > t ? 1.0f : -1.0f;
        break;
    case CSREC_MADE_NOISE:
        for (int i = 0; i < n; i++) value[i] = r->noise[i];
        break;
    case CSREC_MADE_STAINS:
        for (int i = 0; i < n; i++) value[i] = r->noise[i] > t ? 0.7f : -0.7f;
        break;
    case CSREC_MADE_CREASES:
        for (int i = 0; i < n; i++) value[i] = fabsf(r->noise[i]) - 1.0f;
        break;
    case CSREC_MADE_BRICKS:
        bricks_fill(f, n, r);
        break;
    case CSREC_MADE_CHECKS:
        checks_fill(f, n, r);
        break;
    case CSREC_MADE_DOTS:
        dots_fill(f, n, r);
        break;
    default:
        for (int i = 0; i < n; i++) value[i] = 0;
    }
}

void csrec_made_surface_paint(csrec_made_canvas *canvas, const csrec_made_shape *shape,
                              const csrec_made_surface *surface, int x, int y, int n) {
    size_t side = (size_t)canvas->side, at = (size_t)y * side + (size_t)x;
    run r;
    noise_fill(shape, surface, x, y, n, &r);
    if (surface->texture != CSREC_MADE_FLAT && surface->texture != CSREC_MADE_NOISE)
        coordinates_fill(shape, surface, x, y, n, &r);
    value_fill(surface, n, &r);
    for (int i = 0; i < n; i++)
        r.value[i] = surface->amplitude * r.value[i] + surface->grain * r.noise[i];
    for (int c = 0; c < canvas->channels; c++) {
        float *out = canvas->plane + (size_t)c * side * side + at;
        float tone = surface->tone[c], gain = surface->gain[c];
        for (int i = 0; i < n; i++) out[i] = tone + gain * r.value[i];
    }
}
