/* SPDX-License-Identifier: BSD-3-Clause */
/* tile_cases.h - small recoveries in parts, by each method that has them. */
#pragma once

#include "tiles.h"

typedef struct tile_case {
    const char *name;
    csrec_shape shape;
    int64_t channels;
    double rate, sigma, factor; /* factor: of all values */
    const char *method;
    csrec_setting setting;
    int64_t tile;
    bool single; /* one tile is expected */
} tile_case;

static const tile_case tile_cases[] = {
    {"frames", {2, {620, 540}}, 1, 0.1, 0.0, 1.0, "frames", .tile = 100000},
    {"frames, huge values", {2, {560, 520}}, 2, 0.2, 3.0, 0x1p700, "frames", .tile = 200000},
    {"frames, one line", {2, {100, 1100}}, 1, 0.2, 0.0, 1.0, "frames", .tile = 35000},
    {"frames, one axis", {1, {5000}}, 1, 0.2, 0.0, 1.0, "frames", .tile = 1200},
    {"frames, one tile", {2, {90, 110}}, 3, 0.2, 0.0, 1.0, "frames", .single = true},
    {"frames, tiny values", {2, {540, 520}}, 1, 0.15, 0.0, 0x1p-600, "frames", .tile = 90000},
    {"colours", {2, {530, 80}}, 3, 0.2, 6, 0x1p80, "gaussian", {"effort", 0}, 70000, false},
    {"gaussian, one tile", {2, {90, 80}}, 3, 0.2, 6, 1.0, "gaussian", {"effort", 0}, 0, true},
    {"volume", {3, {132, 32, 28}}, 1, 0.1, 0.0, 1.0, "gaussian", {"effort", 0}, .tile = 70000},
    {"net", {2, {520, 100}}, 1, 0.2, 2.0, 1.0, "net", .tile = 40000},
};

enum { TILE_CASES = sizeof tile_cases / sizeof *tile_cases };

static inline csrec_recover_options tile_case_options(const tile_case *c, const char *backend) {
    csrec_recover_options o = options_by(c->method);
    o.tile = c->tile;
    o.backend = backend;
    use_settings(&o.solve, c->setting.name != NULL, &c->setting);
    return o;
}

/* Whether a test runs case i on a backend: lines and volumes have no engine on a device. To save
 * time the test of one `parity` runs the even cases, that of the other the odd, or the other way,
 * as the seed tells; under the sanitizers a half of those. */
static inline bool tile_case_runs(int i, const char *backend, int parity, uint64_t seed) {
    if (((uint64_t)(i + parity) + seed) % 2) return false;
    if (SANITIZED && ((uint64_t)i + seed) / 2 % 2) return false;
    return strcmp(backend, "cpu") == 0 || tile_cases[i].shape.dims == 2;
}
