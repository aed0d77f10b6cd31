/* passes.c - the passes of an adaptive recovery.
 *
 * First grids of position alone, in classes of direction and elongation: at each pixel the classes
 * are weighted by their errors at the samples around it. Then grids of position and of features of
 * the recovery so far. Every pass also corrects the previous one: it fits y - alpha u. A fit at a
 * sample excludes that sample, so errors and residuals there are like those elsewhere.
 */
#include <float.h>
#include <stdlib.h>

#include "method/adaptive/engine.h"
#include "method/adaptive/recipe.h"

typedef struct run_state {
    const csrec_adaptive_engine *engine;
    void *state;
    csrec_picture *p;
    csrec_axes *axes; /* [CSREC_CLASS_GRIDS] */
    int sums;
    csrec_error *error;
} run_state;

static bool is_stopped(run_state *s) {
    return csrec_team_stopped(&s->p->team);
}

static void begin_stage(csrec_picture *p, const char *name, int grids) {
    p->stage = name;
    p->grids_done = 0;
    p->grids = grids;
}

/* After each pass. */
static csrec_status note_pass(run_state *s) {
    csrec_status status = CSREC_OK;
    if (s->p->record) status = s->engine->get(s->state, false, s->error);
    if (status) return status;
    status = csrec_picture_note(s->p);
    return status ? csrec_fail(s->error, status, "out of memory") : CSREC_OK;
}

/* ------------------------------------------------------------------ class passes */

/* As many classes at a time as the engine has sums for. */
static csrec_status run_classes(run_state *s, const csrec_grid_class *list, int pass, int count,
                                bool first) {
    int to[CSREC_CLASS_GRIDS], of[CSREC_CLASSES], grids = 0;
    for (int k = 0; k < count; k++) {
        of[k] = list[k].grids;
        for (int g = 0; g < of[k]; g++) {
            csrec_recipe_class(&list[k], pass, g, s->p->options->seed, &s->axes[grids]);
            to[grids++] = k;
        }
    }
    csrec_status status = s->engine->add(s->state, s->axes, to, grids, count, s->error);
    if (status) return status;
    if (pass == 0 && first) s->p->levels = s->axes[0].bits;
    return is_stopped(s) ? CSREC_OK : s->engine->combine(s->state, of, count, first, s->error);
}

static csrec_status class_pass(run_state *s, const csrec_grid_class *list, int pass) {
    float alpha = csrec_class_alpha[pass];
    int done = 0;
    csrec_status status = s->engine->residual(s->state, alpha, s->error);
    while (done < CSREC_CLASSES && !is_stopped(s) && !status) {
        int left = CSREC_CLASSES - done, count = left < s->sums ? left : s->sums;
        status = run_classes(s, list + done, pass, count, done == 0);
        if (!is_stopped(s)) done += count;
    }
    if (!status && (done == CSREC_CLASSES || (pass == 0 && done > 0)))
        status = s->engine->weighted(s->state, alpha, s->error);
    return status ? status : note_pass(s);
}

static csrec_status class_stage(run_state *s) {
    csrec_grid_class list[CSREC_CLASSES];
    csrec_status status = CSREC_OK;
    csrec_classes_list(list);
    begin_stage(s->p, CSREC_STAGE_CLASSES, CSREC_CLASS_GRIDS * CSREC_CLASS_PASSES);
    for (int pass = 0; pass < CSREC_CLASS_PASSES && !is_stopped(s) && !status; pass++)
        status = class_pass(s, list, pass);
    return status;
}

/* ------------------------------------------------------------------ feature passes */

/* If stopped while grids are fitted, the pass is discarded. */
static csrec_status feature_pass(run_state *s, int pass, int *passes) {
    const csrec_feature_pass *with = &csrec_feature_passes[pass];
    int to[CSREC_FEATURE_GRIDS] = {0};
    for (int g = 0; g < CSREC_FEATURE_GRIDS; g++)
        csrec_recipe_feature(pass, g, s->p->options->seed, &s->axes[g]);
    csrec_status status = s->engine->features(s->state, with->radius, with->width, s->error);
    if (!status) status = s->engine->residual(s->state, with->alpha, s->error);
    if (!status) status = s->engine->add(s->state, s->axes, to, CSREC_FEATURE_GRIDS, 1, s->error);
    if (status || is_stopped(s)) return status;
    status = s->engine->mean(s->state, with->alpha, CSREC_FEATURE_GRIDS, s->error);
    *passes = pass + 1;
    return status ? status : note_pass(s);
}

static csrec_status feature_stage(run_state *s, int *passes) {
    csrec_status status = CSREC_OK;
    begin_stage(s->p, CSREC_STAGE_FEATURES, CSREC_FEATURE_GRIDS * CSREC_FEATURE_PASSES);
    for (int pass = 0; pass < CSREC_FEATURE_PASSES && !is_stopped(s) && !status; pass++)
        status = feature_pass(s, pass, passes);
    return status;
}

/* ------------------------------------------------------------------ all passes */

/* Fitted values are below 4 times the largest sample; sums of CSREC_FEATURE_GRIDS values stay below
 * 2^31. */
static float units_of(const csrec_picture *p) {
    float largest = 0.0f, units = 0x1p24f;
    int64_t values = (int64_t)p->samples * p->channels;
    for (int64_t k = 0; k < values; k++) {
        float v = p->y[k] < 0.0f ? -p->y[k] : p->y[k];
        largest = v > largest ? v : largest;
    }
    for (; largest > 1.0f && units > FLT_MIN; largest *= 0.5f) units *= 0.5f;
    return units;
}

/* The result is the mean of the last two. */
static csrec_status run(run_state *s, const csrec_context *context) {
    csrec_picture *p = s->p;
    int64_t values = (int64_t)p->sites * p->channels;
    int passes = 0;
    csrec_status status = s->engine->create(context, p, units_of(p), &s->sums, &s->state, s->error);
    if (!status) status = class_stage(s);
    if (!status) status = feature_stage(s, &passes);
    if (!status) status = s->engine->get(s->state, true, s->error);
    s->engine->destroy(s->state);
    for (int64_t k = 0; passes >= CSREC_PASSES_AVERAGED && !status && k < values; k++)
        p->u[k] = 0.5f * (p->u[k] + p->weighted[k]);
    return status;
}

csrec_status csrec_adaptive_passes(const csrec_context *context, csrec_picture *picture,
                                   csrec_error *error) {
    static const csrec_adaptive_engine *const engines[CSREC_DEVICE_KINDS] =
        CSREC_ENGINES(&csrec_adaptive_cpu, &csrec_adaptive_cuda);
    run_state s = {
        .engine = engines[context->kind], .p = picture, .sums = CSREC_CLASSES, .error = error};
    if (!s.engine) return csrec_device_lacks(context, "method adaptive", NULL, error);
    s.axes = calloc(CSREC_CLASS_GRIDS, sizeof *s.axes);
    csrec_status status =
        s.axes ? run(&s, context) : csrec_fail(error, CSREC_MEMORY, "out of memory");
    free(s.axes);
    return status;
}
