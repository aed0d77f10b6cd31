/* SPDX-License-Identifier: BSD-3-Clause */
/* tiling.c - cuts a signal into overlapping tiles. */
#include <math.h>
#include <stdlib.h>

#include "recover/parts/parts.h"

/* Entries around a tile: the extent of the methods' windows, or of a few samples if they are far
 * apart. */
enum { TILE = 1 << 24 };        /* values, unless given */
#define MOST (INT64_C(1) << 44) /* entries: more fill any disk, in tiles too many to count */
enum { PAD = 64, PAD_3D = 16, GAPS = 8, GAPS_3D = 4, LEAST = 4 };

bool csrec_tiling_bears(const csrec_shape *shape) {
    int64_t entries = 0;
    return csrec_shape_count(shape, &entries) == CSREC_OK && entries <= MOST;
}

csrec_tiling csrec_tiling_whole(const csrec_task *task) {
    csrec_tiling t = {.shape = task->shape, .tiles = 1};
    int empty = CSREC_TILE_AXES - task->shape.dims, axes = 0;
    for (int a = 0; a < CSREC_TILE_AXES; a++) {
        t.extent[a] = t.stride[a] = a < empty ? 1 : task->shape.dim[a - empty];
        t.count[a] = 1;
        axes += t.extent[a] > 1;
    }
    bool volume = axes > 2;
    double gap = pow((double)task->entries / (double)task->n, 1.0 / fmax(axes, 1));
    t.pad = csrec_larger(volume ? PAD_3D : PAD, (int64_t)(gap * (volume ? GAPS_3D : GAPS)));
    t.pad += t.pad % 2;
    return t;
}

csrec_tiling csrec_tiling_usual(const csrec_task *task) {
    int64_t given = task->options->tile;
    double most = given > 0 ? (double)given : TILE;
    csrec_tiling t = csrec_tiling_whole(task);
    while ((double)t.stride[0] * (double)t.stride[1] * (double)t.stride[2] *
                   (double)task->channels >
               most &&
           csrec_tiling_split(&t))
        ;
    return t;
}

int64_t csrec_tiling_line(const csrec_tiling *t) {
    return t->tiles / t->count[CSREC_TILE_AXES - t->shape.dims];
}

csrec_slab csrec_tiling_rows(const csrec_tiling *t, int64_t line) {
    const csrec_tile tile = csrec_tiling_tile(t, line * csrec_tiling_line(t));
    const int64_t *rows = tile.box.at[CSREC_TILE_AXES - t->shape.dims];
    return (csrec_slab){rows[0], rows[1] - rows[0]};
}

csrec_box csrec_tiling_slab(const csrec_tiling *t, csrec_slab slab) {
    csrec_box box = {{{0}}};
    for (int a = 0; a < CSREC_TILE_AXES; a++) box.at[a][1] = t->extent[a];
    box.at[CSREC_TILE_AXES - t->shape.dims][0] = slab.first;
    box.at[CSREC_TILE_AXES - t->shape.dims][1] = slab.first + slab.count;
    return box;
}

bool csrec_tiling_split(csrec_tiling *t) {
    int longest = 0;
    for (int a = 1; a < CSREC_TILE_AXES; a++)
        if (t->stride[a] > t->stride[longest]) longest = a;
    int64_t count = t->count[longest] + 1, stride = (t->extent[longest] + count - 1) / count;
    if (stride < LEAST * t->pad) return false;
    t->stride[longest] = stride;
    t->tiles = 1;
    t->count[longest] = (t->extent[longest] + stride - 1) / stride;
    for (int a = 0; a < CSREC_TILE_AXES; a++) t->tiles *= t->count[a];
    return true;
}

static csrec_box around(const csrec_tiling *t, const csrec_box *core, int64_t by) {
    csrec_box box;
    for (int a = 0; a < CSREC_TILE_AXES; a++) {
        box.at[a][0] = csrec_larger(core->at[a][0] - by, 0);
        box.at[a][1] = csrec_smaller(core->at[a][1] + by, t->extent[a]);
    }
    return box;
}

