/* SPDX-License-Identifier: BSD-3-Clause */
/* csrecover.c - recovers whole signals from measurement files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "recover.h"
#include "serve.h"

typedef cli_recover_arguments arguments;

static const cli_option options[] = {
    {"output", 'o', CLI_WRITE, "FILE",
     "The recovered signal: {write or}; {arrays or} (array x); or - for stdout (npy without "
     "--format). A {Types or} has the metadata of an input of its format; OUT.h5:/NAME names its "
     "dataset. If it is a folder or ends in /, each INPUT's recovery is written there under the "
     "name of the INPUT.",
     CLI_AT(output), .effect = CLI_ON_OUTPUTS, .group = CLI_OUTPUT,
     .brief = "where to write: a file, a FOLDER/, or - for stdout"},
    {"format", 0, CLI_CHOICE, "NAME",
     "Format of -o - and -o FOLDER/ (default for a folder: that of the INPUT, else png for "
     "pictures, else npy).",
     CLI_AT(format), .effect = CLI_ON_OUTPUTS, .choice = cli_format_name},
    {"bits", 0, CLI_INTEGER, "8|16",
     "Bits per sample of a picture, {picture or} (default 16 if the samples have more than 8 "
     "bits).",
     CLI_AT(bits), .low = 8, .high = 16},
    {"dtype", 0, CLI_CHOICE, "NAME",
     "Type of the values in an array (default float32, or float64 for samples that have more bits; "
     "in a {Types or} that of the samples). Integers are rounded and clamped.",
     CLI_AT(dtype), .choice = cli_dtype_name},
    {"scale", 0, CLI_TEXT, "LOW,HIGH",
     "Values of black and white in a picture, instead of the file's scale.", CLI_AT(scale)},
    {"colormap", 0, CLI_CHOICE, "NAME",
     "Colours of a picture of one channel, between the values of --scale; also of --uncertainty.",
     CLI_AT(colormap), .choice = cli_colormap_name},
    {"coefficients", 'C', CLI_WRITE, "FILE",
     "Write the atoms as .npz: column, coefficient, count, levels, and channel if there are "
     "several. Needs a single grid, --shifts 1.",
     CLI_AT(coefficients), .effect = CLI_ON_OUTPUTS},
    {"resume", 0, CLI_FLAG, NULL,
     "Skip inputs whose outputs (also page, plot and atoms, if requested) are complete and were "
     "made by this version from the same input, mask, model, learned prior and settings. Their "
     "fingerprints tell. An input that is recovered in tiles keeps them in OUT.part until OUT is "
     "written, and goes on with what a killed run left there.",
     CLI_AT(resume), .effect = CLI_ON_OUTPUTS},
    CLI_NO_SYNC(cli_recover_arguments),
    {"mask", 'm', CLI_READ, "FILE",
     "INPUT is a whole picture or array; only values that are not zero in this one are samples. It "
     "has the channels of INPUT, or one for all.",
     CLI_AT(mask), .group = CLI_INPUT, .brief = "what is known of a whole picture or array: not 0"},
    {"unknown", 'U', CLI_REAL, "VALUE",
     "Values that are this number (of colours, in all channels) are unknown, as are those that are "
     "NaN or infinite, of a whole picture or array, and of a .csv.",
     CLI_AT(unknown), .low = -INFINITY, .high = INFINITY,
     .given = offsetof(cli_recover_arguments, unknown_given),
     .brief = "this value is unknown, as are NaN and transparent pixels"},
    {"labels", 0, CLI_FLAG, NULL,
     "The values are classes, whole numbers, as of a land-cover map: the result has classes of the "
     "samples alone, in their type. Of a palette the indices are recovered, and it is kept.",
     CLI_AT(labels), .brief = "values are classes, as of a land-cover map"},
    {"within", 'w', CLI_REAL, "N",
     "Fill only what is unknown within N entries (Euclidean) of a known one of its channel; the "
     "rest stays unknown: the file's nodata value or --unknown, NaN, transparent in a .png.",
     CLI_AT(within), .low = 1.0, .high = 1e9, .brief = "fill only near known values"},
    {"fill", 'F', CLI_READ, "FILE",
     "Fill only where this picture or array, as one of --mask, is not zero; the rest stays "
     "unknown, as of --within.",
     CLI_AT(fill)},
    CLI_GUIDE(cli_recover_arguments),
    {"coils", 0, CLI_READ, "FILE",
     "Sensitivities of the coils of k-space, [coils, axes of the picture] ({read or}); or the word "
     "estimate: "
     "from the complete lines in the middle (ESPIRiT), the default for BART, fastMRI and ISMRMRD; "
     "none: each coil is recovered by itself.",
     CLI_AT(coils)},
    {"noise", 0, CLI_READ, "FILE",
     "Noise of the coils of k-space, which is made white: its covariance [coils, coils], or "
     "samples of it [coils, N]. Or a law of --sigma, as poisson.",
     CLI_AT(noise)},
    {"trajectory", 0, CLI_READ, "FILE",
     "The trajectory of k-space of BART that is on no grid, as of bart traj: 3 x N x M for INPUT "
     "of "
     "1 x N x M.",
     CLI_AT(trajectory)},
    {"slice", 0, CLI_INTEGER, "N",
     "The slice of k-space of several, from 0 (default: the middle one).", CLI_AT(slice), .low = 0,
     .high = 1e9, .given = offsetof(cli_recover_arguments, slice_given)},
    {"slices", 0, CLI_FLAG, NULL,
     "All slices of k-space, one after the other: OUTPUT is their stack, [slices, axes of one].",
     CLI_AT(slices)},
    {"no-guide", 0, CLI_FLAG, NULL,
     "Leave out guides that INPUT has: those of a .npz, layers of an OpenEXR.", CLI_AT(no_guide)},
    {"merge", 0, CLI_FLAG, NULL,
     "Join all INPUTs, scans of one signal, and recover once. Positions that several have are "
     "averaged, weighted by 1/sigma^2 where each has sigma; contradictions are reported.",
     CLI_AT(merge)},
    CLI_AXES(arguments),
    {"coordinates", 0, CLI_TEXT, "NAMES",
     "Columns of a .csv that are coordinates, as lon,lat: by the names in its header, or by their "
     "numbers from 1. Default: those with known names, and those before the values.",
     CLI_AT(coordinates)},
    {"values", 0, CLI_TEXT, "NAMES",
     "Columns of a .csv that are values, likewise; other columns are left out.", CLI_AT(values)},
    {"grid", 0, CLI_TEXT, "H,W",
     "Cells of a .csv's coordinates: each sample goes to the nearest, the first and the last of an "
     "axis are in the middle of theirs. Default: the step that the coordinates have, else square "
     "cells, about four for each sample. Samples of one cell are averaged; see --cell-means.",
     CLI_AT(grid)},
    {"cell-means", 0, CLI_FLAG, NULL,
     "Cells of a .csv's coordinates keep the means of their samples. Default: the values in their "
     "middles, of the smoothest function through neighbouring samples.",
     CLI_AT(cell_means)},
    {"quality", 'Q', CLI_CHOICE, "NAME",
     "A preset that trades time for quality: a method and its parameters. Other options override "
     "it. For pictures, all but fast use weights that were learned from synthetic pictures.",
     CLI_AT(quality), .choice = cli_quality_name, .group = "Quality",
     .brief = "fast, balanced (default), best or max"},
    {"method", 0, CLI_CHOICE, "NAME",
     "The method of recovery, see --list (default: the one that the other options need; without "
     "any, --quality balanced for up to three axes).",
     CLI_AT(method), .choice = cli_method_name, .instead = csrec_method_instead,
     .brief = "name the method, see --list"},
    {"model", 'M', CLI_READ, "FILE",
     "Recover with a model: pca, from cslearn, for aligned pictures of its size; net, from "
     "training/ of the source, for any picture.",
     CLI_AT(model), .brief = "recover with a model of your own"},
    {"minutes", 'T', CLI_REAL, "M",
     "Time to improve a result, for methods that do as long as they run (net with --set steps).",
     CLI_AT(minutes), .low = 1e-3, .high = 1e5},
    {"set", 0, CLI_TEXTS, "KEY=VALUE",
     "Set a parameter of the method, the solver or the basis, see --list. A name that several of "
     "them have says whose it is: solver.k=8. May be given several times.",
     CLI_AT(set), .key = cli_setting_key},
    {"range", 0, CLI_TEXT, "LOW,HIGH",
     "Bounds of the values; either may be left out, as in 0, for none below 0. Known samples "
     "outside are kept. Default: none below 0 where the samples reach from there up, unless it is "
     "a picture; where 0 is unknown, none below the least sample.",
     CLI_AT(range)},
    {"curve", 0, CLI_CHOICE, "NAME",
     "Recover the values (none), or their logarithm (log), so that errors beside a lamp are small; "
     "auto (default): where they span decades and the logarithm errs less on samples left out.",
     CLI_AT(curve), .choice = cli_curve_name},
    {"sigma", 0, CLI_TEXT, "S|auto|LAW",
     "Standard deviation of the noise in units of the samples, or of one ray where they have rays, "
     "instead of the file's; auto: estimated from the samples. Or a law of noise that grows with "
     "them: poisson[:GAIN[,OFFSET[,SIGMA]]], GAIN times counts plus OFFSET, and white noise of "
     "SIGMA; light[:LOG], in proportion to the samples, as of radiance, LOG the standard deviation "
     "of their logarithms. What is left out is estimated.",
     CLI_AT(sigma), .group = "Noise and errors",
     .brief = "standard deviation of the noise, or auto"},
    {"robust", 0, CLI_FLAG, NULL,
     "First drop outliers: samples that are far from all of their neighbours, as dead pixels, salt "
     "and pepper, and fireflies of radiance.",
     CLI_AT(robust), .brief = "first drop outliers"},
    {"uncertainty", 'u', CLI_WRITE, "FILE",
     "Write the expected root mean square error of each value, in units of the samples, "
     "{write or}; of a picture white is the largest. For several INPUTs name a folder.",
     CLI_AT(uncertainty), .effect = CLI_ON_OUTPUTS,
     .brief = "write the error that is expected of each value"},
    {"interval", 0, CLI_REAL, "P",
     "With --uncertainty: write half of the width of an interval that has the true value at P "
     "percent of the values, 90 say, instead of the expected error; inf where nothing is promised.",
     CLI_AT(interval), .low = 0.1, .high = 99.9, .brief = "of uncertainty: intervals of P percent"},
    {"info", 'i', CLI_FLAG, NULL, "Describe the measurement file and stop.", CLI_AT(info),
     .effect = CLI_ON_OUTPUTS, .group = CLI_REPORTS, .brief = "describe INPUT and stop"},
    {"reference", 'r', CLI_READ, "FILE",
     "Compare with the truth, {read or}, or a folder with a file for each INPUT: prints PSNR over "
     "all channels and the mean SSIM of the channels, before values are rounded or clamped.",
     CLI_AT(reference), .effect = CLI_ON_OUTPUTS, .brief = "compare with the truth: PSNR and SSIM"},
    {"report", 0, CLI_WRITE, "FILE",
     "Write a self-contained page, .html: how well it was recovered, samples, recovery, "
     "reference, true and expected errors, residual and PSNR over the iterations, levels of "
     "atoms, settings, the command, times and warnings. For several INPUTs name a folder.",
     CLI_AT(report), .effect = CLI_ON_OUTPUTS, .brief = "write a page: pictures, errors, settings"},
    {"plot", 0, CLI_WRITE, "FILE",
     "Write charts, .svg or {picture or}: samples, reference and recovery along the signal or the "
     "line in its middle, errors there, and residual, PSNR and levels of atoms of that page.",
     CLI_AT(plot), .effect = CLI_ON_OUTPUTS},
    {"history", 0, CLI_FLAG, NULL, "Add residual and PSNR over the iterations to --json.",
     CLI_AT(history), .effect = CLI_ON_OUTPUTS},
    CLI_JSON(cli_recover_arguments),
    {"verbose", 'v', CLI_FLAG, NULL, "Report iterations, residual and times on stderr.",
     CLI_AT(verbose), .effect = CLI_ON_PROCESS},
    {"quiet", 'q', CLI_FLAG, NULL, "No progress bar, no summary and no notes.", CLI_AT(quiet),
     .effect = CLI_ON_PROCESS, .brief = "no progress bar, no summary, no notes"},
    {"sequence", 0, CLI_FLAG, NULL,
     "INPUTs, of one shape, are frames one after another, each recovered from its samples and "
     "those "
     "of the frames around it; those of a folder come in the order of the numbers in their names. "
     "One INPUT that is an array of three axes has time first, see --time-axis; a NetCDF says it.",
     CLI_AT(sequence), .group = "Frames", .brief = "INPUTs are frames one after another"},
    {"time-axis", 0, CLI_INTEGER, "K",
     "The axis of an array that is time, from 0 (default), with --sequence.", CLI_AT(time_axis),
     .low = 0, .high = 2, .given = offsetof(cli_recover_arguments, time_axis_given)},
    {"follow", 0, CLI_REAL, "SECONDS",
     "With --sequence: INPUT is a folder whose frames are taken as they appear. It ends at Ctrl-C, "
     "or when no frame came for SECONDS; 0: at Ctrl-C alone. Frames that wait are recovered then.",
     CLI_AT(follow), .low = 0.0, .high = 1e9,
     .given = offsetof(cli_recover_arguments, follow_given), .effect = CLI_ON_PROCESS},
    {"solver", 'S', CLI_CHOICE, "NAME",
     "The solver that finds the coefficients. gaussian stands for the method.", CLI_AT(solver),
     .choice = cli_solver_name, .group = CLI_EXPERT},
    {"basis", 'B', CLI_CHOICE, "NAME", "The basis in which the signal is sparse (default haar).",
     CLI_AT(basis), .choice = cli_basis_name},
    {"epsilon", 'e', CLI_REAL, "E",
     "Stop when the residual is at most E times the norm of the samples (default 0.001; 0.01 for "
     "the mean of several grids).",
     CLI_AT(epsilon), .low = 0.0, .high = 0.999999, .share = true},
    {"atoms", 'k', CLI_INTEGER, "K",
     "Stop after K iterations of the solver in each grid and channel: of mp and omp, K atoms. The "
     "number of coefficients that iht, htp and cosamp keep is their parameter k.",
     CLI_AT(atoms), .low = 1, .high = 0x1p62},
    {"min-coefficient", 0, CLI_REAL, "V",
     "Stop when the largest coefficient is below V, in units of the samples.",
     CLI_AT(min_coefficient), .low = 0.0, .high = 1e300},
    {"shifts", 's', CLI_INTEGER, "S",
     "Average S pursuits on random grids (default 64 for pictures, else 1); 1: one plain grid.",
     CLI_AT(shifts), .low = 1, .high = 1e9},
    {"columns", 0, CLI_CHOICE, "NAME",
     "Columns to use: all that are not zero, or those with samples in both halves.",
     CLI_AT(columns), .choice = cli_columns_name},
    {"order", 0, CLI_CHOICE, "NAME", "Order in which positions become rows.", CLI_AT(order),
     .choice = cli_order_name},
    {"reference-pursuit", 0, CLI_FLAG, NULL,
     "Compute a full transform for every atom: slow, with the same picks.",
     CLI_AT(reference_pursuit)},
    {"seed", 0, CLI_SEED, "S", "Seed of random choices.", CLI_AT(seed),
     .given = offsetof(cli_recover_arguments, seed_given)},
    CLI_THREADS(cli_recover_arguments),
    {"memory", 0, CLI_INTEGER, "MIB",
     "Memory that the recovery may use, in MiB (default: what is available). A recovery that "
     "needs more runs in smaller tiles or is refused. --verbose and --json report them. A "
     "{Slabs or}, or a stored .npz, that is too large is read, recovered and written in slabs.",
     CLI_AT(memory), .low = 1, .high = 0x1p40},
    {"tile", 0, CLI_INTEGER, "N",
     "Recover larger signals in overlapping tiles of at most N values (default 16777216). The "
     "result depends on it a little, and not on the memory as long as such tiles fit.",
     CLI_AT(tile), .low = 1, .high = 0x1p62},
    CLI_BACKEND(cli_recover_arguments),
    {"devices", 0, CLI_TEXT, "0,2",
     "Use these GPUs, by the numbers of --list-devices, with --backend cuda. Without it --backend "
     "cuda uses all, and so does auto for one input, where it uses a GPU: they share inputs, tiles "
     "or grids. The result does not depend on their number.",
     CLI_AT(devices), .effect = CLI_ON_PROCESS, .missing = "--list-devices lists them"},
    {"list", 0, CLI_LISTING, NULL,
     "List methods, solvers and bases with their parameters and exit.", .offset = 0,
     .group = CLI_ABOUT, .brief = "methods"},
    {.name = "list-devices",
     .type = CLI_DEVICES,
     .help = "List the backends and their devices and exit."},
    CLI_STANDARD};

static const cli_recover_arguments defaults = {.format = -1,
                                               .method = -1,
                                               .solver = -1,
                                               .basis = -1,
                                               .quality = -1,
                                               .columns = -1,
                                               .order = -1,
                                               .backend = -1,
                                               .dtype = -1,
                                               .colormap = -1,
                                               .curve = -1,
                                               .epsilon = -1.0,
                                               .min_coefficient = -1.0};

static const cli_tool tool = {
    .name = "csrecover",
    .brief = "Recovers a whole picture or signal from some of its entries.",
    .synopsis = "INPUT... [-o OUT|FOLDER/] [OPTION...]",
    .details =
        "INPUT is a measurement: .npz (the manual page lists its arrays), a .csv of coordinates "
        "and values or of a matrix with empty fields, a whole signal ({read or}; IN.h5:/NAME, "
        "IN.exr:/NAME and IN.fits[NAME] name one of several), or - for stdin. Of whole arrays NaN "
        "is unknown, of pictures transparent pixels, of TIFFs also GDAL's nodata value, of a FITS "
        "BLANK, of HDF5 and NetCDF _FillValue; or --mask and --unknown tell. If you give no "
        "method, solver or basis, a default is chosen for the input.\n"
        "With several inputs, an input that fails does not stop the others; failures are listed at "
        "the end. Consecutive inputs with the same sampled positions, such as the frames of a "
        "sequence, are recovered together if the method treats channels separately; the result is "
        "the same.\n"
        "Ctrl-C or SIGTERM stops the recovery and writes the best result so far, with a date "
        "before that of the input, so that --resume and make repeat it. A second signal ends the "
        "program at once.\n"
        "csrecover serve keeps sessions of measuring for other programs: see csrecover serve "
        "--help.\n"
        "Exit code: 0 done, 1 failure of any input, 2 wrong usage, 130 interrupted (143 by "
        "SIGTERM, 129 by SIGHUP), with the best result so far written.",
    .examples = "csrecover scan.npz -o recovered.png\n"
                "csrecover photo.png --mask mask.png -o full.png\n"
                "csrecover terrain.tif -o filled.tif\n"
                "csrecover scans/ -o recovered/ --sequence\n"
                "csrecover scan.npz --reference truth.png --report recovery.html\n"
                "csrecover scan.npz -o recovered.png --quality best --verbose\n"
                "csrecover photo.png --mask mask.png -o - --format png > recovered.png\n"
                "csrecover depth.npy --unknown 0 -o full.npy\n"
                "csrecover depth.npy --unknown 0 --colormap viridis -o full.png\n"
                "csrecover points.csv --grid 9,15 -o surface.npy\n"
                "csrecover scan.npz --coefficients atoms.npz --shifts 1 --epsilon 0.01\n"
                "csrecover scans/*.npz -o recovered/ --quality balanced --resume\n"
                "csrecover scans/*.npz --merge -o recovered.png\n"
                "csrecover scan.npz --info --json",
    CLI_OPTIONS(options),
    .listing = cli_methods_list,
    .defaults = &defaults,
    .operand = offsetof(cli_recover_arguments, inputs),
    .many = true,
    .paths = cli_recover_add_paths};

int main(int argc, char **argv) {
    cli_request request = {.tool = &tool, .all = &tool, .a = defaults};
    char prior[CLI_CONTENTS_ROOM] = "";
    cli_progress progress;
    cli_ranks ranks;
    csrec_error error;
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD,
            1 << 20); /* return large blocks to the system as soon as they are freed */
#endif
    if (argc > 1 && strcmp(argv[1], "serve") == 0) return cli_serve(argc - 1, argv + 1);
    request.words = argv;
    request.n_words = argc;
    int code = cli_ranks_join(&tool, &ranks);
    if (code != CLI_CONTINUE) return code;
    code = cli_parse(&tool, argc, argv, &request.a);
    const bool parsed = code == CLI_CONTINUE;
    if (parsed) code = cli_request_check(&request);
    if (code == CLI_CONTINUE && ranks.comm && cli_prior_find(&request, prior, &error))
        snprintf(prior, sizeof prior, "unreadable");
    char *card = parsed && ranks.comm ? cli_recover_card(&request, prior) : NULL;
    if (code == CLI_CONTINUE) code = cli_request_share(&request, &ranks);
    code = cli_ranks_agree(&ranks, code, card);
    free(card);
    if (code == CLI_CONTINUE && csrec_priors_create(&request.priors, &error))
        code = cli_failure(&tool, "%s", error.text);
    if (code == CLI_CONTINUE) code = cli_devices_run(&request, &progress);
    csrec_priors_destroy(request.priors);
    cli_ranks_leave(&ranks);
    cli_sequence_forget(&request);
    return cli_exit_code(code);
}
