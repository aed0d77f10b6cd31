/* SPDX-License-Identifier: BSD-3-Clause */
/* levels.c - the procedural random partial Haar transform, level by level: the reference.
 *
 * T. Park, "Random partial Haar wavelet transform for SIMT", 2015. All inner products <r, Psi_i>
 * of a residual r, known at N sampled rows, with the columns of the sampled Haar matrix, without
 * the matrix: in step n the rows fall into groups of span 2^n, and with row index j
 *
 *     group  g = j / span           member m = j % span           column = M / span + g.
 *
 * At most two entries of a group are left from the step before, one in its left half
 * (m < span / 2) and one in its right half. They are reduced:
 *
 *     add = left + right,  sub = left - right,  # = count of left + count of right,
 *     <r, Psi_column> = sub / sqrt(#),
 *
 * a missing half counting 0, and one entry with add and # goes on to the next step. After step
 * L = log2 M a single entry is left, and <r, Psi_0> = add / sqrt(#). Memory is O(N). */
#include "haar/tree.h"

#include <stdlib.h>

enum { LEVELS_MAX = 62 };

typedef struct {
    uint64_t row;  /* any sampled row of the group that the entry stands for */
    double add;    /* sum of r over the group's samples */
    int64_t count; /* how many they are */
} entry;

/* One step: reduces `survivors` entries, ascending by row, in place. Writes one product a group,
 * ascending by column, and returns the number of groups. */
static int64_t reduce(int levels, int step, entry *entries, int64_t survivors,
                      csrec_product *products) {
    const uint64_t first_column = (uint64_t)1 << (levels - step); /* M / span */
    int64_t groups = 0;
    for (int64_t k = 0; k < survivors; groups++) {
        const uint64_t group = entries[k].row >> step; /* row / span */
        const uint64_t middle = (group << step) + ((uint64_t)1 << (step - 1));
        entry left = {0, 0, 0}, right = {0, 0, 0};
        const uint64_t row = entries[k].row;
        if (entries[k].row < middle) left = entries[k++];
        if (k < survivors && entries[k].row >> step == group) right = entries[k++];

        const double add = left.add + right.add, sub = left.add - right.add;
        const int64_t count = left.count + right.count;
        products[groups] =
            (csrec_product){first_column + group, sub * csrec_haar_scale(count), count};
        entries[groups] = (entry){row, add, count};
    }
    return groups;
}

csrec_status csrec_haar_levels(int levels, int64_t n, const uint64_t *rows, const double *r,
                               int64_t capacity, csrec_product *products, int64_t *found) {
    int64_t groups[LEVELS_MAX + 1] = {0}, total = 1;
    /* groups[step] = groups with samples in that step. Two neighbouring samples are in different
     * groups as long as their rows differ in a bit at or above the step. */
    int64_t differ[LEVELS_MAX + 1] = {0}; /* pairs by the number of bits up to the highest such */
    for (int64_t k = 1; k < n; k++) differ[csrec_bit_length(rows[k - 1] ^ rows[k])]++;
    groups[levels] = 1;
    for (int step = levels; step > 1; step--) groups[step - 1] = groups[step] + differ[step];
    for (int step = 1; step <= levels; step++) total += groups[step];
    if (total > capacity) {
        *found = total;
        return CSREC_OK;
    }

    entry *entries = malloc((size_t)n * sizeof *entries);
    if (!entries) return CSREC_MEMORY;
    for (int64_t k = 0; k < n; k++) entries[k] = (entry){rows[k], r[k], 1};

    /* Later steps have smaller columns: the result is filled from its end. */
    int64_t survivors = n, place = total;
    for (int step = 1; step <= levels; step++) {
        place -= groups[step];
        survivors = reduce(levels, step, entries, survivors, products + place);
    }
    products[0] = (csrec_product){0, entries[0].add * csrec_haar_scale(n), n};
    free(entries);
    *found = total;
    return CSREC_OK;
}
