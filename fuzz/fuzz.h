/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz.h - what the fuzz targets and their mutators share. */
#ifndef CSREC_FUZZ_FUZZ_H
#define CSREC_FUZZ_FUZZ_H

#include <stdlib.h>
#include <string.h>

#include "csrec.h"
#include "files/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ------------------------------------------------------------------ common.c: numbers, files ----
 */

/* Doubles at which arithmetic changes its behaviour: 0, subnormal, beyond a float, with a square
 * beyond a double, beyond exact integers, not finite. The first FUZZ_FINITE are finite. */
enum { FUZZ_NUMBERS = 44, FUZZ_FINITE = 41 };
extern const double fuzz_numbers[FUZZ_NUMBERS];

/* Bytes that decide, each once; past the end every decision is 0. */
typedef struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
} fuzz_bytes;

unsigned fuzz_below(fuzz_bytes *bytes, unsigned n);
double fuzz_number(fuzz_bytes *bytes);

/* The name of a file that holds the bytes. There are two, which take turns. */
const char *fuzz_path(const void *data, size_t size);

/* Whether the array "shape" of a .npz has more entries. Poisson-disc sampling takes time and memory
 * with the signal's entries, not with the file's bytes, as it must; a fuzzer has no use for that.
 */
bool fuzz_shape_exceeds(const char *path, double most);

/* The bytes of the member "options" of an archive, none where it has none; they live until the next
 * call. */
fuzz_bytes fuzz_options(const uint8_t *data, size_t size);

/* Abort unless the values are finite; the refusal is one line of text. */
void fuzz_check_finite(int64_t n, const double *values);
void fuzz_check_refusal(csrec_status status, const csrec_error *error);

/* Reads the bytes as a signal of that format, checks it, and writes it again with its metadata.
 * Returns the bytes of its values, 0 if it is refused. */
uint64_t fuzz_signal(const csrec_format_row *row, const uint8_t *data, size_t size);
/* Reads the bytes as a measurement, of any format, and checks it. */
void fuzz_measurement(const uint8_t *data, size_t size);

/* Time that one execution may take until it must hear a request to stop. */
#define FUZZ_SECONDS 0.1

/* A progress function, whose context is a fuzz_watch: asks to stop at its call number `calls`
 * (0: never), or when the time is over. */
typedef struct fuzz_watch {
    int64_t calls, seen;
    double start;
} fuzz_watch;

fuzz_watch fuzz_watch_begin(int64_t calls);
bool fuzz_watch_stops(const csrec_progress *progress, void *watch);

/* ------------------------------------------------------------------ choice.c: options -----------
 */

enum { FUZZ_SETTINGS = 4 };

/* Options for csrec_recover, and what is asked of it. Not to be copied: options point inside. */
typedef struct fuzz_choice {
    csrec_recover_options options;
    csrec_setting settings[FUZZ_SETTINGS];
    fuzz_watch watch;
    bool atoms, no_signal, history, truth;
} fuzz_choice;

/* The bytes are, in this order: preset, basis, solver (0: not named, else a number in the library's
 * table + 1), shifts, order, columns, atoms wanted, history wanted, then stopping rules, settings
 * and the rest. Methods come from the library's tables, so that a new one is tried too. */
void fuzz_choose(fuzz_bytes *bytes, const csrec_measurement *measurement, fuzz_choice *choice);

/* Recovers and aborts unless all results are finite, or the refusal is one line. model: or NULL. */
void fuzz_recover(const csrec_measurement *measurement, const csrec_model *model,
                  fuzz_choice *choice);

/* ------------------------------------------------------------------ archive.c: zip archives -----
 */

enum { FUZZ_MEMBERS = 24, FUZZ_NAME = 32 };

typedef struct fuzz_member {
    char name[FUZZ_NAME];
    uint8_t *data;
    size_t size;
} fuzz_member;

typedef struct fuzz_archive {
    int n;
    fuzz_member member[FUZZ_MEMBERS];
} fuzz_archive;

/* All members of a zip archive of at most 1 MiB, unpacked; false where it is none. */
bool fuzz_archive_read(const uint8_t *data, size_t size, fuzz_archive *archive);
/* The archive with members stored and right checksums. Returns its size, 0 where it does not fit.
 */
size_t fuzz_archive_write(const fuzz_archive *archive, uint8_t *data, size_t room);
void fuzz_archive_clear(fuzz_archive *archive);
fuzz_member *fuzz_archive_find(fuzz_archive *archive, const char *name);
void fuzz_member_set(fuzz_member *member, const void *data, size_t size);
/* The member becomes the .npy of these values. */
void fuzz_member_array(fuzz_member *member, csrec_dtype dtype, csrec_shape shape,
                       const void *values);

/* ------------------------------------------------------------------ mutators --------------------
 */

/* Of libFuzzer; both only in the targets that it runs. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t room, unsigned seed);

/* Random numbers of a mutator (splitmix64). */
uint64_t fuzz_random(uint64_t *state);
size_t fuzz_random_below(uint64_t *state, size_t n);

/* mutate_npy.c: changes the header or the values of .npy bytes, or any bytes of them. */
void fuzz_mutate_npy(fuzz_member *member, uint64_t *state);
/* As .npy bytes with another shape, values repeated or cut; no change where it is no array. */
void fuzz_reshape_npy(fuzz_member *member, csrec_shape shape);

#endif
