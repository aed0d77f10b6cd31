/* backend.c - the table of backends, the choice by name and the listing of devices. */
#include "device/backend.h"

#include <string.h>

/* In the order in which auto prefers them; the last is always usable. */
static const csrec_backend *const backends[] = {&csrec_backend_cuda, &csrec_backend_cpu};

enum { BACKENDS = sizeof backends / sizeof *backends };

bool csrec_backend_automatic(const char *name) {
    return !name || strcmp(name, "auto") == 0;
}

static bool passed_over(const csrec_backend *candidate, const csrec_measurement *measurement,
                        const csrec_recover_options *options) {
    return measurement && candidate->pays && !candidate->pays(measurement, options);
}

/* measurement NULL: for no recovery in particular. What does not pay is not even asked whether it
 * is usable: that alone takes a device a good part of a second. */
static csrec_status choose(const char *name, const csrec_measurement *measurement,
                           const csrec_recover_options *options, const csrec_backend **backend,
                           csrec_error *error) {
    bool automatic = csrec_backend_automatic(name);
    for (int i = 0; i < BACKENDS; i++) {
        const csrec_backend *candidate = backends[i];
        if (!automatic && strcmp(name, candidate->name) != 0) continue;
        if (automatic && passed_over(candidate, measurement, options)) continue;
        csrec_status status = candidate->usable(automatic ? NULL : error);
        if (!status && !candidate->recover_grids)
            status = csrec_fail(automatic ? NULL : error, CSREC_UNSUPPORTED,
                                "backend %s: does not recover; use --backend cpu", candidate->name);
        if (automatic && status) continue;
        if (!status) *backend = candidate;
        return status;
    }
    return csrec_fail(error, CSREC_ARGUMENT, "backend '%s' is unknown; use auto, cpu or cuda",
                      name);
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

csrec_status csrec_backend_take_operator(const char *name, csrec_operator *A, csrec_error *error) {
    const csrec_backend *backend = NULL;
    csrec_status status =
        csrec_backend_choose(csrec_backend_automatic(name) ? "cpu" : name, &backend, error);
    if (status) return status;
    A->backend = backend;
    if (backend == &csrec_backend_cpu) return CSREC_OK;
    if (!backend->take_operator)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "operator %s: not on backend %s; use backend cpu", A->row->name, name);
    return backend->take_operator(A, error);
}

bool csrec_backend_info(int i, const char **name, char *text, size_t size) {
    for (int b = BACKENDS - 1; b >= 0 && i >= 0; b--) {
        for (int device = 0; backends[b]->device(device, text, size); device++) {
            if (i-- > 0) continue;
            *name = backends[b]->name;
            return true;
        }
    }
    return false;
}
