/* preset.c - solvers and bases that suit each other, by name. */
#include "method/gaussian/gaussian.h"
#include "recover/recover.h"

static const char *const names[] = {"fast", "balanced", "best"};

static const csrec_setting one_block[] = {{"block", 8}};

const char *csrec_recover_preset(int i, const csrec_measurement *measurement,
                                 csrec_recover_options *options) {
    if (i < 0 || i > 2) return NULL;
    if (!options) return names[i];
    csrec_recover_defaults(measurement, options);
    if (measurement->shape.dims > 3) return names[i];
    if (i == 2 && csrec_gaussian_suits(measurement)) {
        options->solve.solver = "gaussian";
        return names[i];
    }
    options->basis = "dct";
    options->solve.solver = "threshold";
    options->mean = i == 2;
    if (i == 0) {
        options->solve.settings = one_block;
        options->solve.n_settings = 1;
    }
    return names[i];
}
