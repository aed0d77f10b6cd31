/* SPDX-License-Identifier: BSD-3-Clause */
/* check.c - checks of the command line alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recover.h"

static int check_stdout(cli_request *request) {
    const cli_recover_arguments *a = &request->a;
    request->format = a->format >= 0 ? cli_format_with(CSREC_USE_WRITE, (int)a->format)
                                     : cli_format_with(CSREC_USE_ROWS, 0);
    if (a->json)
        return cli_usage(request->tool, "--json and -o - both write to stdout; write to a file");
    return cli_stdout_check(request->tool);
}

static int check_output_name(cli_request *request) {
    const cli_recover_arguments *a = &request->a;
    if (cli_is_dash(a->output)) return check_stdout(request);
    request->folder = a->output && cli_is_folder(a->output);
    if (request->folder) {
        if (a->format >= 0) request->format = cli_format_with(CSREC_USE_WRITE, (int)a->format);
        return CLI_CONTINUE;
    }
    if (a->format >= 0)
        return cli_usage(request->tool,
                         "--format is for -o - and for folders only; other names have an ending");
    if (a->output) request->format = csrec_format_of(a->output);
    if (a->output && !cli_format_has(request->format, CSREC_USE_WRITE | CSREC_USE_NAMED))
        return cli_ending_refuse(request->tool, "--output", a->output,
                                 CSREC_USE_WRITE | CSREC_USE_NAMED, ", a folder, or - for stdout");
    return a->output ? cli_output_check(request->tool, a->output) : CLI_CONTINUE;
}

/* A file of one of these endings or of a format with the use, or a folder. */
static int check_illustration(const cli_request *request, const char *option, const char *path,
                              const char *const endings[2], int use, bool *folder) {
    const char *dot = path ? strrchr(path, '.') : NULL;
    char list[128] = "";
    if (!path) return CLI_CONTINUE;
    *folder = cli_is_folder(path);
    if (*folder) return CLI_CONTINUE;
    if (cli_recoveries(&request->a) > 1 || request->frames)
        return cli_usage(request->tool, "%d inputs need a folder, %s FOLDER/, not %s",
                         request->a.inputs.n, option, path);
    for (int i = 0; i < 2 && dot && endings[i]; i++)
        if (strcmp(dot, endings[i]) == 0) return cli_output_check(request->tool, path);
    if (cli_format_has(csrec_format_of(path), use)) return cli_output_check(request->tool, path);
    return cli_usage(request->tool, "%s %s: name a %s%s%s, or a folder", option, path,
                     endings[0] ? endings[0] : "", endings[0] ? " or " : "",
                     endings[1] ? endings[1]
                                : csrec_format_list(use, false, "or", list, sizeof list));
}

static int check_illustrations(cli_request *request) {
    static const char *const page[2] = {".html", ".htm"}, *const plot[2] = {".svg", NULL},
                             *const map[2] = {NULL, NULL};
    const cli_recover_arguments *a = &request->a;
    if (a->history && !a->json)
        return cli_usage(request->tool, "--history adds to --json; give --json, too");
    if (a->interval > 0.0 && !a->uncertainty)
        return cli_usage(request->tool, "--interval is of --uncertainty FILE; give it, too");
    int code = check_illustration(request, "--report", a->report, page, 0, &request->page_folder);
    if (code == CLI_CONTINUE)
        code = check_illustration(request, "--plot", a->plot, plot, CSREC_USE_PICTURE,
                                  &request->plot_folder);
    return code == CLI_CONTINUE ? check_illustration(request, "--uncertainty", a->uncertainty, map,
                                                     CSREC_USE_WRITE, &request->map_folder)
                                : code;
}

/* Whether the signal has two values, as a mask. */
static bool has_two_values(const cli_signal *signal) {
    const double first = csrec_array_value(&signal->values, 0);
    double second = first;
    for (int64_t i = 1; i < signal->values.count; i++) {
        const double value = csrec_array_value(&signal->values, i);
        if (second == first) second = value;
        if (value != first && value != second) return false;
    }
    return second != first;
}

