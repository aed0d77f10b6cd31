/* made_text.c - what looks like writing: lines of words of glyphs, each glyph one to four strokes
 * of one pen, from an alphabet made for the picture, so that letters come again. */
#include "learn/made_scene.h"

enum { GLYPHS = 14, STROKES = 4 };

/* In units of the glyph's box, x and y from 0 to 1. */
typedef struct {
    bool is_arc;
    float x, y, end_x, end_y; /* a bar; or an arc's centre (x, y) and half axes (end_x, end_y) */
    float facing;             /* the middle of a half arc, in radians; a full ring if negative */
} stroke;

typedef struct {
    int count;
    stroke stroke[STROKES];
} glyph;

typedef struct {
    csrec_made_canvas *canvas;
    csrec_made_surface ink;
    glyph glyph[GLYPHS];
    float width, height, pen, slant;
    float cosine, sine; /* direction of the lines */
} writing;

/* Upright, level and slanted bars between nine points of the box, and arcs of half its size. */
static stroke stroke_draw(csrec_made_draws *d) {
    stroke s = {.is_arc = csrec_made_chance(d, 0.4f)};
    if (s.is_arc) {
        bool small = csrec_made_chance(d, 0.6f);
        s.end_x = 0.5f;
        s.end_y = small ? 0.25f : 0.5f;
        s.x = 0.5f;
        s.y = small ? 0.25f + 0.5f * (float)csrec_made_below(d, 2) : 0.5f;
        s.facing = csrec_made_chance(d, 0.35f) ? -1 : 1.5707963f * (float)csrec_made_below(d, 4);
        return s;
    }
    s.x = 0.5f * (float)csrec_made_below(d, 3);
    s.y = 0.5f * (float)csrec_made_below(d, 3);
    s.end_x = csrec_made_chance(d, 0.5f) ? s.x : 0.5f * (float)csrec_made_below(d, 3);
    s.end_y =
        s.end_x == s.x ? (s.y < 0.5f ? 1.0f : 0.0f) : (csrec_made_chance(d, 0.6f) ? s.y : 1 - s.y);
    return s;
}

static void alphabet_draw(csrec_made_draws *d, writing *w) {
    for (int g = 0; g < GLYPHS; g++) {
        w->glyph[g].count = csrec_made_count(d, 1, STROKES);
        for (int k = 0; k < w->glyph[g].count; k++) w->glyph[g].stroke[k] = stroke_draw(d);
    }
}

/* From the lines' coordinates to the canvas. */
static void turn(const writing *w, float along, float down, float *x, float *y) {
    float middle = 0.5f * (float)w->canvas->side;
    *x = middle + (along - middle) * w->cosine - (down - middle) * w->sine;
    *y = middle + (along - middle) * w->sine + (down - middle) * w->cosine;
}

static void bar_paint(const writing *w, const stroke *s, float along, float down) {
    float x0, y0, x1, y1;
    csrec_made_shape shape;
    turn(w, along + s->x * w->width - w->slant * s->y * w->height, down + s->y * w->height, &x0,
         &y0);
    turn(w, along + s->end_x * w->width - w->slant * s->end_y * w->height,
         down + s->end_y * w->height, &x1, &y1);
    float half = 0.5f * sqrtf((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0)) + 0.5f * w->pen;
    csrec_made_shape_start(&shape, 0.5f * (x0 + x1), 0.5f * (y0 + y1), atan2f(y1 - y0, x1 - x0),
                           half + w->pen);
    csrec_made_shape_box(&shape, half, 0.5f * w->pen);
    csrec_made_canvas_add(w->canvas, &shape, &w->ink);
}

static void arc_paint(const writing *w, const stroke *s, float along, float down) {
    float x, y, a = s->end_x * w->width, c = s->end_y * w->height, pen = 0.5f * w->pen;
    csrec_made_shape shape;
    turn(w, along + s->x * w->width - w->slant * s->y * w->height, down + s->y * w->height, &x, &y);
    csrec_made_shape_start(&shape, x, y, atan2f(w->sine, w->cosine), fmaxf(a, c) + w->pen);
    csrec_made_shape_outer(&shape, a + pen, c + pen);
    if (a > 1.1f * pen && c > 1.1f * pen) csrec_made_shape_inner(&shape, a - pen, c - pen);
    if (s->facing >= 0) csrec_made_shape_cut(&shape, cosf(s->facing), sinf(s->facing), pen);
    csrec_made_canvas_add(w->canvas, &shape, &w->ink);
}

static void glyph_paint(const writing *w, const glyph *g, float along, float down) {
    for (int k = 0; k < g->count; k++)
        (g->stroke[k].is_arc ? arc_paint : bar_paint)(w, &g->stroke[k], along, down);
}

/* Words of 1 to 9 glyphs until the margin. */
static void line_paint(const writing *w, csrec_made_draws *d, float along, float end, float down) {
    float step = w->width + 1.6f * w->pen;
    while (along < end) {
        for (int k = csrec_made_count(d, 1, 9); k > 0 && along < end; k--, along += step)
            glyph_paint(w, &w->glyph[csrec_made_below(d, GLYPHS)], along, down);
        along += step;
    }
}

/* Letters 6 to 40 pixels high, in lines that are level, upright or slightly turned. */
static void writing_draw(csrec_made_draws *d, csrec_made_canvas *canvas, writing *w) {
    float scale = (float)canvas->scale;
    w->canvas = canvas;
    w->height = csrec_made_scale(d, 5, 36) * scale;
    w->width = w->height * csrec_made_between(d, 0.35f, 0.8f);
    w->pen = fmaxf(0.8f * scale, w->height * csrec_made_between(d, 0.08f, 0.22f));
    w->slant = csrec_made_chance(d, 0.3f) ? csrec_made_between(d, 0, 0.3f) : 0;
    float angle = csrec_made_chance(d, 0.6f) ? 0 : csrec_made_between(d, -0.4f, 0.4f);
    if (csrec_made_chance(d, 0.15f)) angle += 1.5707963f;
    w->cosine = cosf(angle);
    w->sine = sinf(angle);
    alphabet_draw(d, w);
}

void csrec_made_text_draw(csrec_made_canvas *canvas, csrec_made_draws *d,
                          const csrec_made_palette *palette) {
    writing w;
    writing_draw(d, canvas, &w);
    float away = palette->mean > 127 ? -1.0f : 1.0f; /* ink far from the ground's brightness */
    float brightness = palette->mean + away * csrec_made_between(d, 40, 160);
    w.ink = csrec_made_surface_flat(d, palette, fminf(255, fmaxf(0, brightness)));
    float side = (float)canvas->side, margin = csrec_made_between(d, -0.3f, 0.15f) * side;
    float pitch = w.height * csrec_made_between(d, 1.3f, 2.2f);
    float gap = pitch < 0.2f * side ? 0.1f : 0; /* an empty line, where there are many */
    for (float down = -pitch * csrec_made_uniform(d); down < side; down += pitch) {
        float end = side * csrec_made_between(d, 0.6f, 1.4f);
        if (!csrec_made_chance(d, gap)) line_paint(&w, d, margin, end, down);
    }
}
