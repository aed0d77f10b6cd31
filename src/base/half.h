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

/* The nearest, ties to even. value is not NaN. */
static inline uint16_t csrec_half_bits(float value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    float size = fabsf(value);
    if (size >= (float)CSREC_HALF_MOST) return sign | 0x7c00;
    if (size == 0.0f) return sign; /* frexp gives it the exponent of 1 */
    int exponent;
    (void)frexpf(size, &exponent); /* size < 2^exponent */
    int step = exponent - 11 > -24 ? exponent - 11 : -24;
    int units = (int)rintf(ldexpf(size, -step)); /* 0 .. 2048 */
    if (step == -24) return (uint16_t)(sign | units);
    return (uint16_t)(sign | ((step + 24) * 1024 + units));
}
