/* SPDX-License-Identifier: BSD-3-Clause */
/* unload.c LIBRARY - loads libcsrec, recovers on two threads, closes the library while OpenMP's
 * threads spin in it, and ends. The library stays: exit code 0. This program has no OpenMP. */
#define _DEFAULT_SOURCE /* usleep */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "csrec.h"

enum { EDGE = 64 };

static void *find(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "unload: no %s\n", name);
        exit(1);
    }
    return found;
}

/* POSIX has functions in pointers to data. */
#define FIND(library, name) (*(__typeof__(&name) *)(void *[]){find(library, #name)})

static int recover(void *library) {
    int64_t index[EDGE * EDGE / 2];
    double y[EDGE * EDGE / 2], signal[EDGE * EDGE];
    csrec_measurement m = {.shape = {2, {EDGE, EDGE}},
                           .n = EDGE * EDGE / 2,
                           .channels = 1,
                           .index = index,
                           .y = y,
                           .dtype = CSREC_F64};
    for (int k = 0; k < EDGE * EDGE / 2; k++) {
        index[k] = 2 * k + k % 3 % 2;
        y[k] = index[k] % EDGE;
    }
    csrec_recover_options o;
    FIND(library, csrec_recover_defaults)(&o);
    o.threads = 2;
    o.backend = "cpu";
    return FIND(library, csrec_recover)(&m, &o, signal, NULL, NULL, NULL);
}

int main(int argc, char **argv) {
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "unload: %s\n", argc == 2 ? dlerror() : "name the library");
        return 2;
    }
    if (recover(library)) return 1;
    dlclose(library);
    usleep(100000);
    return dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) ? 0 : 1;
}
