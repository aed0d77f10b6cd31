/* choice.c - bytes to options of csrec_recover, and what a recovery must deliver. */
#include <math.h>
#include <stdio.h>

#include "fuzz.h"

/* Rows of the library's table of solvers or of operators. */
static int table_length(bool solvers) {
    const char *name, *brief, *source;
    int n = 0;
    while (solvers ? csrec_solver_info(n, &name, &brief, &source)
                   : csrec_operator_info(n, &name, &brief))
        n++;
    return n;
}

static const char *table_name(bool solvers, int i) {
    const char *name = NULL, *brief, *source;
    if (solvers)
        csrec_solver_info(i, &name, &brief, &source);
    else
        csrec_operator_info(i, &name, &brief);
    return name;
}

static void choose_method(fuzz_bytes *bytes, const csrec_measurement *measurement,
                          fuzz_choice *choice, int *basis, int *solver, int *method) {
    csrec_recover_options *o = &choice->options;
    int presets = 0;
    while (csrec_recover_preset(presets, measurement, NULL)) presets++;
    csrec_recover_defaults(o);
    int preset = (int)fuzz_below(bytes, (unsigned)presets + 1) - 1;
    if (preset >= 0) csrec_recover_preset(preset, measurement, o);
    *basis = (int)fuzz_below(bytes, (unsigned)table_length(false) + 1) - 1;
    *solver = (int)fuzz_below(bytes, (unsigned)table_length(true) + 1) - 1;
    if (*basis >= 0) o->basis = table_name(false, *basis);
    if (*solver >= 0) o->solve.solver = table_name(true, *solver);
    static const int64_t shifts[] = {-1, 1, 0, 2, 3, 5};
    int64_t shift = shifts[fuzz_below(bytes, 6)];
    if (shift >= 0) o->shifts = shift;
    o->order = (csrec_order)((int)fuzz_below(bytes, CSREC_ORDER_RASTER + 2) - 1);
    o->columns = (csrec_columns)((int)fuzz_below(bytes, CSREC_COLUMNS_TWO_SIDED + 2) - 1);
    csrec_method row;
    int methods = 0;
    while (csrec_method_info(methods, &row)) methods++;
    *method = (int)fuzz_below(bytes, (unsigned)methods + 1) - 1;
    if (csrec_method_info(*method, &row)) o->method = row.name;
}

/* An end of the range, the default, something between, or any number. */
static double parameter_value(fuzz_bytes *bytes, const csrec_param *param) {
    double between = fuzz_below(bytes, 256) / 255.0;
    double value = param->least + (param->most - param->least) * between;
    switch (fuzz_below(bytes, 6)) {
    case 0:
        return param->least;
    case 1:
        return param->most;
    case 2:
        return floor(value);
    case 3:
        return floor(fmin(2.0 * param->value + 4.0, param->most) * between);
    case 4:
        return value;
    default:
        return fuzz_number(bytes);
    }
}

static void choose_settings(fuzz_bytes *bytes, fuzz_choice *choice, const int row[3]) {
    const csrec_param *(*const tables[3])(int, int) = {csrec_operator_param, csrec_solver_param,
                                                       csrec_method_param};
    int n = (int)fuzz_below(bytes, FUZZ_SETTINGS + 1), made = 0;
    for (int i = 0; i < n; i++) {
        int table = (int)fuzz_below(bytes, 3), length = 0;
        while (tables[table](row[table], length)) length++;
        if (!length) continue;
        const csrec_param *param =
            tables[table](row[table], (int)fuzz_below(bytes, (unsigned)length));
        choice->settings[made++] = (csrec_setting){param->name, parameter_value(bytes, param)};
    }
    if (!made) return;
    choice->options.solve.settings = choice->settings;
    choice->options.solve.n_settings = made;
}

static void choose_stop(fuzz_bytes *bytes, csrec_stop *stop) {
    unsigned given = fuzz_below(bytes, 64);
    if (given & 1) stop->epsilon = fuzz_number(bytes);
    if (given & 2) stop->atoms = (int64_t)fuzz_below(bytes, 256) - 2;
    if (given & 4) stop->min_coefficient = fuzz_number(bytes);
    if (given & 8) stop->sigma = fuzz_number(bytes);
    if (given & 16) stop->stagnation = fuzz_number(bytes);
}

