/* gaussian.cu - device state of a picture and the rounds of Gaussian groups that improve it. */
#include <stdlib.h>

#include "kernels/method/gaussian/state.cuh"

struct csrec_cuda_gaussian {
    csrec_cuda_block memory;
    csrec_gaussian_device g;
    const unsigned char *mask; /* the host's */
    int64_t references;
    int group;                 /* most per round */
    int most;                  /* most samples in a patch of the size of g; 0: not counted */
    int shared;                /* bytes a block can have */
    int rows, columns, radius; /* of the candidates; rows 0: none */
};

/* Where there is no sample y is NaN. */
__global__ void mark_unknown(csrec_gaussian_device g) {
    const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < g.area * g.channels && !g.mask[at % g.area]) g.y[at] = __int_as_float(0x7fffffff);
}

static void lay_out(csrec_cuda_gaussian *s) {
    csrec_gaussian_device *g = &s->g;
    csrec_cuda_block *block = &s->memory;
    const int64_t all = g->area * g->channels;
    g->mask = (unsigned char *)csrec_cuda_block_take(block, g->area, 1);
    g->y = (float *)csrec_cuda_block_take(block, all, sizeof(float));
    g->u = (float *)csrec_cuda_block_take(block, all, sizeof(float));
    g->variance = (float *)csrec_cuda_block_take(block, all, sizeof(float));
    g->guide = (float *)csrec_cuda_block_take(block, g->area, sizeof(float));
    g->sums = (unsigned long long *)csrec_cuda_block_take(block, 3 * all, sizeof *g->sums);
    g->row = (int *)csrec_cuda_block_take(block, g->height, sizeof(int));
    g->column = (int *)csrec_cuda_block_take(block, g->width, sizeof(int));
    g->match = (int2 *)csrec_cuda_block_take(block, s->references * s->group, sizeof(int2));
    g->size = (int *)csrec_cuda_block_take(block, s->references, sizeof(int));
    g->count = (int *)csrec_cuda_block_take(block, s->references, sizeof(int));
    g->shift = (unsigned short *)csrec_cuda_block_take(
        block, s->references * CSREC_CUDA_GAUSSIAN_KEPT, sizeof *g->shift);
}

/* Most samples in any patch, from sums over columns. column: [width], all 0. */
static int count_samples(const csrec_cuda_gaussian *s, int *column) {
    const int wide = s->g.width, high = s->g.patch_height, across = s->g.patch_width;
    int most = 0;
    for (int y = 0; y < s->g.height; y++) {
        const unsigned char *line = s->mask + (int64_t)y * wide;
        int sum = 0;
        for (int x = 0; x < wide; x++) {
            column[x] += line[x] - (y >= high ? line[x - (int64_t)high * wide] : 0);
            sum += column[x] - (x >= across ? column[x - across] : 0);
            if (sum > most) most = sum;
        }
    }
    return most;
}

/* Counted anew where the patches' size has changed. */
static csrec_status set_patch(csrec_cuda_gaussian *s, int height, int width, csrec_error *error) {
    if (s->most > 0 && s->g.patch_height == height && s->g.patch_width == width) return CSREC_OK;
    int *column = (int *)calloc((size_t)s->g.width, sizeof *column);
    if (!column) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    s->g.patch_height = height;
    s->g.patch_width = width;
    s->most = count_samples(s, column);
    if (s->most < 1) s->most = 1;
    free(column);
    return CSREC_OK;
}

static csrec_status check(const csrec_cuda_gaussian_spec *spec, csrec_error *error) {
    if (spec->group >= 1 && spec->group <= CSREC_CUDA_GAUSSIAN_GROUP && spec->channels <= 65535 &&
        spec->references <= INT64_C(0x7fffffff))
        return CSREC_OK;
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "CUDA: groups of at most %d patches, at most 2^31 - 1 groups; use --backend "
                      "cpu",
                      CSREC_CUDA_GAUSSIAN_GROUP);
}

static csrec_status fill(csrec_cuda_gaussian *s, const csrec_cuda_gaussian_spec *spec,
                         csrec_error *error) {
    csrec_status status = csrec_cuda_copy(s->g.mask, spec->mask, (size_t)s->g.area, error);
    for (int c = 0; c < spec->channels && !status; c++)
        status = csrec_cuda_copy(s->g.y + c * s->g.area, spec->y[c],
                                 (size_t)s->g.area * sizeof(float), error);
    if (status) return status;
    mark_unknown<<<csrec_cuda_blocks(s->g.area * s->g.channels, 256), 256>>>(s->g);
    return csrec_cuda_launched("mark_unknown", error);
}

