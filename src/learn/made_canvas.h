/* made_canvas.h - shapes with surfaces, painted from the front to the back: a pixel is painted
 * once, by the first shape that has it. Lengths are in pixels of the canvas, `scale` of which are
 * one of the picture. */
#ifndef CSREC_LEARN_MADE_CANVAS_H
#define CSREC_LEARN_MADE_CANVAS_H

#include "learn/made_bank.h"

enum { CSREC_MADE_PLANES = 8 };

/* The pixels p = centre + (dx, dy) that meet every half-plane and lie inside the outer ellipse and
 * outside the inner one. */
typedef struct csrec_made_shape {
    float x, y;         /* centre */
    float cosine, sine; /* its direction u; v is 90 degrees on */
    float reach;        /* no pixel is further from the centre, in x or in y */
    int planes;
    float plane[CSREC_MADE_PLANES][3]; /* [0] dx + [1] dy < [2] */
    bool has_outer, has_inner;
    float outer[3], inner[3]; /* [0] dx^2 + 2 [1] dx dy + [2] dy^2 < 1 */
} csrec_made_shape;

/* An empty description: no limit but `reach`. */
void csrec_made_shape_start(csrec_made_shape *shape, float x, float y, float angle, float reach);
/* a and c are half axes along u and v. */
void csrec_made_shape_outer(csrec_made_shape *shape, float a, float c);
void csrec_made_shape_inner(csrec_made_shape *shape, float a, float c);
/* Keeps nu u + nv v < distance; at most CSREC_MADE_PLANES of them. */
void csrec_made_shape_cut(csrec_made_shape *shape, float nu, float nv, float distance);
void csrec_made_shape_box(csrec_made_shape *shape, float a, float c);
/* 3 to 7 corners on the ellipse of half axes a, c. */
void csrec_made_shape_polygon(csrec_made_shape *shape, csrec_made_draws *d, float a, float c);

enum {
    CSREC_MADE_FLAT,
    CSREC_MADE_RAMP,
    CSREC_MADE_WAVES,
    CSREC_MADE_STRIPES,
    CSREC_MADE_NOISE,
    CSREC_MADE_BRICKS,
    CSREC_MADE_CHECKS,
    CSREC_MADE_STAINS,  /* noise of two tones */
    CSREC_MADE_CREASES, /* the size of noise: bright with dark creases */
    CSREC_MADE_DOTS,
    CSREC_MADE_TEXTURES
};

/* Channel c is tone[c] + gain[c] (amplitude texture + grain noise). */
typedef struct csrec_made_surface {
    int texture;
    float tone[CSREC_MADE_CHANNELS_MAX], gain[CSREC_MADE_CHANNELS_MAX];
    float amplitude, grain;
    float fu, fv; /* turns a pixel along u and v */
    float phase;  /* turns */
    float second; /* frequency across, of those along */
    float warp;   /* turns a unit of noise */
    float
        threshold; /* of stripes and stains, -0.7 to 0.7; of bricks, checks and dots, their form */
    const float *noise;
    float noise_scale; /* entries of the table a pixel */
    uint32_t salt;     /* of the tones of bricks */
} csrec_made_surface;

typedef struct csrec_made_canvas {
    const csrec_made_bank *bank;
    int channels, side, words, scale;
    float *plane;   /* [channels][side][side] */
    uint64_t *open; /* [side][words] a bit a pixel not yet painted */
    int *row_open;  /* [side] their number */
    int64_t n_open;
} csrec_made_canvas;

/* Takes its arrays from `work`: csrec_made_canvas_room bytes. */
size_t csrec_made_canvas_room(int channels, int side);
void csrec_made_canvas_start(csrec_made_canvas *canvas, const csrec_made_bank *bank, int channels,
                             int size, int scale, void *work);
/* Behind all that has been painted. */
void csrec_made_canvas_add(csrec_made_canvas *canvas, const csrec_made_shape *shape,
                           const csrec_made_surface *surface);
/* Paints all that is left. */
void csrec_made_canvas_close(csrec_made_canvas *canvas, const csrec_made_surface *surface);

/* The surface on n <= 64 pixels from (x, y) on, for a shape's centre and direction. */
void csrec_made_surface_paint(csrec_made_canvas *canvas, const csrec_made_shape *shape,
                              const csrec_made_surface *surface, int x, int y, int n);

#endif
