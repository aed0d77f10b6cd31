/* SPDX-License-Identifier: BSD-3-Clause */
// fft.cc - Fourier transforms by PocketFFT, a header of C++; its exceptions end here.
#include <new>

#include <pocketfft_hdronly.h>

#include "base/fft.h"

struct csrec_fft {
    pocketfft::shape_t shape, axes;
    pocketfft::stride_t stride;
};

const char *csrec_fft_library(void) {
    return "PocketFFT";
}

csrec_status csrec_fft_create(const csrec_shape *shape, csrec_fft **fft) {
    try {
        csrec_fft *made = new csrec_fft;
        ptrdiff_t stride = sizeof(std::complex<double>);
        made->stride.resize((size_t)shape->dims);
        for (int a = 0; a < shape->dims; a++) {
            made->shape.push_back((size_t)shape->dim[a]);
            made->axes.push_back((size_t)a);
        }
        for (int a = shape->dims - 1; a >= 0; a--) {
            made->stride[(size_t)a] = stride;
            stride *= (ptrdiff_t)shape->dim[a];
        }
        *fft = made;
        return CSREC_OK;
    } catch (...) {
        return CSREC_MEMORY;
    }
}

void csrec_fft_destroy(csrec_fft *fft) {
    delete fft;
}

csrec_status csrec_fft_execute(const csrec_fft *fft, int sign, double *x) {
    try {
        std::complex<double> *values = reinterpret_cast<std::complex<double> *>(x);
        pocketfft::c2c(fft->shape, fft->stride, fft->stride, fft->axes, sign < 0, values, values,
                       1.0);
        return CSREC_OK;
    } catch (...) {
        return CSREC_MEMORY;
    }
}
