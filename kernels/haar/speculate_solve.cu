/* SPDX-License-Identifier: BSD-3-Clause */
/* speculate_solve.cu - one pursuit on the device from rows and samples to atoms: launch, wait and
 * report. */
#include <ctime>

#include "kernels/haar/speculate_state.h"

static double milliseconds() {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void report_progress(csrec_speculate_state *s, const csrec_speculate_options *options) {
    double energy = s->link->energy;
    csrec_progress progress = {"pursuit", s->link->iterations, s->rules.limit,
                               energy >= 0.0 && s->start > 0.0 ? sqrt(energy / s->start) : -1.0};
    if (options->progress(&progress, options->context)) s->link->stop = 1;
}

csrec_status csrec_speculate_wait(csrec_speculate_state *s, const csrec_speculate_options *options,
                                  csrec_error *error) {
    enum { POLL_NS = 200000, REPORT_MS = 10 };
    double last = milliseconds();
    while (options->progress) {
        cudaError_t code = cudaStreamQuery(0);
        if (code == cudaSuccess) break;
        if (code != cudaErrorNotReady) return csrec_cuda_check(code, "the loop", error);
        cudaGetLastError();
        struct timespec time = {0, POLL_NS};
        nanosleep(&time, NULL);
        if (milliseconds() - last < REPORT_MS) continue;
        last = milliseconds();
        report_progress(s, options);
    }
    return csrec_cuda_check(cudaDeviceSynchronize(), "the loop", error);
}

static void fill_report(const csrec_speculate_state *s, const csrec_speculate_totals *totals,
                        csrec_speculate_report *report) {
    double energy = csrec_wide_double(totals->energy) / s->rules.units / s->rules.units;
    report->solve.outcome = (csrec_outcome)totals->outcome;
    report->solve.iterations = totals->iterations;
    report->solve.residual = s->start > 0.0 ? sqrt(energy / s->start) : 0.0;
    report->rounds = totals->rounds;
    report->top = totals->top;
    report->undone = totals->undone;
    report->bytes += s->memory.used;
}

static csrec_status run(csrec_speculate_state *s, const csrec_speculate_options *options,
                        csrec_atoms *atoms, csrec_speculate_report *report, csrec_error *error) {
    csrec_speculate_totals totals;
    double begin = milliseconds();
    csrec_status status = csrec_speculate_state_create(s, s->problem, &options->stop, error);
    if (!status) status = csrec_cuda_check(cudaDeviceSynchronize(), "the row tree", error);
    double built = milliseconds();
    if (!status) status = csrec_speculate_run(s, options, report, &totals, error);
    double pursued = milliseconds();
    if (!status && atoms) status = csrec_speculate_state_atoms(s, &totals, atoms, error);
    report->build_ms = built - begin;
    report->pursuit_ms = pursued - built;
    report->result_ms = milliseconds() - pursued;
    if (!status) fill_report(s, &totals, report);
    return status;
}

csrec_status csrec_speculate_solve(const csrec_speculate_problem *problem,
                                   const csrec_speculate_options *options, csrec_atoms *atoms,
                                   csrec_speculate_report *report, csrec_error *error) {
    if (options->stop.stagnation > 0.0)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "backend cuda: stagnation is not watched by the speculative pursuit");
    csrec_speculate_state state = {};
    csrec_speculate_report own = {};
    state.problem = problem;
    csrec_status status = run(&state, options, atoms, &own, error);
    csrec_speculate_state_clear(&state);
    if (!status && report) *report = own;
    return status;
}
