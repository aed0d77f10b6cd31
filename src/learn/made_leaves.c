/* made_leaves.c - dead leaves: shapes with sizes by a power law over each other, the front one seen
 * (Lee, Mumford and Huang, "Occlusion models for natural images", 2001). They have the spectrum,
 * the edges and the regions of one surface that natural pictures have. */
#include "learn/made_scene.h"

/* What the leaves of one picture share. */
typedef struct {
    float least, most, exponent; /* radii r by a density r^-exponent between them */
    bool few_directions;         /* most leaves along the axes, turned by `tilt` */
    float tilt;
    bool bars;   /* nearly all are thin bars: grass, hair, fibres */
    int texture; /* of all, or -1 */
    int count;
} leaf_style;

/* The count keeps the density of 1,600 leaves over 128 x 128 pixels. In one of eight pictures few
 * leaves lie on one textured ground, for pictures that are nearly one texture. */
static leaf_style style_draw(csrec_made_draws *d, const csrec_made_canvas *canvas) {
    static const float any[CSREC_MADE_TEXTURES] = {0.1f, 0.1f, 0.1f, 0.1f, 0.1f,
                                                   0.1f, 0.1f, 0.1f, 0.1f, 0.1f};
    float scale = (float)canvas->scale, side = (float)canvas->side;
    leaf_style s = {.texture = -1};
    s.least = csrec_made_scale(d, 1.2f, 16.8f) * scale;
    s.most = fmaxf(2 * s.least, side * csrec_made_between(d, 0.15f, 0.75f));
    s.exponent = csrec_made_between(d, 2.0f, 3.5f);
    s.few_directions = csrec_made_chance(d, 0.35f);
    s.tilt = csrec_made_chance(d, 0.5f) ? csrec_made_between(d, -0.15f, 0.15f) : 0;
    s.bars = csrec_made_chance(d, 0.1f);
    if (csrec_made_chance(d, 0.25f)) s.texture = csrec_made_pick(d, any, CSREC_MADE_TEXTURES);
    s.count = (int)(1600 * fmaxf(0.1f, (side / scale) * (side / scale) / 16384));
    if (csrec_made_chance(d, 0.12f)) s.count = csrec_made_count(d, 3, 25);
    return s;
}

/* By inversion of the distribution. */
static float radius_draw(csrec_made_draws *d, const leaf_style *s) {
    float power = 1 - s->exponent, low = powf(s->least, power), high = powf(s->most, power);
    return powf(low + csrec_made_uniform(d) * (high - low), 1 / power);
}

static float angle_draw(csrec_made_draws *d, const leaf_style *s) {
    float angle = 6.2831853f * csrec_made_uniform(d);
    if (!s->few_directions || !csrec_made_chance(d, 0.85f)) return angle;
    return 1.5707963f * roundf(angle / 1.5707963f) + s->tilt;
}

static void shape_draw(csrec_made_draws *d, const leaf_style *s, const csrec_made_canvas *canvas,
                       csrec_made_shape *shape) {
    static const float share[4] = {0.45f, 0.30f, 0.08f, 0.17f};
    float side = (float)canvas->side, a = radius_draw(d, s);
    float aspect = expf(-1.2f * csrec_made_uniform(d));
    int kind = s->bars ? 1 : csrec_made_pick(d, share, 4);
    bool thin = csrec_made_chance(d, s->bars ? 0.9f : 0.12f);
    if (thin) {
        aspect = csrec_made_between(d, 0.03f, 0.18f);
        a *= 2.5f;
    }
    float c = a * aspect;
    if (thin) c = fmaxf(c, 0.5f * (float)canvas->scale * csrec_made_between(d, 1, 3));
    if (kind == 2) c = a;
    float x = csrec_made_between(d, -0.2f, 1.2f) * side;
    float y = csrec_made_between(d, -0.2f, 1.2f) * side;
    float reach = kind == 1 ? sqrtf(a * a + c * c) : fmaxf(a, c);
    csrec_made_shape_start(shape, x, y, angle_draw(d, s), reach);
    float ring = csrec_made_between(d, 0.4f, 0.95f);
    if (kind == 1) csrec_made_shape_box(shape, a, c);
    if (kind == 0 || kind == 2) csrec_made_shape_outer(shape, a, c);
    if (kind == 2) csrec_made_shape_inner(shape, a * ring, a * ring);
    if (kind == 3) csrec_made_shape_polygon(shape, d, a, c);
}

void csrec_made_leaves_draw(csrec_made_canvas *canvas, csrec_made_draws *d,
                            const csrec_made_palette *palette) {
    leaf_style style = style_draw(d, canvas);
    for (int k = 0; k < style.count && canvas->n_open; k++) {
        csrec_made_shape shape;
        shape_draw(d, &style, canvas, &shape);
        csrec_made_surface surface = csrec_made_surface_draw(d, canvas, palette, style.texture);
        csrec_made_canvas_add(canvas, &shape, &surface);
    }
    csrec_made_surface ground = csrec_made_surface_draw(d, canvas, palette, style.texture);
    csrec_made_canvas_close(canvas, &ground);
}
