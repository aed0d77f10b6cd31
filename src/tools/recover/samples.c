/* SPDX-License-Identifier: BSD-3-Clause */
/* samples.c - the measurement of a recovery: one input, or all joined by --merge; what the samples
 * themselves say about their noise and gross errors, --sigma, --robust and hints at them; and what
 * stays unknown, by --within and --fill. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recover.h"

int cli_recoveries(const cli_recover_arguments *a) {
    return a->merge ? 1 : a->inputs.n;
}

csrec_read_options cli_job_read_options(cli_job *job) {
    const cli_recover_arguments *a = job->a;
    return (csrec_read_options){.mask = a->mask,
                                .channels_last = a->channels_last,
                                .channels_first = a->channels_first,
                                .volume = a->volume,
                                .has_unknown = a->unknown_given,
                                .unknown = a->unknown,
                                .labels = a->labels,
                                .progress = cli_progress_report,
                                .context = job->progress,
                                .empty = job->request->frames,
                                .noisy = a->sigma != NULL,
                                .no_guides = a->no_guide,
                                .coils = a->coils,
                                .noise = a->noise,
                                .trajectory = a->trajectory,
                                .has_slice = a->slice_given || a->slices,
                                .slice = a->slices ? job->in.slice : a->slice,
                                .grid = a->grid ? &job->request->grid : NULL,
                                .coordinates = a->coordinates,
                                .values = a->values,
                                .cell_means = a->cell_means,
                                .placement = &job->in.placement,
                                .facts = &job->in.facts};
}

static csrec_status read_one(cli_job *job, const char *input, csrec_measurement *measurement,
                             csrec_error *error) {
    const cli_recover_arguments *a = job->a;
    const csrec_read_options options = cli_job_read_options(job);
    csrec_status status = csrec_measurement_read_with(input, &options, measurement, error);
    if (status || !a->merge || !job->in.placement.dims) return status;
    csrec_measurement_clear(measurement);
    return cli_fail(
        error, CSREC_UNSUPPORTED,
        "%.200s: has real coordinates, whose grid may differ from file to file; join the lines "
        "of the files instead of --merge",
        input);
}

void cli_job_tell_reading(const cli_job *job) {
    const csrec_placement *p = &job->in.placement;
    char shape[192], step[192] = "", shared[96] = "", moved[96] = "";
    size_t used = 0;
    if (job->a->quiet) return;
    if (job->in.facts.note[0]) cli_note(job->tool, "note: %s: %s", job->input, job->in.facts.note);
    if (p->stepped)
        cli_note(job->tool,
                 "note: %s: whole numbers with a common step, taken as positions%s; --grid H,W "
                 "makes them coordinates%s",
                 job->input, *p->list.header ? "" : " row, column", *p->list.header ? "" : " x, y");
    if (!p->dims) return;
    for (int d = 0; d < p->dims; d++)
        used +=
            (size_t)snprintf(step + used, sizeof step - used, "%s%.6g", d ? " x " : "", p->step[d]);
    if (p->shared)
        snprintf(shared, sizeof shared, "; %lld samples share cells, which have their means",
                 (long long)p->shared);
    if (p->moved > 0.0)
        snprintf(moved, sizeof moved, "; values are those of the middles, changed by up to %.3g",
                 p->moved);
    cli_note(
        job->tool,
        "note: %s: %s, on a grid of %s cells of %s; the farthest sample is %.2g cells from the "
        "middle of its own%s%s; --grid gives another%s",
        job->input,
        p->whole ? "whole numbers that are no likely positions are coordinates"
                 : "real coordinates",
        cli_shape_text(&job->in.measurement.shape, shape), step, p->farthest, shared, moved,
        p->whole ? ", a header row,col or a comment '# shape: H,W' positions" : "");
}

void cli_placement_json(const csrec_placement *p, cli_json *json) {
    if (!p->dims) return;
    cli_json_begin(json, "grid");
    cli_json_reals(json, "origin", p->dims, p->origin);
    cli_json_reals(json, "step", p->dims, p->step);
    cli_json_real(json, "farthest", p->farthest);
    cli_json_integer(json, "shared", p->shared);
    cli_json_real(json, "moved", p->moved);
    cli_json_end(json);
}

/* The library counts parts; a user names files. */
static void name_part(const cli_operands *inputs, csrec_error *error) {
    int part = 0, length = 0;
    csrec_error told = *error;
    if (sscanf(told.text, "part %d: %n", &part, &length) == 1 && part >= 1 && part <= inputs->n)
        cli_fail(error, CSREC_DATA, "%.200s: %.250s", inputs->text[part - 1], told.text + length);
}

