/* learn.c - the covariance of data read in pieces, and eigenvectors, where a backend's name says.
 */
#include "device/learn.h"

#include "device/backend.h"
#include "learn/lapack.h"

/* auto does not even ask whether what does not pay is usable. */
static csrec_status choose(const char *name, bool pays, const csrec_backend **backend,
                           csrec_error *error) {
    if (!csrec_backend_automatic(name)) return csrec_backend_choose(name, backend, error);
    *backend = pays && !csrec_backend_cuda.usable(NULL) ? &csrec_backend_cuda : &csrec_backend_cpu;
    return CSREC_OK;
}

/* Whether the CPU is to try after a device: not where the user named the device, nor where the data
 * are at fault. */
static bool goes_on(const char *name, csrec_status status) {
    return csrec_backend_automatic(name) &&
           (status == CSREC_MEMORY || status == CSREC_DEVICE || status == CSREC_UNSUPPORTED);
}

csrec_status csrec_learn_usable(const char *name, csrec_error *error) {
    const csrec_backend *backend;
    if (csrec_backend_automatic(name)) return CSREC_OK;
    csrec_status status = csrec_backend_choose(name, &backend, error);
    return status || !backend->eigen ? status : backend->eigen->usable(error);
}

csrec_status csrec_stream_on(const char *name, const csrec_data *data, int threads,
                             csrec_progress_fn progress, void *context, double *mean, double *C,
                             bool *stopped, const char **used, csrec_error *error) {
    const csrec_statistics_device *device = csrec_backend_cuda.statistics;
    const csrec_backend *backend;
    bool pays = device && device->covariance_pays(data->m, data->n, threads);
    csrec_status status = choose(name, pays, &backend, error);
    if (status) return status;
    *used = backend->name;
    if (backend->stream) {
        status = backend->stream(data, progress, context, mean, C, stopped, error);
        if (!goes_on(name, status)) return status;
    }
    *used = csrec_backend_cpu.name;
    return csrec_statistics_stream(data, NULL, threads, progress, context, mean, C, stopped, error);
}

csrec_status csrec_eigen_largest_on(const char *name, int n, double *A, int count, double *values,
                                    double *V, const char **used, csrec_error *error) {
    const csrec_eigen_device *device = csrec_backend_cuda.eigen;
    const csrec_backend *backend;
    csrec_status status = choose(name, device && device->pays(n, count), &backend, error);
    if (status) return status;
    *used = backend->name;
    if (backend->eigen) {
        status = backend->eigen->largest(n, A, count, values, V, error);
        if (!goes_on(name, status)) return status;
    }
    *used = csrec_backend_cpu.name;
    return csrec_eigen_largest(n, A, count, values, V, error);
}
