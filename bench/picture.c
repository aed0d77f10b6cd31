/* SPDX-License-Identifier: BSD-3-Clause */
/* picture.c - a picture as a function of position: shaded regions with sharp edges, soft blobs and
 * a texture whose spectrum falls as that of photographs, at any resolution. */
#include <math.h>

#include "problem.h"

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* Uniform in [-1, 1), fixed for each point of a lattice. */
static double lattice(uint64_t octave, int64_t i, int64_t j) {
    uint64_t h =
        mix(mix((uint64_t)i * 2 + 1) + (uint64_t)j * UINT64_C(0x9E3779B97F4A7C15) + octave);
    return (double)(int64_t)h * 0x1p-63;
}

static double smooth(double t) {
    return t * t * (3.0 - 2.0 * t);
}

/* Noise with `cells` lattice cells a side. */
static double noise(uint64_t octave, double u, double v, double cells) {
    double x = u * cells, y = v * cells, i = floor(x), j = floor(y);
    double a = smooth(x - i), b = smooth(y - j);
    int64_t ii = (int64_t)i, jj = (int64_t)j;
    double top = lattice(octave, ii, jj) * (1.0 - b) + lattice(octave, ii, jj + 1) * b;
    double low = lattice(octave, ii + 1, jj) * (1.0 - b) + lattice(octave, ii + 1, jj + 1) * b;
    return top * (1.0 - a) + low * a;
}

/* Amplitude per octave falls as 0.72^octave: finer detail is fainter, as in photographs. */
static double texture(uint64_t kind, double u, double v, int64_t side) {
    double sum = 0.0, amplitude = 22.0, cells = 4.0;
    for (uint64_t octave = 0; cells * 2.0 <= (double)side; octave++) {
        sum += amplitude * noise(64 * kind + octave, u, v, cells);
        amplitude *= 0.72;
        cells *= 2.0;
    }
    return sum;
}

/* Sixteen overlapping ellipses, the last one hit is seen; 0: the background. */
static int region(double u, double v) {
    for (int k = 16; k > 0; k--) {
        double cu = 0.5 + 0.5 * lattice(1000, k, 0), cv = 0.5 + 0.5 * lattice(1000, k, 1);
        double a = 0.06 + 0.1 * (1.0 + lattice(1000, k, 2));
        double b = 0.06 + 0.1 * (1.0 + lattice(1000, k, 3));
        double turn = 3.14159265358979 * lattice(1000, k, 4);
        double x = (u - cu) * cos(turn) + (v - cv) * sin(turn);
        double y = (v - cv) * cos(turn) - (u - cu) * sin(turn);
        if (x * x / (a * a) + y * y / (b * b) < 1.0) return k;
    }
    return 0;
}

double bench_picture_value(double u, double v, int64_t side) {
    int k = region(u, v);
    double base = 128.0 + 80.0 * lattice(2000, k, 0);
    double shade = 30.0 * (lattice(2000, k, 1) * (u - 0.5) + lattice(2000, k, 2) * (v - 0.5));
    double blob = 25.0 * exp(-8.0 * ((u - 0.3) * (u - 0.3) + (v - 0.6) * (v - 0.6)));
    /* Every third region is nearly flat, like sky or skin. */
    double rough = k % 3 == 0 ? 0.15 : 0.5 + 0.5 * fabs(lattice(2000, k, 3));
    double value = base + shade + blob + rough * texture((uint64_t)k, u, v, side);
    return rint(fmin(255.0, fmax(0.0, value)));
}
