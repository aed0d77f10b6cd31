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

/* The nearest such number, ties to even, of less than CSREC_HALF_MOST: a sum with 2^13 times the
 * size's power of two, at least 2^-14, has as many bits as it. */
static inline float csrec_half_rounded(float value) {
    const float size = fabsf(value);
    int32_t bits;
    float large;
    memcpy(&bits, &size, sizeof bits);
    bits &= 0x7f800000;
    bits = (bits > (127 - 14) << 23 ? bits : (127 - 14) << 23) + (13 << 23);
    memcpy(&large, &bits, sizeof large);
    return copysignf((size + large) - large, value);
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
