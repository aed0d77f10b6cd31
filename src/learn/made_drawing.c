/* made_drawing.c - line drawings and repeated motifs. */
#include "learn/made_scene.h"

/* A shape of kind 0 ellipse, 1 box, 2 polygon, drawn at the origin. */
static void plain_shape_draw(csrec_made_draws *d, int kind, float a, float c, float angle,
                             csrec_made_shape *shape) {
    csrec_made_shape_start(shape, 0, 0, angle, sqrtf(a * a + c * c));
    if (kind == 0) csrec_made_shape_outer(shape, a, c);
    if (kind == 1) csrec_made_shape_box(shape, a, c);
    if (kind == 2) csrec_made_shape_polygon(shape, d, a, c);
}

/* An outlined shape is its inside in front of itself. Its inside has every side moved in by the
 * pen's width. */
static void outlined_paint(csrec_made_canvas *canvas, csrec_made_draws *d, float pen,
                           const csrec_made_surface *ink, const csrec_made_surface *inside) {
    float side = (float)canvas->side, angle = 6.2831853f * csrec_made_uniform(d);
    float a = csrec_made_scale(d, 0.03f, 0.4f) * side + 2 * pen;
    float c = a * csrec_made_between(d, 0.3f, 1);
    int kind = csrec_made_below(d, 3);
    csrec_made_shape whole, inner;
    if (c < 2 * pen) c = 2 * pen;
    if (csrec_made_chance(d, 0.5f)) angle = 0;
    plain_shape_draw(d, kind, a, c, angle, &whole);
    whole.x = csrec_made_between(d, -0.1f, 1.1f) * side;
    whole.y = csrec_made_between(d, -0.1f, 1.1f) * side;
    inner = whole;
    if (kind == 0) csrec_made_shape_outer(&inner, a - pen, c - pen);
    for (int k = 0; k < inner.planes; k++) inner.plane[k][2] -= pen;
    csrec_made_canvas_add(canvas, &inner, inside);
    csrec_made_canvas_add(canvas, &whole, ink);
}

/* Bars end to end, a disc at each joint, turning a little (a curve) or much (a zigzag). */
static void path_paint(csrec_made_canvas *canvas, csrec_made_draws *d, float pen,
                       const csrec_made_surface *ink) {
    float side = (float)canvas->side, angle = 6.2831853f * csrec_made_uniform(d);
    float x = csrec_made_uniform(d) * side, y = csrec_made_uniform(d) * side;
    float bend = csrec_made_chance(d, 0.7f) ? 0.35f : 1.5f;
    float half = csrec_made_scale(d, 0.02f, 0.2f) * side;
    if (csrec_made_chance(d, 0.3f)) { /* a straight line across */
        half *= 5;
        bend = 0;
    }
    for (int k = bend > 0 ? csrec_made_count(d, 3, 25) : 1; k > 0; k--) {
        csrec_made_shape bar, joint;
        csrec_made_shape_start(&joint, x, y, 0, pen);
        csrec_made_shape_outer(&joint, 0.5f * pen, 0.5f * pen);
        csrec_made_canvas_add(canvas, &joint, ink);
        x += half * cosf(angle);
        y += half * sinf(angle);
        csrec_made_shape_start(&bar, x, y, angle, half + pen);
        csrec_made_shape_box(&bar, half, 0.5f * pen);
        csrec_made_canvas_add(canvas, &bar, ink);
        x += half * cosf(angle);
        y += half * sinf(angle);
        angle += bend * csrec_made_normal(d);
    }
}

/* Ink on paper, or the flat regions with outlines of a cartoon. */
void csrec_made_lines_draw(csrec_made_canvas *canvas, csrec_made_draws *d,
                           const csrec_made_palette *palette) {
    bool dark_paper = csrec_made_chance(d, 0.25f), cartoon = csrec_made_chance(d, 0.5f);
    float light = csrec_made_between(d, 170, 255), dark = csrec_made_between(d, 0, 80);
    csrec_made_surface paper = csrec_made_surface_flat(d, palette, dark_paper ? dark : light);
    csrec_made_surface ink = csrec_made_surface_flat(d, palette, dark_paper ? light : dark);
    float pen = csrec_made_scale(d, 0.8f, 4) * (float)canvas->scale;
    for (int k = csrec_made_count(d, 5, 40); k > 0; k--) {
        csrec_made_surface inside = paper;
        if (cartoon)
            inside = csrec_made_surface_draw(
                d, canvas, palette, csrec_made_chance(d, 0.8f) ? CSREC_MADE_FLAT : CSREC_MADE_RAMP);
        if (csrec_made_chance(d, cartoon ? 0.8f : 0.5f))
            outlined_paint(canvas, d, pen, &ink, &inside);
        else
            path_paint(canvas, d, pen, &ink);
    }
    csrec_made_canvas_close(canvas, &paper);
}

