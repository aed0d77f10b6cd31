/* patches.c - positions of the patches of a picture. */
#include "method/mixture/fit.h"

int csrec_fit_along(int size, int patch, int step) {
    return (size - patch + step - 1) / step + 1;
}

int64_t csrec_fit_corner(const csrec_fit_picture *p, int64_t i, int *channel) {
    int across = csrec_fit_along(p->width, p->patch_width, p->step),
        planes = p->channels / p->joint;
    int64_t place = i / planes;
    int y = (int)(place / across) * p->step, x = (int)(place % across) * p->step;
    if (y > p->height - p->patch_height) y = p->height - p->patch_height;
    if (x > p->width - p->patch_width) x = p->width - p->patch_width;
    *channel = (int)(i % planes) * p->joint;
    return (int64_t)y * p->width + x;
}

int64_t csrec_fit_count(const csrec_fit_picture *p) {
    return (int64_t)csrec_fit_along(p->height, p->patch_height, p->step) *
           csrec_fit_along(p->width, p->patch_width, p->step) * (p->channels / p->joint);
}

void csrec_fit_cut(const csrec_fit_picture *p, int64_t i, float *to) {
    int channel;
    int64_t at = csrec_fit_corner(p, i, &channel);
    for (int y = 0; y < p->patch_height; y++)
        for (int x = 0; x < p->patch_width; x++)
            for (int c = 0; c < p->joint; c++)
                *to++ = p->u[(at + (int64_t)y * p->width + x) * p->channels + channel + c];
}
