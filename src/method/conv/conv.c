/* conv.c - recovery of a picture with learned filters: a smooth layer, and on it what is sparse in
 * the convolutional dictionary (docs/conv.md). */
#include <stdlib.h>
#include <string.h>

#include "learn/conv_base.h"
#include "operator/operator.h"
#include "method/sparse/sparse.h"
#include "method/history.h"
#include "method/model.h"
#include "recover/recover.h"
#include "method/tones.h"
#include "solver/solver.h"

enum { ITERATIONS = 100, SETTINGS = 32 };

static double base_width(const csrec_recover_options *options) {
    const csrec_param *param = csrec_operator_conv.params;
    return csrec_setting_value(&options->solve, param->name, param->value);
}

/* base [entries * channels]; y [n * channels] becomes what is left of the samples. */
static csrec_status take_base(const csrec_measurement *m, double sigma, csrec_team *team, double *y,
                              double *base) {
    int64_t entries = m->shape.dim[0] * m->shape.dim[1];
    double *layer = malloc((size_t)(entries + m->n) * sizeof *layer);
    csrec_status status = layer ? CSREC_OK : CSREC_MEMORY;
    for (int64_t c = 0; c < m->channels && !status; c++) {
        double *own = layer + entries;
        for (int64_t k = 0; k < m->n; k++) own[k] = m->y[k * m->channels + c];
        status = csrec_conv_base(m->shape.dim[0], m->shape.dim[1], m->n, m->index, own, sigma, team,
                                 layer);
        for (int64_t i = 0; i < entries && !status; i++) base[i * m->channels + c] = layer[i];
        for (int64_t k = 0; k < m->n && !status; k++)
            y[k * m->channels + c] = own[k] - layer[m->index[k]];
    }
    free(layer);
    return status;
}

/* The solver sees the samples less the base; what it lacks of options is filled in. */
static csrec_status solve(const csrec_measurement *measurement,
                          const csrec_recover_options *options, csrec_team *team, double *y,
                          double *signal, csrec_recover_report *report, csrec_error *error) {
    csrec_measurement rest = *measurement;
    csrec_recover_options own = *options;
    rest.y = y;
    own.basis = "conv";
    own.mean = false;
    own.solve.progress = csrec_team_hear;
    own.solve.context = team;
    if (!own.solve.solver) own.solve.solver = "fista";
    csrec_setting settings[SETTINGS + 1];
    if (strcmp(own.solve.solver, "fista") == 0) {
        if (own.solve.n_settings < SETTINGS)
            csrec_setting_prepend(&own.solve, (csrec_setting){"lambda", 0.001}, settings);
        if (own.solve.stop.atoms == 0) own.solve.stop.atoms = ITERATIONS;
        /* The default tolerance is a pursuit's. */
        if (own.solve.stop.epsilon == CSREC_EPSILON_DEFAULT) own.solve.stop.epsilon = 0.0;
    }
    csrec_whole whole;
    csrec_status status = csrec_whole_of(&rest, &whole, error);
    if (!status)
        status =
            csrec_recover_basis(&rest, &whole, &own, &csrec_backend_cpu, signal, report, error);
    csrec_whole_clear(&whole);
    return status;
}

csrec_status csrec_recover_conv(const csrec_measurement *measurement, const csrec_whole *whole,
                                const csrec_recover_options *options, double unit, double *signal,
                                csrec_recover_report *report, csrec_error *error) {
    (void)whole;
    (void)unit; /* filters have none */
    const csrec_measurement *m = measurement;
    if (m->shape.dims != 2)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "a model of kind conv is for pictures; the measurement has %d axes",
                          m->shape.dims);
    int64_t values = m->shape.dim[0] * m->shape.dim[1] * m->channels;
    double *base = malloc((size_t)(values + m->n * m->channels) * sizeof *base);
    csrec_team team;
    csrec_team_begin(&team, options->solve.progress, options->solve.context,
                     (csrec_progress){"base layer", 0, 0, -1.0});
    csrec_status status =
        base ? take_base(m, base_width(options), &team, base + values, base) : CSREC_MEMORY;
    if (status)
        csrec_fail(error, status, "out of memory for the base layer");
    else {
        csrec_history_layer(options->history, base);
        status = solve(m, options, &team, base + values, signal, report, error);
        csrec_history_layer(options->history, NULL);
    }
    for (int64_t i = 0; i < values && !status; i++) signal[i] += base[i];
    if (!status) csrec_samples_restore(m, signal);
    if (!status) report->residual = csrec_samples_residual(m, signal);
    csrec_team_end(&team);
    free(base);
    return status;
}
