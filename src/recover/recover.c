/* recover.c - csrec_recover: defaults, checks, and the choice of a way. */
#include "recover/recover.h"

#include <string.h>

#include "device/backend.h"
#include "method/adaptive/adaptive.h"
#include "method/sparse/sparse.h"
#include "method/gaussian/gaussian.h"
#include "method/mixture/mixture.h"
#include "method/history.h"
#include "method/model.h"
#include "recover/normal.h"
#include "recover/plan.h"
#include "method/tones.h"

void csrec_recover_defaults(const csrec_measurement *measurement, csrec_recover_options *options) {
    *options = (csrec_recover_options){.columns = CSREC_COLUMNS_TWO_SIDED,
                                       .order = CSREC_ORDER_MORTON,
                                       .shifts = csrec_adaptive_suits(measurement) ? 0 : 1,
                                       .solve.stop.epsilon = CSREC_EPSILON_DEFAULT,
                                       .seed = 1,
                                       .backend = "auto"};
}

static csrec_status check(const csrec_recover_options *options, bool atoms, csrec_error *error) {
    if (options->shifts < 0)
        return csrec_fail(error, CSREC_ARGUMENT, "shifts = %lld; must be at least 0",
                          (long long)options->shifts);
    if (atoms && options->shifts != 1)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "coefficients belong to one grid: they need --shifts 1");
    if (options->solve.history)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "solve.history is of a single csrec_solve; use history of the options");
    return CSREC_OK;
}

static csrec_status on_grids(const csrec_measurement *measurement,
                             const csrec_recover_options *options, const csrec_backend *backend,
                             double *signal, csrec_atoms *atoms, csrec_recover_report *report,
                             csrec_error *error) {
    csrec_status status =
        backend->recover_grids(measurement, options, signal, atoms, report, error);
    report->backend = backend->name;
    return status;
}

static csrec_status on_adaptive_grids(const csrec_measurement *measurement,
                                      const csrec_whole *whole,
                                      const csrec_recover_options *options,
                                      const csrec_backend *backend, double *signal,
                                      csrec_recover_report *report, csrec_error *error) {
    const csrec_backend *on = backend->adaptive ? backend : &csrec_backend_cpu;
    csrec_status status =
        csrec_recover_adaptive(measurement, whole, options, on->adaptive, signal, report, error);
    report->backend = on->name;
    return status;
}

csrec_status csrec_recover_whole(const csrec_measurement *measurement, const csrec_whole *whole,
                                 const csrec_recover_options *options, const csrec_backend *backend,
                                 double unit, double *signal, csrec_atoms *atoms,
                                 csrec_recover_report *report, csrec_error *error) {
    bool model = options->model != NULL, gmm = csrec_gmm_wanted(options);
    if (model || gmm) report->backend = csrec_backend_cpu.name;
    if (model)
        return csrec_recover_model(measurement, whole, options, unit, atoms ? NULL : signal, report,
                                   error);
    if (atoms && gmm)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "solver gmm has no coefficients; use another solver");
    if (gmm) return csrec_recover_gmm(measurement, whole, options, unit, signal, report, error);
    if (atoms && csrec_gaussian_wanted(options))
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "solver gaussian has no coefficients; use another solver");
    if (csrec_gaussian_wanted(options))
        return csrec_recover_gaussian(measurement, whole, options, backend, signal, report, error);
    if (atoms && csrec_basis_wanted(options))
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "coefficients are written for the haar basis only");
    if (csrec_basis_wanted(options))
        return csrec_recover_basis(measurement, whole, options, backend, signal, report, error);
    /* Atoms of adaptive grids were refused before: they need one plain grid. */
    if (options->shifts == 0)
        return on_adaptive_grids(measurement, whole, options, backend, signal, report, error);
    return on_grids(measurement, options, backend, signal, atoms, report, error);
}

static csrec_status recover_normal(const csrec_normal *normal, const csrec_plan *plan,
                                   const csrec_backend *backend, double *signal, csrec_atoms *atoms,
                                   csrec_recover_report *report, csrec_error *error) {
    double start = csrec_seconds();
    csrec_history *history = normal->options.history;
    csrec_whole whole;
    csrec_history_begin(history, &normal->m, normal->unit);
    csrec_status status = csrec_whole_of(&normal->m, &whole, error);
    if (!status && plan->estimate.tiles > 1)
        status = csrec_recover_tiles(&normal->m, &whole, &normal->options, backend, normal->unit,
                                     &plan->tiling, signal, report, error);
    else if (!status)
        status = csrec_recover_whole(&normal->m, &whole, &normal->options, backend, normal->unit,
                                     signal, atoms, report, error);
    csrec_whole_clear(&whole);
    report->estimate = plan->estimate;
    report->seconds_total = csrec_seconds() - start;
    if (status) return status;
    status = csrec_history_end(history, signal, report, error);
    if (!status) status = csrec_normal_deliver(normal, signal, atoms, error);
    for (int64_t c = 0; status && atoms && c < normal->m.channels; c++)
        csrec_atoms_clear(&atoms[c]);
    return status;
}

static csrec_status recover_on(const csrec_backend *backend, const csrec_measurement *measurement,
                               const csrec_recover_options *options, double *signal,
                               csrec_atoms *atoms, csrec_recover_report *report,
                               csrec_error *error) {
    csrec_status status = CSREC_OK;
    csrec_plan plan = {.options = *options};
    if (backend == &csrec_backend_cpu)
        status = csrec_plan_make(measurement, options, signal && !atoms, &plan, error);
    if (!status) status = csrec_plan_check(&plan, error);
    if (status) return status;
    double largest = csrec_largest(measurement->n * measurement->channels, measurement->y);
    csrec_normal normal;
    status =
        csrec_normal_create(measurement, &plan.options, csrec_unit_of(largest), &normal, error);
    if (!status) status = recover_normal(&normal, &plan, backend, signal, atoms, report, error);
    csrec_normal_clear(&normal);
    return status;
}

csrec_status csrec_recover(const csrec_measurement *measurement,
                           const csrec_recover_options *options, double *signal, csrec_atoms *atoms,
                           csrec_recover_report *report, csrec_error *error) {
    csrec_status status = csrec_measurement_check(measurement, "measurement", error);
    if (!status) status = check(options, atoms != NULL, error);
    const csrec_backend *backend, *cpu = &csrec_backend_cpu;
    if (!status) status = csrec_backend_choose_for(measurement, options, &backend, error);
    if (status) return status;
    csrec_recover_report own = {0};
    bool first_of_two = backend != cpu && csrec_device_automatic(options->backend);
    status =
        recover_on(backend, measurement, options, signal, atoms, &own, first_of_two ? NULL : error);
    if (status && first_of_two) { /* what a device cannot do, auto leaves to the CPU */
        own = (csrec_recover_report){0};
        status = recover_on(cpu, measurement, options, signal, atoms, &own, error);
    }
    if (!status && report) *report = own;
    return status;
}