static csrec_status read_all(cli_job *job, csrec_measurement *part, const csrec_measurement **parts,
                             csrec_error *error) {
    const cli_operands *inputs = &job->a->inputs;
    csrec_status status = CSREC_OK;
    for (int i = 0; i < inputs->n && !status; i++) {
        status = read_one(job, inputs->text[i], &part[i], error);
        parts[i] = &part[i];
    }
    if (status) return status;
    status = csrec_measurement_merge(inputs->n, parts, &job->in.measurement, job->in.contradictions,
                                     error);
    if (status) name_part(inputs, error);
    return status;
}

bool cli_samples_contradict(const cli_samples *samples, char text[CSREC_DOUBT_SIZE]) {
    char place[192];
    if (!samples->contradictions[0]) return false;
    snprintf(text, CSREC_DOUBT_SIZE,
             "Merged scans contradict each other at %lld position%s, first at %.80s; their mean is "
             "used.",
             (long long)samples->contradictions[0], samples->contradictions[0] == 1 ? "" : "s",
             cli_place_text(&samples->measurement.shape, samples->contradictions[1], place));
    return true;
}

/* An option that does not go with a sequence takes the array as a volume. */
static int time_of(const cli_job *job) {
    const cli_recover_arguments *a = job->a;
    const bool volume = a->coefficients || a->model || a->history || a->minutes > 0.0;
    if (a->sequence) return job->request->frames ? 0 : 1 + (int)a->time_axis;
    return volume ? 0 : job->in.facts.time;
}

csrec_status cli_job_read(cli_job *job, csrec_error *error) {
    const int n = job->a->inputs.n;
    if (!job->a->merge) {
        csrec_status status = read_one(job, job->input, &job->in.measurement, error);
        if (status && job->a->slices && job->in.facts.slices) cli_slice_fail(job, status, error);
        job->in.time = status ? 0 : time_of(job);
        return cli_job_is_stack(job) ? cli_stack_check(job, error) : status;
    }
    csrec_measurement *part = calloc((size_t)n, sizeof *part);
    const csrec_measurement **parts = calloc((size_t)n, sizeof *parts);
    csrec_status status = part && parts
                              ? read_all(job, part, parts, error)
                              : cli_fail(error, CSREC_MEMORY, "%s: out of memory", job->input);
    for (int i = 0; part && i < n; i++) csrec_measurement_clear(&part[i]);
    free(parts);
    free(part);
    return status;
}

/* More is not given to a recovery, nor hinted at. */
static const double SIGMA_MOST = 1e300;

int cli_sigma_check(cli_request *request) {
    cli_recover_arguments *a = &request->a;
    csrec_error error;
    csrec_noise_law law;
    double sigma;
    char text[CSREC_NOISE_TEXT];
    const bool named =
        a->noise && (strncmp(a->noise, "poisson:", 8) == 0 || strncmp(a->noise, "light:", 6) == 0);
    const bool whole = a->noise && !csrec_noise_parse(a->noise, &sigma, &law, &error);
    const bool is_law = whole && csrec_noise_text(&law, text);
    if (named && !whole) return cli_usage(request->tool, "--noise: %s", error.text);
    if (is_law && a->sigma)
        return cli_usage(request->tool,
                         "--noise %s: the third number is its sigma; leave out --sigma", a->noise);
    if (is_law) {
        a->sigma = a->noise;
        a->noise = NULL;
    }
    if (!a->sigma || !csrec_noise_parse(a->sigma, &request->sigma, &request->law, &error))
        return CLI_CONTINUE;
    return cli_usage(request->tool, "--sigma: %s", error.text);
}

