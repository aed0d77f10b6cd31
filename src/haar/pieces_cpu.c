/* SPDX-License-Identifier: BSD-3-Clause */
/* pieces_cpu.c - pieces on the CPU: an eager pursuit and a log for each. */
#include <stdlib.h>

#include "base/error.h"
#include "haar/atoms.h"
#include "haar/eager.h"
#include "haar/pieces.h"

typedef struct piece {
    csrec_tree tree;
    csrec_eager *eager;
} piece;

typedef struct pieces {
    const csrec_pieces_job *job;
    piece *piece; /* [job->count] */
} pieces;

/* A pick as the code of a step. */
static int64_t code_of(csrec_pick pick) {
    return (int64_t)pick.at * 8 + pick.kind;
}

static csrec_pick pick_of(int64_t code) {
    csrec_pick pick = {.at = (int32_t)(code >> 3)};
    pick.kind = code & 7;
    return pick;
}

/* ------------------------------------------------------------------ create -------------------- */

static void clear_piece(piece *p) {
    csrec_pool_destroy(p->eager);
    csrec_tree_clear(&p->tree);
}

static void cpu_destroy(void *state) {
    pieces *all = state;
    if (!all) return;
    for (int32_t k = 0; all->piece && k < all->job->count; k++) clear_piece(&all->piece[k]);
    free(all->piece);
    free(all);
}

static csrec_status create_piece(const csrec_pieces_job *job, int32_t own, piece *p) {
    const csrec_piece *where = &job->cut->piece[job->piece[own]];
    csrec_status status = csrec_tree_create(job->cut->levels, where->size, job->rows + where->first,
                                            job->cut->columns, &p->tree);
    return status ? status
                  : csrec_eager_create(&p->tree, job->y + where->first, job->units, where->edge,
                                       &p->eager);
}

static csrec_status cpu_create(const csrec_pieces_job *job, void **state, csrec_error *error) {
    pieces *all = calloc(1, sizeof *all);
    if (!all) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    all->job = job;
    all->piece = calloc((size_t)job->count + 1, sizeof *all->piece);
    csrec_status status = all->piece ? CSREC_OK : CSREC_MEMORY;
#pragma omp parallel for schedule(dynamic, 1) num_threads(job->threads)
    for (int32_t k = 0; k < job->count; k++) {
        csrec_status own = all->piece ? create_piece(job, k, &all->piece[k]) : CSREC_MEMORY;
        if (own) {
#pragma omp atomic write
            status = own;
        }
    }
    if (!status) {
        *state = all;
        return CSREC_OK;
    }
    cpu_destroy(all);
    return csrec_fail(error, status, "%s", csrec_status_text(status));
}

static void cpu_start(const void *state, double *sum, csrec_wide *energy) {
    const pieces *all = state;
    *energy = 0;
    for (int32_t k = 0; k < all->job->count; k++) {
        sum[k] = all->piece[k].eager->total;
        *energy += all->piece[k].eager->energy;
    }
}

/* ------------------------------------------------------------------ picks --------------------- */

static void run_piece(csrec_eager *e, int64_t theta, double small, csrec_steps *s) {
    for (s->halt = CSREC_HALT_NONE; (s->head = csrec_eager_key(e)) >= theta; s->count++) {
        double before = e->total;
        if (s->count == s->room) {
            s->halt = CSREC_HALT_FULL;
            return;
        }
        if (e->simd->select(e) < small) {
            s->halt = CSREC_HALT_SMALL;
            return;
        }
        if (!e->simd->update(e)) {
            s->halt = CSREC_HALT_STALL;
            return;
        }
        *csrec_steps_at(s, s->count) =
            (csrec_step){s->head, code_of(e->pick), e->step, e->total - before, e->gain};
    }
}

static csrec_status cpu_run(void *state, int64_t theta, csrec_steps *all, csrec_error *error) {
    pieces *own = state;
    (void)error;
#pragma omp parallel for schedule(dynamic, 1) num_threads(own->job->threads)
    for (int32_t k = 0; k < own->job->count; k++)
        run_piece(own->piece[k].eager, theta, own->job->small, &all[k]);
    return CSREC_OK;
}

static void cpu_undo(void *state, int32_t own, csrec_steps *s) {
    csrec_eager *e = ((pieces *)state)->piece[own].eager;
    while (s->count > 0) {
        const csrec_step *last = csrec_steps_at(s, --s->count);
        e->pick = pick_of(last->code);
        e->simd->apply(e, -last->d);
    }
}

static void cpu_shift(void *state, int32_t own, double t) {
    csrec_eager *e = ((pieces *)state)->piece[own].eager;
    e->simd->shift(e, t);
}

/* ------------------------------------------------------------------ results ------------------- */

static csrec_status cpu_result(const void *state, int32_t own, csrec_atoms *atoms, double *r,
                               csrec_error *error) {
    const pieces *all = state;
    const csrec_eager *e = all->piece[own].eager;
    const double *y = all->job->y + all->job->cut->piece[all->job->piece[own]].first;
    csrec_status status = csrec_eager_result(e, y, atoms, r);
    return status ? csrec_fail(error, status, "out of memory for the atoms") : CSREC_OK;
}

const csrec_pieces_type csrec_pieces_cpu = {cpu_create, cpu_destroy, cpu_start, cpu_run,
                                            cpu_undo,   cpu_shift,   cpu_result};
