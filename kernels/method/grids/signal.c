/* SPDX-License-Identifier: BSD-3-Clause */
/* signal.c - the start of a signal and its stopping rules as integers, for the device. */
#include "kernels/method/grids/signal.h"

#include "base/stop.h"
#include "base/pool.h"
#include "haar/tree.h"

static csrec_wide wide(int64_t high, uint64_t low) {
    return ((csrec_wide)high * ((csrec_wide)1 << 64)) + (csrec_wide)low;
}

static double energy_of(csrec_wide energy, double units) {
    return csrec_wide_double(energy) / units / units;
}

/* The largest integer energy at which the solver's loop stops: its comparison of doubles is
 * monotone, so bisection finds the threshold. */
static csrec_wide goal_of(csrec_wide start, double units, double goal) {
    csrec_wide low = 0, high = start; /* 0 is always reached */
    while (low < high) {
        csrec_wide middle = low + (high - low + 1) / 2;
        if (energy_of(middle, units) <= goal)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

void csrec_cuda_signal_init(csrec_cuda_signal *signal, int64_t n, const double *y,
                            const csrec_stop *stop) {
    double units = csrec_pursuit_units(n, y), total = 0.0;
    csrec_wide energy = 0;
    for (int64_t j = 0; j < n; j++) {
        double value = rint(y[j] * units);
        total += value;
        energy += (csrec_wide)(int64_t)value * (int64_t)value;
    }
    signal->unit = 1.0 / units;
    signal->total = total;
    signal->energy_low = (uint64_t)energy;
    signal->energy_high = (int64_t)(energy >> 64);
    signal->limit = stop->atoms ? stop->atoms : 4 * n;
    signal->min_coefficient = stop->min_coefficient;
    double rest = 1.0 - stop->stagnation;
    signal->keep = stop->stagnation > 0.0 ? rest * rest : -1.0;
}

void csrec_cuda_signal_goal(csrec_cuda_signal *signal, int64_t n, const csrec_stop *stop) {
    csrec_wide goal = goal_of(wide(signal->energy_high, signal->energy_low), 1.0 / signal->unit,
                              csrec_stop_end(stop, n, signal->whole));
    signal->goal_low = (uint64_t)goal;
    signal->goal_high = (int64_t)(goal >> 64);
}

void csrec_cuda_signal_start(csrec_cuda_signal *signal, const csrec_cuda_signal *start) {
    signal->unit = start->unit;
    signal->total = start->total;
    signal->energy_low = start->energy_low;
    signal->energy_high = start->energy_high;
    signal->limit = start->limit;
    signal->min_coefficient = start->min_coefficient;
    signal->keep = start->keep;
}

double csrec_cuda_signal_residual(const csrec_cuda_signal *signal) {
    double energy = energy_of(wide(signal->energy_high, signal->energy_low), 1.0 / signal->unit);
    return signal->whole > 0.0 ? sqrt(energy / signal->whole) : 0.0;
}

/* A tree's items on the host. */
typedef struct host_items {
    uint64_t *rows, *shape;
    uint32_t *first;
    double *x;
    csrec_pool pool;
} host_items;

static csrec_status download_items(const csrec_cuda_tree *tree, const csrec_cuda_signal *signal,
                                   host_items *h, csrec_error *error) {
    const size_t n = (size_t)tree->n, items = (size_t)tree->items;
    *h = (host_items){0};
    CSREC_TAKE(&h->pool, h->rows, n);
    CSREC_TAKE(&h->pool, h->shape, items);
    CSREC_TAKE(&h->pool, h->first, items);
    CSREC_TAKE(&h->pool, h->x, items);
    if (h->pool.lacks) return csrec_fail(error, CSREC_MEMORY, "out of memory for the coefficients");
    csrec_status status = csrec_cuda_download(h->rows, tree->rows, n * 8, NULL, error);
    if (!status) status = csrec_cuda_download(h->shape, tree->shape, items * 8, NULL, error);
    if (!status) status = csrec_cuda_download(h->first, tree->first, items * 4, NULL, error);
    return status ? status : csrec_cuda_download(h->x, signal->x, items * 8, NULL, error);
}

/* Counts the atoms, or places them if atoms is given. Items of one level ascend by column. */
static void list_items(const csrec_cuda_tree *tree, const csrec_cuda_signal *signal,
                       const host_items *h, csrec_column_order *listing, csrec_atoms *atoms) {
    for (int64_t i = -1; i < tree->items; i++) {
        bool all = i < 0;
        double x = all ? signal->x_all : h->x[i];
        if (x == 0.0) continue;
        uint64_t shape = all ? (uint64_t)tree->n : h->shape[i];
        int level = all ? CSREC_LISTING_COLUMN_0 : (int)(shape >> 56);
        int64_t at = listing->next[level]++;
        if (!atoms) continue;
        uint64_t row = all ? 0 : h->rows[h->first[i]];
        bool sum = !all && (shape >> 28 & 0xfffffff) == 0;
        int64_t count = (int64_t)(shape & 0xfffffff);
        if (sum) x *= csrec_tree_side(row, level);
        atoms->column[at] = all ? 0 : csrec_tree_column(tree->levels, row, level);
        atoms->coefficient[at] = x * sqrt((double)count) * signal->unit;
        atoms->count[at] = count;
    }
}

csrec_status csrec_cuda_signal_atoms(const csrec_cuda_tree *tree, const csrec_cuda_signal *signal,
                                     csrec_atoms *atoms, csrec_error *error) {
    host_items h;
    csrec_status status = download_items(tree, signal, &h, error);
    if (!status) {
        csrec_column_order listing = {{0}};
        list_items(tree, signal, &h, &listing, NULL);
        status = csrec_atoms_create(csrec_column_order_start(&listing), atoms);
        if (status)
            csrec_fail(error, status, "out of memory for the coefficients");
        else
            list_items(tree, signal, &h, &listing, atoms);
    }
    csrec_pool_clear(&h.pool);
    return status;
}
