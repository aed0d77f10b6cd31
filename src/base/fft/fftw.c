/* SPDX-License-Identifier: BSD-3-Clause */
/* fftw.c - Fourier transforms by FFTW 3. */
#include <fftw3.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/fft.h"

struct csrec_fft {
    fftw_plan forward, backward;
};

/* FFTW's planner keeps state of its own, which one thread may use at a time. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

const char *csrec_fft_library(void) {
    return "FFTW";
}

csrec_status csrec_fft_create(const csrec_shape *shape, csrec_fft **fft) {
    int n[CSREC_DIMS_MAX];
    int64_t entries;
    CSREC_TRY(csrec_shape_count(shape, &entries));
    if (entries > INT32_MAX) return CSREC_UNSUPPORTED;
    for (int a = 0; a < shape->dims; a++) n[a] = (int)shape->dim[a];
    csrec_fft *made = calloc(1, sizeof *made);
    fftw_complex *room = malloc((size_t)entries * sizeof *room); /* whose values plans ignore */
    if (made && room) {
        pthread_mutex_lock(&planner);
        made->forward = fftw_plan_dft(shape->dims, n, room, room, FFTW_FORWARD, FFTW_ESTIMATE);
        made->backward = fftw_plan_dft(shape->dims, n, room, room, FFTW_BACKWARD, FFTW_ESTIMATE);
        pthread_mutex_unlock(&planner);
    }
    free(room);
    if (!made || !made->forward || !made->backward) {
        csrec_fft_destroy(made);
        return CSREC_MEMORY;
    }
    *fft = made;
    return CSREC_OK;
}

void csrec_fft_destroy(csrec_fft *fft) {
    if (!fft) return;
    pthread_mutex_lock(&planner);
    if (fft->forward) fftw_destroy_plan(fft->forward);
    if (fft->backward) fftw_destroy_plan(fft->backward);
    pthread_mutex_unlock(&planner);
    free(fft);
}

csrec_status csrec_fft_execute(const csrec_fft *fft, int sign, double *x) {
    fftw_complex *values = (fftw_complex *)x;
    fftw_execute_dft(sign < 0 ? fft->forward : fft->backward, values, values);
    return CSREC_OK;
}
