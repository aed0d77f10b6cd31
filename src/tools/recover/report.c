/* SPDX-License-Identifier: BSD-3-Clause */
/* report.c - reports a recovery on stderr and as JSON. */
#include <math.h>
#include <unistd.h>

#include "page.h"

/* "600 of 2000 values known", with what stays unknown; rows of what is measured otherwise. */
static void put_samples(const cli_job *job, char text[120]) {
    const csrec_measurement *m = &job->in.measurement;
    const long long all = cli_signal_values(m);
    char left[48] = "";
    *text = '\0';
    if (cli_job_leaves(job))
        snprintf(left, sizeof left, ", %lld left unknown", (long long)job->result.left);
    if (job->large.on) return;
    if (cli_job_has_points(job))
        snprintf(text, 120, ", %lld of %lld values known%s", all - cli_unknown_values(m, NULL), all,
                 left);
    else
        snprintf(text, 120, ", %lld rows for %lld entries", (long long)m->n,
                 (long long)cli_entries(m));
}

/* One line for each recovery; without a terminal --json says the same. */
static void tell_summary(const cli_job *job) {
    const csrec_recover_report *r = &job->result.report;
    const char *output = cli_is_dash(job->out.output) ? "stdout" : job->out.output;
    const char *source = cli_sigma_source(job);
    char samples[120], together[48] = "", noise[128] = "", expected[96] = "", decibels[64] = "";
    char residual[48] = "", doubt[CSREC_DOUBT_SIZE], law[CSREC_NOISE_TEXT];
    if (job->a->quiet || (job->a->json && !job->a->verbose && !isatty(STDERR_FILENO))) return;
    put_samples(job, samples);
    if (job->result.shared > 1)
        snprintf(together, sizeof together, " for %d inputs at once", job->result.shared);
    if (csrec_noise_text(&job->in.law, law))
        snprintf(noise, sizeof noise, ", noise %s (%s)", law, source);
    else if (source)
        snprintf(noise, sizeof noise, ", sigma %.3g (%s)", job->in.measurement.sigma, source);
    const double psnr = cli_job_psnr_of(job, job->result.expected);
    const double least = cli_job_psnr_of(job, job->result.most);
    if (isfinite(least))
        snprintf(decibels, sizeof decibels, " (%.1f dB, at least %.1f: 95 %% sure)", psnr, least);
    else if (isfinite(psnr))
        snprintf(decibels, sizeof decibels, " (%.1f dB)", psnr);
    if (isfinite(job->result.expected))
        snprintf(expected, sizeof expected, ", expected error about %.3g%s", job->result.expected,
                 decibels);
    bool above =
        r->outcome == CSREC_EXHAUSTED || r->outcome == CSREC_UNMET || csrec_doubt_result(r, doubt);
    if (above) snprintf(residual, sizeof residual, ", residual %.3g", r->residual);
    cli_note(job->tool, "%s%s%s: %s%s, method %s%s%s%s, %.2f s%s", job->input, output ? " -> " : "",
             output ? output : "",
             r->outcome == CSREC_INTERRUPTED ? "interrupted, the best result so far"
             : above                         ? csrec_outcome_text(r->outcome)
                                             : "recovered",
             samples, job->setup.plan.method.name, residual, noise, expected, r->seconds_total,
             together);
}

static void tell_estimate(const cli_job *job) {
    csrec_estimate e = job->result.report.estimate;
    if (!job->large.on) e = cli_process_estimate(&job->in.measurement, &e);
    char tile[192];
    if (!e.method) return;
    cli_note(job->tool, "estimated %.1f MiB and %.3g s, by %s with %d threads; %lld tile%s of %s",
             (double)e.bytes / 1048576.0, e.seconds, e.method, e.threads, (long long)e.tiles,
             e.tiles == 1 ? "" : "s", cli_shape_text(&e.tile, tile));
}

