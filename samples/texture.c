/* SPDX-License-Identifier: BSD-3-Clause */
/* texture.c - procedural colours of the scene, from lattice noise on the library's random numbers.
 */
#include "texture.h"

#include "csrec.h"

enum { NOISE_SEED = 20 };

/* A fixed random number of the integer lattice point. */
static double lattice(int64_t x, int64_t y, int64_t z) {
    uint64_t counter =
        ((uint64_t)(x & 0xFFFFF) << 40) | ((uint64_t)(y & 0xFFFFF) << 20) | (uint64_t)(z & 0xFFFFF);
    return csrec_random_uniform(NOISE_SEED, 0, counter);
}

static double smooth(double t) {
    return t * t * (3 - 2 * t);
}

static double mix(double a, double b, double t) {
    return a + (b - a) * t;
}

/* Value noise in [0, 1): the lattice interpolated with smooth weights. */
static double noise(vec p) {
    double fx = floor(p.x), fy = floor(p.y), fz = floor(p.z), plane[2];
    int64_t x = (int64_t)fx, y = (int64_t)fy, z = (int64_t)fz;
    double tx = smooth(p.x - fx), ty = smooth(p.y - fy), tz = smooth(p.z - fz);
    for (int k = 0; k < 2; k++) {
        double near = mix(lattice(x, y, z + k), lattice(x + 1, y, z + k), tx);
        double far = mix(lattice(x, y + 1, z + k), lattice(x + 1, y + 1, z + k), tx);
        plane[k] = mix(near, far, ty);
    }
    return mix(plane[0], plane[1], tz);
}

/* Octaves of noise, each twice as fine and half as strong; in [0, 1). */
static double turbulence(vec p, int octaves) {
    double sum = 0, weight = 0.5;
    for (int i = 0; i < octaves; i++, weight /= 2) {
        sum += weight * noise(p);
        p = vec_scale(2.03, p);
    }
    return sum;
}

vec texture_sky(vec d, vec sun) {
    const vec horizon = {0.98, 0.74, 0.52}, middle = {0.34, 0.50, 0.76},
              zenith = {0.06, 0.15, 0.42};
    double up = d.y < 0 ? 0 : d.y, toward = vec_dot(d, sun);
    vec colour = up < 0.3 ? vec_mix(horizon, middle, smooth(up / 0.3))
                          : vec_mix(middle, zenith, smooth((up - 0.3) / 0.7));
    /* Clouds lie in a plane above; near the horizon they would alias and are left out. */
    if (up > 0.03) {
        vec p = vec_make(0.9 * d.x / (up + 0.12), 0.3, 0.9 * d.z / (up + 0.12));
        double cover =
            smooth(clamp01((turbulence(p, 4) - 0.46) / 0.28)) * clamp01((up - 0.03) / 0.2);
        colour = vec_mix(colour, vec_make(1.0, 0.90, 0.80), 0.8 * cover);
    }
    if (toward > 0) {
        double glow = 0.35 * pow(toward, 24) + 22 * pow(toward, 900);
        colour = vec_along(colour, glow, vec_make(1.0, 0.85, 0.6));
    }
    return colour;
}

vec texture_marble(vec p, vec ground, vec vein) {
    double warp = turbulence(vec_scale(1.3, p), 4);
    double wave = fabs(sin(2.2 * p.x + 1.3 * p.y + 1.6 * p.z + 8 * warp));
    double tone = turbulence(vec_add(vec_scale(1.1, p), vec_make(7, 3, 1)), 4);
    return vec_scale(0.7 + 0.6 * tone, vec_mix(vein, ground, smooth(clamp01(0.1 + 1.5 * wave))));
}

vec texture_floor(double x, double z, double distance) {
    const vec light = {0.66, 0.58, 0.47}, dark = {0.05, 0.075, 0.10}, mean = {0.27, 0.26, 0.24};
    const double tile = 1.3;
    double cx = floor(x / tile), cz = floor(z / tile);
    bool odd = fmod(fabs(cx + cz), 2) > 0.5;
    /* Each tile is cut from another block of stone. */
    vec p = vec_make(x + 5.1 * cx, 3.7 * cz, z + 2.3 * cx);
    vec colour = odd ? texture_marble(p, dark, vec_make(0.20, 0.24, 0.25))
                     : texture_marble(p, light, vec_make(0.40, 0.31, 0.23));
    return vec_mix(colour, mean, smooth(clamp01((distance - 9) / 26)));
}
