/* SPDX-License-Identifier: BSD-3-Clause */
/* report.c - tells what cssample wrote, on stderr and as JSON. */
#include "sample.h"

static int report_json(const cli_tool *tool, const cli_sample_arguments *a,
                       const cli_signal *signal, const csrec_measurement *measurement,
                       const char *how, double min_distance) {
    int64_t entries = 0;
    cli_json json;
    csrec_shape_count(&measurement->shape, &entries);
    cli_json_open(&json, stdout);
    cli_json_text(&json, "input", a->input);
    cli_json_text(&json, "output", a->output);
    cli_json_text(&json, "mask", a->mask_out);
    cli_json_integers(&json, "shape", measurement->shape.dims, measurement->shape.dim);
    cli_json_integer(&json, "entries", entries);
    cli_json_integer(&json, "channels", signal->channels);
    cli_json_integer(&json, "samples", measurement->n);
    cli_guides_json(measurement, &json);
    cli_json_integer(&json, "asked", measurement->count);
    cli_json_real(&json, "rate", (double)measurement->n / (double)entries);
    cli_json_text(&json, a->through < 0 ? "pattern" : "operator", how);
    cli_json_unsigned(&json, "seed", a->seed);
    cli_json_real(&json, "min_distance", min_distance);
    cli_json_real(&json, "sigma", measurement->sigma);
    if (signal->bits) cli_json_reals(&json, "scale", 2, measurement->scale);
    cli_json_flag(&json, "procedural", a->procedural);
    return cli_json_close(&json) ? CLI_DONE : cli_stdout_failed(tool);
}

int cli_sample_report(const cli_tool *tool, const cli_sample_arguments *a, const cli_signal *signal,
                      const csrec_measurement *measurement, const char *how, double min_distance) {
    char shape[192], distance[64] = "";
    int64_t entries = 0;
    csrec_shape_count(&measurement->shape, &entries);
    const char *what = a->through >= 0 ? "rows" : "positions";
    if (min_distance > 0.0)
        snprintf(distance, sizeof distance, ", at least %.4g apart", min_distance);
    if (!a->verbose && !a->quiet && !a->json)
        cli_note(tool, "%s -> %s: %lld of %lld %s (%.3g %%), %s", a->input,
                 !a->output               ? a->mask_out
                 : cli_is_dash(a->output) ? "stdout"
                                          : a->output,
                 (long long)measurement->n, (long long)entries, what,
                 100.0 * (double)measurement->n / (double)entries, how);
    if (a->verbose)
        cli_note(tool, "%s: %s%s, %lld channels, %lld of %lld %s (%.4g %%), %s, seed %llu%s",
                 a->input, cli_shape_text(&measurement->shape, shape),
                 signal->palette ? ", palette" : "", (long long)signal->channels,
                 (long long)measurement->n, (long long)entries, what,
                 100.0 * (double)measurement->n / (double)entries, how, (unsigned long long)a->seed,
                 distance);
    return a->json ? report_json(tool, a, signal, measurement, how, min_distance) : CLI_DONE;
}
