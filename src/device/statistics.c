/* statistics.c - mean, centring and covariance where a backend's name says. */
#include "device/statistics.h"

#include "device/backend.h"
#include "learn/statistics.h"

/* *device: NULL for the CPU, which auto takes. */
static csrec_status choose(const char *backend, const csrec_statistics_device **device,
                           csrec_error *error) {
    *device = NULL;
    if (csrec_backend_automatic(backend)) return CSREC_OK;
    const csrec_backend *chosen;
    csrec_status status = csrec_backend_choose(backend, &chosen, error);
    if (!status) *device = chosen->statistics;
    return status;
}

/* Under auto: the device's where that pays and works; what it refuses is the CPU's to do, or to
 * refuse in its own words. */
static bool try_covariance(int64_t m, int64_t n, const float *X, const double *weights,
                           const double *mean, int threads, double *C) {
    const csrec_statistics_device *device = csrec_backend_cuda.statistics;
    return device && device->covariance_pays(m, n, threads) && !csrec_backend_cuda.usable(NULL) &&
           !device->covariance(m, n, X, weights, mean, C, NULL);
}

csrec_status csrec_mean_on(const char *backend, int64_t m, int64_t n, const float *X,
                           const double *weights, int threads, double *mean, csrec_error *error) {
    const csrec_statistics_device *device;
    csrec_status status = choose(backend, &device, error);
    if (status) return status;
    return device ? device->mean(m, n, X, weights, mean, error)
                  : csrec_mean(m, n, X, weights, threads, mean, error);
}

csrec_status csrec_center_on(const char *backend, int64_t m, int64_t n, float *X,
                             const double *mean, int threads, csrec_error *error) {
    const csrec_statistics_device *device;
    csrec_status status = choose(backend, &device, error);
    if (status) return status;
    if (!device) return csrec_center(m, n, X, mean, threads, error);
    status = device->center(m, n, X, mean, error);
    return status ? status : csrec_statistics_check_centred(m, n, X, threads, error);
}

csrec_status csrec_covariance_on(const char *backend, int64_t m, int64_t n, const float *X,
                                 const double *weights, const double *mean, int threads, double *C,
                                 csrec_error *error) {
    if (csrec_backend_automatic(backend) && try_covariance(m, n, X, weights, mean, threads, C))
        return CSREC_OK;
    const csrec_statistics_device *device;
    csrec_status status = choose(backend, &device, error);
    if (status) return status;
    return device ? device->covariance(m, n, X, weights, mean, C, error)
                  : csrec_covariance(m, n, X, weights, mean, threads, C, error);
}