static void tell_method(const cli_job *job) {
    const csrec_plan *plan = &job->setup.plan;
    const csrec_recover_report *r = &job->result.report;
    char work[96] = "", devices[256];
    if (plan->method.iterates)
        snprintf(work, sizeof work, ", %lld pursuits, %lld iterations", (long long)r->pursuits,
                 (long long)r->iterations);
    cli_note(job->tool, "%s: %lld samples, method %s, backend %s: %s%s, residual %.3e", job->input,
             (long long)job->in.measurement.n, plan->method.name,
             cli_devices_text(r, devices, sizeof devices), csrec_outcome_text(r->outcome), work,
             r->residual);
    if (job->a->labels) cli_note(job->tool, "classes in the samples: %lld", (long long)r->classes);
    if (*r->given_up.text)
        cli_note(job->tool, "auto runs on the CPU because the device failed: %s", r->given_up.text);
    for (int i = 0; i < plan->n_parameters; i++)
        cli_note(job->tool, "%s = %g", plan->parameter[i].name, plan->parameter[i].value);
}

/* Of ranks that share tiles; those that share grids or a pursuit share the only tile. */
static void tell_idle(const cli_job *job) {
    const int64_t ranks = csrec_comm_size(job->request->tiles),
                  tiles = job->result.report.estimate.tiles;
    if (job->a->quiet || tiles < 1 || ranks <= tiles || job->setup.plan.options.shifts > 0) return;
    cli_note(job->tool, "%s: note: %lld of %lld ranks had no tile; smaller ones, --tile, share it",
             job->input, (long long)(ranks - tiles), (long long)ranks);
}

/* They are known, and stay. */
static void tell_beyond(const cli_job *job) {
    const double *range = job->request->range;
    double low, high;
    if (job->a->quiet || !job->a->range || job->large.on || !cli_job_has_points(job)) return;
    cli_job_range(job, &low, &high);
    if (low < range[0] || high > range[1])
        cli_note(
            job->tool,
            "%s: note: samples, from %g to %g, are beyond --range, and stay; make them unknown "
            "if they are wrong",
            job->input, low, high);
}

void cli_job_tell(const cli_job *job) {
    const csrec_recover_report *r = &job->result.report;
    if (job->a->verbose) {
        tell_estimate(job);
        tell_method(job);
        cli_note(job->tool, "tree %.3f s, pursuit %.3f s, synthesis %.3f s, total %.3f s",
                 r->seconds_tree, r->seconds_pursuit, r->seconds_synthesis, r->seconds_total);
    }
    if (r->tiles_resumed > 0 && !job->a->quiet)
        cli_note(job->tool, "%s: %lld of %lld tiles are those of an earlier run", job->input,
                 (long long)r->tiles_resumed, (long long)r->estimate.tiles);
    if (r->choice && !job->a->quiet) cli_note(job->tool, "%s: note: %s", job->input, r->choice);
    if (r->curve_choice && !job->a->quiet)
        cli_note(job->tool, "%s: note: %s", job->input, r->curve_choice);
    if (job->a->verbose && r->clamped)
        cli_note(job->tool, "%lld values were outside of the range", (long long)r->clamped);
    tell_beyond(job);
    tell_idle(job);
    cli_job_warn(job);
    tell_summary(job);
    if (job->result.truth && !job->a->json && !isnan(job->result.quality.psnr)) {
        if (cli_recoveries(job->a) > 1) fprintf(stderr, "%s: ", job->input);
        fprintf(stderr, "PSNR %.2f dB", job->result.quality.psnr);
        if (isfinite(job->result.quality.ssim))
            fprintf(stderr, ", SSIM %.4f", job->result.quality.ssim);
        if (job->a->labels)
            fprintf(stderr, ", %.2f %% of all values differ", 100.0 * job->result.quality.wrong);
        fprintf(stderr, "\n");
    }
    if (r->outcome == CSREC_INTERRUPTED && !job->a->quiet)
        cli_note(job->tool, "%s: interrupted: the best result so far is kept", job->input);
}

/* null where the method has none. */
static void json_iterations(cli_json *json, const cli_job *job) {
    const csrec_recover_report *r = &job->result.report;
    if (job->setup.plan.method.iterates) {
        cli_json_integer(json, "pursuits", r->pursuits);
        cli_json_integer(json, "iterations", r->iterations);
    } else {
        cli_json_text(json, "pursuits", NULL);
        cli_json_text(json, "iterations", NULL);
    }
    cli_json_real(json, "residual", r->residual);
}

