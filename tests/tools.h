/* SPDX-License-Identifier: BSD-3-Clause */
/* tools.h - runs the tools in a folder of inputs made for the test. */
#pragma once

#include "check.h"

#include <dirent.h>
#include <sys/resource.h>

#define TOOL(name) "'" CSREC_TOOL_FOLDER "/" name "' "

static char folder[] = "csrec-tools-XXXXXX";

/* Runs a shell command in the test's folder; its output goes to the files out and err. $S, $R, $L
 * and $B are the tools. */
static inline int run(const char *command) {
    char line[2048];
    snprintf(line, sizeof line, "S=%s; R=%s; L=%s; B=%s; { %s ; } >out 2>err", TOOL("cssample"),
             TOOL("csrecover"), TOOL("cslearn"), TOOL("csbench"), command);
    int status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char *read_text(const char *name) {
    static char text[1 << 16];
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static inline void run_well(const char *command) {
    int code = run(command);
    if (code != 0) fail_msg("%s: exit code %d: %s", command, code, read_text("err"));
}

/* run_well of a line that is written as by printf. */
__attribute__((format(printf, 1, 2))) static inline void run_line(const char *format, ...) {
    char line[1024];
    va_list values;
    va_start(values, format);
    assert_in_range(vsnprintf(line, sizeof line, format, values), 1, sizeof line - 1);
    va_end(values);
    run_well(line);
}

/* KiB that a command needs at its most: of a process that has no other children. */
static inline int64_t peak_of(const char *command) {
    struct rusage usage;
    const pid_t child = check_fork();
    if (child == 0) {
        const int code = run(command);
        FILE *file = fopen("peak", "w");
        getrusage(RUSAGE_CHILDREN, &usage);
        fprintf(file, "%ld", usage.ru_maxrss);
        _exit(fclose(file) || code);
    }
    if (check_ended(child)) fail_msg("%s: %s", command, read_text("err"));
    return strtoll(read_text("peak"), NULL, 10);
}

static inline int files_here(void) {
    int count = 0;
    DIR *here = opendir(".");
    assert_non_null(here);
    while (readdir(here)) count++;
    closedir(here);
    return count;
}

static inline void check_one_line(const char *text) {
    const char *newline = strchr(text, '\n');
    if (!newline || newline[1]) fail_msg("not one line: %s", text);
}

/* A command that must fail: one line on stderr, nothing on stdout, no file left behind. */
static inline void check_refused(const char *command, int code) {
    int before = files_here();
    int got = run(command);
    const char *text = read_text("err");
    if (got != code) fail_msg("%s: exit code %d, not %d: %s", command, got, code, text);
    if (strncmp(text, "cs", 2) != 0) fail_msg("%s: not of a tool: %s", command, text);
    check_one_line(text);
    if (*read_text("out")) fail_msg("%s: wrote to stdout", command);
    if (files_here() != before) fail_msg("%s: left a file", command);
}

/* The same, in words that name the mistake. */
static inline void expect_mistake(const char *command, int code, const char *words) {
    check_refused(command, code);
    if (!strstr(read_text("err"), words))
        fail_msg("%s: '%s' is not in: %s", command, words, read_text("err"));
}

/* The file has these words. */
static inline void says(const char *name, const char *words) {
    if (!strstr(read_text(name), words)) fail_msg("'%s' is not in: %s", words, read_text(name));
}

/* The number behind these words. */
static inline double number_after(const char *text, const char *words) {
    const char *at = strstr(text, words);
    if (!at) fail_msg("'%s' is not in: %s", words, text);
    return strtod(at + strlen(words), NULL);
}

typedef struct mistake {
    const char *options, *words;
    int code;
} mistake;

/* `tool` followed by the options of each. */
static inline void expect_mistakes(const char *tool, const mistake *wrong, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char command[256];
        snprintf(command, sizeof command, "%s %s", tool, wrong[i].options);
        expect_mistake(command, wrong[i].code, wrong[i].words);
    }
}

/* A smooth ramp with a step, different in every channel: 0 .. 1. */
static inline double pattern_value(csrec_shape shape, int64_t flat, int64_t channel) {
    double sum = 0, inside = 1;
    for (int d = shape.dims - 1; d >= 0; d--) {
        double u = (double)(flat % shape.dim[d]) / (double)shape.dim[d];
        sum += u / shape.dims;
        inside *= u > 0.3 && u < 0.7;
        flat /= shape.dim[d];
    }
    return 0.2 + 0.5 * (channel % 2 ? 1 - sum : sum) + (inside > 0 ? 0.25 : 0.0);
}

static inline void make_picture(const char *name, int64_t height, int64_t width, int64_t channels,
                                int bits, bool transparent) {
    csrec_shape plane = {2, {height, width}}, shape = {3, {height, width, channels}};
    CLEARED(csrec_image) image = {.bits = bits};
    assert_ok(csrec_array_create(bits == 16 ? CSREC_U16 : CSREC_U8, &shape, &image.pixels));
    if (transparent) assert_non_null(image.alpha = calloc((size_t)(height * width), 1));
    for (int64_t i = 0; i < image.pixels.count; i++) {
        double white = bits == 16 ? 65535 : 255;
        double value = round(white * pattern_value(plane, i / channels, i % channels));
        csrec_array_set(&image.pixels, i, value);
        if (transparent) image.alpha[i / channels] = i / channels % 3 != 0;
    }
    assert_ok(csrec_image_write(name, &image, NULL));
}

/* Discs on a ramp, and some noise. */
static inline void make_random_picture(const char *name, int64_t height, int64_t width,
                                       int64_t channels, uint64_t *seed) {
    CLEARED(csrec_image) image = {.bits = 8};
    csrec_shape shape = {3, {height, width, channels}};
    double disc[6][4];
    assert_ok(csrec_array_create(CSREC_U8, &shape, &image.pixels));
    for (int k = 0; k < 6; k++)
        for (int i = 0; i < 4; i++) disc[k][i] = check_uniform(seed);
    for (int64_t i = 0; i < image.pixels.count; i++) {
        double u = (double)(i / channels / width) / (double)height;
        double v = (double)(i / channels % width) / (double)width, value = 60 + 100 * u;
        for (int k = 0; k < 6; k++)
            if (hypot(u - disc[k][0], v - disc[k][1]) < 0.3 * disc[k][2])
                value = 250 * disc[k][3] / (double)(1 + i % channels);
        value = round(value + 3 * check_normal(seed));
        ((uint8_t *)image.pixels.data)[i] = (uint8_t)fmin(fmax(value, 0), 255);
    }
    assert_ok(csrec_image_write(name, &image, NULL));
}

static inline void make_array(const char *name, csrec_shape shape, csrec_dtype dtype) {
    CLEARED(csrec_array) array = {0};
    assert_ok(csrec_array_create(dtype, &shape, &array));
    for (int64_t i = 0; i < array.count; i++) {
        const double value = pattern_value(shape, i, 0);
        csrec_array_set(&array, i, dtype == CSREC_F32 ? value : trunc(1000.0 * value));
    }
    assert_ok(csrec_array_write(name, &array, NULL));
}

static inline csrec_array read_values(const char *name) {
    csrec_array array = {0};
    csrec_image image = {0};
    if (strstr(name, ".npy")) {
        assert_ok(csrec_array_read(name, &array, NULL));
        return array;
    }
    assert_ok(csrec_image_read(name, &image, NULL));
    free(image.alpha);
    return image.pixels;
}

/* Mean squared difference of two files' values; NULL or the variance of the first's. */
static inline double mean_square(const char *a, const char *b, double *variance) {
    CLEARED(csrec_array) x = read_values(a), y = read_values(b);
    double sum = 0, squares = 0, difference = 0, n = (double)x.count;
    assert_int_equal(x.count, y.count);
    for (int64_t i = 0; i < x.count; i++) {
        double u = csrec_array_value(&x, i), v = csrec_array_value(&y, i);
        difference += (u - v) * (u - v) / n;
        sum += u;
        squares += u * u;
    }
    if (variance) *variance = squares / n - sum / n * (sum / n);
    return difference;
}

/* The difference is less than this share of the variance, after a command or what `text` says. */
static inline void expect_like(const char *a, const char *b, double share, const char *text) {
    double variance, difference = mean_square(a, b, &variance);
    if (!(difference < share * variance))
        fail_msg("%s: %s is off by %g of %g", text, b, difference, variance);
}

static inline int make_inputs(void **state) {
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    make_picture("gray.png", 61, 83, 1, 8, false);
    make_picture("rgb.png", 40, 50, 3, 8, false);
    make_picture("deep.png", 40, 50, 1, 16, false);
    make_picture("holes.png", 40, 50, 3, 8, true);
    make_array("line.npy", (csrec_shape){1, {3000}}, CSREC_I32);
    make_array("volume.npy", (csrec_shape){3, {17, 12, 20}}, CSREC_F32);
    make_array("planes.npy", (csrec_shape){3, {40, 50, 2}}, CSREC_F32);
    return 0;
}

static inline int remove_inputs(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("..") || system(command);
}
