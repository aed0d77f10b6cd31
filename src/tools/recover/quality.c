/* SPDX-License-Identifier: BSD-3-Clause */
/* quality.c - errors of a recovery: PSNR and SSIM against a file, and those expected, of
 * --uncertainty, the page, the summary and --json. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "recover.h"

static csrec_status check_shape(const char *path, const csrec_measurement *measurement,
                                const cli_signal *truth, csrec_error *error) {
    char has[192], needs[192];
    const csrec_shape *a = &measurement->shape, *b = &truth->shape;
    if (csrec_shape_equal(a, b) && measurement->channels == truth->channels) return CSREC_OK;
    return cli_fail(error, CSREC_DATA,
                    "%s: its shape is %s with %lld channels, that of the measurement is %s with "
                    "%lld; give the signal that was sampled",
                    path, cli_shape_text(b, has), (long long)truth->channels,
                    cli_shape_text(a, needs), (long long)measurement->channels);
}

/* Of complex values magnitudes are compared, as csrecover shows them. */
static void take_magnitudes(cli_signal *truth) {
    truth->channels /= 2;
    truth->values.count /= 2;
    for (int64_t i = 0; i < truth->values.count; i++)
        csrec_array_set(&truth->values, i,
                        hypot(csrec_array_value(&truth->values, 2 * i),
                              csrec_array_value(&truth->values, 2 * i + 1)));
}

csrec_status cli_truth_read(const char *path, const csrec_measurement *measurement,
                            bool channels_first, const cli_tones *tones, double **values,
                            csrec_error *error) {
    cli_signal truth = {0};
    const bool several = measurement->channels > 1;
    const csrec_read_options axes = {.channels_first = several && channels_first,
                                     .channels_last = several && !channels_first,
                                     .volume = !several};
    csrec_status status = cli_signal_read(path, &axes, &truth, error);
    if (!status && truth.is_complex) take_magnitudes(&truth);
    if (!status) status = check_shape(path, measurement, &truth, error);
    double *read = NULL;
    if (!status && !(read = malloc((size_t)truth.values.count * sizeof *read)))
        status = cli_fail(error, CSREC_MEMORY, "%s: out of memory", path);
    double low = tones->scale[0], high = tones->scale[1];
    double white = truth.bits ? (double)((1 << truth.bits) - 1) : 0.0;
    for (int64_t i = 0; !status && i < truth.values.count; i++) {
        read[i] = csrec_array_value(&truth.values, i);
        if (!isfinite(read[i]))
            status = cli_fail(error, CSREC_DATA,
                              "%s: entry %lld is not finite; nothing can be compared with it", path,
                              (long long)i);
        if (truth.bits && low != high) read[i] = low + read[i] * (high - low) / white;
    }
    if (status)
        free(read);
    else
        *values = read;
    cli_signal_clear(&truth);
    return status;
}

void cli_range_of(int64_t n, const double *values, double *low, double *high) {
    *low = *high = values[0];
    for (int64_t i = 1; i < n; i++) {
        *low = fmin(*low, values[i]);
        *high = fmax(*high, values[i]);
    }
}

double cli_peak_of(const cli_tones *tones, int64_t n, const double *truth) {
    double peak = fabs(tones->scale[1] - tones->scale[0]), low = 0.0, high = 0.0;
    if (!(peak > 0.0)) cli_range_of(n, truth, &low, &high);
    return fmin(peak > 0.0 ? peak : high - low, DBL_MAX); /* of -1e308 to 1e308, too */
}

static void take_channel(const double *from, int64_t n, int64_t channels, int64_t channel,
                         double *to) {
    for (int64_t i = 0; i < n; i++) to[i] = from[i * channels + channel];
}

