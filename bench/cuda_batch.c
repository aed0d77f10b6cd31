/* cuda_batch.c - atoms a second of many pursuits at once on the device, on a picture sampled at 25
 * % (1024 x 1024 unless a side is given), and on one CPU core in the same run.
 *
 *     bench_cuda_batch [--json FILE] [--side S] [--image RAW] [--warps W] [--quick]
 *
 * RAW: side * side * 3 bytes. Each line: grids x channels, signals, warps a signal, million atoms a
 * second, microseconds an atom of one signal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/method/grids/signal.h"
#include "bench.h"
#include "base/sort.h"
#include "device.h"
#include "haar/pursuit.h"
#include "problem.h"
#include "method/grid.h"

typedef struct scene {
    int64_t side, n;
    int64_t *index;
    double *y; /* [n * 3] */
} scene;

static scene scene_create(int64_t side, const char *raw) {
    csrec_measurement m = bench_sampled(side, 3, CSREC_U8);
    scene s = {side, m.n, m.index, m.y};
    unsigned char *bytes = bench_allocate(side * side, 3);
    FILE *file = raw ? fopen(raw, "rb") : NULL;
    bool read = file && fread(bytes, 3, (size_t)(side * side), file) == (size_t)(side * side);
    if (raw && !read) bench_fail(raw, "cannot be read");
    if (file) fclose(file);
    for (int64_t k = 0; k < s.n; k++)
        for (int c = 0; c < 3; c++) {
            int64_t i = s.index[k];
            double u = ((double)(i % side) + 0.5) / (double)side;
            double v = ((double)(i / side) + 0.5) / (double)side;
            s.y[3 * k + c] = raw ? bytes[3 * i + c]
                                 : rint(bench_picture_value(c == 1 ? v : u, c == 1 ? u : v, side));
        }
    free(bytes);
    return s;
}

typedef struct plane {
    int levels;
    uint64_t *rows;
    int64_t *order;
} plane;

static plane plane_create(const scene *s, int64_t number, int64_t grids) {
    csrec_shape shape = {2, {s->side, s->side}};
    csrec_grid grid;
    bench_check(csrec_grid_create(&shape, CSREC_ORDER_MORTON, number, grids, 1, &grid), "grid");
    plane p = {grid.levels, malloc((size_t)s->n * 8), malloc((size_t)s->n * 8)};
    bench_check(csrec_grid_rows(&grid, s->n, s->index, p.rows), "rows");
    for (int64_t k = 0; k < s->n; k++) p.order[k] = k;
    bench_check(csrec_sort_rows(s->n, p.rows, p.order), "sort");
    return p;
}

/* Channel c of every further signal is the same picture, mirrored in value. */
static double sample(const scene *s, const plane *p, int64_t j, int64_t c) {
    double y = s->y[3 * p->order[j] + c % 3];
    return c / 3 % 2 ? 255.0 - y : y;
}

static double cpu_seconds(const scene *s, const plane *p, int64_t atoms) {
    csrec_tree tree;
    void *state;
    double *y = malloc((size_t)s->n * sizeof *y);
    for (int64_t j = 0; j < s->n; j++) y[j] = sample(s, p, j, 0);
    bench_check(csrec_tree_create(p->levels, s->n, p->rows, CSREC_COLUMNS_TWO_SIDED, &tree),
                "tree");
    bench_check(csrec_pursuit_eager.create(&tree, y, &state), "pursuit");
    double start = bench_seconds();
    for (int64_t k = 0; k < atoms; k++) {
        csrec_pursuit_eager.select(state);
        csrec_pursuit_eager.update(state);
    }
    double seconds = bench_seconds() - start;
    csrec_pursuit_eager.destroy(state);
    csrec_tree_clear(&tree);
    free(y);
    return seconds;
}

/* Rows and trees of the grids, and room on the device for one signal. */
typedef struct device {
    int64_t grids;
    csrec_cuda_block block;
    uint64_t **rows;
    double *y;
    void *scratch;
    plane *planes;
    csrec_cuda_tree *trees;
} device;

static device device_create(const scene *s, int64_t grids, csrec_columns columns) {
    device d = {.grids = grids,
                .rows = calloc((size_t)grids, sizeof *d.rows),
                .planes = calloc((size_t)grids, sizeof *d.planes),
                .trees = calloc((size_t)grids, sizeof *d.trees)};
    csrec_error error;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t g = 0; g < grids; g++) d.rows[g] = csrec_cuda_block_take(&d.block, s->n, 8);
        d.y = csrec_cuda_block_take(&d.block, s->n, 8);
        d.scratch =
            csrec_cuda_block_take(&d.block, (int64_t)csrec_cuda_tree_scratch(s->n, columns), 1);
        if (!pass && csrec_cuda_block_create(&d.block, "measuring", &error))
            bench_fail("memory", error.text);
    }
    for (int64_t g = 0; g < grids; g++) {
        d.planes[g] = plane_create(s, g, grids);
        if (csrec_cuda_upload(d.rows[g], d.planes[g].rows, (size_t)s->n * 8, NULL, &error) ||
            csrec_cuda_tree_create(d.planes[g].levels, s->n, d.rows[g], columns, d.scratch, NULL,
                                   &d.trees[g], &error))
            bench_fail("tree", error.text);
    }
    return d;
}

/* The trees belong to the batch. */
static void device_destroy(device *d) {
    csrec_cuda_block_destroy(&d->block);
    for (int64_t g = 0; g < d->grids; g++) {
        free(d->planes[g].rows);
        free(d->planes[g].order);
    }
    free(d->planes);
    free(d->trees);
    free(d->rows);
}

