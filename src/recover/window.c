/* SPDX-License-Identifier: BSD-3-Clause */
/* window.c - parts of a signal in which a recovery is tried. */
#include "recover/window.h"

#include <math.h>

csrec_shape csrec_window_of(const csrec_shape *shape) {
    csrec_shape window = *shape;
    int64_t entries = 0;
    csrec_shape_count(shape, &entries);
    while (entries > CSREC_WINDOW) {
        int longest = 0;
        for (int a = 1; a < window.dims; a++)
            if (window.dim[a] > window.dim[longest]) longest = a;
        entries = entries / window.dim[longest];
        window.dim[longest] = (window.dim[longest] + 1) / 2;
        entries *= window.dim[longest];
    }
    return window;
}

int64_t csrec_window_to_whole(const csrec_shape *whole, const csrec_shape *window,
                              const int64_t *origin, int64_t at) {
    int64_t index = 0, step = 1;
    for (int a = whole->dims - 1; a >= 0; a--) {
        index += (origin[a] + at % window->dim[a]) * step;
        at /= window->dim[a];
        step *= whole->dim[a];
    }
    return index;
}

int64_t csrec_window_from_whole(const csrec_shape *whole, const csrec_shape *window,
                                const int64_t *origin, int64_t index) {
    int64_t at = 0, step = 1;
    for (int a = whole->dims - 1; a >= 0; a--) {
        int64_t place = index % whole->dim[a] - origin[a];
        if (place < 0 || place >= window->dim[a]) return -1;
        index /= whole->dim[a];
        at += place * step;
        step *= window->dim[a];
    }
    return at;
}

void csrec_window_place(const csrec_shape *whole, const csrec_shape *window, int fold,
                        int64_t *origin) {
    static const double step[3] = {0.7548776662466927, 0.5698402909980532, 0.8191725133961645};
    for (int a = 0; a < whole->dims; a++) {
        double share = fmod(0.5 + step[a % 3] * (fold + 1), 1.0);
        origin[a] = (int64_t)(share * (double)(whole->dim[a] - window->dim[a] + 1));
    }
}
