/* work.c - work arrays of one thread, for matching and for estimating groups. */
#include "method/gaussian/group.h"

csrec_group_finder csrec_group_finder_of(int references, int shifts, csrec_store *store) {
    const int most = shifts < CSREC_GAUSSIAN_KEPT ? CSREC_GAUSSIAN_KEPT : shifts;
    csrec_group_finder f;
    CSREC_TAKE(store, f.distance, (size_t)references * (size_t)shifts + 1);
    CSREC_TAKE(store, f.ranked, most);
    CSREC_TAKE(store, f.key, most);
    CSREC_TAKE(store, f.chosen, most);
    return f;
}

csrec_group_work csrec_group_work_of(const csrec_gaussian_picture *p, const int patch[3],
                                     csrec_store *store) {
    int d = patch[0] * patch[1] * patch[2];
    size_t stride = (size_t)((d + CSREC_GROUP_LANES - 1) / CSREC_GROUP_LANES * CSREC_GROUP_LANES);
    csrec_group_work w = {.patch_height = patch[1],
                          .patch_width = patch[2],
                          .d = d,
                          .stride = (int)stride,
                          .rows = patch[0] * patch[1],
                          .channels = p->pooled ? p->channels : 1};
    for (int i = 0; i < w.rows; i++)
        w.row[i] = (i / patch[1] * p->height + i % patch[1]) * p->width;
    size_t channels = (size_t)w.channels;
    CSREC_TAKE(store, w.mean, channels * stride);
    CSREC_TAKE(store, w.C, stride * stride);
    CSREC_TAKE(store, w.gram, stride * stride);
    CSREC_TAKE(store, w.X, channels * CSREC_GROUP_MOST * stride);
    CSREC_TAKE(store, w.V, (CSREC_GROUP_ROWS + CSREC_GROUP_PIXELS) * stride);
    CSREC_TAKE(store, w.posterior, stride);
    CSREC_TAKE(store, w.column, 2 * (2 * CSREC_GROUP_TILE + 3 * CSREC_GROUP_EDGE));
    return w;
}
