/* SPDX-License-Identifier: BSD-3-Clause */
/* smear.c - the method smear: entries without a sample become the mean of their neighbours, again
 * and again. */
#include <stdlib.h>
#include <string.h>

#include "base/call.h"
#include "base/threads.h"
#include "method/method.h"

static const csrec_param params[] = {{"rounds", 100, 1, 1000000, "rounds of means"}, {0}};

typedef struct smear {
    const csrec_measurement *m;
    int64_t entries;
    bool *known;      /* [entries] */
    double *u, *next; /* [entries], of one channel */
} smear;

static double mean_around(const smear *s, int64_t i) {
    const csrec_shape *shape = &s->m->shape;
    double sum = 0.0, count = 0.0;
    int64_t stride = 1;
    for (int a = shape->dims; a-- > 0; stride *= shape->dim[a]) {
        const int64_t at = i / stride % shape->dim[a];
        if (at > 0) sum += s->u[i - stride], count++;
        if (at + 1 < shape->dim[a]) sum += s->u[i + stride], count++;
    }
    return count > 0.0 ? sum / count : s->u[i];
}

/* Each entry is computed by itself, so the bits do not depend on the number of threads. */
static void smear_once(smear *s, int threads) {
    double *now = s->next;
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(s->entries, threads))
    for (int64_t i = 0; i < s->entries; i++) now[i] = s->known[i] ? s->u[i] : mean_around(s, i);
    s->next = s->u;
    s->u = now;
}

static void smear_channel(smear *s, const csrec_recovery *r, int64_t c, int64_t rounds,
                          csrec_call *call) {
    const int64_t channels = s->m->channels;
    memset(s->u, 0, (size_t)s->entries * sizeof *s->u);
    for (int64_t k = 0; k < s->m->n; k++) s->u[s->m->index[k]] = s->m->y[k * channels + c];
    for (int64_t k = 0; k < rounds; k++) {
        const csrec_progress now = {"rounds", c * rounds + k, channels * rounds, -1.0};
        if (csrec_call_report(call, &now)) break;
        smear_once(s, r->options->threads);
        r->report->iterations++;
    }
    for (int64_t i = 0; i < s->entries; i++) r->signal[i * channels + c] = s->u[i];
}

static csrec_status run(const csrec_recovery *r, csrec_error *error) {
    const double rounds =
        csrec_setting_value(&r->options->solve, CSREC_OF_METHOD, params[0].name, params[0].value);
    smear s = {.m = r->measurement};
    csrec_call call;
    csrec_shape_count(&s.m->shape, &s.entries);
    s.known = calloc((size_t)s.entries, sizeof *s.known);
    s.u = malloc((size_t)s.entries * sizeof *s.u);
    s.next = malloc((size_t)s.entries * sizeof *s.next);
    csrec_status status = s.known && s.u && s.next ? CSREC_OK : CSREC_MEMORY;
    csrec_call_begin(&call, r->options->solve.progress, r->options->solve.context,
                     (csrec_progress){.stage = "rounds", .residual = -1.0});
    for (int64_t k = 0; k < s.m->n && !status; k++) s.known[s.m->index[k]] = true;
    for (int64_t c = 0; c < s.m->channels && !status; c++)
        smear_channel(&s, r, c, (int64_t)rounds, &call);
    r->report->pursuits = s.m->channels;
    r->report->outcome = csrec_call_stopped(&call) ? CSREC_INTERRUPTED : CSREC_DONE;
    csrec_call_end(&call);
    free(s.known);
    free(s.u);
    free(s.next);
    return status ? csrec_fail(error, status, "method smear: out of memory") : CSREC_OK;
}

const csrec_method_type csrec_method_smear = {.info = {.name = "smear",
                                                       .brief = "means of neighbours",
                                                       .source = "CONTRIBUTING.md",
                                                       .iterates = true},
                                              .params = params,
                                              .parts = csrec_task_always,
                                              .run = run};
