/* SPDX-License-Identifier: BSD-3-Clause */
/* replay.c - runs a fuzz target on files, without libFuzzer: replay_TARGET FILE... */
#include <stdio.h>

#include "fuzz.h"

static bool replay(const char *path) {
    uint8_t *data = NULL;
    size_t size = 0, got = 0;
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    do {
        uint8_t *grown = realloc(data, size + (1 << 16));
        if (!grown) abort();
        data = grown;
        got = fread(data + size, 1, 1 << 16, file);
        size += got;
    } while (got > 0);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return true;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (!replay(argv[i])) {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 1;
        }
    return 0;
}
