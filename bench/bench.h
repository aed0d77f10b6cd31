/* SPDX-License-Identifier: BSD-3-Clause */
/* bench.h - what the measuring programs share: clock, counted allocations, the machine, JSON;
 * sampled signals and random numbers to measure on; a measured pursuit, and a transform. */
#pragma once

#include <stdio.h>
#include <time.h>

#include "csrec.h"
#include "haar/eager.h"

static inline double bench_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Bytes that the program and the library hold now, and the most since the last reset. */
int64_t bench_bytes_live(void);
int64_t bench_bytes_peak(void);
void bench_bytes_reset(void);

/* Resident memory as the system counts it (Linux; else 0). */
int64_t bench_resident_peak(void);
void bench_resident_reset(void);

/* Ends the program with a message: measurements have nothing to recover. */
void bench_fail(const char *what, const char *text);
void bench_check(csrec_status status, const char *what);
/* Zeroed; ends the program if memory is short. */
void *bench_allocate(int64_t count, size_t size);

/* JSON, written front to back, to the terminal as well; "machine" first: CPU, cores, compiler,
 * instruction set, date. name: NULL inside an array. */
typedef struct bench_json {
    FILE *file;
    const char *path;
    int depth;
    bool comma;
} bench_json;

bench_json bench_json_open(const char *path);
void bench_json_close(bench_json *json);
void bench_json_begin(bench_json *json, const char *name, char bracket); /* '{' or '[' */
void bench_json_end(bench_json *json, char bracket);                     /* '}' or ']' */
void bench_json_text(bench_json *json, const char *name, const char *text);
void bench_json_number(bench_json *json, const char *name, double value); /* NAN: null */
/* Several; names: with spaces between. */
void bench_json_numbers(bench_json *json, const char *names, const double *values);
void bench_json_bool(bench_json *json, const char *name, bool value);

int bench_cores(void);

typedef enum bench_signal {
    BENCH_NOISE,     /* uniform white noise */
    BENCH_PIECEWISE, /* smooth pieces of a 1-D signal, 24 jumps */
    BENCH_PICTURE,   /* a picture made by code, Morton order */
    BENCH_SIGNALS
} bench_signal;

extern const char *const bench_signal_names[BENCH_SIGNALS];

typedef struct bench_problem {
    int levels;
    int64_t n;
    uint64_t *rows; /* ascending, distinct, uniformly random */
    double *y;
} bench_problem;

bench_problem bench_problem_create(bench_signal signal, int levels, int64_t n, uint64_t seed);
void bench_problem_destroy(bench_problem *problem);

/* Gray value 0 .. 255 of the picture at u, v in [0, 1), with detail down to 1 / side. */
double bench_picture_value(double u, double v, int64_t side);

/* Every fourth pixel of side x side, chosen at random; y [n * channels] is the caller's to fill. */
csrec_measurement bench_sampled(int64_t side, int64_t channels, csrec_dtype dtype);

typedef struct bench_times {
    double tree_ns, start_ns;  /* a sample: building the tree; starting the pursuit from y */
    int64_t atoms[2];          /* N/20 and N/4, or fewer where nothing was left to gain */
    double atom_ns[2];         /* an atom, all of them from the first */
    uint64_t hash;             /* of the atoms found: columns and coefficients, every bit */
    int64_t tree_bytes, bytes; /* held by the tree; by tree and pursuit */
    int64_t peak_bytes;        /* the most held while building both */
} bench_times;

/* simd: NULL for the one chosen for this processor. Repeats until `least` seconds are spent and
 * keeps the shortest time of each part: what the machine does when left alone. */
bench_times bench_time_pursuit(const bench_problem *problem, csrec_columns columns,
                               const csrec_eager_simd *simd, double least);

/* Of columns and coefficients, every bit. */
uint64_t bench_atoms_hash(const csrec_atoms *atoms);
/* Hash of the first n/4 atoms, by the eager pursuit; no timing. */
uint64_t bench_pursuit_hash(const bench_problem *problem, csrec_columns columns);

/* Seconds of an iteration that begins with a transform: the leanest we know, one pass over the row
 * tree that sums and keeps the largest; and that of a pursuit, csrec_pursuit_reference for the
 * paper's way, level by level. */
double bench_time_tree_iteration(const bench_problem *problem, csrec_columns columns);
double bench_time_iteration(const bench_problem *problem, csrec_columns columns,
                            const csrec_pursuit_type *type);
