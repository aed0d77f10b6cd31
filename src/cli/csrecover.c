/* csrecover.c - recovers whole signals from measurement files. */
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "recover.h"

#define AT(member) .offset = offsetof(cli_recover_arguments, member)
static const cli_option options[] = {
    {"output", 'o', CLI_WRITE, "FILE",
     "The recovered signal: .png (2-D, 1 or 3 channels) or .npy, or - for stdout (npy unless "
     "--format png). A folder, or a name ending in /, which is made, takes the recovery of every "
     "INPUT by its name.",
     AT(output)},
    {"format", 0, CLI_CHOICE, "NAME",
     "What -o - and -o FOLDER/ write (a folder: png where that fits, else npy).", AT(format),
     .choice = cli_format_name},
    {"bits", 0, CLI_INTEGER, "8|16",
     "Bits a sample of a PNG (default 16 if the samples have more than 256 steps).", AT(bits),
     .low = 8, .high = 16},
    {"scale", 0, CLI_TEXT, "LOW,HIGH",
     "Values that are black and white in a PNG, instead of the file's scale.", AT(scale)},
    {"coefficients", 'C', CLI_WRITE, "FILE",
     "Write the atoms as .npz: column, coefficient, count, levels, and channel if there are "
     "several. Needs a single grid, --shifts 1.",
     AT(coefficients)},
    {"mask", 'm', CLI_READ, "FILE",
     "INPUT is a picture of which only the non-zero pixels of this PNG or .npy are samples.",
     AT(mask)},
    {"quality", 'Q', CLI_CHOICE, "NAME",
     "How much work a picture is worth: a solver, a basis and their parameters that suit each "
     "other. Other options come on top.",
     AT(quality), .choice = cli_quality_name},
    {"solver", 'S', CLI_CHOICE, "NAME", "How coefficients are found.", AT(solver),
     .choice = cli_solver_name},
    {"basis", 'B', CLI_CHOICE, "NAME", "What the signal is sparse in (default haar).", AT(basis),
     .choice = cli_basis_name},
    {"model", 'M', CLI_READ, "FILE",
     "A model from cslearn that the recovery rests on: pca for aligned pictures of its size, gmm "
     "for patches of any picture.",
     AT(model)},
    {"set", 0, CLI_TEXTS, "KEY=VALUE",
     "A parameter of the solver or the basis, see --list; may be given several times.", AT(set),
     .key = cli_setting_key},
    {"list", 0, CLI_LISTING, NULL, "List solvers and bases with their parameters and exit.",
     .offset = 0},
    {"reference-pursuit", 0, CLI_FLAG, NULL,
     "A full transform for every atom: slow, the same picks.", AT(reference_pursuit)},
    {"epsilon", 'e', CLI_REAL, "E",
     "Stop when the residual is at most E times the samples' norm (default 0.001; the mean of "
     "several grids 0.01).",
     AT(epsilon), .low = 0.0, .high = 0.999999},
    {"atoms", 'k', CLI_INTEGER, "K", "Stop after K atoms in a grid and channel.", AT(atoms),
     .low = 1, .high = 0x1p62},
    {"min-coefficient", 0, CLI_REAL, "V",
     "Stop when the best coefficient is below V, in units of the samples.", AT(min_coefficient),
     .low = 0.0, .high = 1e300},
    {"columns", 0, CLI_CHOICE, "NAME",
     "Columns that count: every non-zero one, or those with samples in both halves.", AT(columns),
     .choice = cli_columns_name},
    {"order", 0, CLI_CHOICE, "NAME", "How positions become rows.", AT(order),
     .choice = cli_order_name},
    {"shifts", 's', CLI_INTEGER, "S",
     "Average over S random grids, a pursuit on each; 1: the plain grid. Without this or another "
     "option of the pursuit, pictures are recovered on adaptive grids.",
     AT(shifts), .low = 1, .high = 1e9},
    {"seed", 0, CLI_SEED, "S", "Seed that draws the grids.", AT(seed),
     .given = offsetof(cli_recover_arguments, seed_given)},
    CLI_THREADS(cli_recover_arguments),
    {"memory", 0, CLI_INTEGER, "MIB",
     "Memory that the recovery may take, in MiB (default: what is available). What does not fit is "
     "recovered in overlapping tiles, or refused; tiles depend on this, and --verbose and --json "
     "tell them.",
     AT(memory), .low = 1, .high = 0x1p40},
    CLI_BACKEND(cli_recover_arguments),
    {.name = "devices",
     .type = CLI_DEVICES,
     .help = "List the backends and their devices and exit."},
    {"reference", 'r', CLI_READ, "FILE",
     "Compare with the truth, .png or .npy, or a folder with one of the name of each INPUT: PSNR "
     "over all channels and the mean SSIM of the "
     "channels, of values before they are rounded or clamped.",
     AT(reference)},
    {"report", 0, CLI_WRITE, "FILE",
     "Write a page, .html, that needs no network: samples, recovery, reference and error, residual "
     "and PSNR over the iterations, levels of atoms, settings, the command, times and warnings. A "
     "folder takes the page of every INPUT.",
     AT(report)},
    {"plot", 0, CLI_WRITE, "FILE", "Write the plots of the page alone, .svg or .png.", AT(plot)},
    {"history", 0, CLI_FLAG, NULL, "Report residual and PSNR over the iterations with --json, too.",
     AT(history)},
    {"resume", 0, CLI_FLAG, NULL,
     "Skip inputs whose output is there, whole, and was made by the same version from the same "
     "bytes of input, mask and model with the same settings, as its fingerprint tells (which "
     "outputs of older versions lack), and whose page, plot and atoms are there if asked for.",
     AT(resume)},
    {"info", 'i', CLI_FLAG, NULL, "Describe the measurement file and stop.", AT(info)},
    CLI_NO_SYNC(cli_recover_arguments),
    CLI_JSON(cli_recover_arguments),
    {"verbose", 'v', CLI_FLAG, NULL, "Report iterations, residual and times on stderr.",
     AT(verbose)},
    {"quiet", 'q', CLI_FLAG, NULL, "No progress bar, no summary and no notes.", AT(quiet)},
    CLI_STANDARD};

