/* quality.h - PSNR and SSIM of a recovered signal against the truth. */
#ifndef CSREC_TOOLS_RECOVER_QUALITY_H
#define CSREC_TOOLS_RECOVER_QUALITY_H

#include "tools/common/output.h"

typedef struct cli_quality {
    double psnr; /* dB, of the values of all channels together; infinity if equal */
    double ssim; /* mean over channels; NaN if it is not defined: not 2-D, or below 11 x 11 */
    double peak;
} cli_quality;

/* Reads the truth, a PNG or .npy with the measurement's shape and channels, into values [entries *
 * channels], which the caller frees. Black and white of a PNG become the measurement's scale. */
csrec_status cli_truth_read(const char *path, const csrec_measurement *measurement,
                            const cli_tones *tones, double **values, csrec_error *error);

/* The span of the scale, else of the truth's n values. */
double cli_peak_of(const cli_tones *tones, int64_t n, const double *truth);

/* peak: the span of the scale, else of the truth's values. */
csrec_status cli_quality_of(const csrec_measurement *measurement, const cli_tones *tones,
                            const double *truth, const double *signal, cli_quality *quality);

#endif
