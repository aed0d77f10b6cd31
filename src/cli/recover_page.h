/* recover_page.h - csrecover --report. */
#ifndef CSREC_CLI_RECOVER_PAGE_H
#define CSREC_CLI_RECOVER_PAGE_H

#include "recover.h"

/* Adds one HTML page, job->page, that holds all it shows; it is well-formed XML too. */
csrec_status cli_job_page(const cli_job *job, csrec_files *files, csrec_error *error);

#endif
