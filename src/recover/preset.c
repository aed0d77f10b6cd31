/* SPDX-License-Identifier: BSD-3-Clause */
/* preset.c - the table of presets: methods with settings, from fast to best. */
#include <string.h>

#include "csrec/net.h"
#include "learn/net/prior.h"
#include "method/smooth/series.h"
#include "recover/recover.h"

static const csrec_setting one_block[] = {{"block", 8}};
static const csrec_setting together[] = {{"together", 1}};
static const csrec_setting together_grouped[] = {{"turns", 8}, {"groups", 1}, {"together", 1}};
static const csrec_setting grouped[] = {{"turns", 8}, {"groups", 1}};
static const csrec_setting adapted[] = {{"steps", 24}};
static const csrec_setting adapted_more[] = {{"steps", 80}, {"rounds", 3}, {"turns", 4}};
static const csrec_setting fitted[] = {{"steps", 200}, {"turns", 8}, {"groups", 1}};
static const csrec_setting together_fitted[] = {
    {"steps", 200}, {"turns", 8}, {"groups", 1}, {"together", 1}};
static const csrec_setting fitted_beside[] = {{"steps", 200}, {"turns", 8}};
static const csrec_setting quick_vote[] = {{"ways", 3}};
static const csrec_setting table[] = {{"kind", 4}};
static const csrec_setting line[] = {{"kind", 1}};
static const csrec_setting fit_alone[] = {{"network", 0}};
static const csrec_setting turned[] = {{"turns", 8}};
static const csrec_setting apart[] = {{"turns", 4}, {"apart", 1}};
static const csrec_setting rough[] = {{"digits", 2}};

/* Of several rows with one name, the first whose method suits the measurement is used; rows with
 * `prior` only where a learned prior is installed. */
static const struct preset {
    const char *name;
    const csrec_method_type *method;
    const csrec_setting *settings;
    int n_settings;
    bool prior, standard; /* standard: the default of pictures, volumes, */
    bool through;         /* and of what is measured through an operator */
    int axes;             /* for so many alone, 4: or more; 0: for two or three */
    bool beside;          /* for what has guides, or is a sequence, alone */
    bool rendered;        /* of rays: by the prior for renderings */
    enum { ANY_CHANNELS, NOISY_COLOURS, LARGE_COLOURS } colours; /* as csrec_colours_together */
} presets[] = {
    {.name = "balanced",
     .method = &csrec_method_rendered,
     .prior = true,
     .standard = true,
     .beside = true,
     .rendered = true},
    {"best", &csrec_method_rendered, apart, 2, .prior = true, .beside = true, .rendered = true},
    {"max", &csrec_method_rendered, apart, 2, .prior = true, .beside = true, .rendered = true},
    {"fast", &csrec_method_rendered, fit_alone, 1, .beside = true},
    {"balanced", &csrec_method_rendered, fit_alone, 1, .standard = true, .beside = true},
    {"best", &csrec_method_rendered, fit_alone, 1, .beside = true},
    {"max", &csrec_method_rendered, fit_alone, 1, .beside = true},
    {"fast", &csrec_method_beside, fit_alone, 1, .beside = true},
    {.name = "balanced",
     .method = &csrec_method_beside,
     .prior = true,
     .standard = true,
     .beside = true},
    {"balanced", &csrec_method_beside, fit_alone, 1, .standard = true, .beside = true},
    {"best", &csrec_method_beside, turned, 1, .prior = true, .beside = true},
    {"best", &csrec_method_beside, fit_alone, 1, .beside = true},
    {"max", &csrec_method_beside, fitted_beside, 2, .prior = true, .beside = true},
    {"max", &csrec_method_beside, fit_alone, 1, .beside = true},
    {.name = "fast", .method = &csrec_method_frames, .settings = one_block, .n_settings = 1},
    {"balanced", &csrec_method_net, together, 1, true, .standard = true, .colours = LARGE_COLOURS},
    {.name = "balanced", .method = &csrec_method_net, .prior = true, .standard = true},
    {.name = "balanced", .method = &csrec_method_trial, .standard = true, .axes = 3},
    {.name = "balanced", .method = &csrec_method_frames, .standard = true},
    {"best", &csrec_method_net, together_grouped, 3, .prior = true, .colours = NOISY_COLOURS},
    {"best", &csrec_method_net, grouped, 2, .prior = true},
    {.name = "best", .method = &csrec_method_gaussian},
    {.name = "best", .method = &csrec_method_frames},
    {"max", &csrec_method_net, together_fitted, 4, .prior = true, .colours = NOISY_COLOURS},
    {"max", &csrec_method_net, fitted, 3, .prior = true},
    {.name = "max", .method = &csrec_method_gaussian},
    {.name = "max", .method = &csrec_method_frames},
    {.name = "fast", .method = &csrec_method_tv, .through = true},
    {"balanced", &csrec_method_pnp, .prior = true, .standard = true, .through = true},
    {.name = "balanced", .method = &csrec_method_tv, .standard = true, .through = true},
    {"best", &csrec_method_pnp, adapted, 1, .prior = true, .through = true},
    {.name = "best", .method = &csrec_method_tv, .through = true},
    {"max", &csrec_method_pnp, adapted_more, 3, .prior = true, .through = true},
    {.name = "max", .method = &csrec_method_tv, .through = true},
    {"fast", &csrec_method_smooth, quick_vote, 1, .axes = 1},
    {.name = "balanced", .method = &csrec_method_smooth, .standard = true, .axes = 1},
    {.name = "best", .method = &csrec_method_smooth, .axes = 1},
    {.name = "max", .method = &csrec_method_smooth, .axes = 1},
    {"fast", &csrec_method_smooth, rough, 1, .axes = 4},
    {.name = "balanced", .method = &csrec_method_smooth, .standard = true, .axes = 4},
    {.name = "best", .method = &csrec_method_smooth, .axes = 4},
    {.name = "max", .method = &csrec_method_smooth, .axes = 4}};

