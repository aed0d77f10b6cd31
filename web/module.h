/* SPDX-License-Identifier: BSD-3-Clause */
/* module.h - what JavaScript calls (package/index.js). Numbers are int or double, which it has;
 * every function that can fail returns a csrec_status and fills the csrec_error that it is given.
 */
#pragma once

#include <csrec.h>
#include <emscripten.h>

/* A signal with what is known of it: samples of entries. */
typedef struct web_scan {
    csrec_measurement m;
    csrec_facts facts;
    csrec_placement placement;
    int bits; /* of a picture; 0: numbers */
} web_scan;

/* Numbers of a scan that JavaScript asks for, in this order. */
enum {
    WEB_DIMS,
    WEB_DIM, /* CSREC_DIMS_MAX of them */
    WEB_CHANNELS = WEB_DIM + CSREC_DIMS_MAX,
    WEB_SAMPLES,
    WEB_LOW, /* values of black and white; equal: not given */
    WEB_HIGH,
    WEB_BITS,
    WEB_NUMBERS
};

/* Of a recovery. */
typedef struct web_options {
    const char *quality;
    double sigma, low, high; /* NaN: not given */
    int labels;
} web_options;

typedef struct web_report {
    const char *method, *choice, *remark, *outcome; /* choice, remark: or NULL */
    double seconds, samples, interrupted;
} web_report;

int64_t web_entries(const web_scan *scan);
csrec_status web_fail(csrec_error *error, csrec_status status, const char *format, ...);
