/* SPDX-License-Identifier: BSD-3-Clause */
/* bench.h - what the measuring programs share: clock, counted allocations, the machine, JSON. */
#ifndef CSREC_BENCH_BENCH_H
#define CSREC_BENCH_BENCH_H

#include <stdio.h>
#include <time.h>

#include "csrec.h"

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
/* Name of the widest instruction set that the pursuit uses here. */
const char *bench_instructions(void);
/* "machine", which bench_json_open writes. */
void bench_machine(bench_json *json);

#endif
