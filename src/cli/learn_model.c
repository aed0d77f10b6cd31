/* learn_model.c - the files that a learner writes: its model and a plot of it. */
#include "learn.h"
#include "output.h"

int cli_model_check(const cli_tool *tool, const char *output, const char *plot) {
    if (!output) return cli_usage(tool, "nothing to write: give -o MODEL.npz");
    if (cli_format_of(output) != CLI_NPZ)
        return cli_usage(tool, "--output %s: models are .npz", output);
    if (plot && cli_format_of(plot) != CLI_PNG)
        return cli_usage(tool, "--plot %s: name a .png", plot);
    int code = cli_output_check(tool, output);
    return code == CLI_CONTINUE && plot ? cli_output_check(tool, plot) : code;
}

int cli_model_deliver(const cli_tool *tool, const csrec_model *model, const char *output,
                      const char *plot,
                      csrec_status (*draw)(const char *path, const csrec_model *model,
                                           csrec_error *error)) {
    csrec_error error;
    if (plot && draw(plot, model, &error)) return cli_failure(tool, "%s", error.text);
    if (!csrec_model_write(output, model, &error)) return CLI_CONTINUE;
    cli_output_remove(plot);
    return cli_failure(tool, "%s", error.text);
}
