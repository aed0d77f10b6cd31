/* chart.h - the charts of a recovery. */
#ifndef CSREC_TOOLS_RECOVER_CHART_H
#define CSREC_TOOLS_RECOVER_CHART_H

#include "tools/common/chart.h"
#include "recover.h"

enum { CLI_JOB_CHARTS = 3, CLI_JOB_LINES = 2 };

/* Makes the charts that have data, of a job with a history; returns their number, or -1 if memory
 * is short. Clear each with cli_chart_clear. */
int cli_result_charts(const cli_result *result, cli_chart charts[CLI_JOB_CHARTS]);

/* Charts of the signal along its last axis, in the middle of the others: samples, reference and
 * recovery; and true and expected errors, if any are known. As cli_result_charts (lines.c). */
int cli_job_lines(const cli_job *job, cli_chart charts[CLI_JOB_LINES]);

/* Adds job->out.plot: all charts below each other as .png or .svg. */
csrec_status cli_job_plot(const cli_job *job, csrec_files *files, csrec_error *error);

#endif
