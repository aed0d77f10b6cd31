/* tv.c - the method of total variation: its parameters and its row. */
#include "method/tv/tv.h"

#include <math.h>

#include "base/threads.h"
#include "solver/solver.h"

static const csrec_param params[] = {
    {"iterations", 500, 1, 1000000, "steps at most"},
    {"digits", 3, 1, 14, "ends when a step changes the signal in no more than these digits"},
    {"together", 1, 0, 1, "1: edges of colours are in the same places; 0: each colour by itself"},
    {"planes", 100, 0, 10000,
     "percent that differences between planes of a volume count, of those within them"},
    {0}};

static double setting(const csrec_recovery *r, int k) {
    return csrec_setting_value(&r->options->solve, CSREC_OF_METHOD, params[k].name,
                               params[k].value);
}

/* Below so many values a thread its start takes longer than its work. */
enum { SMALL = 1 << 13 };

csrec_tv_problem csrec_tv_defaults(const csrec_measured *data, int threads) {
    return (csrec_tv_problem){.data = data,
                              .weight = {1.0, 1.0, 1.0},
                              .together = true,
                              .threads = data->values < SMALL ? 1 : csrec_threads(threads),
                              .iterations = params[0].value,
                              .tolerance = pow(10.0, -params[1].value)};
}

static csrec_tv_problem problem_of(const csrec_recovery *r, const csrec_measured *data) {
    csrec_tv_problem t = csrec_tv_defaults(data, r->options->threads);
    t.iterations = (int64_t)setting(r, 0);
    t.tolerance = pow(10.0, -setting(r, 1));
    t.together = setting(r, 2) != 0.0;
    if (data->m->shape.dims == 3) t.weight[0] = setting(r, 3) / 100.0;
    return t;
}

static csrec_status solve(const csrec_recovery *r, const csrec_measured *data, csrec_error *error) {
    const csrec_tv_problem t = problem_of(r, data);
    csrec_call team;
    int64_t done = 0;
    csrec_call_begin(&team, r->options->solve.progress, r->options->solve.context,
                     (csrec_progress){"total variation", 0, t.iterations, -1.0});
    csrec_status status = csrec_measured_start(data, r->signal);
    if (!status) status = csrec_tv_solve(&t, &team, r->signal, &done);
    if (!status) status = csrec_products_report(r, data, done, csrec_call_stopped(&team));
    csrec_call_end(&team);
    return status ? csrec_fail(error, status, "total variation: %s", csrec_status_text(status))
                  : CSREC_OK;
}

static csrec_status run(const csrec_recovery *r, csrec_error *error) {
    csrec_measured data;
    csrec_status status = csrec_products_create(r, &data, error);
    if (!status) status = solve(r, &data, error);
    csrec_measured_clear(&data);
    return status;
}

/* Seconds of a step, for each value; two products beside. */
static const double PER_VALUE = 1.5e-8;

static csrec_need need_of(const csrec_task *task) {
    csrec_need product = csrec_products_need(task);
    double values = (double)task->entries * (double)task->channels;
    double steps = csrec_task_param(task, &params[0]);
    double own = csrec_task_share(task, PER_VALUE * values, task->entries);
    return (csrec_need){.bytes = csrec_signal_bytes(task) * 6.0 + product.bytes,
                        .seconds = steps * (own + 2.0 * (double)task->channels * product.seconds)};
}

const csrec_method_type csrec_method_tv = {
    .info = {.name = "tv",
             .brief = "the least total variation among all signals that fit the measurements",
             .source = "Rudin, Osher and Fatemi 1992; Chambolle and Pock 2011, algorithm 1",
             .accepts = CSREC_ACCEPTS(EPSILON) | CSREC_ACCEPTS(SIGMA),
             .iterates = true,
             .device = "products with the operator"},
    .params = params,
    .suits = csrec_products_suits,
    .wants = "one to three axes",
    .through = true,
    .complete = csrec_products_complete,
    .need = need_of,
    .on_device = csrec_task_always,
    .run = run};
