/* loop_solve.cu - one pursuit on the device from rows and samples to atoms: the choice of a way,
 * the waiting, the report. */
#include <cmath>
#include <ctime>

#include "kernels/method/grids/loop_state.h"

static double milliseconds() {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void pause(long nanoseconds) {
    struct timespec time = {0, nanoseconds};
    nanosleep(&time, NULL);
}

static void tell(csrec_loop_state *s, const csrec_loop_options *options) {
    double energy = s->mail->energy;
    csrec_progress progress = {"pursuit", s->mail->iterations, s->rules.limit,
                               energy >= 0.0 && s->start > 0.0 ? sqrt(energy / s->start) : -1.0};
    if (options->progress(&progress, options->context)) s->mail->stop = 1;
}

csrec_status csrec_loop_wait(csrec_loop_state *s, const csrec_loop_options *options,
                             csrec_error *error) {
    enum { POLL_NS = 200000, REPORT_MS = 10 };
    double last = milliseconds();
    while (options->progress) {
        cudaError_t code = cudaStreamQuery(0);
        if (code == cudaSuccess) break;
        if (code != cudaErrorNotReady) return csrec_cuda_check(code, "the loop", error);
        cudaGetLastError();
        pause(POLL_NS);
        if (milliseconds() - last < REPORT_MS) continue;
        last = milliseconds();
        tell(s, options);
    }
    return csrec_cuda_check(cudaDeviceSynchronize(), "the loop", error);
}

static void fill_report(const csrec_loop_state *s, const csrec_loop_stand *stand,
                        csrec_loop_report *report) {
    double energy =
        (double)(int64_t)(stand->energy >> 64) * 0x1p64 + (double)(uint64_t)stand->energy;
    energy = energy / s->rules.units / s->rules.units;
    report->solve.outcome = (csrec_outcome)stand->outcome;
    report->solve.iterations = stand->iterations;
    report->solve.residual = s->start > 0.0 ? sqrt(energy / s->start) : 0.0;
    report->rounds = stand->rounds;
    report->top = stand->top;
    report->undone = stand->undone;
    report->bytes += s->memory.used;
}

static csrec_status run(csrec_loop_state *s, const csrec_loop_options *options, csrec_atoms *atoms,
                        double *r, csrec_loop_report *report, csrec_error *error) {
    csrec_loop_stand stand;
    double begin = milliseconds();
    csrec_status status = csrec_loop_state_create(s, s->problem, &options->stop, error);
    if (!status) status = csrec_cuda_check(cudaDeviceSynchronize(), "the row tree", error);
    double built = milliseconds();
    if (!status)
        status = report->way == CSREC_LOOP_GRID
                     ? csrec_loop_grid_run(s, options, report, &stand, error)
                     : csrec_loop_speculate_run(s, options, report, &stand, error);
    double pursued = milliseconds();
    if (!status) status = csrec_loop_state_result(s, &stand, atoms, r, error);
    report->build_ms = built - begin;
    report->pursuit_ms = pursued - built;
    report->result_ms = milliseconds() - pursued;
    if (!status) fill_report(s, &stand, report);
    return status;
}

csrec_status csrec_loop_solve(const csrec_loop_problem *problem, const csrec_loop_options *options,
                              csrec_atoms *atoms, double *r, csrec_loop_report *report,
                              csrec_error *error) {
    if (options->stop.stagnation > 0.0)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "stagnation is not watched on the device; use --backend cpu");
    csrec_loop_state state = {};
    csrec_loop_report own = {};
    own.way = options->way;
    if (own.way == CSREC_LOOP_AUTO)
        own.way = problem->n < CSREC_LOOP_SPECULATE_FROM ? CSREC_LOOP_GRID : CSREC_LOOP_SPECULATE;
    state.problem = problem;
    csrec_status status = run(&state, options, atoms, r, &own, error);
    csrec_loop_state_clear(&state);
    if (!status && report) *report = own;
    return status;
}
