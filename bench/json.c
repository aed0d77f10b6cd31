/* json.c - writes JSON to a temporary name, renamed when complete; ends the program on failure. */
#include <math.h>
#include <stdlib.h>

#include "bench.h"

void bench_fail(const char *what, const char *text) {
    fprintf(stderr, "bench: %s: %s\n", what, text);
    exit(1);
}

void bench_check(csrec_status status, const char *what) {
    if (status) bench_fail(what, csrec_status_text(status));
}

void *bench_allocate(int64_t count, size_t size) {
    void *p = calloc((size_t)count, size);
    if (!p) bench_fail("memory", "out of memory");
    return p;
}

static void temporary(const char *path, char *name, size_t size) {
    if (snprintf(name, size, "%s.part", path) >= (int)size) bench_fail(path, "name too long");
}

bench_json bench_json_open(const char *path) {
    char name[4096];
    temporary(path, name, sizeof name);
    bench_json json = {fopen(name, "w"), path, 0, false};
    if (!json.file) bench_fail(name, "cannot be written");
    bench_json_begin(&json, NULL, '{');
    bench_machine(&json);
    return json;
}

void bench_json_close(bench_json *json) {
    char name[4096];
    bench_json_end(json, '}');
    fputc('\n', json->file);
    temporary(json->path, name, sizeof name);
    bool failed = ferror(json->file) != 0;
    if (fclose(json->file) || failed || rename(name, json->path)) {
        remove(name);
        bench_fail(json->path, "cannot be written");
    }
    printf("written: %s\n", json->path);
}

static void text(FILE *file, const char *s) {
    fputc('"', file);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') fputc('\\', file);
        if (c >= 32) fputc(c, file);
    }
    fputc('"', file);
}

static void field(bench_json *json, const char *name) {
    if (json->comma) fputc(',', json->file);
    if (json->depth > 0 && json->depth <= 2) fprintf(json->file, "\n%*s", json->depth, "");
    json->comma = true;
    if (!name) return;
    text(json->file, name);
    fputs(": ", json->file);
}

void bench_json_begin(bench_json *json, const char *name, char bracket) {
    field(json, name);
    fputc(bracket, json->file);
    json->depth++;
    json->comma = false;
}

void bench_json_end(bench_json *json, char bracket) {
    json->depth--;
    if (json->depth <= 1) fprintf(json->file, "\n%*s", json->depth, "");
    fputc(bracket, json->file);
    json->comma = true;
}

void bench_json_text(bench_json *json, const char *name, const char *value) {
    field(json, name);
    text(json->file, value);
}

void bench_json_number(bench_json *json, const char *name, double value) {
    field(json, name);
    if (isfinite(value))
        fprintf(json->file, "%.6g", value);
    else
        fputs("null", json->file);
}

void bench_json_integer(bench_json *json, const char *name, int64_t value) {
    field(json, name);
    fprintf(json->file, "%lld", (long long)value);
}

void bench_json_bool(bench_json *json, const char *name, bool value) {
    field(json, name);
    fputs(value ? "true" : "false", json->file);
}