const char *cli_sigma_source(const cli_job *job) {
    if (!job->a->sigma) return job->in.measurement.sigma > 0.0 ? "file" : NULL;
    const csrec_noise_law *law = &job->request->law;
    const bool found = isnan(job->request->sigma) || isnan(law->gain) || isnan(law->log);
    return found ? "estimate" : "option";
}

/* A hint looks at so many samples at most, of the middle: it should cost nothing. */
static csrec_measurement part_of(const csrec_measurement *m) {
    const int64_t most = 1 << 15;
    csrec_measurement part = *m;
    if (m->n <= most) return part;
    int64_t first = (m->n - most) / 2;
    part.n = most;
    part.index += first;
    part.y += first * m->channels;
    return part;
}

/* The order of the others stays; they are no longer those that a pattern draws. */
static void drop_samples(csrec_measurement *m, const uint8_t *outlier) {
    int64_t kept = 0, channels = m->channels;
    for (int64_t i = 0; i < m->n; i++) {
        if (outlier[i]) continue;
        m->index[kept] = m->index[i];
        memmove(m->y + kept * channels, m->y + i * channels, (size_t)channels * sizeof *m->y);
        if (m->rays) m->rays[kept] = m->rays[i];
        if (m->deviation)
            memmove(m->deviation + kept * channels, m->deviation + i * channels,
                    (size_t)channels * sizeof *m->deviation);
        kept++;
    }
    m->n = kept;
    m->count = 0;
    m->pattern = CSREC_PATTERN_NONE;
}

static csrec_status drop_outliers(cli_job *job, csrec_error *error) {
    csrec_measurement *m = &job->in.measurement;
    uint8_t *outlier = malloc((size_t)m->n);
    if (!outlier) return cli_fail(error, CSREC_MEMORY, "out of memory");
    csrec_status status =
        csrec_outliers_find(m, (int)job->a->threads, outlier, &job->in.dropped, error);
    if (!status && !job->a->quiet)
        cli_note(job->tool, "%s: %lld of %lld samples are outliers and not used", job->input,
                 (long long)job->in.dropped, (long long)m->n);
    if (!status && job->in.dropped) drop_samples(m, outlier);
    free(outlier);
    return status;
}

static void suspect_noise(const cli_job *job) {
    const csrec_measurement part = part_of(&job->in.measurement);
    double sigma;
    if (!csrec_noise_likely(&part, &sigma, NULL) && sigma > 0.0 && sigma <= SIGMA_MOST)
        cli_note(job->tool,
                 "note: %s: the samples look noisy (sigma about %.2g); give --sigma auto",
                 job->input, sigma);
}

int cli_job_noise(cli_job *job) {
    csrec_error error;
    csrec_measurement *m = &job->in.measurement;
    const char *source = cli_sigma_source(job);
    csrec_status status = CSREC_OK;
    char law[CSREC_NOISE_TEXT];
    job->in.law = *job->law;
    if (cli_job_is_empty(job)) {
        if (isnan(job->in.law.gain) || isnan(job->in.law.log))
            return cli_job_fail(job,
                                "%s: nothing of the first frame is known, so neither is its noise; "
                                "give the numbers of the law, as in poisson:1",
                                job->input);
        if (job->a->sigma && isfinite(job->request->sigma)) m->sigma = job->request->sigma;
        return CLI_CONTINUE;
    }
    if (job->a->robust) status = drop_outliers(job, &error);
    const bool open = isnan(job->request->sigma);
    if (!status && job->a->sigma) m->sigma = open ? 0.0 : job->request->sigma;
    if (!status && job->a->sigma && !open) { /* in place of those of samples */
        free(m->deviation);
        m->deviation = NULL;
    }
    const bool is_law = csrec_noise_text(&job->in.law, law);
    if (!status && open && !is_law && job->request->frames && job->number > 0)
        status = csrec_noise_estimate(m, &m->sigma, &error);
    else if (!status && job->a->sigma &&
             !(open && m->rays)) { /* with rays the library's, of each */
        double sigma = is_law ? 0.0 : job->request->sigma;
        status = csrec_noise_find(m, &sigma, &job->in.law, &error);
        if (!status) m->sigma = sigma;
        if (job->request->frames) *job->law = job->in.law; /* of all that come */
    }
    if (status) return cli_job_fail(job, "%s: %s", job->input, error.text);
    if (!source && !m->rays && !m->deviation && !job->a->quiet && !job->a->labels &&
        cli_job_has_points(job))
        suspect_noise(job);
    return CLI_CONTINUE;
}

