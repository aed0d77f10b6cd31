/* made_shape.c - shapes of half-planes and ellipses, in the picture's directions. */
#include <string.h>

#include "learn/made_canvas.h"

void csrec_made_shape_start(csrec_made_shape *shape, float x, float y, float angle, float reach) {
    memset(shape, 0, sizeof *shape);
    shape->x = x;
    shape->y = y;
    shape->cosine = cosf(angle);
    shape->sine = sinf(angle);
    shape->reach = reach;
}

/* (u / a)^2 + (v / c)^2 with u = dx cos + dy sin, v = -dx sin + dy cos. */
static void ellipse_fill(const csrec_made_shape *s, float a, float c, float form[3]) {
    float p = 1.0f / (a * a), q = 1.0f / (c * c);
    form[0] = s->cosine * s->cosine * p + s->sine * s->sine * q;
    form[1] = s->cosine * s->sine * (p - q);
    form[2] = s->sine * s->sine * p + s->cosine * s->cosine * q;
}

void csrec_made_shape_outer(csrec_made_shape *shape, float a, float c) {
    shape->has_outer = true;
    ellipse_fill(shape, a, c, shape->outer);
}

void csrec_made_shape_inner(csrec_made_shape *shape, float a, float c) {
    shape->has_inner = true;
    ellipse_fill(shape, a, c, shape->inner);
}

void csrec_made_shape_cut(csrec_made_shape *shape, float nu, float nv, float distance) {
    float *plane = shape->plane[shape->planes++];
    plane[0] = nu * shape->cosine - nv * shape->sine;
    plane[1] = nu * shape->sine + nv * shape->cosine;
    plane[2] = distance;
}

void csrec_made_shape_box(csrec_made_shape *shape, float a, float c) {
    csrec_made_shape_cut(shape, 1, 0, a);
    csrec_made_shape_cut(shape, -1, 0, a);
    csrec_made_shape_cut(shape, 0, 1, c);
    csrec_made_shape_cut(shape, 0, -1, c);
}

/* Corners in order around an ellipse: the polygon is convex, and to the left of every side. */
void csrec_made_shape_polygon(csrec_made_shape *shape, csrec_made_draws *d, float a, float c) {
    int corners = csrec_made_count(d, 3, 7);
    float u[CSREC_MADE_PLANES], v[CSREC_MADE_PLANES], turn = csrec_made_uniform(d);
    for (int k = 0; k < corners; k++) {
        float share = ((float)k + 0.8f * csrec_made_uniform(d)) / (float)corners;
        u[k] = a * cosf(6.2831853f * (turn + share));
        v[k] = c * sinf(6.2831853f * (turn + share));
    }
    for (int k = 0; k < corners; k++) {
        int next = (k + 1) % corners;
        float nu = v[next] - v[k], nv = u[k] - u[next];
        float length = sqrtf(nu * nu + nv * nv) + 1e-6f; /* corners may fall together */
        csrec_made_shape_cut(shape, nu / length, nv / length, (nu * u[k] + nv * v[k]) / length);
    }
}
