/* page.h - csrecover --report: one self-contained page, and its parts. */
#ifndef CSREC_TOOLS_RECOVER_PAGE_H
#define CSREC_TOOLS_RECOVER_PAGE_H

#include "tools/common/chart.h"
#include "recover.h"

/* Adds the page, job->out.page, HTML that is also well-formed XML. */
csrec_status cli_job_page(const cli_job *job, csrec_files *files, csrec_error *error);

/* What the parts of the page are written from and to. */
typedef struct cli_page {
    const cli_job *job;
    FILE *file;
    csrec_error *error;
} cli_page;

/* What was recovered, how good it is, the first warning (verdict.c). */
void cli_page_verdict(const cli_page *page);

/* Samples, recovery and errors: pictures (panels.c), or charts of a signal of one axis
 * (lines.c). */
csrec_status cli_page_panels(const cli_page *page);
csrec_status cli_page_lines(const cli_page *page);

/* An element with a text. */
void cli_page_text(const cli_page *page, const char *element, const char *text);

/* A figure with a chart; the numbers as a table if `numbers`. */
void cli_page_chart(const cli_page *page, const cli_chart *chart, bool numbers);

/* Sets the page's error. */
csrec_status cli_page_no_memory(const cli_page *page);

/* Contents of <style> and <script> (style.c). The script has no "<" and "&", which XML
 * would read as markup. */
extern const char cli_page_style[], cli_page_script[];

#endif
