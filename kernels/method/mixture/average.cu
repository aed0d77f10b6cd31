/* SPDX-License-Identifier: BSD-3-Clause */
/* average.cu - the next estimate, the means of the patches that cover each value, weighted by their
 * posterior variances; and their distance to the samples. A thread gathers a value, patches in the
 * order of engine_cpu.c; a thread adds a row's distances, values in order. */
#include "kernels/method/mixture/state.cuh"

enum { THREADS = 256 };

__global__ void __launch_bounds__(THREADS)
    average_patches(const __grid_constant__ csrec_mixture_device g) {
    const csrec_patches &p = g.patches;
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (at >= g.values) return;
    const int64_t pixel = at / p.channels;
    const int channel = (int)(at % p.channels), plane = channel / p.joint;
    const int y = (int)(pixel / p.width), x = (int)(pixel % p.width);
    const int down = csrec_patches_down(&p), across = csrec_patches_across(&p);
    const int planes = csrec_patches_planes(&p);
    float weight = 0.0f, value = 0.0f, variance = 0.0f;
    for (int r = csrec_patches_first(p.patch_height, p.step, y); r < down; r++) {
        const int top = csrec_patches_begin(p.height, p.patch_height, p.step, r);
        if (top > y) break;
        for (int c = csrec_patches_first(p.patch_width, p.step, x); c < across; c++) {
            const int left = csrec_patches_begin(p.width, p.patch_width, p.step, c);
            if (left > x) break;
            const int64_t i = g.place[((int64_t)r * across + c) * planes + plane];
            const int e = ((y - top) * p.patch_width + x - left) * p.joint + channel % p.joint;
            const float v = g.v[i * g.d + e], w = csrec_patches_weight(v, g.evenness);
            weight += w;
            value += w * g.x[i * g.d + e];
            variance += w * v;
        }
    }
    const bool kept = g.keep && g.mask[pixel];
    const float mean = value / weight;
    g.means[at] = mean;
    g.u[at] = kept ? g.y[at] : mean;
    if (g.variance) g.variance[at] = kept ? 0.0f : variance / weight;
}

__global__ void add_distances(const __grid_constant__ csrec_mixture_device g) {
    const csrec_patches &p = g.patches;
    const int y = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (y >= p.height) return;
    double energy = 0.0;
    for (int channel = 0; channel < p.channels; channel += p.joint)
        for (int j = 0; j < p.width * p.joint; j++) {
            const int64_t pixel = (int64_t)y * p.width + j / p.joint;
            const int64_t at = pixel * p.channels + channel + j % p.joint;
            const double off = g.mask[pixel] ? (double)g.means[at] - (double)g.y[at] : 0.0;
            energy += off * off;
        }
    g.energy[y] = energy;
}

csrec_status csrec_mixture_average_on(const csrec_mixture_device *g, csrec_error *error) {
    return CSREC_CUDA_EACH(average_patches, g->values, THREADS, error, *g);
}

csrec_status csrec_mixture_energy_on(const csrec_mixture_device *g, csrec_error *error) {
    return CSREC_CUDA_EACH(add_distances, g->patches.height, 64, error, *g);
}
