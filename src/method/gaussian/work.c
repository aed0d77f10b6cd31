/* work.c - work arrays of one thread for estimating groups. */
#include <stdlib.h>

#include "method/gaussian/group.h"

void csrec_group_work_clear(csrec_group_work *w) {
    free(w->mean);
    free(w->C);
    free(w->gram);
    free(w->X);
    free(w->V);
    free(w->posterior);
    free(w->column);
    *w = (csrec_group_work){0};
}

csrec_status csrec_group_work_create(const csrec_gaussian_picture *p, const int patch[3],
                                     csrec_group_work *w) {
    int d = patch[0] * patch[1] * patch[2];
    size_t stride = (size_t)((d + CSREC_GROUP_LANES - 1) / CSREC_GROUP_LANES * CSREC_GROUP_LANES);
    *w = (csrec_group_work){.patch_height = patch[1],
                            .patch_width = patch[2],
                            .d = d,
                            .stride = (int)stride,
                            .rows = patch[0] * patch[1],
                            .channels = p->pooled ? p->channels : 1};
    for (int i = 0; i < w->rows; i++)
        w->row[i] = (i / patch[1] * p->height + i % patch[1]) * p->width;
    size_t channels = (size_t)w->channels;
    w->mean = malloc(channels * stride * sizeof *w->mean);
    w->C = malloc(stride * stride * sizeof *w->C);
    w->gram = malloc(stride * stride * sizeof *w->gram);
    w->X = malloc(channels * CSREC_GROUP_MOST * stride * sizeof *w->X);
    w->V = malloc((CSREC_GROUP_ROWS + CSREC_GROUP_PIXELS) * stride * sizeof *w->V);
    w->posterior = malloc(stride * sizeof *w->posterior);
    w->column = malloc(2 * (2 * CSREC_GROUP_TILE + 3 * CSREC_GROUP_EDGE) * sizeof *w->column);
    bool ok = w->mean && w->C && w->gram && w->X && w->V && w->posterior && w->column;
    if (!ok) csrec_group_work_clear(w);
    return ok ? CSREC_OK : CSREC_MEMORY;
}
