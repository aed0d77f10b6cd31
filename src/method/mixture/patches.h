/* SPDX-License-Identifier: BSD-3-Clause */
/* patches.h - positions of the patches of a picture, for the CPU and its devices. */
#pragma once

#include "base/inline.h"

/* A picture [height][width][channels], and its patches [patch_height][patch_width][joint], one each
 * `step` pixels and at the ends; joint: 1, or all channels. Patches are numbered row by row, those
 * of one place by their channel. */
typedef struct csrec_patches {
    int height, width, channels, joint;
    int patch_height, patch_width, step;
} csrec_patches;

/* Patches along an axis. */
CSREC_BOTH int csrec_patches_along(int size, int patch, int step) {
    return (size - patch + step - 1) / step + 1;
}

/* Where patch i of an axis begins: the last ends with the picture. */
CSREC_BOTH int csrec_patches_begin(int size, int patch, int step, int64_t i) {
    int64_t at = i * step;
    return at < size - patch ? (int)at : size - patch;
}

CSREC_BOTH int csrec_patches_down(const csrec_patches *p) {
    return csrec_patches_along(p->height, p->patch_height, p->step);
}

CSREC_BOTH int csrec_patches_across(const csrec_patches *p) {
    return csrec_patches_along(p->width, p->patch_width, p->step);
}

/* Patches at one place. */
CSREC_BOTH int csrec_patches_planes(const csrec_patches *p) {
    return p->channels / p->joint;
}

CSREC_BOTH int64_t csrec_patches_count(const csrec_patches *p) {
    return (int64_t)csrec_patches_down(p) * csrec_patches_across(p) * csrec_patches_planes(p);
}

CSREC_BOTH int csrec_patches_size(const csrec_patches *p) {
    return p->patch_height * p->patch_width * p->joint;
}

/* The pixel of the corner of patch i, and its first channel. */
CSREC_BOTH int64_t csrec_patches_corner(const csrec_patches *p, int64_t i, int *channel) {
    int across = csrec_patches_across(p), planes = csrec_patches_planes(p);
    int64_t place = i / planes;
    int y = csrec_patches_begin(p->height, p->patch_height, p->step, place / across);
    int x = csrec_patches_begin(p->width, p->patch_width, p->step, place % across);
    *channel = (int)(i % planes) * p->joint;
    return (int64_t)y * p->width + x;
}

/* The pixel of entry e of a patch with that corner. */
CSREC_BOTH int64_t csrec_patches_pixel(const csrec_patches *p, int64_t corner, int e) {
    int pixel = e / p->joint;
    return corner + (int64_t)(pixel / p->patch_width) * p->width + pixel % p->patch_width;
}

/* The first row (column) of patches that covers pixel `at` of an axis; those after it begin later.
 */
CSREC_BOTH int csrec_patches_first(int patch, int step, int at) {
    return at < patch ? 0 : (at - patch) / step + 1;
}

/* Weight of an estimate with that posterior variance. */
CSREC_BOTH float csrec_patches_weight(float variance, float evenness) {
    return 1.0f / (variance + evenness);
}