/* Of two inputs of the same extents the one that is a mask by its values; NULL: none is. */
static const char *mask_among(const cli_operands *inputs) {
    const csrec_read_options axes = {.volume = true};
    cli_signal read[2] = {{.entries = 0}, {.entries = 0}};
    const char *mask = NULL;
    if (inputs->n == 2 && !cli_signal_read(inputs->text[0], &axes, &read[0], NULL) &&
        !cli_signal_read(inputs->text[1], &axes, &read[1], NULL) &&
        csrec_shape_equal(&read[0].shape, &read[1].shape))
        for (int i = 0; i < 2; i++)
            if (has_two_values(&read[i])) mask = inputs->text[i];
    for (int i = 0; i < 2; i++) cli_signal_clear(&read[i]);
    return mask;
}

/* Options for a single input. */
static int check_batch(const cli_request *request) {
    const cli_recover_arguments *a = &request->a;
    if (a->resume && (!a->output || cli_is_dash(a->output)))
        return cli_usage(request->tool, "--resume needs the files of --output; give -o");
    if (a->merge && a->inputs.n == 1)
        return cli_usage(request->tool, "--merge joins several inputs; give two or more");
    if (a->inputs.n == 1 && !request->frames) return CLI_CONTINUE;
    for (int i = 0; i < a->inputs.n; i++)
        if (cli_is_dash(a->inputs.text[i]))
            return cli_usage(request->tool, "- (stdin) must be the only input; save it to a file");
    if (a->merge) return CLI_CONTINUE;
    const char *mask = a->output && !request->folder ? mask_among(&a->inputs) : NULL;
    if (mask)
        return cli_usage(request->tool,
                         "2 inputs need a folder, -o FOLDER/; is %s a mask? --mask %s", mask, mask);
    const char *last = a->inputs.text[a->inputs.n - 1], *dot = strrchr(last, '.');
    if (a->json && dot && strcmp(dot, ".json") == 0)
        return cli_usage(request->tool,
                         "%s: is no input; --json writes to standard output: --json > %s", last,
                         last);
    if (a->output && !request->folder)
        return cli_usage(request->tool,
                         "%d inputs need a folder for their outputs, -o FOLDER/, not %s",
                         a->inputs.n, a->output);
    if (a->coefficients)
        return cli_usage(request->tool, "--coefficients needs one input, not %d", a->inputs.n);
    return CLI_CONTINUE;
}

static int check_coefficients_name(const cli_request *request) {
    const cli_recover_arguments *a = &request->a;
    if (!a->coefficients) return CLI_CONTINUE;
    if (cli_is_dash(a->coefficients) ||
        !cli_format_has(csrec_format_of(a->coefficients), CSREC_USE_ARRAYS))
        return cli_ending_refuse(request->tool, "--coefficients", a->coefficients, CSREC_USE_ARRAYS,
                                 "");
    if (a->shifts > 1)
        return cli_usage(request->tool, "--coefficients needs a single grid; give --shifts 1");
    return cli_output_check(request->tool, a->coefficients);
}

static int check_scale(cli_request *request) {
    char rest;
    const double *scale = request->scale;
    if (!request->a.scale) return CLI_CONTINUE;
    if (sscanf(request->a.scale, "%lf,%lf%c", &request->scale[0], &request->scale[1], &rest) == 2 &&
        isfinite(scale[0]) && isfinite(scale[1]) && scale[0] != scale[1])
        return CLI_CONTINUE;
    return cli_usage(request->tool, "--scale: '%s' is not two different numbers LOW,HIGH",
                     request->a.scale);
}

/* "LOW,HIGH", "LOW," or ",HIGH". */
static int check_range(cli_request *request) {
    const char *at = request->a.range;
    double *range = request->range;
    range[0] = range[1] = NAN;
    for (int i = 0; i < 2 && at; i++) {
        char *end;
        const double value = strtod(at, &end);
        if (end != at) range[i] = value;
        at = *end == (i ? '\0' : ',') && !(end != at && isnan(value)) ? end + 1 : NULL;
    }
    if (!request->a.range || (at && (range[0] < range[1] || isnan(range[0]) != isnan(range[1]))))
        return CLI_CONTINUE;
    return cli_usage(request->tool, "--range: '%s' is not LOW,HIGH of which one may be left out",
                     request->a.range);
}