csrec_status csrec_cuda_gaussian_create(const csrec_cuda_gaussian_spec *spec,
                                        csrec_cuda_gaussian **gaussian, csrec_error *error) {
    csrec_cuda_size size;
    csrec_status status = check(spec, error);
    if (!status) status = csrec_cuda_measure(&size, error);
    if (status) return status;
    csrec_cuda_gaussian *s = (csrec_cuda_gaussian *)calloc(1, sizeof *s);
    if (!s) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    csrec_gaussian_device *g = &s->g;
    g->height = spec->height;
    g->width = spec->width;
    g->channels = spec->channels;
    g->area = (int64_t)spec->height * spec->width;
    g->keep = spec->keep;
    s->mask = spec->mask;
    s->references = spec->references;
    s->group = spec->group;
    s->shared = size.shared;
    lay_out(s);
    status = csrec_cuda_block_create(&s->memory, "the groups of a picture", error);
    if (!status) {
        lay_out(s);
        status = fill(s, spec, error);
    }
    if (status) {
        csrec_cuda_gaussian_destroy(s);
        return status;
    }
    *gaussian = s;
    return CSREC_OK;
}

void csrec_cuda_gaussian_destroy(csrec_cuda_gaussian *s) {
    if (s) csrec_cuda_block_destroy(&s->memory);
    free(s);
}

csrec_status csrec_cuda_gaussian_set(csrec_cuda_gaussian *s, float *const *u,
                                     float *const *variance, csrec_error *error) {
    const size_t bytes = (size_t)s->g.area * sizeof(float);
    csrec_status status = CSREC_OK;
    for (int c = 0; c < s->g.channels && !status; c++) {
        status = csrec_cuda_copy(s->g.u + c * s->g.area, u[c], bytes, error);
        if (!status)
            status = csrec_cuda_copy(s->g.variance + c * s->g.area, variance[c], bytes, error);
    }
    return status;
}

csrec_status csrec_cuda_gaussian_get(const csrec_cuda_gaussian *s, float *const *u,
                                     float *const *variance, csrec_error *error) {
    const size_t bytes = (size_t)s->g.area * sizeof(float);
    csrec_status status = CSREC_OK;
    for (int c = 0; c < s->g.channels && !status; c++) {
        status = csrec_cuda_copy(u[c], s->g.u + c * s->g.area, bytes, error);
        if (!status)
            status = csrec_cuda_copy(variance[c], s->g.variance + c * s->g.area, bytes, error);
    }
    return status;
}

static csrec_status check_round(const csrec_cuda_gaussian *s,
                                const csrec_cuda_gaussian_round *round, csrec_error *error) {
    if ((int64_t)round->rows * round->columns > s->references || round->rows > s->g.height ||
        round->columns > s->g.width || round->group > s->group ||
        (round->again &&
         (round->rows != s->rows || round->columns != s->columns || round->radius != s->radius)))
        return csrec_fail(error, CSREC_ARGUMENT, "CUDA: a round of other groups than planned");
    if (round->patch_height * round->patch_width > CSREC_CUDA_GAUSSIAN_PIXELS)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "CUDA: patches of at most %d pixels; use --backend cpu",
                          CSREC_CUDA_GAUSSIAN_PIXELS);
    if (!(round->evenness >= 0.5f))
        return csrec_fail(error, CSREC_UNSUPPORTED, "CUDA: evenness %g; use --backend cpu",
                          (double)round->evenness);
    return CSREC_OK;
}

csrec_status csrec_cuda_gaussian_run(csrec_cuda_gaussian *s, const csrec_cuda_gaussian_round *round,
                                     csrec_error *error) {
    csrec_status status = check_round(s, round, error);
    if (!status) status = set_patch(s, round->patch_height, round->patch_width, error);
    if (status) return status;
    s->g.group = round->group;
    s->rows = 0; /* until there are candidates */
    status = csrec_cuda_copy(s->g.row, round->row, (size_t)round->rows * sizeof(int), error);
    if (!status)
        status = csrec_cuda_copy(s->g.column, round->column, (size_t)round->columns * sizeof(int),
                                 error);
    if (!status) status = csrec_gaussian_match(&s->g, round, s->shared, error);
    if (!status) status = csrec_gaussian_estimate(&s->g, round, s->most, s->shared, error);
    if (status) return status;
    s->rows = round->rows;
    s->columns = round->columns;
    s->radius = round->radius;
    return CSREC_OK;
}
