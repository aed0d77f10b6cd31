/* SPDX-License-Identifier: BSD-3-Clause */
/* shared_pursuit.h - a pursuit by several ranks, threads, beside that of one process. */
#pragma once

#include "check.h"
#include "problem.h"
#include "haar/tree.h"
#include "haar/shared.h"

typedef struct result {
    csrec_status status;
    csrec_atoms atoms;
    csrec_shared_report report;
    csrec_error error;
} result;

static inline void drop_result(result *s) {
    csrec_atoms_clear(&s->atoms);
}

/* Rules in the order of the solvers' loop. */
static inline csrec_outcome pursue(const csrec_pursuit_type *type, void *p,
                                   const csrec_shared_job *job, int64_t *iterations) {
    for (*iterations = 0;; ++*iterations) {
        if (type->energy(p) <= job->goal) return CSREC_CONVERGED;
        if (*iterations >= job->limit) return CSREC_STEP_LIMIT;
        if (type->select(p) < job->small) return CSREC_SMALL;
        if (!type->update(p)) return CSREC_EXHAUSTED;
    }
}

static inline result run_one(const problem *p, const csrec_pursuit_type *type,
                             const csrec_shared_job *job) {
    result s = {.status = CSREC_OK};
    CLEARED(csrec_tree) tree = {0};
    void *pursuit;
    assert_ok(csrec_tree_create(p->levels, p->n, p->rows, p->columns, &tree));
    assert_ok(type->create(&tree, p->y, &pursuit));
    s.report.outcome = pursue(type, pursuit, job, &s.report.iterations);
    s.report.energy = type->energy(pursuit);
    assert_ok(type->result(pursuit, p->y, &s.atoms, NULL));
    type->destroy(pursuit);
    return s;
}

/* Of one thread, with as many iterations as are of use. */
static inline csrec_shared_job plain_job(const problem *p) {
    return (csrec_shared_job){.levels = p->levels,
                              .n = p->n,
                              .rows = p->rows,
                              .y = p->y,
                              .columns = p->columns,
                              .limit = 4 * p->n,
                              .threads = 1};
}

/* ranks 0: without a communicator. One rank may have another engine. */
typedef struct plan {
    csrec_shared_job job;
    int ranks, other;
    const csrec_pieces_type *type;
    result *results;
} plan;

static inline void run_rank(void *what, int rank, csrec_comm *comm, const csrec_error *why) {
    const plan *p = what;
    csrec_shared_job job = p->job;
    result *s = &p->results[rank];
    if (why) s->error = *why;
    s->status = comm || p->ranks == 0 ? CSREC_OK : CSREC_MEMORY;
    job.comm = comm;
    if (rank == p->other && p->type) job.type = p->type;
    if (!s->status) s->status = csrec_shared_pursuit(&job, &s->atoms, &s->report, &s->error);
}

static inline void start_ranks(plan *what) {
    for (int k = 0; k < (what->ranks > 0 ? what->ranks : 1); k++)
        what->results[k] = (result){.status = CSREC_MEMORY}; /* of a thread that did not start */
    if (what->ranks > 0)
        assert_ok(csrec_comm_hub_run(what->ranks, run_rank, what));
    else
        run_rank(what, 0, NULL, NULL);
}

static inline void run_ranks(const csrec_shared_job *job, int ranks, result *results) {
    start_ranks(&(plan){.job = *job, .ranks = ranks, .results = results});
    for (int k = 0; k < (ranks > 0 ? ranks : 1); k++) {
        if (results[k].status) print_message("rank %d: %s\n", k, results[k].error.text);
        assert_ok(results[k].status);
    }
}

static inline void describe(const problem *p, const csrec_shared_job *job, int ranks,
                            const result *a, const result *b) {
    print_message("n %lld, M 2^%d, %s, %d ranks, pieces of %lld, log %lld, few %lld, limit %lld, "
                  "goal %a, small %a\n",
                  (long long)p->n, p->levels, csrec_columns_name(p->columns), ranks,
                  (long long)job->most, (long long)job->log, (long long)job->few,
                  (long long)job->limit, job->goal, job->small);
    print_message("one: %s, %lld iterations, energy %a, %lld atoms\n",
                  csrec_outcome_text(a->report.outcome), (long long)a->report.iterations,
                  a->report.energy, (long long)a->atoms.n);
    print_message("all: %s, %lld iterations, energy %a, %lld atoms\n",
                  csrec_outcome_text(b->report.outcome), (long long)b->report.iterations,
                  b->report.energy, (long long)b->atoms.n);
    for (int64_t i = 0; i < a->atoms.n && i < b->atoms.n; i++)
        if (a->atoms.column[i] != b->atoms.column[i] ||
            a->atoms.coefficient[i] != b->atoms.coefficient[i]) {
            print_message("atom %lld: column %llu, %a; column %llu, %a\n", (long long)i,
                          (unsigned long long)a->atoms.column[i], a->atoms.coefficient[i],
                          (unsigned long long)b->atoms.column[i], b->atoms.coefficient[i]);
            break;
        }
}

static inline bool same(const result *a, const result *b) {
    size_t n = (size_t)a->atoms.n;
    return a->report.outcome == b->report.outcome && a->report.iterations == b->report.iterations &&
           a->report.energy == b->report.energy && a->atoms.n == b->atoms.n &&
           (n == 0 || (!memcmp(a->atoms.column, b->atoms.column, n * sizeof *a->atoms.column) &&
                       !memcmp(a->atoms.coefficient, b->atoms.coefficient, n * sizeof(double)) &&
                       !memcmp(a->atoms.count, b->atoms.count, n * sizeof *a->atoms.count)));
}

typedef struct tally {
    int64_t outcomes[CSREC_INTERRUPTED + 1], tops, merged, undone, rounds;
} tally;

static inline void add_to(tally *t, const csrec_shared_report *report) {
    t->outcomes[report->outcome]++;
    t->tops += report->tops;
    t->merged += report->merged;
    t->undone += report->undone;
    t->rounds += report->rounds;
}

static inline void print_tally(const tally *t) {
    print_message(
        "%lld converged, %lld small, %lld at the limit, %lld without a column, %lld interrupted; "
        "%lld rounds, %lld picks above pieces, %lld put into order, %lld taken back\n",
        (long long)t->outcomes[CSREC_CONVERGED], (long long)t->outcomes[CSREC_SMALL],
        (long long)t->outcomes[CSREC_STEP_LIMIT], (long long)t->outcomes[CSREC_EXHAUSTED],
        (long long)t->outcomes[CSREC_INTERRUPTED], (long long)t->rounds, (long long)t->tops,
        (long long)t->merged, (long long)t->undone);
}
