/* backend.c - the table of backends and the choice by name. */
#include "device/backend.h"

#include <string.h>

/* In the order in which auto prefers them; the last is always usable. */
static const csrec_backend *const backends[] = {&csrec_backend_cuda, &csrec_backend_cpu};

enum { BACKENDS = sizeof backends / sizeof *backends };

/* What does not pay is not even asked whether it is usable: that alone takes a device a good part
 * of a second. */
static csrec_status choose(const char *name, const csrec_measurement *measurement,
                           const csrec_recover_options *options, const csrec_backend **backend,
                           csrec_error *error) {
    csrec_context context;
    for (int i = 0; csrec_device_automatic(name) && i < BACKENDS; i++) {
        const csrec_backend *candidate = backends[i];
        if (options && candidate->pays && !candidate->pays(measurement, options)) continue;
        if (csrec_context_create(candidate->name, &context, NULL)) continue;
        *backend = candidate;
        return CSREC_OK;
    }
    csrec_status status = csrec_context_create(name, &context, error);
    for (int i = 0; i < BACKENDS && !status; i++)
        if (strcmp(backends[i]->name, csrec_device_name(context.kind)) == 0) *backend = backends[i];
    return status;
}

csrec_status csrec_backend_choose(const char *name, const csrec_backend **backend,
                                  csrec_error *error) {
    return choose(name, NULL, NULL, backend, error);
}

csrec_status csrec_backend_choose_for(const csrec_measurement *measurement,
                                      const csrec_recover_options *options,
                                      const csrec_backend **backend, csrec_error *error) {
    return choose(options->backend, measurement, options, backend, error);
}
