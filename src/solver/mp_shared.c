/* SPDX-License-Identifier: BSD-3-Clause */
/* mp_shared.c - the rules and reports of the solvers' loop for a pursuit by several processes. */
#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "haar/shared.h"
#include "solver/mp.h"

bool csrec_mp_shares(const csrec_solve_options *options) {
    return (!options->solver || strcmp(options->solver, csrec_solver_mp.name) == 0) &&
           !options->reference && !options->start && options->stop.stagnation == 0.0;
}

typedef struct observer {
    const csrec_solve_options *options;
    csrec_rules rules;
    csrec_ticker pace;
} observer;

static double residual_of(const csrec_rules *rules, double energy) {
    return rules->whole > 0.0 ? sqrt(energy / rules->whole) : 0.0;
}

static bool stops(void *context, int64_t iterations, double energy) {
    observer *o = context;
    csrec_progress now = {"pursuit", iterations, o->rules.limit, residual_of(&o->rules, energy)};
    return csrec_ticker_passed(&o->pace) && o->options->progress(&now, o->options->context);
}

void csrec_exchanges_add(const csrec_exchanges *one, csrec_exchanges *all) {
    all->rounds += one->rounds;
    all->messages += one->messages;
    all->bytes += one->bytes;
    all->seconds += one->seconds;
}

csrec_status csrec_mp_shared(const csrec_mp_job *job, csrec_atoms *atoms,
                             csrec_solve_report *report, csrec_exchanges *exchanges,
                             csrec_error *error) {
    const csrec_stop *stop = &job->options->stop;
    observer o = {.options = job->options, .rules = csrec_rules_of(stop, -1, job->n, job->y)};
    csrec_shared_job own = {.comm = job->comm,
                            .where = job->where,
                            .levels = job->levels,
                            .n = job->n,
                            .rows = job->rows,
                            .y = job->y,
                            .columns = job->columns,
                            .limit = o.rules.limit,
                            .goal = o.rules.end,
                            .small = stop->min_coefficient,
                            .stops = job->options->progress ? stops : NULL,
                            .context = &o,
                            .threads = job->threads};
    csrec_shared_report reached;
    csrec_status status = csrec_shared_pursuit(&own, atoms, NULL, &reached, error);
    if (status) return status;
    double residual = residual_of(&o.rules, reached.energy);
    *report = (csrec_solve_report){csrec_stop_verdict(stop, job->n, residual, reached.outcome),
                                   reached.iterations, residual};
    const csrec_exchanges own_ones = {reached.rounds, reached.messages, reached.bytes,
                                      reached.waited};
    csrec_exchanges_add(&own_ones, exchanges);
    return CSREC_OK;
}
