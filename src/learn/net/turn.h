/* turn.h - the eight flips and turns of a picture. */
#ifndef CSREC_LEARN_NET_TURN_H
#define CSREC_LEARN_NET_TURN_H

#include <stdint.h>

/* A part of a picture of `width` pixels a line: rows x columns pixels from (top, left), mirrored by
 * bits 0 (left to right) and 1 (top to bottom) of `turn`, then transposed by bit 2. */
typedef struct csrec_turn {
    int turn;
    int64_t width, top, left, rows, columns;
} csrec_turn;

static inline int64_t csrec_turned_rows(const csrec_turn *t) {
    return t->turn & 4 ? t->columns : t->rows;
}

static inline int64_t csrec_turned_columns(const csrec_turn *t) {
    return t->turn & 4 ? t->rows : t->columns;
}

/* The picture's pixel that is shown at row r, column c. */
static inline int64_t csrec_turn_source(const csrec_turn *t, int64_t r, int64_t c) {
    int64_t y = t->turn & 4 ? c : r, x = t->turn & 4 ? r : c;
    if (t->turn & 2) y = t->rows - 1 - y;
    if (t->turn & 1) x = t->columns - 1 - x;
    return (t->top + y) * t->width + t->left + x;
}

#endif
