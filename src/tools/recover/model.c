/* model.c - reads the model of a recovery. */
#include "recover.h"

int cli_job_model(cli_job *job) {
    csrec_error error;
    if (!job->a->model) return CLI_CONTINUE;
    if (csrec_model_read(job->a->model, &job->setup.model, &error))
        return cli_job_fail(job, "%s", error.text);
    return CLI_CONTINUE;
}