csrec_tile csrec_tiling_tile(const csrec_tiling *t, int64_t number) {
    csrec_tile tile;
    for (int a = CSREC_TILE_AXES - 1; a >= 0; number /= t->count[a], a--) {
        tile.core.at[a][0] = number % t->count[a] * t->stride[a];
        tile.core.at[a][1] = csrec_smaller(tile.core.at[a][0] + t->stride[a], t->extent[a]);
    }
    tile.reach = around(t, &tile.core, t->pad / 2);
    tile.box = around(t, &tile.core, t->pad);
    return tile;
}

/* Neighbour k of 27 in C order, the tile itself among them; -1: outside. */
static int64_t neighbour(const csrec_tiling *t, int64_t number, int k) {
    int64_t other = 0, scale = 1;
    for (int a = CSREC_TILE_AXES - 1; a >= 0; number /= t->count[a], k /= 3, a--) {
        int64_t x = number % t->count[a] + k % 3 - 1;
        if (x < 0 || x >= t->count[a]) return -1;
        other += x * scale;
        scale *= t->count[a];
    }
    return other;
}

/* Tiles are at least four times as long as what is around them, so only neighbours meet. */
int64_t csrec_tiling_near(const csrec_tiling *t, int64_t number, int64_t cell, csrec_box *where) {
    const csrec_tile tile = csrec_tiling_tile(t, number);
    for (int k = 0; k < 27; k++) {
        int64_t other = neighbour(t, number, k);
        if (other <= cell) continue;
        const csrec_tile of = csrec_tiling_tile(t, other);
        if (csrec_box_common(&tile.reach, &of.core, where)) return other;
    }
    return -1;
}

csrec_shape csrec_tiling_largest(const csrec_tiling *t) {
    csrec_shape shape = t->shape;
    for (int a = 0; a < shape.dims; a++) {
        int b = CSREC_TILE_AXES - shape.dims + a;
        int64_t around = csrec_smaller(t->count[b] - 1, 2) * t->pad;
        shape.dim[a] = csrec_smaller(t->stride[b] + around, t->extent[b]);
    }
    return shape;
}

/* Tiles along an axis whose box has a coordinate: first .. last. */
static void owners(const csrec_tiling *t, int axis, int64_t at, int64_t *first, int64_t *last) {
    int64_t before = at - t->pad;
    *first = before < 0 ? 0 : csrec_smaller(before / t->stride[axis], t->count[axis] - 1);
    *last = csrec_smaller((at + t->pad) / t->stride[axis], t->count[axis] - 1);
}

csrec_status csrec_tiling_task(const csrec_tiling *t, const csrec_measurement *measurement,
                               const csrec_task *whole, csrec_task *task) {
    int64_t *samples = calloc((size_t)t->tiles, sizeof *samples), most = 1;
    if (!samples) return CSREC_MEMORY;
    if (!measurement->index) most = measurement->n;
    for (int64_t k = 0; measurement->index && k < measurement->n; k++) {
        int64_t at = measurement->index[k], first[CSREC_TILE_AXES], last[CSREC_TILE_AXES];
        for (int a = CSREC_TILE_AXES - 1; a >= 0; at /= t->extent[a], a--)
            owners(t, a, at % t->extent[a], &first[a], &last[a]);
        for (int64_t z = first[0]; z <= last[0]; z++)
            for (int64_t y = first[1]; y <= last[1]; y++)
                for (int64_t x = first[2]; x <= last[2]; x++) {
                    int64_t tile = (z * t->count[1] + y) * t->count[2] + x;
                    most = csrec_larger(most, ++samples[tile]);
                }
    }
    free(samples);
    *task = *whole;
    task->shape = csrec_tiling_largest(t);
    csrec_shape_count(&task->shape, &task->entries);
    task->n = csrec_smaller(most, task->entries);
    return CSREC_OK;
}