void fuzz_choose(fuzz_bytes *bytes, const csrec_measurement *measurement, fuzz_choice *choice) {
    int row[3]; /* basis, solver, method */
    *choice = (fuzz_choice){0};
    csrec_recover_options *o = &choice->options;
    choose_method(bytes, measurement, choice, &row[0], &row[1], &row[2]);
    unsigned atoms = fuzz_below(bytes, 4);
    choice->atoms = atoms & 1;
    choice->no_signal = atoms == 3;
    unsigned history = fuzz_below(bytes, 4);
    choice->history = history & 1;
    choice->truth = history & 2;
    choose_stop(bytes, &o->solve.stop);
    choose_settings(bytes, choice, row);
    o->threads = fuzz_below(bytes, 8) == 1 ? 2 : 1;
    o->seed = fuzz_below(bytes, 256);
    o->solve.reference = fuzz_below(bytes, 8) == 1;
    o->backend = "cpu";
    choice->watch = fuzz_watch_begin(fuzz_below(bytes, 4) == 1 ? fuzz_below(bytes, 256) : 0);
    o->solve.progress = fuzz_watch_stops;
    o->solve.context = &choice->watch;
}

static void check_report(const csrec_recover_report *report) {
    const double values[] = {report->residual, report->seconds_tree, report->seconds_pursuit,
                             report->seconds_synthesis, report->seconds_total};
    fuzz_check_finite(5, values);
    if (report->residual < 0 || report->iterations < 0 || report->pursuits < 0 ||
        !report->backend || !csrec_outcome_text(report->outcome))
        abort();
}

static void check_atoms(int64_t channels, csrec_atoms *atoms) {
    for (int64_t c = 0; c < channels; c++) {
        fuzz_check_finite(atoms[c].n, atoms[c].coefficient);
        for (int64_t i = 1; i < atoms[c].n; i++)
            if (atoms[c].column[i - 1] >= atoms[c].column[i]) abort();
        csrec_atoms_clear(&atoms[c]);
    }
}

static void check_history(const csrec_history *history, bool truth) {
    const char *name, *unit;
    int64_t n, count[64];
    const csrec_history_step *step;
    for (int i = 0; csrec_history_track(history, i, &name, &unit, &n, &step); i++)
        for (int64_t k = 0; k < n; k++) {
            fuzz_check_finite(1, &step[k].residual);
            if (!truth && !isnan(step[k].psnr)) abort();
        }
    csrec_history_levels(history, count);
}

/* Channels that are measured nowhere stay NaN. */
static void check_signal(const csrec_measurement *m, int64_t count, double *signal) {
    const int64_t values = csrec_measurement_values(m), each = values / m->n;
    for (int64_t c = 0; c < each && !m->through; c++) {
        int64_t k = c;
        while (k < values && isnan(m->y[k])) k += each;
        for (int64_t i = c; i < count && k >= values; i += each)
            if (isnan(signal[i])) signal[i] = 0.0;
    }
    fuzz_check_finite(count, signal);
}

void fuzz_recover(const csrec_measurement *m, const csrec_model *model, fuzz_choice *choice) {
    csrec_error error = {""};
    csrec_recover_report report;
    size_t count = (size_t)csrec_measurement_signal_values(m); /* two of a complex value */
    double *signal = malloc(count * sizeof *signal), *truth = calloc(count, sizeof *truth);
    csrec_atoms *atoms = calloc((size_t)m->channels, sizeof *atoms);
    csrec_history *history = NULL;
    if (!signal || !truth || !atoms) abort();
    /* What a recovery leaves unwritten is not finite. */
    for (size_t i = 0; i < count; i++) signal[i] = NAN;
    if (choice->history && csrec_history_create(choice->truth ? truth : NULL, 1.0, &history))
        abort();
    choice->options.history = history;
    choice->options.model = model;
    bool whole = !(choice->atoms && choice->no_signal);
    csrec_status status = csrec_recover(m, &choice->options, whole ? signal : NULL,
                                        choice->atoms ? atoms : NULL, &report, &error);
    if (status) {
        fuzz_check_refusal(status, &error);
    } else {
        if (whole) check_signal(m, (int64_t)count, signal);
        check_report(&report);
        if (choice->atoms) check_atoms(m->channels, atoms);
        if (history) check_history(history, choice->truth);
    }
    csrec_history_destroy(history);
    free(signal);
    free(truth);
    free(atoms);
}
