/* common.c - numbers, files in memory, and what every result must be. */
#define _GNU_SOURCE /* memfd_create */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"
#include "files/measurement.h"

const double fuzz_numbers[FUZZ_NUMBERS] = {
    0.0,     -0.0,    1.0,    -1.0,    0.5,     2.0,      255.0,     256.0,  1e-3,
    5e-324,  -5e-324, 1e-310, DBL_MIN, 1e-300,  1e-162,   1e-155,    1e-100, 1e-45,
    FLT_MIN, 1e-38,   1e-30,  1e-9,    1e9,     0x1p31,   0x1p32,    0x1p53, 0x1p53 + 2,
    0x1p62,  0x1p63,  1e19,   1e30,    1e38,    FLT_MAX,  3.5e38,    1e100,  1e154,
    1.4e154, 1e200,   1e300,  1e308,   DBL_MAX, INFINITY, -INFINITY, NAN};

unsigned fuzz_below(fuzz_bytes *bytes, unsigned n) {
    if (!bytes->left) return 0;
    bytes->left--;
    return *bytes->at++ % n;
}

double fuzz_number(fuzz_bytes *bytes) {
    unsigned choice = fuzz_below(bytes, 256);
    return choice < FUZZ_NUMBERS ? fuzz_numbers[choice] : ldexp(choice - 150.0, choice % 5 * 3 - 7);
}

const char *fuzz_path(const void *data, size_t size) {
    static int file[2], turn;
    static char name[2][32];
    turn = !turn;
    if (!*name[turn]) {
        file[turn] = memfd_create("fuzz", 0);
        if (file[turn] < 0) abort();
        snprintf(name[turn], sizeof name[turn], "/proc/self/fd/%d", file[turn]);
    }
    if (ftruncate(file[turn], 0) || pwrite(file[turn], data, size, 0) != (ssize_t)size) abort();
    return name[turn];
}

bool fuzz_shape_exceeds(const char *path, double most) {
    csrec_array shape;
    double entries = 1;
    if (csrec_npz_read(path, "shape", &shape, NULL)) return false;
    for (int64_t d = 0; d < shape.count; d++) entries *= csrec_array_value(&shape, d);
    csrec_array_clear(&shape);
    return !(entries <= most);
}

fuzz_bytes fuzz_options(const uint8_t *data, size_t size) {
    static uint8_t kept[256];
    fuzz_archive archive;
    fuzz_bytes bytes = {kept, 0};
    if (!fuzz_archive_read(data, size, &archive)) return bytes;
    const fuzz_member *member = fuzz_archive_find(&archive, "options");
    if (member) bytes.left = member->size < sizeof kept ? member->size : sizeof kept;
    if (bytes.left) memcpy(kept, member->data, bytes.left);
    fuzz_archive_clear(&archive);
    return bytes;
}

void fuzz_check_finite(int64_t n, const double *values) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(values[i])) {
            fprintf(stderr, "value %lld is %g\n", (long long)i, values[i]);
            abort();
        }
}

void fuzz_check_refusal(csrec_status status, const csrec_error *error) {
    size_t length = strnlen(error->text, sizeof error->text);
    if (length > 0 && length < sizeof error->text && !strchr(error->text, '\n')) return;
    fprintf(stderr, "status %d (%s): not one line: '%.*s'\n", (int)status,
            csrec_status_text(status), (int)length, error->text);
    abort();
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

fuzz_watch fuzz_watch_begin(int64_t calls) {
    return (fuzz_watch){.calls = calls, .start = seconds()};
}

bool fuzz_watch_stops(const csrec_progress *progress, void *context) {
    fuzz_watch *watch = context;
    if (!progress->stage || isnan(progress->residual)) abort();
    return ++watch->seen == watch->calls || seconds() - watch->start > FUZZ_SECONDS;
}

uint64_t fuzz_random(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

size_t fuzz_random_below(uint64_t *state, size_t n) {
    return n ? (size_t)(fuzz_random(state) % n) : 0;
}

static void write_again(const csrec_format_row *row, const csrec_image *image, const char *like) {
    csrec_image plain = *image;
    csrec_files *files = NULL;
    csrec_error error = {""};
    plain.alpha = NULL;
    if (csrec_files_create(NULL, &files, &error)) return;
    csrec_status status =
        csrec_files_add_signal(files, "/dev/null", &row->format, &plain, like, &error);
    if (status) fuzz_check_refusal(status, &error);
    csrec_files_destroy(files);
}

uint64_t fuzz_signal(const csrec_format_row *row, const uint8_t *data, size_t size) {
    csrec_input input = csrec_input_memory(data, size, "fuzz");
    csrec_image image = {0};
    csrec_error error = {""};
    const char *path = fuzz_path(data, size);
    csrec_status status = row->signal(&input, &image, &error);
    csrec_input_close(&input);
    if (status) {
        fuzz_check_refusal(status, &error);
        return 0;
    }
    csrec_shape shape;
    int64_t count, channels, entries;
    if (csrec_shape_count(&image.pixels.shape, &count) || count != image.pixels.count) abort();
    if (csrec_image_split(&image, false, "fuzz", &shape, &channels, &error)) abort();
    entries = count / channels;
    for (int64_t i = 0; image.alpha && i < entries; i++)
        if (image.alpha[i] > 1) abort();
    write_again(row, &image, path);
    uint64_t bytes = (uint64_t)count * csrec_dtype_size(image.pixels.dtype);
    csrec_image_clear(&image);
    return bytes;
}

void fuzz_measurement(const uint8_t *data, size_t size) {
    csrec_error error = {""};
    csrec_measurement measurement;
    csrec_input input = csrec_input_memory(data, size, "fuzz");
    csrec_status status = csrec_measurement_parse(&input, NULL, &measurement, &error);
    if (status) {
        fuzz_check_refusal(status, &error);
    } else {
        /* What was read passes the checks, whatever the bytes were. */
        if (csrec_measurement_check(&measurement, "fuzz", &error) != CSREC_OK) abort();
        csrec_measurement_clear(&measurement);
    }
    csrec_input_close(&input);
}
