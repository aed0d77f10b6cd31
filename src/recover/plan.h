/* plan.h - how a recovery is to be run: its method and options, as a whole or in tiles, by how many
 * threads, and what that takes. */
#ifndef CSREC_RECOVER_PLAN_H
#define CSREC_RECOVER_PLAN_H

#include "recover/tiles.h"

/* A plan, and what running it needs beside. */
typedef struct csrec_layout {
    csrec_plan plan;
    const csrec_method_type *method;
    csrec_tiling tiling;
    uint64_t available; /* to the process, whatever the options allow */
    bool parts;         /* can be recovered in tiles */
} csrec_layout;

/* What is wanted: coefficients, the signal, or both. */
typedef struct csrec_wanted {
    bool signal, atoms;
} csrec_wanted;

/* Resolves the options. The measurement is checked. */
csrec_status csrec_layout_resolve(const csrec_measurement *measurement,
                                  const csrec_recover_options *options, csrec_wanted wanted,
                                  csrec_layout *layout, csrec_error *error);

/* Whether "auto" should try a device for it. */
bool csrec_layout_pays(const csrec_measurement *measurement, const csrec_layout *layout);

/* Lays the recovery out for a device: threads and tiles by what memory there is. CSREC_UNSUPPORTED:
 * the method has no engine there. */
csrec_status csrec_layout_make(const csrec_measurement *measurement, csrec_wanted wanted,
                               const csrec_context *context, csrec_layout *layout,
                               csrec_error *error);

/* CSREC_MEMORY, where it does not fit. */
csrec_status csrec_layout_check(const csrec_layout *layout, csrec_error *error);

#endif
