/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c - a user's program: built against an installed libcsrec by tests/install/run.sh. */
#include <csrec.h>

#include <stdio.h>

/* Reading a measurement draws libzip, zlib and libpng into the static program. */
int main(void) {
    csrec_measurement scan;
    csrec_error error;
    if (csrec_measurement_read("no-such-file.npz", NULL, &scan, &error) != CSREC_FILE) return 1;
    printf("%s\n", csrec_version());
    return 0;
}
