/* SPDX-License-Identifier: BSD-3-Clause */
/* half.h - numbers of 16 bits (IEEE 754 binary16). */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Numbers of at least this size become infinite. */
#define CSREC_HALF_MOST 65520.0

/* The bits of a float at 2^-112 of the value, whose exponent has 3 bits more. */
static inline float csrec_half_value(uint16_t bits) {
    uint32_t shifted = (uint32_t)(bits & 0x7fff) << 13;
    float size;
    memcpy(&size, &shifted, sizeof size);
    size *= 0x1p112f;
    if ((bits & 0x7c00) == 0x7c00) size = bits & 1023 ? NAN : INFINITY;
    return bits & 0x8000 ? -size : size;
}

/* The nearest such number, ties to even, of less than CSREC_HALF_MOST. */
static inline float csrec_half_rounded(float value) {
    const float size = fabsf(value);
    uint32_t bits;
    float kept;
    memcpy(&bits, &size, sizeof bits);
    bits = (bits + 0xfff + ((bits >> 13) & 1)) & ~UINT32_C(0x1fff);
    memcpy(&kept, &bits, sizeof kept);
    /* below 2^-14 multiples of 2^-24, which are those of floats from 1/2 to 1; computed always, so
     * that loops take several values at a time */
    const float small = (size + 0.5f) - 0.5f;
    return copysignf(size < 0x1p-14f ? small : kept, value);
}

/* The nearest, ties to even. value is not NaN. */
static inline uint16_t csrec_half_bits(float value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (fabsf(value) >= (float)CSREC_HALF_MOST) return sign | 0x7c00;
    const float size = fabsf(csrec_half_rounded(value)) * 0x1p-112f;
    uint32_t shifted;
    memcpy(&shifted, &size, sizeof shifted);
    return (uint16_t)(sign | shifted >> 13);
}
