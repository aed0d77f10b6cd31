/* SPDX-License-Identifier: BSD-3-Clause */
/* shrink_dct.cuh - the DCT-II of a power of two in registers and its transpose, operation by
 * operation as in operator/dct_simd.h (Lee 1984). */
#pragma once

/* 1 / (2 cos(pi (2 n + 1) / 2 N)), n < N / 2, at N / 2 - 1. */
static __constant__ float csrec_secant[31] = {
    0.70710678f, 0.54119610f, 1.3065630f,  0.50979558f, 0.60134489f, 0.89997622f, 2.5629154f,
    0.50241929f, 0.52249861f, 0.56694403f, 0.64682178f, 0.78815462f, 1.0606777f,  1.7224471f,
    5.1011486f,  0.50060300f, 0.50547096f, 0.51544731f, 0.53104259f, 0.55310390f, 0.58293497f,
    0.62250412f, 0.67480834f, 0.74453627f, 0.83934964f, 0.97256824f, 1.1694399f,  1.4841646f,
    2.0577810f,  3.4076084f,  10.190008f};

template <int N> struct dct {
    enum { HALF = N / 2 };

    static __device__ __forceinline__ void forward(float *x) {
        float even[HALF], odd[HALF];
#pragma unroll
        for (int n = 0; n < HALF; n++) {
            even[n] = x[n] + x[N - 1 - n];
            odd[n] = (x[n] - x[N - 1 - n]) * csrec_secant[HALF - 1 + n];
        }
        dct<HALF>::forward(even);
        dct<HALF>::forward(odd);
#pragma unroll
        for (int k = 0; k < HALF; k++) {
            x[2 * k] = even[k];
            x[2 * k + 1] = k + 1 < HALF ? odd[k] + odd[(k + 1) % HALF] : odd[k];
        }
    }

    static __device__ __forceinline__ void transposed(float *x) {
        float even[HALF], odd[HALF];
#pragma unroll
        for (int k = 0; k < HALF; k++) {
            even[k] = x[2 * k];
            odd[k] = k ? x[2 * k + 1] + x[(2 * k + N - 1) % N] : x[1];
        }
        dct<HALF>::transposed(even);
        dct<HALF>::transposed(odd);
#pragma unroll
        for (int n = 0; n < HALF; n++) {
            float scaled = odd[n] * csrec_secant[HALF - 1 + n];
            x[n] = even[n] + scaled;
            x[N - 1 - n] = even[n] - scaled;
        }
    }
};

template <> struct dct<1> {
    static __device__ __forceinline__ void forward(float *) {}
    static __device__ __forceinline__ void transposed(float *) {}
};