static void json_recovery(cli_json *json, const cli_job *job) {
    const csrec_recover_options *o = &job->setup.plan.options;
    const csrec_recover_report *r = &job->result.report;
    char law[CSREC_NOISE_TEXT];
    cli_json_text(json, "method", job->setup.plan.method.name);
    cli_json_text(json, "solver", o->solve.solver);
    cli_json_text(json, "basis", o->basis);
    cli_json_text(json, "order", o->order == CSREC_ORDER_UNSET ? NULL : csrec_order_name(o->order));
    cli_json_text(json, "columns",
                  o->columns == CSREC_COLUMNS_UNSET ? NULL : csrec_columns_name(o->columns));
    cli_json_integer(json, "shifts", o->shifts);
    cli_json_unsigned(json, "seed", o->seed);
    cli_json_real(json, "sigma", job->in.measurement.sigma);
    cli_json_text(json, "sigma_from", cli_sigma_source(job));
    if (csrec_noise_text(&job->in.law, law)) cli_json_text(json, "law", law);
    cli_json_integer(json, "outliers_dropped", job->in.dropped);
    cli_json_text(json, "backend", r->backend);
    int64_t device[CSREC_DEVICES_MOST];
    for (int i = 0; i < r->n_devices; i++) device[i] = r->device[i];
    cli_json_integers(json, "devices", r->n_devices, device);
    cli_json_text(json, "choice", r->choice);
    cli_json_text(json, "curve", csrec_curve_name(r->curve));
    cli_json_text(json, "curve_choice", r->curve_choice);
    cli_json_integer(json, "clamped", r->clamped);
    if (job->a->labels) cli_json_integer(json, "classes", r->classes);
    cli_json_text(json, "outcome", csrec_outcome_text(r->outcome));
    cli_json_flag(json, "interrupted", r->outcome == CSREC_INTERRUPTED);
    json_iterations(json, job);
    cli_json_integer(json, "levels", r->levels);
    cli_json_integer(json, "tiles_resumed", r->tiles_resumed);
    cli_json_begin(json, "seconds");
    cli_json_real(json, "read", job->in.seconds);
    cli_json_real(json, "tree", r->seconds_tree);
    cli_json_real(json, "pursuit", r->seconds_pursuit);
    cli_json_real(json, "synthesis", r->seconds_synthesis);
    cli_json_real(json, "total", r->seconds_total);
    cli_json_end(json);
}

/* null if there is none, as on a device. */
static void json_estimate(cli_json *json, const cli_job *job) {
    const csrec_estimate *e = &job->result.report.estimate;
    if (!e->method) {
        cli_json_text(json, "estimate", NULL);
        return;
    }
    cli_json_begin(json, "estimate");
    cli_json_text(json, "method", e->method);
    cli_json_unsigned(json, "bytes", e->bytes);
    if (!job->large.on)
        cli_json_unsigned(json, "process", cli_process_estimate(&job->in.measurement, e).bytes);
    cli_json_real(json, "seconds", e->seconds);
    cli_json_integer(json, "threads", e->threads);
    cli_json_integer(json, "tiles", e->tiles);
    cli_json_integers(json, "tile", e->tile.dims, e->tile.dim);
    cli_json_end(json);
}

static void json_settings(cli_json *json, const cli_setup *setup) {
    const csrec_recover_options *o = &setup->plan.options;
    cli_json_begin(json, "settings");
    cli_json_real(json, "epsilon", fmax(o->solve.stop.epsilon, 0.0));
    cli_json_integer(json, "atoms", o->solve.stop.atoms);
    cli_json_real(json, "min_coefficient", o->solve.stop.min_coefficient);
    cli_json_integer(json, "threads", o->threads);
    for (int i = 0; i < setup->plan.n_parameters; i++)
        cli_json_real(json, setup->plan.parameter[i].name, setup->plan.parameter[i].value);
    cli_json_end(json);
}

