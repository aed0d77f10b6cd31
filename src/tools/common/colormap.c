/* SPDX-License-Identifier: BSD-3-Clause */
/* colormap.c - colours between the stops of a table. */
#include "output.h"

#include <math.h>

enum { STOPS_MOST = 9 };

struct cli_colormap {
    const char *name;
    int stops;                 /* at equal distances */
    uint32_t stop[STOPS_MOST]; /* 0xrrggbb */
};

/* In the first two, brighter is larger, also for colour-blind readers: black over blue, violet and
 * orange to white; viridis (van der Walt and Smith 2015). The last has a middle, for signed
 * numbers: blue over white to red (after Moreland 2009). */
static const cli_colormap maps[] = {
    {"heat", 6, {0x000008, 0x281464, 0x781e78, 0xd24650, 0xfaa028, 0xffffdc}},
    {"viridis",
     9,
     {0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c, 0x28ae80, 0x5ec962, 0xaddc30, 0xfde725}},
    {"coolwarm",
     9,
     {0x3b4cc0, 0x6282ea, 0x8db0fe, 0xb9d0f9, 0xdddcdc, 0xf5c4ac, 0xf4987a, 0xdd5f4b, 0xb40426}},
};

const cli_colormap *cli_colormap_info(int i) {
    return i >= 0 && i < (int)(sizeof maps / sizeof *maps) ? &maps[i] : NULL;
}

const char *cli_colormap_name(int i) {
    const cli_colormap *map = cli_colormap_info(i);
    return map ? map->name : NULL;
}

void cli_colormap_color(const cli_colormap *map, double share, uint8_t rgb[3]) {
    double at = (map->stops - 1) * fmin(fmax(share, 0.0), 1.0);
    int k = at < map->stops - 2 ? (int)at : map->stops - 2;
    for (int c = 0; c < 3; c++) {
        double low = map->stop[k] >> (16 - 8 * c) & 255,
               high = map->stop[k + 1] >> (16 - 8 * c) & 255;
        rgb[c] = (uint8_t)lround(low + (at - k) * (high - low));
    }
}