/* Signals that go up and down together, of which one does so much more, have other units. */
static double units_of(int64_t n, const double *truth, const double *signal, double peak) {
    const double APART = 20.0, ALIKE = 0.9; /* ratio of deviations; correlation */
    double mean[2] = {0.0}, squares[2] = {0.0}, products = 0.0, values = 0.0;
    for (int64_t i = 0; i < n; i++) {
        if (isnan(signal[i])) continue;
        const double of[] = {truth[i] / peak - mean[0], signal[i] / peak - mean[1]};
        values++;
        for (int k = 0; k < 2; k++) mean[k] += of[k] / values;
        products += of[0] * (signal[i] / peak - mean[1]);
        squares[0] += of[0] * (truth[i] / peak - mean[0]);
        squares[1] += of[1] * (signal[i] / peak - mean[1]);
    }
    const double ratio = sqrt(squares[1] / squares[0]);
    const bool evident = products > ALIKE * sqrt(squares[0]) * sqrt(squares[1]);
    return evident && (ratio > APART || ratio < 1.0 / APART) ? ratio : 0.0;
}

csrec_status cli_quality_of(const csrec_measurement *measurement, const cli_tones *tones,
                            const double *truth, const double *signal, bool leaves,
                            cli_quality *quality) {
    const int64_t n = cli_entries(measurement), channels = measurement->channels;
    csrec_status status = CSREC_OK;
    double *a = malloc((size_t)n * sizeof *a), *b = malloc((size_t)n * sizeof *b);
    cli_quality sum = {.peak = cli_peak_of(tones, n * channels, truth)};
    sum.units = units_of(n * channels, truth, signal, sum.peak);
    double squares = 0.0, values = 0.0, wrong = 0.0;
    for (int64_t i = 0; i < n * channels; i++) {
        if (leaves && isnan(signal[i])) continue;
        squares += pow((signal[i] - truth[i]) / sum.peak, 2.0);
        wrong += truth[i] != signal[i];
        values++;
    }
    sum.wrong = wrong / values;
    sum.psnr = leaves ? -10.0 * log10(squares / values)
                      : csrec_psnr(n * channels, truth, signal, sum.peak);
    if (leaves) sum.ssim = NAN;
    if (!a || !b) status = CSREC_MEMORY;
    for (int64_t c = 0; !status && c < channels && !leaves; c++) {
        double ssim = NAN;
        take_channel(truth, n, channels, c, a);
        take_channel(signal, n, channels, c, b);
        csrec_status known = CSREC_ARGUMENT;
        if (measurement->shape.dims == 2)
            known = csrec_ssim(measurement->shape.dim[0], measurement->shape.dim[1], a, b, sum.peak,
                               &ssim);
        if (known == CSREC_MEMORY) status = known;
        if (known) ssim = NAN;
        sum.ssim += ssim / (double)channels;
    }
    if (!status) *quality = sum;
    free(a);
    free(b);
    return status;
}

/* Seconds that an estimate nobody asked for may take. */
static const double MOST_SECONDS = 1.0;

bool cli_is_interrupted(const csrec_progress *now, void *context) {
    (void)now, (void)context;
    return cli_interrupted();
}

/* Whether someone reads the number, and it is cheap. */
static bool is_worth_it(const cli_job *job) {
    const cli_recover_arguments *a = job->a;
    const csrec_estimate *e = &job->setup.plan.estimate;
    bool read = a->json || a->verbose || (!a->quiet && isatty(STDERR_FILENO));
    double entries =
        (double)cli_signal_values(&job->in.measurement) / (double)job->in.measurement.channels;
    double seconds = 4.0 * e->seconds * fmin(1.0, 65536.0 / entries);
    return read && (job->setup.plan.method.predicts_error || (e->method && seconds < MOST_SECONDS));
}

static bool shows_errors(const cli_job *job) {
    return (job->out.map || job->out.page) && cli_job_has_points(job) && !job->a->labels;
}

void cli_job_want_errors(cli_job *job) {
    if (!shows_errors(job)) return;
    job->result.uncertainty =
        malloc((size_t)cli_signal_values(&job->in.measurement) * sizeof *job->result.uncertainty);
    if (!job->result.uncertainty)
        cli_result_lose(&job->result, CSREC_MEMORY, "%s: out of memory for the expected errors",
                        job->input);
}

static void forget_errors(cli_job *job) {
    free(job->result.uncertainty);
    job->result.uncertainty = NULL;
}

void cli_job_lose_errors(cli_job *job, csrec_status status, const csrec_error *error) {
    forget_errors(job);
    if (job->out.map || status == CSREC_MEMORY) /* a page goes without them */
        cli_result_lose(&job->result, status, "%s: expected errors: %s", job->input, error->text);
}