static double iteration_at(int64_t k, const void *steps) {
    return (double)((const csrec_history_step *)steps)[k].iteration;
}

static double residual_at(int64_t k, const void *steps) {
    return ((const csrec_history_step *)steps)[k].residual;
}

static double psnr_at(int64_t k, const void *steps) {
    return ((const csrec_history_step *)steps)[k].psnr;
}

static void json_track(cli_json *json, const char *name, const char *unit, int64_t n,
                       const csrec_history_step *steps) {
    cli_json_begin_item(json);
    cli_json_text(json, "name", name);
    cli_json_text(json, "unit", unit);
    cli_json_numbers(json, "iteration", n, iteration_at, steps);
    cli_json_numbers(json, "residual", n, residual_at, steps);
    cli_json_numbers(json, "psnr", n, psnr_at, steps);
    cli_json_end(json);
}

static void json_history(cli_json *json, const csrec_history *history) {
    const char *name, *unit;
    const csrec_history_step *steps;
    int64_t n, count[64];
    cli_json_begin_list(json, "history");
    for (int i = 0; csrec_history_track(history, i, &name, &unit, &n, &steps); i++)
        json_track(json, name, unit, n, steps);
    cli_json_end_list(json);
    int levels = csrec_history_levels(history, count);
    cli_json_integers(json, "atoms_by_level", levels ? levels + 1 : 0, count);
}

static void json_sentences(cli_json *json, const char *key, cli_sentences s) {
    const char *texts[sizeof s.text / sizeof *s.text];
    for (int i = 0; i < s.n; i++) texts[i] = s.text[i];
    cli_json_texts(json, key, s.n, texts);
}

void cli_job_json(const cli_job *job, cli_json *json) {
    cli_json_integers(json, "shape", job->in.measurement.shape.dims, job->in.measurement.shape.dim);
    cli_placement_json(&job->in.placement, json);
    cli_json_integer(json, "channels", job->in.measurement.channels);
    cli_json_integer(json, "samples", job->in.measurement.n);
    cli_guides_json(&job->in.measurement, json);
    if (cli_job_has_points(job) && !job->large.on)
        cli_json_integer(json, "unknown", cli_unknown_values(&job->in.measurement, NULL));
    if (cli_job_leaves(job)) cli_json_integer(json, "left_unknown", job->result.left);
    if (job->result.shared > 1) cli_json_integer(json, "inputs_at_once", job->result.shared);
    json_recovery(json, job);
    json_estimate(json, job);
    json_settings(json, &job->setup);
    if (job->result.history) json_history(json, job->result.history);
    if (job->result.truth) {
        cli_json_begin(json, "quality");
        cli_json_text(json, "reference", job->out.reference);
        cli_json_real(json, "peak", job->result.quality.peak);
        cli_json_real(json, "psnr", job->result.quality.psnr); /* null if the signals are equal */
        cli_json_real(json, "ssim", job->result.quality.ssim);
        if (job->a->labels) cli_json_real(json, "wrong", job->result.quality.wrong);
        cli_json_end(json);
    }
    cli_json_begin(json, "expected");
    cli_json_real(json, "error", job->result.expected); /* null if it is not known */
    cli_json_real(json, "psnr", cli_job_psnr_of(job, job->result.expected));
    cli_json_real(json, "psnr_least", cli_job_psnr_of(job, job->result.most));
    cli_json_end(json);
    cli_json_text(json, "output", job->out.output);
    cli_json_text(json, "coefficients", job->written.atoms ? job->a->coefficients : NULL);
    cli_json_text(json, "report", job->written.page ? job->out.page : NULL);
    cli_json_text(json, "plot", job->written.plot ? job->out.plot : NULL);
    cli_json_text(json, "uncertainty", job->written.map ? job->out.map : NULL);
    json_sentences(json, "warnings", cli_job_warnings(job));
    json_sentences(json, "remarks", cli_job_remarks(job));
    cli_json_texts(json, "notes", *job->in.facts.note != '\0',
                   (const char *[]){job->in.facts.note});
    cli_json_text(json, "command", job->out.command);
}
