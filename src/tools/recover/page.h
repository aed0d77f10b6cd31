/* SPDX-License-Identifier: BSD-3-Clause */
/* page.h - what shows a recovery: --report, one self-contained page, and its parts; --plot. */
#pragma once

#include "tools/common/chart.h"
#include "recover.h"

/* Adds the page, job->out.page, HTML that is also well-formed XML. job: a cli_job. */
csrec_status cli_job_page(void *job, csrec_files *files, csrec_error *error);

/* What the parts of the page are written from and to. */
typedef struct cli_page {
    const cli_job *job;
    const cli_text *text; /* all of the page so far, once it is flushed */
    FILE *file;
    csrec_error *error;
} cli_page;

/* Samples, recovery and errors: pictures (panels.c); of one axis charts (chart.c). */
csrec_status cli_page_panels(const cli_page *page);
csrec_status cli_page_lines(const cli_page *page);
/* What it is compared with, as a table. */
void cli_page_scores(const cli_page *page);
/* A figure with a chart, its numbers as a table, and a note, NULL: none. */
void cli_page_chart(const cli_page *page, const cli_chart *chart, const char *note);
/* Sets the page's error. */
csrec_status cli_page_no_memory(const cli_page *page);

/* Contents of <style> and <script> (panels.c). The script has no "<" and "&", which XML
 * would read as markup. */
extern const char cli_page_style[], cli_page_script[];

enum { CLI_JOB_CHARTS = 3, CLI_JOB_LINES = 2 };

/* Makes the charts that have data, of a job with a history; returns their number, or -1 if memory
 * is short. Clear each with cli_chart_clear. */
int cli_result_charts(const cli_result *result, cli_chart charts[CLI_JOB_CHARTS]);

/* Adds job->out.plot: all charts below each other as .png or .svg. job: a cli_job. */
csrec_status cli_job_plot(void *job, csrec_files *files, csrec_error *error);

/* Of job->result.simple: a name, and what it does. */
const char *cli_simple_name(const cli_job *job);
const char *cli_simple_words(const cli_job *job);

/* Errors of a recovery with a reference, of others values; without series if it says nothing.
 * beyond: percent that are not drawn. false: out of memory. */
bool cli_page_histogram(const cli_job *job, cli_chart *chart, double *beyond);

typedef struct cli_fact {
    char name[40], value[160];
} cli_fact;

enum { CLI_FACTS_MOST = 64 };

/* The command line that repeats the recovery of this input, quoted for a shell; free it. NULL: out
 * of memory. */
char *cli_job_command(const cli_job *job);
/* The measurement, the settings of the recovery, and seconds by step; the number of facts. */
int cli_job_measured(const cli_job *job, cli_fact facts[CLI_FACTS_MOST]);
int cli_job_settings(const cli_job *job, cli_fact facts[CLI_FACTS_MOST]);

typedef struct cli_stage {
    const char *name;
    double seconds;
} cli_stage;

enum { CLI_STAGES = 7 };

void cli_job_stages(const cli_job *job, cli_stage stages[CLI_STAGES]);

/* Which part of the signal is shown, and how. */
typedef struct cli_view {
    int64_t height, width; /* of the plane */
    int64_t base, row;     /* its first entry; entries from row to row */
    int64_t shown;         /* channels: 1 or 3 */
    int64_t factor;        /* pixels of the plane, along each axis, that become one */
    double black, white;
    bool light; /* as cli_tones */
} cli_view;

/* A plane of a signal of 2 axes or more: all of it, or the middle one. false: 1-D. */
bool cli_view_of(const cli_job *job, cli_view *view);

/* The pixels shown. */
typedef struct cli_plane {
    int64_t height, width, channels;
    double *value;  /* [height][width][channels], means */
    int64_t *count; /* [height][width], positions behind each; 0: not known */
} cli_plane;

/* CSREC_MEMORY. Clear all of them with cli_plane_clear. Errors: root mean squares of a - b, or of
 * a alone if b is NULL, over all channels. */
csrec_status cli_plane_samples(const csrec_measurement *m, const cli_view *view, cli_plane *plane);
csrec_status cli_plane_signal(const csrec_measurement *m, const cli_view *view,
                              const double *signal, cli_plane *plane);
csrec_status cli_plane_errors(const csrec_measurement *m, const cli_view *view, const double *a,
                              const double *b, cli_plane *plane);
void cli_plane_clear(cli_plane *plane);
/* The 99th percentile of the values, between ranks as NumPy's, and the largest. CSREC_MEMORY. */
csrec_status cli_plane_range(const cli_plane *plane, double *percentile, double *largest);
/* Pictures: with transparent pixels where nothing is known; in false colours from 0 to `most`. */
csrec_status cli_plane_tones(const cli_plane *plane, const cli_view *view, csrec_image *image);
csrec_status cli_plane_colors(const cli_plane *plane, double most, csrec_image *image);

/* Values as whole numbers k of 16 bits, value = low + (k - 1) step; k = 0: not known. */
typedef struct cli_levels {
    double low, step;
} cli_levels;

/* For so many values from low to high; for samples, recovery and reference of a view. */
cli_levels cli_levels_of(int64_t values, double low, double high);
cli_levels cli_view_levels(const cli_job *job, const cli_view *view);
csrec_status cli_plane_levels(const cli_plane *plane, cli_levels levels, csrec_image *image);

/* The square of the plane whose error, or without a reference expected error, is largest. side 0:
 * there is none. error, all: root mean squares in it and in all of the plane. */
typedef struct cli_window {
    int64_t row, column, side;
    double error, all;
} cli_window;

csrec_status cli_page_worst(const cli_job *job, const cli_view *view, cli_window *window);

/* "12345 in all, 1 to 16 a sample"; false: they are not told. */
bool cli_rays_text(const csrec_measurement *m, char text[192]);
/* Of noise that differs from sample to sample; false: it is one sigma, or not told. */
bool cli_noise_text(const csrec_measurement *m, const char *source, char text[192]);
void cli_each_json(const csrec_measurement *m, cli_json *json);
