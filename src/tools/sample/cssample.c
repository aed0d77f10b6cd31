/* SPDX-License-Identifier: BSD-3-Clause */
/* cssample.c - samples a picture or array into a measurement file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/ranks.h"
#include "sample.h"

typedef cli_sample_arguments arguments;

static const char *pattern_name(int i) {
    return i < 3 ? csrec_pattern_name((csrec_pattern)(i + 1)) : NULL;
}

static const cli_option options[] = {
    {"output", 'o', CLI_WRITE, "FILE",
     "Measurement file to write, {arrays or}, or - for stdout; with --next also .csv.",
     CLI_AT(output), .group = CLI_OUTPUT, .brief = "measurement file to write, or - for stdout"},
    {"mask-out", 'm', CLI_WRITE, "FILE",
     "Also write the mask, {write or}: of a picture sampled pixels are white, of an array 1.",
     CLI_AT(mask_out), .brief = "also write which entries were sampled"},
    {"procedural", 0, CLI_FLAG, NULL,
     "Store pattern, seed and count instead of the positions, which readers then draw again.",
     CLI_AT(procedural)},
    CLI_NO_SYNC(arguments),
    {"rate", 'r', CLI_REAL, "R", "Fraction of the positions to sample, above 0, at most 1.",
     CLI_AT(rate), .low = 1e-19, .high = 1.0, .share = true, .group = "Which entries",
     .brief = "share of the entries to sample, as 0.25"},
    {"count", 'n', CLI_INTEGER, "N", "Number of positions to sample, instead of --rate.",
     CLI_AT(count), .low = 1, .high = 0x1p62, .brief = "so many entries instead"},
    {"pattern", 'p', CLI_CHOICE, "NAME",
     "Sampling pattern (default poisson for 2-D and 3-D, else jitter).", CLI_AT(pattern),
     .choice = pattern_name, .brief = "poisson (default), jitter or uniform"},
    {"seed", 's', CLI_SEED, "S", "Seed of all random numbers (default 1).", CLI_AT(seed),
     .brief = "seed of all random numbers (default 1)"},
    {"noise", 0, CLI_REAL, "SIGMA",
     "Add Gaussian noise of this standard deviation, in units of the data, and store it as "
     "sigma. The samples become float32 (float64 stays float64).",
     CLI_AT(noise), .low = 0.0, .high = 1e300, .given = offsetof(arguments, noise_given),
     .group = "Noise", .brief = "add noise of this standard deviation"},
    CLI_GUIDE(arguments),
    CLI_AXES(arguments),
    {"next", 'N', CLI_INTEGER, "K",
     "INPUT is a measurement, or several of one signal: find the K positions to measure next, of "
     "those that it lacks, and "
     "write them to -o NEXT.csv (a line for each: row,col) or {arrays or} (index, shape). Of "
     "samples with rays K is a number of rays, for new and for known positions, which are "
     "written with a number each, column or array rays.",
     CLI_AT(next), .low = 1, .high = 0x1p31, .group = "Where to measure next",
     .brief = "find the K positions to measure next"},
    {"density", 'd', CLI_READ, "FILE",
     "With --next: where the error is thought to be large, an array or gray picture of the "
     "measurement's shape, values >= 0 in any unit (default: the errors that a recovery expects).",
     CLI_AT(density)},
    {"even", 0, CLI_FLAG, NULL, "With --next: fill the largest gaps evenly, whatever the values.",
     CLI_AT(even)},
    {"path", 0, CLI_FLAG, NULL,
     "With --next: order the positions as a short path, and report its length.", CLI_AT(path),
     .brief = "order them as a short path"},
    {"sequence", 0, CLI_FLAG, NULL,
     "With --next: the INPUTs are frames one after another, measured so far, of which the last "
     "four "
     "count, and may have other positions each: find K positions of the frame that comes next, "
     "denser where the last one is expected to err, and where frames differ.",
     CLI_AT(sequence)},
    {"operator", 'O', CLI_CHOICE, "NAME",
     "Measure the whole signal through this operator instead of sampling entries: y = A x. --rate "
     "and --count then are of its rows.",
     CLI_AT(through), .choice = csrec_through_info, .group = "Sampling through operators",
     .brief = "measure y = A x instead: hadamard, fourier, ..."},
    {"ordering", 0, CLI_CHOICE, "NAME",
     "Order of Hadamard's rows: the entries stay in their places. Default: natural, and "
     "--scramble.",
     CLI_AT(ordering), .choice = csrec_ordering_info},
    {"scramble", 0, CLI_FLAG, NULL,
     "Permute the entries at random, by --seed, before Hadamard's transform; the default without "
     "--ordering.",
     CLI_AT(scramble)},
    {"rows", 0, CLI_CHOICE, "NAME",
     "How rows are chosen: uniform at random; the first of the ordering (of frequencies the "
     "lowest); frequencies of variable density, or whole lines of them. Default: lines for "
     "fourier, first for an ordering, else uniform.",
     CLI_AT(rows), .choice = cli_rows_name},
    {"coils", 0, CLI_READ, "FILE",
     "Sensitivities of receivers for fourier, an array [coils, shape], complex or real.",
     CLI_AT(coils)},
    {"matrix", 0, CLI_READ, "FILE",
     "The matrix, an array [rows, entries of the signal or block] (default: random Gaussian "
     "numbers).",
     CLI_AT(matrix)},
    {"block", 0, CLI_TEXT, "H,W", "Apply the matrix to each block of this size, as 33x33 or 33,33.",
     CLI_AT(block)},
    {"border", 0, CLI_CHOICE, "pad|cut",
     "What becomes of a signal that the blocks do not divide: zeros pad the last blocks (default), "
     "or it is cut to whole ones.",
     CLI_AT(border), .choice = cli_border_name},
    {"kernel", 0, CLI_READ, "FILE", "Weights of the blur, an array with the axes of the signal.",
     CLI_AT(kernel)},
    {"factor", 0, CLI_TEXT, "F[,F]", "Entries along each axis that downsample averages.",
     CLI_AT(factor)},
    {"json", 'j', CLI_FLAG, NULL, "Describe what was written as JSON on stdout.", CLI_AT(json),
     .group = CLI_REPORTS},
    {"verbose", 'v', CLI_FLAG, NULL, "Describe what was written on stderr.", CLI_AT(verbose),
     .brief = "describe what was written"},
    CLI_QUIET(arguments),
    CLI_STANDARD};

static const cli_tool tool = {
    .name = "cssample",
    .brief =
        "Samples a picture or array of one to four axes ({Read and}) into a measurement file for "
        "csrecover.",
    .synopsis = "INPUT... -o OUT.npz (--rate R|--count N|--next K) [OPTION...]",
    .details =
        "INPUT - is stdin. Samples are distinct positions; the channels of a picture share them.\n"
        "uniform draws positions independently, all with equal probability. jitter draws one "
        "position in each cell of a partition. poisson keeps all samples at least a certain "
        "distance apart, which --verbose and --json report. All give exactly the requested "
        "number, and the same positions on every platform and number of threads. Noise may "
        "differ between platforms in the last bit. poisson visits every entry on one core: some "
        "minutes for 16384 x 16384 or 512 x 512 x 512; jitter takes seconds.\n"
        "Samples of a picture keep their values, 0 to 2^bits - 1; this range is stored as scale. "
        "Fully transparent pixels are unknown and never sampled. The pattern is drawn over the "
        "whole picture and samples on such pixels are left out, so there may be fewer samples "
        "than requested (then --procedural is refused). Partial opacity is ignored. Notes on "
        "stderr report both.\n"
        "--operator: hadamard has rows of 1 and -1, fourier is the sum of numpy.fft.fftn, matrix "
        "any matrix, blur a convolution, downsample means of boxes. Noise is that of each value of "
        "y, of real and imaginary parts each. A complex .npy is measured as it is.\n"
        "--next spreads positions so that their density follows the expected errors, and none is "
        "too near another or one that is measured; rays are sent where these errors fall "
        "most. Columns of the .csv are i; row,col; or z,y,x. "
        "With values added in further columns it is a measurement, which csrecover --merge joins "
        "with the first; with numbers of rays that is an .npz.\n"
        "Ctrl-C stops and writes nothing.\n"
        "Exit code: 0 done, 1 failure, 2 wrong usage, 130 interrupted (143 by SIGTERM).",
    .examples = "cssample photo.png -o scan.npz --rate 0.25\n"
                "cssample photo.png -o - --rate 0.25 | csrecover - -o recovered.png\n"
                "cssample volume.npy -o scan.npz --count 100000 --noise 0.01 --procedural\n"
                "cssample photo.png -o camera.npz --operator hadamard --rate 0.25\n"
                "cssample scan.npz --next 500 -o next.csv --path\n"
                "cssample photo.png -o scan.npz --rate 0.1 --pattern uniform --seed 7 "
                "--mask-out mask.png\n"
                "cssample truth.png -o slice.npz --operator fourier --rate 0.25 --coils coils.npy\n"
                "cssample frame_*.npz --next 500 -o next.csv --sequence",
    CLI_OPTIONS(options),
    .operand = offsetof(arguments, inputs),
    .many = true};

static int check_arguments(const arguments *a) {
    char list[64];
    if (a->channels_last + a->channels_first + a->volume > 1)
        return cli_usage(&tool, CLI_AXES_REFUSAL);
    if (!a->output && cli_output_meant(&tool, &a->inputs, CSREC_USE_ARRAYS) != CLI_CONTINUE)
        return CLI_USAGE;
    if (a->inputs.n > 1 && !a->next)
        return cli_usage(&tool, "takes one INPUT; --next takes several, scans of one signal");
    if (a->next) return cli_next_check(&tool, a);
    if (cli_guides_check(&tool, &a->guides, a->input, NULL) != CLI_CONTINUE) return CLI_USAGE;
    int through = cli_through_check(&tool, a);
    if (through != CLI_CONTINUE) return through;
    if (a->density || a->path || a->even || a->sequence)
        return cli_usage(&tool, "%s goes with --next",
                         a->density    ? "--density"
                         : a->path     ? "--path"
                         : a->sequence ? "--sequence"
                                       : "--even");
    if (!a->output && !a->mask_out) return cli_usage(&tool, "nothing to write: give -o SCAN.npz");
    if (a->through < 0 && (a->rate > 0.0) == (a->count > 0))
        return cli_usage(&tool, "give one of --rate and --count");
    if (a->json && a->output && strcmp(a->output, "-") == 0)
        return cli_usage(&tool, "--json and -o - both write to stdout; write to a file");
    if (a->output && strcmp(a->output, "-") != 0 &&
        !cli_format_has(csrec_format_of(a->output), CSREC_USE_ARRAYS))
        return cli_usage(&tool, "--output %s: measurement files are %s; or - for stdout", a->output,
                         csrec_format_list(CSREC_USE_ARRAYS, false, "or", list, sizeof list));
    if (a->output && cli_is_dash(a->output)) {
        int code = cli_stdout_check(&tool);
        if (code != CLI_CONTINUE) return code;
    }
    if (a->mask_out && !cli_format_has(csrec_format_of(a->mask_out), CSREC_USE_WRITE))
        return cli_ending_refuse(&tool, "--mask-out", a->mask_out, CSREC_USE_WRITE, "");
    int code = a->output ? cli_output_check(&tool, a->output) : CLI_CONTINUE;
    if (code == CLI_CONTINUE && a->mask_out) code = cli_output_check(&tool, a->mask_out);
    return code;
}

/* Leaves out samples on transparent pixels. */
static int drop_transparent(const arguments *a, const cli_signal *signal,
                            csrec_measurement *measurement) {
    if (signal->partial && !a->quiet)
        cli_note(&tool, "%s: note: %lld pixels of partial opacity keep their colour", a->input,
                 (long long)signal->partial);
    if (!signal->alpha) return CLI_CONTINUE;
    int64_t kept = 0;
    for (int64_t i = 0; i < measurement->n; i++)
        if (signal->alpha[measurement->index[i]])
            measurement->index[kept++] = measurement->index[i];
    int64_t dropped = measurement->n - kept;
    measurement->n = kept;
    if (kept == 0)
        return cli_failure(&tool, "%s: every sampled pixel is transparent; raise --rate", a->input);
    if (dropped == 0) return CLI_CONTINUE;
    if (a->procedural)
        return cli_failure(&tool,
                           "%s: %lld samples fall on transparent pixels, which --procedural "
                           "cannot record; omit it",
                           a->input, (long long)dropped);
    if (!a->quiet)
        cli_note(&tool, "%s: note: %lld samples left out on transparent pixels", a->input,
                 (long long)dropped);
    return CLI_CONTINUE;
}