/* "H,W" or "HxW": an extent for each axis. */
static int check_grid(cli_request *request) {
    const char *at = request->a.grid;
    csrec_shape *grid = &request->grid;
    int64_t entries;
    while (at && grid->dims < CSREC_DIMS_MAX) {
        char *end;
        long long extent = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : 0;
        if (extent < 1) break;
        grid->dim[grid->dims++] = extent;
        at = *end && strchr(",x", *end) ? end + 1 : NULL;
        if (!at && *end) break;
        if (!at && csrec_shape_count(grid, &entries) == CSREC_OK) return CLI_CONTINUE;
    }
    if (!request->a.grid) return CLI_CONTINUE;
    return cli_usage(request->tool, "--grid: '%s' is no list of extents H,W, at least 1 each",
                     request->a.grid);
}

/* What has no meaning for classes, and what the library does not refuse. */
static int check_labels(const cli_request *request) {
    const cli_recover_arguments *a = &request->a;
    const bool vain = a->robust || a->merge || a->uncertainty || a->scale || a->colormap >= 0;
    if (!a->labels || !vain) return CLI_CONTINUE;
    return cli_usage(request->tool, "--robust, --merge, --uncertainty, --scale and --colormap are "
                                    "for quantities, not for classes; omit them, or --labels");
}

int cli_request_check(cli_request *request) {
    const cli_recover_arguments *a = &request->a;
    bool results =
        a->output || a->coefficients || a->reference || a->report || a->plot || a->uncertainty;
    if (a->channels_last + a->channels_first + a->volume > 1)
        return cli_usage(request->tool, CLI_AXES_REFUSAL);
    if (a->info && (results || a->sigma || a->robust))
        return cli_usage(request->tool, "--info only describes; omit options of a recovery");
    const bool idle = !a->info && !results && !a->json;
    if (idle && cli_output_meant(request->tool, &a->inputs, CSREC_USE_WRITE | CSREC_USE_NAMED) !=
                    CLI_CONTINUE)
        return CLI_USAGE;
    if (idle)
        return cli_usage(request->tool,
                         "nothing to do: give -o OUT, --coefficients, --reference, --report, "
                         "--plot, --uncertainty, --json or --info");
    if (a->bits != 0 && a->bits != 8 && a->bits != 16)
        return cli_usage(request->tool, "--bits: %lld is neither 8 nor 16", (long long)a->bits);
    if (a->bits == 16 && a->colormap >= 0)
        return cli_usage(request->tool, "--colormap: colours have 8 bits; leave out --bits");
    if (cli_is_dash(a->inputs.text[0]) && cli_is_dash(a->mask))
        return cli_usage(request->tool, "the input and --mask cannot both be stdin");
    int code = cli_guides_check(request->tool, &a->guides, a->inputs.text[0], a->mask);
    if (code == CLI_CONTINUE) code = cli_sequence_check(request);
    if (code == CLI_CONTINUE) code = check_labels(request);
    if (code == CLI_CONTINUE) code = check_scale(request);
    if (code == CLI_CONTINUE) code = check_range(request);
    if (code == CLI_CONTINUE) code = check_grid(request);
    if (code == CLI_CONTINUE) code = cli_sigma_check(request);
    if (code == CLI_CONTINUE)
        code = cli_settings_read(request->tool, &a->set, request->setting_names, request->settings);
    if (code == CLI_CONTINUE) code = cli_devices_check(request);
    if (code == CLI_CONTINUE) code = cli_request_conflicts(request);
    if (code == CLI_CONTINUE) code = check_output_name(request);
    if (code == CLI_CONTINUE) code = check_illustrations(request);
    if (code == CLI_CONTINUE) code = check_batch(request);
    return code == CLI_CONTINUE ? check_coefficients_name(request) : code;
}