static void start_signals(const scene *s, device *d, csrec_cuda_batch *batch, int64_t atoms) {
    csrec_error error;
    csrec_stop stop = {.atoms = atoms};
    double *host = malloc((size_t)s->n * sizeof *host);
    for (int64_t k = 0; k < batch->signals; k++) {
        const plane *p = &d->planes[k / batch->channels];
        for (int64_t j = 0; j < s->n; j++) host[j] = sample(s, p, j, k % batch->channels);
        csrec_cuda_signal_init(&batch->signal[k], s->n, host, &stop);
        if (csrec_cuda_upload(d->y, host, (size_t)s->n * 8, NULL, &error) ||
            csrec_cuda_batch_start(batch, k, d->y, 1, NULL, &error) ||
            csrec_cuda_wait(NULL, &error))
            bench_fail("start", error.text);
    }
    if (csrec_cuda_batch_norms(batch, &error)) bench_fail("norms", error.text);
    for (int64_t k = 0; k < batch->signals; k++)
        csrec_cuda_signal_goal(&batch->signal[k], s->n, &stop);
    free(host);
}

static void write_line(bench_json *json, const csrec_cuda_batch *batch, int warps, double seconds) {
    const csrec_cuda_tree *tree = &batch->tree[0];
    double picked = 0.0, signals = (double)batch->signals;
    for (int64_t k = 0; k < batch->signals; k++) picked += (double)batch->signal[k].iterations;
    double bytes = (double)csrec_cuda_signal_bytes(tree);
    const char *columns = tree->one_sided ? "paper" : "two-sided";
    printf("%s %4lld x %4lld = %5lld signals, warps %2d: %7.1f M atoms/s, %6.2f us an atom, "
           "%.3f s; %.2f MB a signal\n",
           columns, (long long)batch->trees, (long long)batch->channels, (long long)batch->signals,
           warps, picked / seconds * 1e-6, seconds * 1e6 * signals / picked, seconds, bytes * 1e-6);
    fflush(stdout);
    bench_json_begin(json, NULL, '{');
    bench_json_text(json, "columns", columns);
    bench_json_integer(json, "grids", batch->trees);
    bench_json_integer(json, "signals", batch->signals);
    bench_json_integer(json, "warps", warps);
    bench_json_number(json, "million_atoms_s", picked / seconds * 1e-6);
    bench_json_number(json, "us_an_atom_of_a_signal", seconds * 1e6 * signals / picked);
    bench_json_number(json, "seconds", seconds);
    bench_json_number(json, "bytes_a_signal", bytes);
    bench_json_end(json, '}');
}

/* warps 0: chosen by the number of signals. */
static void gpu_line(bench_json *json, const scene *s, int64_t grids, int64_t channels, int warps,
                     csrec_columns columns, int64_t atoms) {
    csrec_error error;
    device d = device_create(s, grids, columns);
    csrec_cuda_batch batch;
    if (csrec_cuda_batch_create(grids, d.trees, channels, NULL, &batch, &error))
        bench_fail("batch", error.text);
    start_signals(s, &d, &batch, atoms);
    double start = bench_seconds();
    if (csrec_cuda_batch_run(&batch, warps, NULL, NULL, &error)) bench_fail("run", error.text);
    write_line(json, &batch, warps, bench_seconds() - start);
    csrec_cuda_batch_destroy(&batch);
    device_destroy(&d);
}

typedef struct options {
    const char *json, *raw;
    int64_t side;
    int warps;
    bool quick;
} options;

static options parse(int argc, char **argv) {
    options o = {"cuda_batch.json", NULL, 1024, 0, false};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick")) o.quick = true;
        if (i + 1 == argc) break;
        if (!strcmp(argv[i], "--json")) o.json = argv[i + 1];
        if (!strcmp(argv[i], "--side")) o.side = atoll(argv[i + 1]);
        if (!strcmp(argv[i], "--image")) o.raw = argv[i + 1];
        if (!strcmp(argv[i], "--warps")) o.warps = atoi(argv[i + 1]);
    }
    return o;
}

static void measure(bench_json *json, const scene *s, const options *o, int64_t atoms) {
    const csrec_columns two = CSREC_COLUMNS_TWO_SIDED;
    gpu_line(json, s, 1, 1, o->warps, two, atoms);
    gpu_line(json, s, 64, 3, o->warps, two, atoms);
    gpu_line(json, s, 1, 192, o->warps, two, atoms);
    gpu_line(json, s, 1, 1000, o->warps, two, atoms);
    if (o->quick) return;
    for (int w = 1; w <= 16; w *= 2) gpu_line(json, s, 64, 3, w, two, atoms);
    for (int w = 1; w <= 16; w *= 2) gpu_line(json, s, 1, 1000, w, two, atoms);
    gpu_line(json, s, 1, 4224, 1, two, atoms);
    gpu_line(json, s, 64, 3, 0, CSREC_COLUMNS_PAPER, atoms);
}

int main(int argc, char **argv) {
    options o = parse(argc, argv);
    if (bench_no_device()) return 0;
    scene s = scene_create(o.side, o.raw);
    int64_t atoms = s.n / 4;
    plane p = plane_create(&s, 0, 1);
    double cpu = cpu_seconds(&s, &p, atoms) * 1e6 / (double)atoms;
    printf("N = %lld, %lld atoms; one CPU core: %.3f us an atom\n", (long long)s.n,
           (long long)atoms, cpu);
    bench_json json = bench_json_open(o.json);
    bench_json_integer(&json, "n", s.n);
    bench_json_integer(&json, "atoms", atoms);
    bench_json_number(&json, "cpu_core_us_an_atom", cpu);
    bench_json_begin(&json, "batches", '[');
    measure(&json, &s, &o, atoms);
    bench_json_end(&json, ']');
    bench_json_close(&json);
    return 0;
}
