/* adaptive.h - recovery of pictures over grids that follow the picture (docs/pictures.md). */
#ifndef CSREC_METHOD_ADAPTIVE_ADAPTIVE_H
#define CSREC_METHOD_ADAPTIVE_ADAPTIVE_H

#include "base/error.h"

struct csrec_adaptive_device; /* of adaptive_device.h */
struct csrec_whole;           /* of tones.h */

/* Whether it takes the measurement: a shape of two axes, of at most 2^30 pixels. */
bool csrec_adaptive_suits(const csrec_measurement *measurement);

/* CSREC_ARGUMENT if options of the pursuit on plain grids are set. Uses seed, threads and progress
 * of the options. device: NULL, or does the passes. */
csrec_status csrec_recover_adaptive(const csrec_measurement *measurement,
                                    const struct csrec_whole *whole,
                                    const csrec_recover_options *options,
                                    const struct csrec_adaptive_device *device, double *signal,
                                    csrec_recover_report *report, csrec_error *error);

#endif
