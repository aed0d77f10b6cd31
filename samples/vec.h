/* SPDX-License-Identifier: BSD-3-Clause */
/* vec.h - three doubles: a point, a direction or a linear RGB colour of the ray tracer. */
#ifndef CSREC_SAMPLES_VEC_H
#define CSREC_SAMPLES_VEC_H

#include <math.h>

typedef struct vec {
    double x, y, z;
} vec;

static inline vec vec_make(double x, double y, double z) {
    return (vec){x, y, z};
}
static inline vec vec_add(vec a, vec b) {
    return (vec){a.x + b.x, a.y + b.y, a.z + b.z};
}
static inline vec vec_sub(vec a, vec b) {
    return (vec){a.x - b.x, a.y - b.y, a.z - b.z};
}
static inline vec vec_mul(vec a, vec b) {
    return (vec){a.x * b.x, a.y * b.y, a.z * b.z};
}
static inline vec vec_scale(double s, vec a) {
    return (vec){s * a.x, s * a.y, s * a.z};
}
static inline double vec_dot(vec a, vec b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline vec vec_unit(vec a) {
    return vec_scale(1 / sqrt(vec_dot(a, a)), a);
}

/* a + t b */
static inline vec vec_along(vec a, double t, vec b) {
    return vec_add(a, vec_scale(t, b));
}

/* (1 - t) a + t b */
static inline vec vec_mix(vec a, vec b, double t) {
    return vec_add(vec_scale(1 - t, a), vec_scale(t, b));
}

static inline vec vec_cross(vec a, vec b) {
    return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/* d mirrored at the plane with unit normal n */
static inline vec vec_reflect(vec d, vec n) {
    return vec_along(d, -2 * vec_dot(d, n), n);
}

static inline double clamp01(double t) {
    return t < 0 ? 0 : t > 1 ? 1 : t;
}

#endif