static int take_values(const arguments *a, const cli_signal *signal,
                       csrec_measurement *measurement) {
    int64_t channels = signal->channels;
    measurement->y = malloc((size_t)(measurement->n * channels) * sizeof *measurement->y);
    if (!measurement->y) return cli_failure(&tool, "%s: out of memory", a->input);
    for (int64_t i = 0; i < measurement->n; i++)
        for (int64_t c = 0; c < channels; c++) {
            /* The noise depends on the position only, not on the pattern. */
            uint64_t place = (uint64_t)(measurement->index[i] * channels + c);
            double value = csrec_array_value(&signal->values, (int64_t)place);
            if (!isfinite(value))
                return cli_failure(&tool, "%s: entry %lld is %s; put finite values there", a->input,
                                   (long long)place, isnan(value) ? "nan" : "infinite");
            /* Samples are doubles in memory; the file's 64-bit integers must fit in them. */
            if ((signal->values.dtype == CSREC_I64 || signal->values.dtype == CSREC_U64) &&
                !(fabs(value) <= 0x1p53))
                return cli_failure(&tool, "%s: entry %lld is beyond 2^53; convert to float64",
                                   a->input, (long long)place);
            if (a->noise > 0.0)
                value += a->noise * csrec_random_normal(a->seed, CLI_NOISE_STREAM, place);
            measurement->y[i * channels + c] = value;
        }
    return CLI_CONTINUE;
}

