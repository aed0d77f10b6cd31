/* colormap.h - colours that stand for numbers. */
#ifndef CSREC_TOOLS_COMMON_COLORMAP_H
#define CSREC_TOOLS_COMMON_COLORMAP_H

#include <stdint.h>

typedef struct cli_colormap cli_colormap;

/* Map i, the first is that of errors; NULL past the end. */
const cli_colormap *cli_colormap_info(int i);
const char *cli_colormap_name(int i);

/* The colour of a share 0 .. 1 of the scale; what is outside has that of the nearer end. */
void cli_colormap_color(const cli_colormap *map, double share, uint8_t rgb[3]);

#endif
