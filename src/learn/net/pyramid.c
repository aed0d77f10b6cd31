/* SPDX-License-Identifier: BSD-3-Clause */
/* pyramid.c - spreads samples over a picture by a pyramid of means (Gortler et al. 1996). */
#include "learn/net/pyramid.h"

#include "base/threads.h"

int64_t csrec_pyramid_work(int64_t height, int64_t width) {
    int64_t floats = 2 * height * width;
    while (height > 1 || width > 1) {
        height = csrec_pyramid_half(height);
        width = csrec_pyramid_half(width);
        floats += 3 * height * width;
    }
    return floats;
}

void csrec_pyramid_pull(int64_t height, int64_t width, int threads, const float *from, float *to) {
    const int64_t across = csrec_pyramid_half(width);
    threads = csrec_threads_for(height * width, threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t y = 0; y < csrec_pyramid_half(height); y++)
        for (int64_t x = 0; x < across; x++) {
            const float *at = from + 2 * y * width + 2 * x;
            bool right = 2 * x + 1 < width, below = 2 * y + 1 < height;
            to[y * across + x] = at[0] + (right ? at[1] : 0.0f) +
                                 (below ? at[width] + (right ? at[width + 1] : 0.0f) : 0.0f);
        }
}

/* Line y of push. */
static void push_line(int64_t height, int64_t width, int64_t y, const float *sum,
                      const float *weight, const float *coarse, float *values) {
    int64_t row[2], across = csrec_pyramid_half(width);
    float down;
    csrec_pyramid_place(y, height, row, &down);
    const float *above = coarse + row[0] * across, *below = coarse + row[1] * across;
    for (int64_t x = 0; x < width; x++)
        values[x] = weight[x] > 0.0f ? sum[x] / weight[x]
                                     : csrec_pyramid_between(above, below, down, x, width);
}

/* values = sum / weight where there is weight, else the coarser level between its entries. */
static void push(int64_t height, int64_t width, int threads, const float *sum, const float *weight,
                 const float *coarse, float *values) {
    threads = csrec_threads_for(height * width, threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t y = 0; y < height; y++)
        push_line(height, width, y, sum + y * width, weight + y * width, coarse,
                  values + y * width);
}

void csrec_pyramid_fill(int64_t height, int64_t width, int threads, const float *z,
                        const float *weight, float *work, float *filled) {
    if (height <= 1 && width <= 1) {
        filled[0] = weight[0] > 0.0f ? z[0] / weight[0] : 0.0f;
        return;
    }
    int64_t count = csrec_pyramid_half(height) * csrec_pyramid_half(width);
    float *sum = work, *sums = work + count, *coarse = work + 2 * count;
    csrec_pyramid_pull(height, width, threads, z, sum);
    csrec_pyramid_pull(height, width, threads, weight, sums);
    csrec_pyramid_fill(csrec_pyramid_half(height), csrec_pyramid_half(width), threads, sum, sums,
                       work + 3 * count, coarse);
    push(height, width, threads, z, weight, coarse, filled);
}
