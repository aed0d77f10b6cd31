/* blend.c - pixels that are not known, blended from known ones around them: the pyramid of
 * Gortler et al. 1996 (The Lumigraph, section 3.4.2). A level of half the size holds the means of
 * what is known, is filled in the same way, and is interpolated linearly where the finer one has
 * holes. It shows what samples look like without a recovery. */
#include "page.h"

static bool has_holes(const cli_plane *plane) {
    for (int64_t k = 0; k < plane->height * plane->width; k++)
        if (!plane->count[k]) return true;
    return false;
}

static void halve(const cli_plane *fine, cli_plane *coarse) {
    int64_t n = fine->channels;
    for (int64_t k = 0; k < fine->height * fine->width; k++) {
        int64_t to = k / fine->width / 2 * coarse->width + k % fine->width / 2;
        if (!fine->count[k]) continue;
        double weight = 1.0 / (double)++coarse->count[to];
        for (int64_t c = 0; c < n; c++) /* the mean of those so far */
            coarse->value[to * n + c] +=
                weight * (fine->value[k * n + c] - coarse->value[to * n + c]);
    }
}

/* The pixels of the coarser level on both sides of a finer one's middle: the near one has weight
 * 3/4. At the border both are the same. */
static int64_t far_of(int64_t at, int64_t extent) {
    int64_t other = at / 2 + (at % 2 ? 1 : -1);
    return other < 0 || other >= extent ? at / 2 : other;
}

static void fill_pixel(cli_plane *fine, const cli_plane *coarse, int64_t y, int64_t x) {
    const double *from = coarse->value;
    int64_t n = fine->channels, pixel = y * fine->width + x;
    int64_t near_row = y / 2 * coarse->width, far_row = far_of(y, coarse->height) * coarse->width;
    int64_t near = x / 2, far = far_of(x, coarse->width);
    for (int64_t c = 0; c < n; c++) {
        double at_near =
            0.75 * from[(near_row + near) * n + c] + 0.25 * from[(near_row + far) * n + c];
        double at_far =
            0.75 * from[(far_row + near) * n + c] + 0.25 * from[(far_row + far) * n + c];
        fine->value[pixel * n + c] = 0.75 * at_near + 0.25 * at_far;
    }
    fine->count[pixel] = 1;
}

csrec_status cli_plane_blend(cli_plane *plane) {
    cli_plane half;
    if (!has_holes(plane) || plane->height * plane->width == 1) return CSREC_OK;
    csrec_status status =
        cli_plane_create((plane->height + 1) / 2, (plane->width + 1) / 2, plane->channels, &half);
    if (status) return status;
    halve(plane, &half);
    status = cli_plane_blend(&half);
    for (int64_t k = 0; !status && k < plane->height * plane->width; k++)
        if (!plane->count[k]) fill_pixel(plane, &half, k / plane->width, k % plane->width);
    cli_plane_clear(&half);
    return status;
}
