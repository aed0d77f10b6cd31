/* cuda_devices.c - one recovery on one device and on all first 2, 3, .. devices of this machine:
 * seconds, and whether the bits are equal.
 *
 *     bench_cuda_devices [--json FILE] [--brief]
 *     bench_cuda_devices --files FOLDER     only writes 64 scans of 512 x 512
 *
 * Cases: 64 grids of a 1024 x 1024 RGB picture, 192 signals of 262,144 samples, and 256 grids of
 * it, with N/4 atoms each; an 8192 x 8192 picture by "balanced" in its 4 tiles. --brief: smaller
 * ones, to try the program. bench/devices.sh adds the tool with many files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "problem.h"

/* A picture of side x side sampled at 25 %; phase: which of many. */
static csrec_measurement picture(int64_t side, int64_t channels, double phase) {
    csrec_measurement m = bench_sampled(side, channels, CSREC_U8);
    for (int64_t k = 0; k < m.n * channels; k++) {
        int64_t i = m.index[k / channels], c = k % channels;
        double u = fmod(((double)(i % side) + 0.5) / (double)side + phase, 1.0);
        double v = ((double)(i / side) + 0.5) / (double)side;
        m.y[k] = rint(bench_picture_value(c == 1 ? v : u, c == 1 ? u : v, side));
    }
    return m;
}

static void drop(csrec_measurement *m) {
    free(m->index);
    free(m->y);
}

/* "cuda:0,1" of n. */
static const char *list_of(int n, const int *device, char *text, size_t size) {
    snprintf(text, size, "cuda");
    for (int i = 0; i < n; i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%c%d", i ? ',' : ':', device[i]);
    }
    return text;
}

typedef struct one_case {
    const char *name;
    csrec_measurement m;
    csrec_recover_options options;
    int runs; /* after one that is not counted; the shortest counts */
} one_case;

static double seconds_of(const one_case *c, const char *backend, double *signal,
                         csrec_recover_report *report) {
    double least = INFINITY;
    csrec_recover_options o = c->options;
    csrec_error error;
    o.backend = backend;
    for (int k = 0; k <= c->runs; k++) {
        double start = bench_seconds();
        if (csrec_recover(&c->m, &o, signal, NULL, report, &error)) bench_fail(c->name, error.text);
        double seconds = bench_seconds() - start;
        if ((k > 0 || c->runs == 0) && seconds < least) least = seconds;
    }
    return least;
}

static void measure(bench_json *json, const one_case *c, int devices, const int *device) {
    int64_t entries = c->m.shape.dim[0] * c->m.shape.dim[1];
    size_t bytes = (size_t)(entries * c->m.channels) * sizeof(double);
    double *first = malloc(bytes), *signal = malloc(bytes), alone = 0.0;
    if (!first || !signal) bench_fail(c->name, "out of memory");
    bench_json_begin(json, c->name, '[');
    for (int n = 1; n <= devices; n++) {
        char name[256];
        csrec_recover_report r;
        double seconds = seconds_of(c, list_of(n, device, name, sizeof name), signal, &r);
        if (n == 1) {
            alone = seconds;
            memcpy(first, signal, bytes);
        }
        bool same = memcmp(first, signal, bytes) == 0;
        printf("%s, %d of %d devices ran: %.3f s, %.2f times one; trees %.3f, pursuits %.3f, "
               "synthesis %.3f; %s\n",
               c->name, r.n_devices, n, seconds, alone / seconds, r.seconds_tree, r.seconds_pursuit,
               r.seconds_synthesis, same ? "equal" : "DIFFERENT");
        fflush(stdout);
        bench_json_begin(json, NULL, '{');
        bench_json_integer(json, "devices", n);
        bench_json_integer(json, "devices_ran", r.n_devices);
        bench_json_number(json, "seconds", seconds);
        bench_json_number(json, "times_one", alone / seconds);
        bench_json_number(json, "trees_seconds_of_all", r.seconds_tree);
        bench_json_number(json, "pursuits_seconds_of_all", r.seconds_pursuit);
        bench_json_number(json, "synthesis_seconds_of_all", r.seconds_synthesis);
        bench_json_integer(json, "tiles", r.estimate.tiles);
        bench_json_bool(json, "equal_to_one", same);
        bench_json_end(json, '}');
    }
    bench_json_end(json, ']');
    free(first);
    free(signal);
}

static void measure_grids(bench_json *json, const char *name, int64_t side, int64_t grids,
                          int devices, const int *device) {
    one_case c = {.name = name, .m = picture(side, 3, 0.0), .runs = 3};
    csrec_recover_defaults(&c.options);
    c.options.method = "grids";
    c.options.shifts = grids;
    c.options.solve.stop = (csrec_stop){.atoms = c.m.n / 4};
    measure(json, &c, devices, device);
    drop(&c.m);
}

static void measure_tiles(bench_json *json, const char *name, int64_t side, int64_t tile,
                          int devices, const int *device) {
    one_case c = {.name = name, .m = picture(side, 1, 0.0), .runs = 1};
    csrec_recover_preset(1, &c.m, &c.options);
    c.options.tile = tile;
    measure(json, &c, devices, device);
    drop(&c.m);
}

static void write_files(const char *folder) {
    enum { FILES = 64 };
    for (int k = 0; k < FILES; k++) {
        char path[4096];
        csrec_error error;
        csrec_measurement m = picture(512, 1, (double)k / FILES);
        snprintf(path, sizeof path, "%s/%02d.npz", folder, k);
        if (csrec_measurement_write(path, &m, false, &error)) bench_fail(path, error.text);
        drop(&m);
    }
}

int main(int argc, char **argv) {
    const char *path = "cuda-devices.json";
    int device[CSREC_DEVICES_MOST], devices = 0;
    bool brief = false;
    csrec_error error;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--brief") == 0) brief = true;
        if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) path = argv[++i];
        if (strcmp(argv[i], "--files") == 0 && i + 1 < argc) {
            write_files(argv[i + 1]);
            return 0;
        }
    }
    if (csrec_backend_devices("cuda", device, &devices, &error)) {
        printf("SKIPPED: %s\n", error.text);
        return 0;
    }
    bench_machine_print();
    bench_json json = bench_json_open(path);
    const char *name;
    char text[256];
    bench_json_begin(&json, "backends", '[');
    for (int i = 0; csrec_backend_info(i, &name, text, sizeof text); i++) {
        printf("%s: %s\n", name, text);
        bench_json_text(&json, NULL, text);
    }
    bench_json_end(&json, ']');
    measure_grids(&json, "signals_192", brief ? 256 : 1024, 64, devices, device);
    measure_grids(&json, "signals_768", brief ? 256 : 1024, 256, devices, device);
    measure_tiles(&json, brief ? "picture_1024_balanced" : "picture_8192_balanced",
                  brief ? 1024 : 8192, brief ? 1 << 18 : 0, devices, device);
    bench_json_close(&json);
    return 0;
}
