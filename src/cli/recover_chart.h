/* recover_chart.h - the charts of a recovery. */
#ifndef CSREC_CLI_RECOVER_CHART_H
#define CSREC_CLI_RECOVER_CHART_H

#include "chart.h"
#include "recover.h"

enum { CLI_JOB_CHARTS = 3 };

/* Makes the charts that have data, of a job with a history; returns their number, or -1 if memory
 * is short. Clear each with cli_chart_clear. */
int cli_job_charts(const cli_job *job, cli_chart charts[CLI_JOB_CHARTS]);

/* Adds job->plot: all charts below each other as .png or .svg. */
csrec_status cli_job_plot(const cli_job *job, csrec_files *files, csrec_error *error);

#endif