static csrec_dtype sample_type(const arguments *a, const cli_signal *signal) {
    csrec_dtype dtype = signal->values.dtype;
    if (a->noise > 0.0 && dtype != CSREC_F64) return CSREC_F32;
    return dtype == CSREC_BOOL ? CSREC_U8 : dtype;
}

static csrec_pattern pattern_of(const arguments *a, const cli_signal *signal) {
    if (a->pattern >= 0) return (csrec_pattern)(a->pattern + 1);
    int dims = signal->shape.dims;
    return dims == 2 || dims == 3 ? CSREC_PATTERN_POISSON : CSREC_PATTERN_JITTER;
}

static int64_t count_of(const arguments *a, const cli_signal *signal) {
    if (a->count > 0) return a->count;
    int64_t count = llround(a->rate * (double)signal->entries);
    return count > 1 ? count : 1;
}

/* Draws the positions, with a progress bar if that takes long. */
static int draw(const arguments *a, const csrec_shape *shape, csrec_pattern pattern, int64_t count,
                csrec_sampling *sampling) {
    csrec_error error;
    cli_progress progress;
    cli_progress_start(&progress, a->quiet);
    csrec_status status = csrec_sampling_create_watched(
        shape, pattern, count, a->seed, cli_progress_report, &progress, sampling, &error);
    cli_progress_finish(&progress);
    if (!status) return CLI_CONTINUE;
    cli_failure(&tool, "%s: %s", a->input, error.text);
    return status == CSREC_STOPPED ? CLI_INTERRUPTED : CLI_FAILURE;
}