enum { PARTS = 5 };

/* A tile of a few shapes, and how its copies lie. */
typedef struct {
    int count;
    csrec_made_shape shape[PARTS];
    csrec_made_surface surface[PARTS];
    float width, height, shift; /* shift: of every second row, as bricks lie */
    float cosine, sine, jitter, tone_jitter;
} motif;

static void motif_fill(csrec_made_canvas *canvas, csrec_made_draws *d,
                       const csrec_made_palette *palette, motif *m) {
    float angle = csrec_made_chance(d, 0.5f) ? 0 : 6.2831853f * csrec_made_uniform(d);
    m->count = csrec_made_count(d, 1, PARTS);
    m->width = csrec_made_scale(d, 5, 48) * (float)canvas->scale;
    m->height = m->width * csrec_made_between(d, 0.4f, 1);
    m->shift = csrec_made_chance(d, 0.5f) ? 0.5f * m->width : 0;
    m->cosine = cosf(angle);
    m->sine = sinf(angle);
    m->jitter = csrec_made_chance(d, 0.5f) ? csrec_made_between(d, 0, 0.08f) * m->height : 0;
    m->tone_jitter = csrec_made_chance(d, 0.5f) ? 0.3f * palette->contrast : 0;
    for (int k = 0; k < m->count; k++) {
        float a = csrec_made_between(d, 0.15f, 0.6f) * m->width;
        float c = csrec_made_between(d, 0.15f, 0.55f) * m->height;
        int kind = csrec_made_below(d, 3);
        float turned = csrec_made_chance(d, 0.6f) ? angle : 6.2831853f * csrec_made_uniform(d);
        plain_shape_draw(d, kind, a, c, turned, &m->shape[k]);
        m->shape[k].x = csrec_made_between(d, -0.4f, 0.4f) * m->width;
        m->shape[k].y = csrec_made_between(d, -0.4f, 0.4f) * m->height;
        m->surface[k] = csrec_made_surface_draw(d, canvas, palette, -1);
    }
}

/* One copy at (x, y). The noise of a surface belongs to the picture, so that copies differ in it as
 * things of one make do. */
static void motif_paint(csrec_made_canvas *canvas, csrec_made_draws *d, const motif *m, float x,
                        float y) {
    x += m->jitter * csrec_made_normal(d);
    y += m->jitter * csrec_made_normal(d);
    float lighter = m->tone_jitter * csrec_made_normal(d);
    for (int k = 0; k < m->count; k++) {
        csrec_made_shape shape = m->shape[k];
        csrec_made_surface surface = m->surface[k];
        shape.x += x;
        shape.y += y;
        for (int c = 0; c < canvas->channels; c++) surface.tone[c] += lighter;
        csrec_made_canvas_add(canvas, &shape, &surface);
    }
}

void csrec_made_motif_draw(csrec_made_canvas *canvas, csrec_made_draws *d,
                           const csrec_made_palette *palette) {
    motif m;
    motif_fill(canvas, d, palette, &m);
    float side = (float)canvas->side, out = m.width + m.height;
    int columns = (int)(0.75f * side / m.width) + 2, rows = (int)(0.75f * side / m.height) + 2;
    for (int j = -rows; j <= rows; j++)
        for (int i = -columns; i <= columns; i++) {
            float u = (float)i * m.width + (j & 1 ? m.shift : 0), v = (float)j * m.height;
            float x = 0.5f * side + u * m.cosine - v * m.sine;
            float y = 0.5f * side + u * m.sine + v * m.cosine;
            if (x > -out && y > -out && x < side + out && y < side + out)
                motif_paint(canvas, d, &m, x, y);
        }
    csrec_made_surface ground = csrec_made_surface_draw(d, canvas, palette, -1);
    csrec_made_canvas_close(canvas, &ground);
}
