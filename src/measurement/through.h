/* SPDX-License-Identifier: BSD-3-Clause */
/* through.h - sizes of the operators through which whole signals are measured, by their
 * specification alone. */
#pragma once

#include "base/error.h"
#include "base/rows.h"
#include "csrec/operator.h"

/* Properties of an operator, whatever its parameters. */
typedef struct csrec_through_type {
    const char *name;
    bool chosen;    /* index chooses rows; else all are measured */
    bool complex_y; /* y is complex, whatever the signal is */
    /* Checks the parameters, and sets the number of rows. name: of the file, for messages. NULL:
     * there are no parameters, and as many rows as entries. */
    csrec_status (*rows)(const csrec_operator_spec *spec, const csrec_shape *shape,
                         const char *name, int64_t *rows, csrec_error *error);
} csrec_through_type;

/* Operators of the table of operator.h through which signals are measured: name, chosen, complex_y,
 * rows. */
#define CSREC_THROUGHS(X)                                                                          \
    X(hadamard, true, false, hadamard_rows)                                                        \
    X(fourier, true, true, fourier_rows)                                                           \
    X(nufft, true, true, nufft_rows)                                                               \
    X(matrix, false, false, matrix_rows)                                                           \
    X(blur, true, false, blur_rows)                                                                \
    X(downsample, false, false, downsample_rows)                                                   \
    CSREC_MORE_THROUGHS(X)

/* "points, hadamard or fourier", of all. */
enum { CSREC_THROUGH_LIST = 160 };
const char *csrec_through_list(char text[CSREC_THROUGH_LIST]);

/* NULL if no such operator measures signals. */
const csrec_through_type *csrec_through_find(const char *name);

/* csrec_measurement_rows, for a file of that name. */
csrec_status csrec_through_rows(const csrec_measurement *m, const char *name, int64_t *rows,
                                csrec_error *error);

/* Hadamard's ordering, and the norm of frequencies, of this name. CSREC_DATA if there is none;
 * name: of the file. */
csrec_status csrec_ordering_find(const char *text, const char *name, const char **ordering,
                                 csrec_error *error);
csrec_status csrec_norm_find(const char *text, const char *name, const char **norm,
                             csrec_error *error);

/* Of complex values of a file without an operator. */
#define CSREC_REMARK_ENTRIES                                                                       \
    "Complex values are taken as entries of a complex signal; give operator fourier if they are "  \
    "frequencies (k-space), points if not."

/* Of frequencies that are centred: the flat position that numpy.fft.fftn has it at, or the reverse,
 * `back`; returns the turns, from 0 to 1, by which its value then differs: y = exp(2 pi i turns) of
 * that of fftn, both of the signal as it is. */
double csrec_uncentre(const csrec_shape *shape, bool back, int64_t *index);

/* The power of two that Hadamard's matrix has along an axis of this extent. */
int64_t csrec_through_padded(int64_t extent);

/* Whether y is k-space, of coils that may be estimated. */
bool csrec_through_kspace(const csrec_operator_spec *spec);

/* Values that each row and channel has in y: coils. */
static inline int64_t csrec_through_coils(const csrec_operator_spec *spec) {
    return spec && spec->coils ? spec->n_coils : 1;
}

/* Whether the signal's values are complex. */
static inline bool csrec_measurement_signal_complex(const csrec_measurement *m) {
    const csrec_through_type *type = m->through ? csrec_through_find(m->through->name) : NULL;
    return type && type->complex_y ? m->through->complex_signal : m->is_complex;
}

/* The same measurement with real values: parts of complex ones as channels; unless its operator
 * itself is complex. The result shares all arrays. */
csrec_measurement csrec_measurement_real(const csrec_measurement *measurement);

/* *sigma = noise, or the most that the values of each coil allow, if that is less. CSREC_MEMORY. */
csrec_status csrec_coils_limit_noise(const csrec_measurement *measurement, double noise,
                                     double *sigma);

/* Of a measurement through nufft, with a channel a coil: the frequencies of the grid, of up to
 * `lines` in the middle, that have a sample within half a step, as one through fourier; free index
 * and y in any case. *sigma: as of csrec_coils_estimate, or as it was. CSREC_UNSUPPORTED,
 * CSREC_MEMORY. */
csrec_status csrec_coils_grid(const csrec_measurement *m, int64_t lines, csrec_measurement *grid,
                              double *sigma);

/* Frees a specification that a measurement owns. */
void csrec_through_destroy(csrec_operator_spec *spec);