/* They came with the frame: the root of the mean of their squares. A method that expects none has 0
 * where the samples are, and NaN elsewhere. */
static void expect_of_frame(cli_job *job) {
    const double *errors = job->result.uncertainty;
    const int64_t n = cli_signal_values(&job->in.measurement);
    double squares = 0.0, known = 0.0;
    job->result.expected = NAN;
    for (int64_t i = 0; errors && i < n; i++)
        if (isfinite(errors[i])) {
            squares += errors[i] * errors[i];
            known++;
        }
    const bool whole = job->result.report.outcome != CSREC_INTERRUPTED;
    if (errors && whole && job->a->interval > 0.0 && known > 0.0) return; /* no mean of squares */
    if (errors && whole && (squares > 0.0 || known == (double)n))
        job->result.expected = sqrt(squares / known);
    if (errors && whole && job->out.map && isnan(job->result.expected))
        cli_result_lose(
            &job->result, CSREC_UNSUPPORTED,
            "%s: --uncertainty: method %s expects no errors of frames; omit it, or name "
            "another --quality",
            job->input, job->setup.plan.method.name);
    if (isnan(job->result.expected)) forget_errors(job);
}

void cli_job_expect(cli_job *job) {
    csrec_error error;
    csrec_recover_options options = job->setup.options;
    csrec_promise promise = {.error = NAN};
    const bool shown = shows_errors(job);
    job->result.expected = job->result.most = NAN;
    if (job->request->frames) {
        expect_of_frame(job);
        return;
    }
    /* Without points no sample can be left out to be compared with. */
    if (!cli_job_has_points(job) || !job->result.signal || job->a->labels ||
        job->result.report.outcome == CSREC_INTERRUPTED || cli_interrupted() ||
        (!shown && !is_worth_it(job)))
        return;
    cli_job_want_errors(job);
    if (shown && !job->result.uncertainty) return;
    options.history = NULL;
    options.comm = NULL;
    options.solve.progress = cli_is_interrupted;
    double start = cli_seconds();
    csrec_status status =
        cli_job_is_stack(job)
            ? cli_stack_expect(job, &options, &promise, &error)
            : csrec_uncertainty_promise(&job->in.measurement, &options, job->result.signal,
                                        job->result.uncertainty, &promise, &error);
    job->result.seconds_expected = cli_seconds() - start;
    bool known = !status && !cli_interrupted();
    if (known) {
        job->result.expected = promise.error;
        job->result.unpromised = promise.unpromised;
        job->result.most = promise.most;
    }
    if (!known || (!job->out.map && !isfinite(job->result.expected))) forget_errors(job);
    if (status && !cli_interrupted()) /* too few samples, say, to leave some out */
        cli_job_lose_errors(job, status, &error);
}

double cli_job_psnr_of(const cli_job *job, double error) {
    if (!(isfinite(error) && error > 0.0)) return NAN; /* perhaps without a signal */
    const int64_t n = cli_signal_values(&job->in.measurement);
    return 20.0 * log10(cli_peak_of(&job->in.tones, n, job->result.signal) / error);
}

csrec_status cli_job_map(void *context, csrec_files *files, csrec_error *error) {
    const cli_job *job = context;
    cli_form form = {.tones = {.bits = 8},
                     .dtype = -1,
                     .unknown = 0.0,
                     .channels_first = job->a->channels_first,
                     .colors = cli_colormap_info((int)job->a->colormap),
                     .like = job->input,
                     .placement = &job->in.placement};
    int64_t n = cli_signal_values(&job->in.measurement);
    double *white = &form.tones.scale[1];
    for (int64_t i = 0; i < n; i++)
        if (isfinite(job->result.uncertainty[i])) *white = fmax(*white, job->result.uncertainty[i]);
    if (*white == 0.0) *white = 1.0;
    const csrec_format *format = csrec_format_of(job->out.map);
    if (cli_format_has(format, CSREC_USE_TYPES)) form.dtype = CSREC_F32; /* not the samples' */
    return cli_signal_write(files, job->out.map, format, &form, &job->in.measurement,
                            job->result.uncertainty, error);
}
