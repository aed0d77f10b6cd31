/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.c - names the machine that figures come from. */
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "haar/eager.h"

#if defined(__clang__)
#define COMPILER __VERSION__
#elif defined(__GNUC__)
#define COMPILER "GCC " __VERSION__
#else
#define COMPILER "unknown"
#endif

static void cpu_model(char *model, size_t size) {
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[512];
    snprintf(model, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        colon[strcspn(colon, "\n")] = 0;
        snprintf(model, size, "%s", colon + 2);
        break;
    }
    if (file) fclose(file);
}

const char *bench_instructions(void) {
#if defined(__x86_64__)
    if (csrec_eager_simd_choose() == &csrec_eager_avx512) return "avx512";
    if (csrec_eager_simd_choose() == &csrec_eager_avx2) return "avx2";
#endif
    return "generic";
}

int bench_cores(void) {
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static double memory_gib(void) {
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGE_SIZE) / 1073741824.0;
}

static void date(char *text, size_t size) {
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(text, size, "%Y-%m-%d", &utc);
}

void bench_machine(bench_json *json) {
    char model[256], day[32];
    cpu_model(model, sizeof model);
    date(day, sizeof day);
    bench_json_begin(json, "machine", '{');
    bench_json_text(json, "cpu", model);
    bench_json_numbers(json, "cores memory_gib", (double[]){bench_cores(), memory_gib()});
    bench_json_text(json, "instructions", bench_instructions());
    bench_json_text(json, "compiler", COMPILER);
    bench_json_text(json, "version", csrec_version());
    bench_json_text(json, "date", day);
    bench_json_end(json, '}');
}