bool cli_job_leaves(const cli_job *job) {
    return job->a->within > 0.0 || job->in.fill.at;
}

/* Of a table what is to be filled is what lies in columns that have a value. */
static csrec_status leave_columns(cli_samples *s) {
    const csrec_measurement *m = &s->measurement;
    const int64_t n = cli_entries(m), width = m->shape.dim[1];
    size_t used = 0;
    if (!s->facts.table || m->shape.dims != 2 || m->channels != 1 || m->n == 0) return CSREC_OK;
    bool *has = calloc((size_t)width, sizeof *has);
    for (int64_t i = 0; has && i < m->n; i++) has[m->index[i] % width] = true;
    for (int64_t k = 0; has && k < width; k++)
        if (!has[k] && used < sizeof s->lacking)
            used += (size_t)snprintf(s->lacking + used, sizeof s->lacking - used, "%s%lld",
                                     used ? ", " : "", (long long)k + 1);
    if (used && !s->fill.at && (s->fill.at = malloc((size_t)n))) memset(s->fill.at, 1, (size_t)n);
    for (int64_t i = 0; used && s->fill.at && i < n; i++)
        s->fill.at[i] = s->fill.at[i] && has[i % width];
    const bool failed = !has || (used && !s->fill.at);
    free(has);
    return failed ? CSREC_MEMORY : CSREC_OK;
}

/* NULL, or why the output has nothing for unknown values. */
static const char *refusal(const cli_job *job) {
    const cli_form form = {.dtype = (int)job->a->dtype};
    const csrec_format *format = job->out.format;
    if (!cli_job_has_points(job)) return "only real samples of entries leave some unknown";
    if (cli_format_has(format, CSREC_USE_LOSSY))
        return "its format cannot say which pixels stay unknown; write a .png";
    if (cli_format_has(format, CSREC_USE_PICTURE) || !isnan(cli_job_unknown(job)) ||
        cli_array_type(format, &form, job->in.measurement.dtype, 0, NULL) >= CSREC_F32)
        return NULL;
    return "integers have no number for values that stay unknown; give --unknown, or --dtype "
           "float32";
}

int cli_job_read_fill(cli_job *job) {
    csrec_error error;
    csrec_fill *fill = &job->in.fill;
    const csrec_measurement *m = &job->in.measurement;
    const char *why = job->a->within > 0.0 || job->a->fill ? refusal(job) : NULL;
    fill->within = job->a->within;
    if (!why && job->a->fill &&
        csrec_mask_read(job->a->fill, job->a->channels_first, &m->shape, m->channels, &fill->at,
                        &fill->by_channel, &error))
        return cli_job_fail(job, "%s", error.text);
    if (!why && leave_columns(&job->in)) return cli_job_fail(job, "%s: out of memory", job->input);
    if (!why && cli_job_leaves(job)) why = refusal(job);
    return why ? cli_job_fail(job, "%s: %s", job->out.output ? job->out.output : job->input, why)
               : CLI_CONTINUE;
}

csrec_status cli_job_leave(cli_job *job, csrec_error *error) {
    if (!cli_job_leaves(job) || !job->result.signal) return CSREC_OK;
    return csrec_signal_leave(&job->in.measurement, &job->in.fill, job->result.signal,
                              &job->result.left, error);
}
