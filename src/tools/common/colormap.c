/* colormap.c - colours between the stops of a table. */
#include "colormap.h"

#include <math.h>
#include <stddef.h>

enum { STOPS_MOST = 9 };

struct cli_colormap {
    const char *name;
    int stops; /* at equal distances */
    uint8_t stop[STOPS_MOST][3];
};

/* In the first two, brighter is larger, also for colour-blind readers: black over blue, violet and
 * orange to white; viridis (van der Walt and Smith 2015). The last has a middle, for signed
 * numbers: blue over white to red (after Moreland 2009). */
static const cli_colormap maps[] = {
    {"heat",
     6,
     {{0, 0, 8}, {40, 20, 100}, {120, 30, 120}, {210, 70, 80}, {250, 160, 40}, {255, 255, 220}}},
    {"viridis",
     9,
     {{68, 1, 84},
      {71, 45, 123},
      {59, 82, 139},
      {44, 114, 142},
      {33, 145, 140},
      {40, 174, 128},
      {94, 201, 98},
      {173, 220, 48},
      {253, 231, 37}}},
    {"coolwarm",
     9,
     {{59, 76, 192},
      {98, 130, 234},
      {141, 176, 254},
      {185, 208, 249},
      {221, 220, 220},
      {245, 196, 172},
      {244, 152, 122},
      {221, 95, 75},
      {180, 4, 38}}},
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
        double low = map->stop[k][c], high = map->stop[k + 1][c];
        rgb[c] = (uint8_t)lround(low + (at - k) * (high - low));
    }
}