static int measure(const arguments *a, const cli_signal *signal, csrec_measurement *measurement,
                   double *min_distance) {
    csrec_error error;
    csrec_sampling sampling = {0};
    csrec_pattern pattern = pattern_of(a, signal);
    int64_t count = count_of(a, signal);
    int drawn = draw(a, &signal->shape, pattern, count, &sampling);
    if (drawn != CLI_CONTINUE) return drawn;
    *min_distance = sampling.min_distance;
    *measurement = (csrec_measurement){.shape = signal->shape,
                                       .n = sampling.n,
                                       .channels = signal->channels,
                                       .index = sampling.index,
                                       .dtype = sample_type(a, signal),
                                       .sigma = a->noise,
                                       .pattern = pattern,
                                       .seed = a->seed,
                                       .count = count};
    if (signal->bits) measurement->scale[1] = (double)((1 << signal->bits) - 1);
    int code = drop_transparent(a, signal, measurement);
    /* If positions were left out, pattern, seed and count no longer give them. */
    if (measurement->n != count) measurement->pattern = CSREC_PATTERN_NONE;
    if (code == CLI_CONTINUE) code = take_values(a, signal, measurement);
    measurement->sequence = signal->time == 1;
    measurement->is_complex = signal->is_complex;
    if (signal->is_complex) measurement->channels /= 2;
    if (code == CLI_CONTINUE && csrec_measurement_check(measurement, a->input, &error))
        code = cli_failure(&tool, "%s", error.text);
    return code;
}

