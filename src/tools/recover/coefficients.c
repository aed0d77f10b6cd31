/* coefficients.c - the list of atoms as .npz. */
#include "coefficients.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN, COEFFICIENT, COUNT, LEVELS, CHANNEL, ARRAYS };

static const char *const names[ARRAYS] = {"column", "coefficient", "count", "levels", "channel"};

/* An array of n >= 0 elements. */
static bool create(csrec_dtype dtype, int dims, int64_t n, csrec_array *array) {
    *array = (csrec_array){dtype, {dims, {n}}, dims ? n : 1, NULL};
    array->data = calloc((size_t)array->count + 1, 8);
    return array->data != NULL;
}

static void append(csrec_array arrays[ARRAYS], int64_t at, int64_t channel,
                   const csrec_atoms *atoms) {
    size_t bytes = (size_t)atoms->n * 8;
    if (atoms->n == 0) return;
    memcpy((uint64_t *)arrays[COLUMN].data + at, atoms->column, bytes);
    memcpy((double *)arrays[COEFFICIENT].data + at, atoms->coefficient, bytes);
    memcpy((int64_t *)arrays[COUNT].data + at, atoms->count, bytes);
    for (int64_t i = 0; i < atoms->n; i++) ((int64_t *)arrays[CHANNEL].data)[at + i] = channel;
}

static bool gather(int levels, int64_t channels, const csrec_atoms *atoms,
                   csrec_array arrays[ARRAYS]) {
    static const csrec_dtype types[ARRAYS] = {CSREC_U64, CSREC_F64, CSREC_I64, CSREC_I64,
                                              CSREC_I64};
    int64_t total = 0;
    for (int64_t c = 0; c < channels; c++) total += atoms[c].n;
    for (int i = 0; i < ARRAYS; i++)
        if (!create(types[i], i == LEVELS ? 0 : 1, total, &arrays[i])) return false;
    *(int64_t *)arrays[LEVELS].data = levels;
    for (int64_t c = 0, at = 0; c < channels; at += atoms[c++].n) append(arrays, at, c, &atoms[c]);
    return true;
}

csrec_status cli_coefficients_write(csrec_files *files, const char *path, int levels,
                                    int64_t channels, const csrec_atoms *atoms,
                                    csrec_error *error) {
    csrec_array arrays[ARRAYS] = {{0}};
    const csrec_array *list[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) list[i] = &arrays[i];
    csrec_status status = CSREC_MEMORY;
    snprintf(error->text, sizeof error->text, "%s: out of memory", path);
    if (gather(levels, channels, atoms, arrays))
        status =
            csrec_files_add_npz(files, path, channels > 1 ? ARRAYS : CHANNEL, names, list, error);
    for (int i = 0; i < ARRAYS; i++) free(arrays[i].data);
    return status;
}
