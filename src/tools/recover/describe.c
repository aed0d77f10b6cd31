/* SPDX-License-Identifier: BSD-3-Clause */
/* describe.c - describes a measurement file as text or JSON. */
#include "recover.h"

#include <math.h>

#include "tools/common/input.h"

typedef struct {
    int64_t entries;
    double least, most, mean;
} summary;

static summary summarize(const csrec_measurement *measurement) {
    summary s = {.entries = cli_entries(measurement)};
    int64_t count = csrec_measurement_values(measurement), known = 0;
    cli_range_of(count, measurement->y, &s.least, &s.most);
    for (int64_t i = 0; i < count; i++) known += !isnan(measurement->y[i]);
    for (int64_t i = 0; i < count; i++)
        if (!isnan(measurement->y[i])) s.mean += measurement->y[i] / (double)known;
    return s;
}

const char *cli_dtype_name(int i) {
    static const char *const names[] = {"bool",  "uint8",  "int8",  "uint16",  "int16",  "uint32",
                                        "int32", "uint64", "int64", "float32", "float64"};
    return i < (int)(sizeof names / sizeof *names) ? names[i] : NULL;
}

static const char *dtype_name(const csrec_measurement *m) {
    if (m->is_complex) return m->dtype == CSREC_F32 ? "complex64" : "complex128";
    return cli_dtype_name((int)m->dtype);
}

/* Name and estimate of preset i; NULL past the end. */
static const char *preset_estimate(const csrec_measurement *m, int i, csrec_estimate *e) {
    csrec_recover_options options;
    csrec_plan plan;
    const char *name = csrec_recover_preset(i, m, &options);
    options.backend = "cpu";
    if (!name || csrec_recover_plan(m, &options, false, &plan, NULL)) return NULL;
    *e = plan.estimate;
    return name;
}

void cli_describe_json(const csrec_measurement *m, cli_json *json) {
    summary s = summarize(m);
    bool drawn = m->pattern != CSREC_PATTERN_NONE;
    cli_json_integers(json, "shape", m->shape.dims, m->shape.dim);
    cli_json_integer(json, "entries", s.entries);
    cli_json_integer(json, "samples", m->n);
    cli_json_real(json, "rate", (double)m->n / (double)s.entries);
    cli_json_integer(json, "channels", m->channels);
    cli_json_text(json, "dtype", dtype_name(m));
    if (m->through) cli_json_text(json, "operator", m->through->name);
    cli_json_text(json, "pattern", drawn ? csrec_pattern_name(m->pattern) : NULL);
    if (drawn) cli_json_unsigned(json, "seed", m->seed);
    cli_json_real(json, "min", s.least);
    cli_json_real(json, "max", s.most);
    cli_json_real(json, "mean", s.mean);
    cli_json_real(json, "sigma", m->sigma);
    if (m->scale[0] != m->scale[1]) cli_json_reals(json, "scale", 2, m->scale);
    csrec_estimate e;
    const char *name;
    cli_json_begin(json, "estimates");
    for (int i = 0; (name = preset_estimate(m, i, &e)); i++) {
        cli_json_begin(json, name);
        cli_json_unsigned(json, "bytes", e.bytes);
        cli_json_real(json, "seconds", e.seconds);
        cli_json_integer(json, "tiles", e.tiles);
        cli_json_end(json);
    }
    cli_json_end(json);
}

bool cli_describe(const char *path, const csrec_measurement *m) {
    summary s = summarize(m);
    char shape[192];
    printf("file      %s\n", path);
    printf("shape     %s (%lld entries)\n", cli_shape_text(&m->shape, shape), (long long)s.entries);
    printf("%s   %lld (%.4g %%)\n", m->through ? "rows   " : "samples", (long long)m->n,
           100.0 * (double)m->n / (double)s.entries);
    printf("channels  %lld\n", (long long)m->channels);
    printf("dtype     %s\n", dtype_name(m));
    if (m->through)
        printf("operator  %s%s%s%s%s%s%s\n", m->through->name, m->through->ordering ? ", " : "",
               m->through->ordering ? m->through->ordering : "",
               m->through->scrambled ? ", scrambled" : "", m->through->centred ? ", centred" : "",
               m->through->norm ? ", " : "", m->through->norm ? m->through->norm : "");
    else if (m->pattern == CSREC_PATTERN_NONE)
        printf("pattern   explicit positions\n");
    else
        printf("pattern   %s, seed %llu\n", csrec_pattern_name(m->pattern),
               (unsigned long long)m->seed);
    printf("values    %g to %g, mean %g\n", s.least, s.most, s.mean);
    if (m->sigma > 0.0)
        printf("sigma     %g\n", m->sigma);
    else
        printf("sigma     not given\n");
    if (m->scale[0] != m->scale[1])
        printf("scale     %g to %g\n", m->scale[0], m->scale[1]);
    else
        printf("scale     not given\n");
    csrec_estimate e;
    const char *name;
    for (int i = 0; (name = preset_estimate(m, i, &e)); i++)
        printf("%-9s about %.3g s and %.1f MiB%s\n", name, e.seconds, (double)e.bytes / 1048576.0,
               e.bytes > e.memory ? ", more than is available"
               : e.tiles > 1      ? ", in tiles"
                                  : "");
    return fflush(stdout) == 0 && !ferror(stdout);
}
