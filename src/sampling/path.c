/* SPDX-License-Identifier: BSD-3-Clause */
/* path.c - a short path over positions: 2-opt and Or-opt moves between neighbours.
 *
 * J. Bentley, "Fast algorithms for geometric traveling salesman problems", 1992: from a
 * space-filling curve, moves are looked for around one position at a time, in a queue of those
 * whose surroundings have changed. The path is an array, so a move costs as many entries as it
 * shifts; moves of more than LONGEST entries are left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sampling/sampling.h"
#include "base/error.h"
#include "base/pool.h"

/* SEGMENT: the longest piece that an Or-opt move takes elsewhere. */
enum { LONGEST = 50000, SEGMENT = 3 };

/* A move must shorten the path by more than rounding. */
static const double LEAST_GAIN = 1e-7;

typedef struct {
    csrec_pool pool;
    csrec_points points;
    int32_t *near;  /* [n][CSREC_NEIGHBOURS] */
    int64_t *path;  /* [n] points in the order of the path */
    int64_t *place; /* [n] of each point in the path */
    int64_t *queue; /* [n] ring of points to look at, from `first` */
    bool *queued;   /* [n] */
    int64_t first, waiting;
    int64_t shifted; /* entries that may still be shifted */
} route;

/* The point at a place of the path; -1 before its begin and behind its end. */
static int64_t point_at(const route *r, int64_t place) {
    return place < 0 || place >= r->points.n ? -1 : r->path[place];
}

/* 0 if there is no such point: the ends of a path are free. */
static double distance(const route *r, int64_t a, int64_t b) {
    return a < 0 || b < 0 ? 0.0 : csrec_points_distance(&r->points, a, b);
}

static void put(route *r, int64_t place, int64_t point) {
    r->path[place] = point;
    r->place[point] = place;
}

static void enqueue(route *r, int64_t point) {
    if (point < 0 || r->queued[point]) return;
    r->queued[point] = true;
    r->queue[(r->first + r->waiting++) % r->points.n] = point;
}

static int64_t dequeue(route *r) {
    int64_t point = r->queue[r->first];
    r->first = (r->first + 1) % r->points.n;
    r->waiting--;
    r->queued[point] = false;
    return point;
}

static bool may_shift(const route *r, int64_t entries) {
    return entries <= LONGEST && entries <= r->shifted;
}

static void reverse(route *r, int64_t low, int64_t high) {
    r->shifted -= high - low + 1;
    for (; low < high; low++, high--) {
        int64_t point = r->path[low];
        put(r, low, r->path[high]);
        put(r, high, point);
    }
}

/* Replaces the step from a to the one behind it (way 1) or before it (-1) by one to a neighbour. */
static bool exchange(route *r, int64_t a, int way) {
    int64_t i = r->place[a], b = point_at(r, i + way);
    double step = distance(r, a, b);
    const int32_t *near = r->near + a * CSREC_NEIGHBOURS;
    for (int k = 0; k < CSREC_NEIGHBOURS && near[k] >= 0; k++) {
        int64_t c = near[k], j = r->place[c], e = point_at(r, j + way);
        double gain = step - distance(r, a, c);
        if (gain <= LEAST_GAIN) break;
        gain += distance(r, c, e) - distance(r, b, e);
        int64_t low = csrec_smaller(i, j) + (way > 0), high = csrec_larger(i, j) - (way < 0);
        if (gain <= LEAST_GAIN || !may_shift(r, high - low + 1)) continue;
        reverse(r, low, high);
        const int64_t ends[] = {a, b, c, e};
        for (int n = 0; n < 4; n++) enqueue(r, ends[n]);
        return true;
    }
    return false;
}

/* Moves the points at low .. high between those at gap and gap + 1, so that a is beside c. */
static void carry(route *r, int64_t low, int64_t high, int64_t gap, int64_t a, int64_t c) {
    int64_t segment[SEGMENT], count = high - low + 1;
    for (int64_t k = 0; k < count; k++) segment[k] = r->path[low + k];
    int64_t to = gap > high ? gap - count + 1 : gap + 1;
    for (int64_t k = low; k < to; k++) put(r, k, r->path[k + count]);
    for (int64_t k = high; k > to + count - 1; k--) put(r, k, r->path[k - count]);
    bool behind = point_at(r, to - 1) == c; /* c comes before the segment */
    bool forward = behind == (segment[0] == a);
    for (int64_t k = 0; k < count; k++) put(r, to + k, segment[forward ? k : count - 1 - k]);
    r->shifted -= llabs(to - low) + count;
}

/* The gain of putting the piece low .. high, from whose removal `saved` comes, beside c, on the
 * side `way`, with a beside c and z at the other end. */