enum { PRESETS = sizeof presets / sizeof *presets, MANY = 4 };

csrec_status csrec_preset_check_row(int i, csrec_error *error) {
    if (i < 0 || i >= PRESETS) return CSREC_UNSUPPORTED;
    const struct preset *row = &presets[i];
    const bool has_settings = row->settings != NULL;
    const unsigned takes = row->method ? row->method->info.accepts : 0;
    const csrec_rule rules[] = {
        {csrec_is_name(row->name), "name", CSREC_MUST_NAME},
        {row->method, "method", "a row of the methods"},
        {!row->through || (row->method && row->method->through), "method", "one with `through`"},
        {!row->prior || takes & CSREC_ACCEPTS(MODEL), "method", "one of models, as of `prior`"},
        {has_settings == (row->n_settings > 0) && row->n_settings <= 4, "settings",
         "up to four, or NULL"}};
    return csrec_rules_check("preset", row->name, CSREC_RULES(rules), error);
}

static const char *name_of(int i) {
    for (int k = 0; k < PRESETS; k++) {
        const bool repeats = k > 0 && strcmp(presets[k].name, presets[k - 1].name) == 0;
        const bool other = presets[k].through || presets[k].axes || presets[k].beside;
        if (!repeats && !other && i-- == 0) return presets[k].name;
    }
    return NULL;
}

static bool has_prior(const struct preset *row) {
    const int64_t prior = row->rendered ? CSREC_PRIOR_RENDERED : row->beside ? 0 : 1;
    return !row->prior || csrec_prior_installed(prior, 0, NULL);
}

/* Whether the row is for such a measurement, where its prior is installed. */
static bool suits(const struct preset *row, const csrec_measurement *measurement) {
    if (row->beside) return measurement && row->method->suits(measurement);
    if (row->colours && !csrec_colours_together(measurement, row->colours == LARGE_COLOURS))
        return false;
    const bool through = measurement && measurement->through;
    if (row->through != through) return false;
    const int dims = measurement && !through ? measurement->shape.dims : 0;
    const int axes = dims > MANY ? MANY : dims;
    if (row->axes ? row->axes != axes : axes == 1 || axes == MANY) return false;
    return !measurement || !row->method->suits || row->method->suits(measurement);
}

/* Settings that are given with no quality stand alone. */
static void apply(const struct preset *row, csrec_recover_options *options) {
    options->method = row->method->info.name;
    options->by_samples = !row->through;
    if (row->n_settings == 0 || options->solve.n_settings > 0) return;
    options->solve.settings = row->settings;
    options->solve.n_settings = row->n_settings;
}

/* Applies the first row of the name, NULL: of the standard, that suits and whose prior is there. */
static bool choose(const struct preset *row, int rows, const char *name,
                   const csrec_measurement *measurement, csrec_recover_options *options) {
    bool lacks = false;
    for (; rows-- > 0; row++) {
        if (name ? strcmp(row->name, name) != 0 : !row->standard) continue;
        if (!suits(row, measurement)) continue;
        if (has_prior(row)) {
            apply(row, options);
            options->substitute = lacks ? options->method : NULL;
            return true;
        }
        lacks = true;
    }
    return false;
}

const char *csrec_recover_preset(int i, const csrec_measurement *measurement,
                                 csrec_recover_options *options) {
    const char *name = i < 0 ? NULL : name_of(i);
    if (!name || !options) return name;
    csrec_recover_defaults(options);
    (void)choose(presets, PRESETS, name, measurement, options);
    return name;
}

const char *csrec_preset_default(const csrec_measurement *measurement,
                                 csrec_recover_options *options) {
    static const struct preset of_tables = {
        .method = &csrec_method_smooth, .settings = table, .n_settings = 1};
    if (!measurement->through && csrec_table_axis(measurement) >= 0) {
        apply(&of_tables, options);
        if (measurement->shape.dim[0] == 1 || measurement->shape.dim[1] == 1)
            return "one series, as of one axis; name a quality or a method to recover a picture";
        return "a table of series, by its samples: each is filled as a line and by the "
               "others; name a quality or a method to recover it as a picture";
    }
    (void)choose(presets, PRESETS, NULL, measurement, options);
    return NULL;
}

/* More passes of the network, or Gaussian groups, gain nothing. */
void csrec_labels_default(const csrec_measurement *measurement, bool fast,
                          csrec_recover_options *options) {
    static const struct preset rows[] = {
        {"fast", &csrec_method_smooth, line, 1, .axes = 1},
        {"fast", &csrec_method_smooth, rough, 1, .axes = 0},
        {"balanced", &csrec_method_smooth, line, 1, .axes = 1},
        {.name = "balanced", .method = &csrec_method_net, .prior = true},
        {"balanced", &csrec_method_smooth, rough, 1, .axes = 0}};
    const char *name = fast ? "fast" : "balanced";
    int beside = 0;
    while (presets[beside].beside) beside++;
    if (choose(presets, beside, name, measurement, options)) return;
    (void)choose(rows, sizeof rows / sizeof *rows, name, measurement, options);
}

const char *csrec_labels_preset(int i, const csrec_measurement *measurement,
                                csrec_recover_options *options) {
    const char *name = i < 0 ? NULL : name_of(i);
    if (!name || !options) return name;
    csrec_recover_defaults(options);
    options->labels = true;
    csrec_labels_default(measurement, strcmp(name, "fast") == 0, options);
    return name;
}
