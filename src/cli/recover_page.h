/* recover_page.h - csrecover --report. */
#ifndef CSREC_CLI_RECOVER_PAGE_H
#define CSREC_CLI_RECOVER_PAGE_H

#include "recover.h"

/* Adds one self-contained HTML page, job->page, which is also well-formed XML. */
csrec_status cli_job_page(const cli_job *job, csrec_files *files, csrec_error *error);

#endif