static csrec_status add_mask(const arguments *a, const csrec_measurement *measurement,
                             csrec_files *files, csrec_error *error) {
    const csrec_format *format = csrec_format_of(a->mask_out);
    bool picture = cli_format_has(format, CSREC_USE_PICTURE);
    csrec_image image = {.bits = 8};
    csrec_status status =
        csrec_array_create(picture ? CSREC_U8 : CSREC_BOOL, &measurement->shape, &image.pixels);
    if (status) return cli_fail(error, status, "%s: out of memory", a->mask_out);
    uint8_t *mask = image.pixels.data;
    for (int64_t i = 0; i < measurement->n; i++) mask[measurement->index[i]] = picture ? 255 : 1;
    status = csrec_files_add_signal(files, a->mask_out, format, &image, NULL, error);
    csrec_image_clear(&image);
    return status;
}

/* Writes both files or neither. */
static int write_all(const arguments *a, const csrec_measurement *measurement) {
    csrec_error error;
    csrec_files *files = NULL;
    csrec_status status =
        csrec_files_create(&(csrec_files_options){.no_sync = a->no_sync}, &files, &error);
    if (!status && a->mask_out) status = add_mask(a, measurement, files, &error);
    if (!status && a->output)
        status = csrec_files_add_measurement(files, a->output, measurement, a->procedural, &error);
    bool stopped = cli_interrupted();
    if (!status && !stopped) status = csrec_files_commit(files, &error);
    csrec_files_destroy(files);
    if (!status && stopped) return CLI_INTERRUPTED;
    return status ? cli_failure(&tool, "%s", error.text) : CLI_CONTINUE;
}

static int sample_run(const arguments *a, cli_signal *signal, csrec_measurement *measurement) {
    csrec_error error;
    double min_distance = 0.0;
    const csrec_read_options axes = {.channels_last = a->channels_last,
                                     .channels_first = a->channels_first,
                                     .volume = a->volume};
    if (cli_signal_read(a->input, &axes, signal, &error))
        return cli_failure(&tool, "%s", error.text);
    const char *refusal =
        a->mask_out ? csrec_format_refusal(csrec_format_of(a->mask_out), &signal->shape, 1) : NULL;
    if (refusal) return cli_failure(&tool, "%s: %s", a->mask_out, refusal);
    int code = a->through >= 0 ? cli_through_measure(&tool, a, signal, measurement)
                               : measure(a, signal, measurement, &min_distance);
    if (code == CLI_CONTINUE && cli_guides_read(&a->guides, measurement, &error))
        code = cli_failure(&tool, "%s", error.text);
    if (code == CLI_CONTINUE) code = write_all(a, measurement);
    if (code != CLI_CONTINUE) return code;
    const char *how = a->through >= 0 ? csrec_through_info(a->through)
                                      : csrec_pattern_name(pattern_of(a, signal));
    return cli_sample_report(&tool, a, signal, measurement, how, min_distance);
}

static int run(const arguments *a) {
    cli_signal signal = {0};
    csrec_measurement measurement = {0};
    const int code = sample_run(a, &signal, &measurement);
    csrec_measurement_clear(&measurement);
    cli_signal_clear(&signal);
    return code;
}

int main(int argc, char **argv) {
    arguments a = {
        .pattern = -1, .through = -1, .ordering = -1, .rows = -1, .border = -1, .seed = 1};
    int code = cli_ranks_alone(tool.name);
    if (code == CLI_CONTINUE) code = cli_parse(&tool, argc, argv, &a);
    if (code == CLI_CONTINUE) a.input = a.inputs.text[a.inputs.n - 1];
    if (code == CLI_CONTINUE) code = check_arguments(&a);
    if (code == CLI_CONTINUE) code = cli_exit_code(a.next ? cli_next_run(&tool, &a) : run(&a));
    free(a.inputs.text);
    return code;
}
