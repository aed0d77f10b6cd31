/* SPDX-License-Identifier: BSD-3-Clause */
/* quality.c - PSNR and SSIM of a recovered signal against a file. */
#include "recover.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/input.h"

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

csrec_status cli_quality_of(const csrec_measurement *measurement, const cli_tones *tones,
                            const double *truth, const double *signal, cli_quality *quality) {
    const int64_t n = cli_entries(measurement), channels = measurement->channels;
    csrec_status status = CSREC_OK;
    double *a = malloc((size_t)n * sizeof *a), *b = malloc((size_t)n * sizeof *b);
    cli_quality sum = {.peak = cli_peak_of(tones, n * channels, truth)};
    sum.psnr = csrec_psnr(n * channels, truth, signal, sum.peak);
    for (int64_t i = 0; i < n * channels; i++)
        sum.wrong += (truth[i] != signal[i]) / (double)(n * channels);
    if (!a || !b) status = CSREC_MEMORY;
    for (int64_t c = 0; !status && c < channels; c++) {
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
