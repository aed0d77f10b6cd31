/* SPDX-License-Identifier: BSD-3-Clause */
/* scene.h - the scene of the demo and the light that a ray brings back from it. */
#ifndef CSREC_SAMPLES_SCENE_H
#define CSREC_SAMPLES_SCENE_H

#include <stdint.h>

#include "vec.h"

/* The camera: a picture of width x height pixels. */
typedef struct camera {
    int64_t width, height;
    vec eye, right, up, forward; /* right and up reach from the middle to the edge of the picture */
    double swing; /* -1 to 1: how far the things that move have gone from their places */
} camera;

/* At a time in frames of a short animation without an end: the camera and three spheres move. The
 * scene of the demo is that of time 0. */
camera camera_make(int64_t width, int64_t height, double time);

/* Traces rays_per_pixel (a square number) rays through a pixel and writes 8-bit sRGB. The result
 * depends on the arguments alone, so a picture traced in part equals that part of the whole.
 * Returns the number of rays traced, shadow and secondary rays included. */
int64_t scene_trace_pixel(const camera *view, int64_t row, int64_t column, int rays_per_pixel,
                          uint64_t seed, uint8_t rgb[3]);

/* The linear light that it makes 8-bit sRGB of. */
int64_t scene_trace(const camera *view, int64_t row, int64_t column, int rays_per_pixel,
                    uint64_t seed, vec *light);

/* Traces one random path through a pixel, of any number `ray`, as a path tracer would: it is noisy.
 * The mean of many converges to scene_trace's of many rays. Returns as it does. */
int64_t scene_trace_random(const camera *view, int64_t row, int64_t column, int64_t ray,
                           uint64_t seed, vec *light);

/* What is known of a pixel without light: its surface. */
typedef struct surface_of {
    vec albedo; /* colour of the first surface that is no mirror, in the encoding of a picture, 0..1
                 */
    vec normal; /* towards the camera; 0 of the sky */
    double depth;
} surface_of;

/* The mean of the middles of rays_per_pixel (a square number) parts of a pixel. */
surface_of scene_look(const camera *view, int64_t row, int64_t column, int rays_per_pixel);

/* Where what is seen at the middle of a pixel was on the picture of `before`, a camera of the same
 * size at another time, hidden or not, less where it is: rows, columns. NAN: behind the camera. */
void scene_motion(const camera *view, const camera *before, int64_t row, int64_t column,
                  double motion[2]);

#endif