static const cli_tool tool = {
    .name = "csrecover",
    .brief = "Recovers a whole picture or signal from some of its entries.",
    .synopsis = "INPUT... [-o OUT.png|OUT.npy|FOLDER/] [OPTION...]",
    .details =
        "INPUT is a measurement: .npz (the manual page lists its arrays), a .png whose transparent "
        "pixels are unknown, a .png with --mask, a .csv of coordinates and values, or - for stdin. "
        "If you give no solver options, defaults are chosen for the input.\n"
        "Several inputs go on after one that fails; those that failed are listed at the end. "
        "Neighbours that were sampled at the same places, such as the frames of a sequence, are "
        "recovered together where the method treats channels by themselves, with the same "
        "result.\n"
        "Ctrl-C, or SIGTERM, stops the pursuit and writes the best so far, dated back before its "
        "input, so that --resume and make do it again; a second one ends at once.\n"
        "Exit code: 0 done, 1 failure of any input, 2 wrong usage, 130 interrupted (143 by "
        "SIGTERM, 129 by SIGHUP), with the best so far written.",
    .examples = "csrecover scan.npz -o recovered.png\n"
                "csrecover scan.npz -o recovered.png --reference truth.png --verbose\n"
                "csrecover photo.png --mask mask.png -o - --format png > recovered.png\n"
                "csrecover scan.npz --coefficients atoms.npz --shifts 1 --epsilon 0.01\n"
                "csrecover scans/*.npz -o recovered/ --quality balanced --resume\n"
                "csrecover scan.npz --reference truth.png --report recovery.html\n"
                "csrecover scan.npz --info --json",
    .options = options,
    .listing = cli_methods_list,
    .n_options = sizeof options / sizeof *options,
    .operand = offsetof(cli_recover_arguments, inputs),
    .many = true,
    .paths = cli_recover_add_paths};

int main(int argc, char **argv) {
    cli_request request = {.tool = &tool,
                           .a = {.format = -1,
                                 .solver = -1,
                                 .basis = -1,
                                 .quality = -1,
                                 .columns = -1,
                                 .order = -1,
                                 .backend = -1,
                                 .epsilon = -1.0,
                                 .min_coefficient = -1.0}};
    cli_progress progress;
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20); /* large blocks are given back once they are freed */
#endif
    request.words = argv;
    request.n_words = argc;
    int code = cli_parse(&tool, argc, argv, &request.a);
    if (code == CLI_CONTINUE) code = cli_request_check(&request);
    if (code == CLI_CONTINUE) code = cli_request_run(&request, &progress);
    free(request.a.inputs.text);
    return cli_exit_code(code);
}
