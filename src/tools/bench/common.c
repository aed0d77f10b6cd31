/* SPDX-License-Identifier: BSD-3-Clause */
/* common.c - choices and checks of several commands. */
#include <string.h>

#include "bench.h"
#include "tools/common/output.h"

csrec_status bench_in_words(csrec_status status, csrec_error *error) {
    return status ? cli_fail(error, status, "%s", csrec_status_text(status)) : CSREC_OK;
}

int bench_plot_check(const cli_tool *tool, const char *plot) {
    const char *dot = plot ? strrchr(plot, '.') : NULL;
    char list[128];
    if (!plot) return CLI_CONTINUE;
    if (!(dot && strcmp(dot, ".svg") == 0) &&
        !cli_format_has(csrec_format_of(plot), CSREC_USE_PICTURE))
        return cli_usage(tool, "--plot %s: name a .svg or %s", plot,
                         csrec_format_list(CSREC_USE_PICTURE, false, "or", list, sizeof list));
    return cli_output_check(tool, plot);
}

static const csrec_columns columns[] = {CSREC_COLUMNS_PAPER, CSREC_COLUMNS_TWO_SIDED};

const char *bench_columns_name(int i) {
    return i >= 0 && i < 2 ? csrec_columns_name(columns[i]) : NULL;
}

csrec_columns bench_columns(int i) {
    return columns[i];
}

int bench_solvers_check(const cli_tool *tool, const cli_texts *names, bench_trials *trials) {
    csrec_error error;
    csrec_status status = bench_solvers_take(names, trials, &error);
    if (!status) return CLI_CONTINUE;
    return status == CSREC_MEMORY ? cli_failure(tool, "%s", error.text)
                                  : cli_usage(tool, "%s", error.text);
}
