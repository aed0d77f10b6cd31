/* ball.c - walks over the rows of a ball, clipped at the borders of the signal. */
#include "sampling/ball.h"

#include <math.h>

int64_t csrec_root(int64_t v) {
    int64_t r = (int64_t)sqrt((double)v);
    while (r * r > v) r--;
    while ((r + 1) * (r + 1) <= v) r++;
    return r;
}

void csrec_locate(const int64_t extent[3], int64_t point, int64_t at[3]) {
    at[2] = point % extent[2];
    at[1] = point / extent[2] % extent[1];
    at[0] = point / extent[2] / extent[1];
}

/* The rows of the plane. */
static void enter(csrec_ball *ball) {
    int64_t dz = ball->z - ball->at[0];
    int64_t reach = csrec_root(ball->most - dz * dz);
    ball->y = csrec_larger(0, ball->at[1] - reach);
    ball->end = csrec_smaller(ball->extent[1] - 1, ball->at[1] + reach);
}

csrec_ball csrec_ball_at(const int64_t extent[3], int64_t point, int64_t squared) {
    csrec_ball ball = {.extent = extent, .most = squared - 1};
    int64_t reach = csrec_root(ball.most);
    csrec_locate(extent, point, ball.at);
    ball.z = csrec_larger(0, ball.at[0] - reach);
    ball.last = csrec_smaller(extent[0] - 1, ball.at[0] + reach);
    enter(&ball);
    return ball;
}

bool csrec_ball_next(csrec_ball *ball, csrec_ball_row *row) {
    if (ball->y > ball->end) {
        if (ball->z == ball->last) return false;
        ball->z++;
        enter(ball);
    }
    int64_t dz = ball->z - ball->at[0], dy = ball->y - ball->at[1];
    row->across = dz * dz + dy * dy;
    int64_t half = csrec_root(ball->most - row->across);
    int64_t low = csrec_larger(0, ball->at[2] - half);
    row->along = low - ball->at[2];
    row->count = csrec_smaller(ball->extent[2] - 1, ball->at[2] + half) - low + 1;
    row->first = (ball->z * ball->extent[1] + ball->y) * ball->extent[2] + low;
    ball->y++;
    return true;
}