static bool insert(route *r, int64_t low, int64_t high, double saved, int64_t a, int64_t z,
                   int64_t c, int way) {
    int64_t j = r->place[c], e = point_at(r, j + way), gap = way > 0 ? j : j - 1;
    if (gap >= low - 1 && gap <= high) return false;
    double gain = saved - distance(r, a, c) - distance(r, z, e) + distance(r, c, e);
    if (gain <= LEAST_GAIN || !may_shift(r, llabs(gap - low) + SEGMENT)) return false;
    const int64_t ends[] = {a, z, c, e, point_at(r, low - 1), point_at(r, high + 1)};
    carry(r, low, high, gap, a, c);
    for (int n = 0; n < 6; n++) enqueue(r, ends[n]);
    return true;
}

/* Moves a piece of 1 to 3 points that ends at a and extends before it (way -1) or behind it. */
static bool move(route *r, int64_t a, int way) {
    const int32_t *near = r->near + a * CSREC_NEIGHBOURS;
    for (int count = 1; count <= SEGMENT; count++) {
        int64_t i = r->place[a], other = i + way * (count - 1), z = point_at(r, other);
        if (z < 0) return false;
        int64_t low = csrec_smaller(i, other), high = csrec_larger(i, other);
        int64_t before = point_at(r, low - 1), behind = point_at(r, high + 1);
        double saved = distance(r, before, r->path[low]) + distance(r, r->path[high], behind) -
                       distance(r, before, behind);
        for (int k = 0; k < CSREC_NEIGHBOURS && near[k] >= 0; k++) {
            int64_t j = r->place[near[k]];
            if (distance(r, a, near[k]) >= saved) break;
            if (j >= low && j <= high) continue;
            if (insert(r, low, high, saved, a, z, near[k], 1) ||
                insert(r, low, high, saved, a, z, near[k], -1))
                return true;
        }
    }
    return false;
}

static csrec_status shorten(route *r, csrec_progress_fn progress, void *context) {
    csrec_ticker ticker = {.next = 0};
    for (int64_t k = 0; k < r->points.n; k++) enqueue(r, r->path[k]);
    for (int64_t done = 0; r->waiting; done++) {
        csrec_progress now = {"path", csrec_larger(0, r->points.n - r->waiting), r->points.n, -1.0};
        if (progress && done % 1024 == 0 && csrec_ticker_passed(&ticker) && progress(&now, context))
            return CSREC_STOPPED;
        int64_t a = dequeue(r);
        while (exchange(r, a, 1) || exchange(r, a, -1) || move(r, a, 1) || move(r, a, -1)) {
        }
    }
    return CSREC_OK;
}

static double length_of(const route *r) {
    double sum = 0.0;
    for (int64_t k = 1; k < r->points.n; k++) sum += distance(r, r->path[k - 1], r->path[k]);
    return sum;
}

static csrec_status allocate(route *r) {
    csrec_pool *pool = &r->pool;
    const int64_t n = r->points.n + 1;
    CSREC_TAKE(pool, r->points.at, 3 * n);
    CSREC_TAKE(pool, r->near, CSREC_NEIGHBOURS * n);
    CSREC_TAKE(pool, r->path, n);
    CSREC_TAKE(pool, r->place, n);
    CSREC_TAKE(pool, r->queue, n);
    CSREC_ZEROS(pool, r->queued, n);
    return csrec_pool_status(pool);
}

/* Fills the points and finds the path; length[0]: of the order given. */
static csrec_status find_path(route *r, const int64_t *index, csrec_progress_fn progress,
                              void *context, double length[2]) {
    CSREC_TRY(allocate(r));
    for (int64_t k = 0; k < r->points.n; k++) {
        int64_t at[3];
        csrec_locate(r->points.extent, index[k], at);
        for (int d = 0; d < 3; d++) r->points.at[3 * k + d] = (int32_t)at[d];
        r->path[k] = k;
    }
    length[0] = length_of(r);
    CSREC_TRY(csrec_points_neighbours(&r->points, r->near));
    CSREC_TRY(csrec_points_order(&r->points, 0, r->path));
    for (int64_t k = 0; k < r->points.n; k++) r->place[r->path[k]] = k;
    csrec_status status = shorten(r, progress, context);
    length[1] = length_of(r);
    return status;
}

csrec_status csrec_path_order(const csrec_shape *shape, int64_t n, int64_t *index,
                              csrec_progress_fn progress, void *context, double length[2],
                              csrec_error *error) {
    route r = {.points = {.n = n}, .shifted = 256 * n};
    double found[2] = {0.0, 0.0};
    if (error) error->text[0] = '\0';
    int64_t entries;
    CSREC_TRY(
        csrec_extents_check(shape, n, index, "paths are for", r.points.extent, &entries, error));
    csrec_status status = find_path(&r, index, progress, context, found);
    if (!status && found[1] < found[0]) {
        for (int64_t k = 0; k < n; k++) r.queue[k] = index[r.path[k]];
        memcpy(index, r.queue, (size_t)n * sizeof *index);
    }
    if (!status && length) {
        length[0] = found[0];
        length[1] = fmin(found[0], found[1]);
    }
    csrec_pool_clear(&r.pool);
    if (status == CSREC_STOPPED)
        return csrec_fail(error, status, "the search for a path was stopped");
    return status
               ? csrec_fail(error, status, "no memory for a path of %lld positions", (long long)n)
               : CSREC_OK;
}
