/* SPDX-License-Identifier: BSD-3-Clause */
/* boundary.h - small signals, models and recovery configurations for tests of numbers at the ends
 * of their range. */
#pragma once

#include "models.h"

SEED(seed);

enum { SETTINGS = 2, NAME = 96 };

/* One configuration: options except those tied to a measurement. */
typedef struct way {
    char name[2 * NAME];
    const char *preset, *method, *solver, *basis, *model; /* model: its kind */
    int64_t shifts;
    csrec_order order;
    csrec_columns columns;
    csrec_setting settings[SETTINGS];
    int n_settings;
} way;

enum { ENTRIES_MOST = 96, CHANNELS_MOST = 4, VALUES_MOST = ENTRIES_MOST * CHANNELS_MOST };

static const csrec_shape shapes[8] = {{1, {24}},
                                      {2, {9, 10}},
                                      {3, {4, 5, 4}},
                                      {4, {3, 2, 3, 2}},
                                      {5, {2, 2, 2, 2, 3}},
                                      {6, {2, 1, 2, 2, 2, 2}},
                                      {7, {2, 2, 1, 2, 1, 2, 2}},
                                      {8, {2, 1, 2, 1, 2, 2, 1, 2}}};

typedef struct problem {
    csrec_measurement m;
    int64_t entries, index[ENTRIES_MOST];
    double y[VALUES_MOST]; /* magnitudes 1 to 2: unchanged by units of a power of two */
    csrec_model *model;
} problem;

static void set_measurement(problem *p, int axes, int64_t channels) {
    *p = (problem){.m = {.shape = shapes[axes - 1], .channels = channels, .dtype = CSREC_F64}};
    p->entries = entries_in(&p->m.shape);
    for (int64_t i = 0; i < p->entries; i++)
        if (i == 0 || check_below(&seed, 2)) p->index[p->m.n++] = i;
    for (int64_t i = 0; i < p->m.n * channels; i++) {
        p->y[i] = 1.0 - 2.0 * check_uniform(&seed) + 0.5 * sin((double)p->index[i / channels]);
        p->y[i] = rint(0x1p16 * fmax(-1.9, fmin(1.9, p->y[i]))) / 0x1p16;
    }
    p->y[0] = 1.0 + rint(0x1p15 * check_uniform(&seed)) / 0x1p16; /* has the exponent of 1 */
    p->m.index = p->index;
    p->m.y = p->y;
}

static double scale_of_models[2] = {-1.5, 2.0};

static csrec_model *make_pca(const problem *p, bool scale) {
    enum { K = 2 };
    static double mean[VALUES_MOST], V[K * VALUES_MOST], variances[K];
    int64_t n = p->entries * p->m.channels;
    for (int64_t i = 0; i < n; i++) {
        mean[i] = 0.1 * check_normal(&seed);
        for (int k = 0; k < K; k++) /* rows without overlap have products of 0 */
            V[k * n + i] = i % K == k ? sqrt((double)K / (double)(n + n % K)) : 0.0;
    }
    for (int k = 0; k < K; k++) variances[k] = 3.0 - k;
    return model_of_components(&(components){p->m.shape, p->m.channels, K, mean, V, variances,
                                             scale ? scale_of_models : NULL, 0.01});
}

/* To half the size and back. */
static csrec_model *make_net(void) {
    static const double layers[] = {1, 2, -1, 0, 2, 2, -1, 0}, channels = 1;
    double weights[52];
    csrec_model_parts parts = {0};
    for (int i = 0; i < 52; i++) weights[i] = 0.25 - 0.0078125 * i;
    csrec_model_add(&parts, "layers", (csrec_shape){2, {2, 4}}, layers);
    csrec_model_add(&parts, "weights", (csrec_shape){1, {52}}, weights);
    csrec_model_add(&parts, "channels", (csrec_shape){0}, &channels);
    return assemble_model("net", &parts);
}

static csrec_model *make_model(const problem *p, const char *kind, bool scale) {
    if (strcmp(kind, "pca") == 0) return make_pca(p, scale);
    return make_net();
}

/* A measurement and all lengths among the options, times 2^exponent times `factor`. */
typedef struct run {
    int exponent;
    double factor, sigma;
    bool scale; /* black and white are given */
    double signal[VALUES_MOST];
    csrec_status status;
    csrec_error error;
} run;

static double scaled(const run *r, double v) {
    return ldexp(v * r->factor, r->exponent);
}

static void set_options(const way *w, const problem *p, const run *r, csrec_setting *settings,
                        csrec_recover_options *o) {
    csrec_recover_defaults(o);
    for (int i = 0; w->preset && csrec_recover_preset(i, NULL, NULL); i++)
        if (strcmp(csrec_recover_preset(i, NULL, NULL), w->preset) == 0)
            csrec_recover_preset(i, &p->m, o);
    o->threads = 1;
    o->model = p->model;
    o->seed = 7;
    if (w->preset) return;
    o->order = w->order;
    o->columns = w->columns;
    o->basis = w->basis;
    o->solve.solver = w->solver;
    o->shifts = w->shifts;
    o->method = w->method;
    for (int i = 0; i < w->n_settings; i++) {
        settings[i] = w->settings[i];
        bool length =
            strcmp(settings[i].name, "first") == 0 || strcmp(settings[i].name, "last") == 0;
        if (length) settings[i].value = scaled(r, settings[i].value);
    }
    use_settings(&o->solve, w->n_settings, settings);
}

static void recover(const way *w, const problem *p, run *r) {
    csrec_recover_options o;
    csrec_setting settings[SETTINGS];
    static double y[VALUES_MOST];
    csrec_measurement m = p->m;
    for (int64_t i = 0; i < m.n * m.channels; i++) y[i] = scaled(r, p->y[i]);
    m.y = y;
    m.sigma = r->sigma;
    if (r->scale) {
        m.scale[0] = scaled(r, -1.5);
        m.scale[1] = scaled(r, 1.75);
    }
    set_options(w, p, r, settings, &o);
    for (int i = 0; i < VALUES_MOST; i++) r->signal[i] = NAN;
    memset(&r->error, 0, sizeof r->error);
    r->status = csrec_recover(&m, &o, r->signal, NULL, NULL, &r->error);
}

static void fail_run(const way *w, const problem *p, const run *r, const char *what) {
    fail_msg("%s, %d axes, %d channels, 2^%d x %g, sigma %g%s: %s: %s", w->name, p->m.shape.dims,
             (int)p->m.channels, r->exponent, r->factor, r->sigma, r->scale ? ", scale" : "", what,
             r->error.text);
}

/* Complete and finite, or refused in one line. */
static void check_sane(const way *w, const problem *p, const run *r) {
    for (int64_t i = 0; !r->status && i < p->entries * p->m.channels; i++)
        if (!isfinite(r->signal[i])) fail_run(w, p, r, "not finite");
    if (!r->status) return;
    bool known =
        r->status == CSREC_ARGUMENT || r->status == CSREC_DATA || r->status == CSREC_UNSUPPORTED;
    if (!known || strlen(r->error.text) < 10 || strchr(r->error.text, '\n'))
        fail_run(w, p, r, "refused, but not in a line that helps");
}

static const double scales[] = {5e-324, 1e-308, 1e-30, 1.0, 1e30, 1e38, 1e154, 1e308};
enum { SCALES = sizeof scales / sizeof *scales };
