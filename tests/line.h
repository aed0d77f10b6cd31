/* SPDX-License-Identifier: BSD-3-Clause */
/* line.h - signals of one axis for tests of what fills them. */
#include "samples.h"

#include "method/smooth/series.h"

SEED(seed);

enum { LENGTH = 300 };

typedef struct line {
    csrec_series s;
    int64_t at[LENGTH];
    double truth[LENGTH], v[LENGTH], t[LENGTH], x[LENGTH];
} line;

static void draw_walk(line *l) {
    double at = 285.0;
    for (int64_t i = 0; i < LENGTH; i++) l->truth[i] = at += check_normal(&seed);
}
