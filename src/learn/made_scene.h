/* made_scene.h - the parts of made-up pictures: what emits shapes to a canvas, and what is painted
 * without shapes. */
#ifndef CSREC_LEARN_MADE_SCENE_H
#define CSREC_LEARN_MADE_SCENE_H

#include "learn/made_canvas.h"

/* The tones of one picture. */
typedef struct csrec_made_palette {
    int channels;
    float mean, contrast; /* of brightness, 0 to 255 */
    float cast[2];        /* mean warmth and greenness */
    float chroma;         /* deviation of them */
    float saturated;      /* share of pure colours */
    float grain;          /* amplitude of noise on everything */
} csrec_made_palette;

csrec_made_palette csrec_made_palette_draw(csrec_made_draws *d, int channels);
/* tone: of this brightness, with a drawn colour. */
void csrec_made_tone_draw(csrec_made_draws *d, const csrec_made_palette *palette, float brightness,
                          float *tone);
/* gain: of a texture on this tone, mostly of brightness. */
void csrec_made_gain_draw(csrec_made_draws *d, const csrec_made_palette *palette, const float *tone,
                          float *gain);
/* gain: purely of colour, as large as `size`. */
void csrec_made_chroma_draw(csrec_made_draws *d, int channels, float size, float *gain);

/* A flat surface of this brightness. */
csrec_made_surface csrec_made_surface_flat(csrec_made_draws *d, const csrec_made_palette *palette,
                                           float brightness);
/* A surface of a drawn texture, or of `texture` unless it is negative. */
csrec_made_surface csrec_made_surface_draw(csrec_made_draws *d, const csrec_made_canvas *canvas,
                                           const csrec_made_palette *palette, int texture);

/* Emit shapes behind what has been painted; leaves close the canvas. */
void csrec_made_leaves_draw(csrec_made_canvas *canvas, csrec_made_draws *d,
                            const csrec_made_palette *palette);
void csrec_made_text_draw(csrec_made_canvas *canvas, csrec_made_draws *d,
                          const csrec_made_palette *palette);
void csrec_made_lines_draw(csrec_made_canvas *canvas, csrec_made_draws *d,
                           const csrec_made_palette *palette);
void csrec_made_motif_draw(csrec_made_canvas *canvas, csrec_made_draws *d,
                           const csrec_made_palette *palette);

/* A picture without shapes. */
typedef struct csrec_made_field {
    const csrec_made_bank *bank;
    int channels, size;
    float *picture; /* [channels][size][size] */
    float *work;    /* [size][size] */
} csrec_made_field;

void csrec_made_noise_draw(csrec_made_field *field, csrec_made_draws *d,
                           const csrec_made_palette *palette);
void csrec_made_relief_draw(csrec_made_field *field, csrec_made_draws *d,
                            const csrec_made_palette *palette);
void csrec_made_spots_draw(csrec_made_field *field, csrec_made_draws *d,
                           const csrec_made_palette *palette);
/* Adds `count` bright spots with soft edges of 1 to `radius` pixels, mostly small. */
void csrec_made_glow_add(csrec_made_field *field, csrec_made_draws *d,
                         const csrec_made_palette *palette, int count, float radius, float bright);

/* From the canvas to the picture: means of scale x scale, at places that `is_bent` displaces. */
void csrec_made_canvas_reduce(const csrec_made_canvas *canvas, csrec_made_draws *d, bool is_bent,
                              float *picture);
/* A little blur, slow shading, highlights, each on a share of the pictures; then 0 to 255. */
void csrec_made_finish(csrec_made_field *field, csrec_made_draws *d,
                       const csrec_made_palette *palette);

#endif
