/* device.c - the passes of an adaptive recovery on a device, in the order of adaptive.c.
 */
#include "method/adaptive/device.h"

#include <stdlib.h>

#include "method/adaptive/recipe.h"

typedef struct course {
    const csrec_adaptive_device *device;
    void *state;
    csrec_picture *p;
    csrec_axes *axes; /* [CSREC_CLASS_GRIDS] */
    int sums;
    csrec_error *error;
} course;

static void count_grids(course *c, const char *stage, int grids) {
    csrec_picture *p = c->p;
    p->grids_done += grids;
    p->grids_fitted += grids;
    csrec_progress progress = {
        .stage = stage, .done = p->grids_done, .total = p->grids, .residual = -1.0};
    csrec_team_report(&p->team, &progress);
}

static csrec_status take_down(course *c) {
    csrec_status status = CSREC_OK;
    if (c->p->record) status = c->device->get(c->state, c->p->u, NULL, NULL, c->error);
    if (status) return status;
    status = csrec_picture_take_down(c->p);
    return status ? csrec_fail(c->error, status, "out of memory") : CSREC_OK;
}

/* As many classes as have sums of their own at a time. */
static csrec_status run_classes(course *c, const csrec_grid_class *list, int pass, int count,
                                bool first) {
    int to[CSREC_CLASS_GRIDS], of[CSREC_CLASSES], grids = 0;
    for (int k = 0; k < count; k++) {
        of[k] = list[k].grids;
        for (int g = 0; g < of[k]; g++) {
            csrec_recipe_class(&list[k], pass, g, c->p->options->seed, &c->axes[grids]);
            to[grids++] = k;
        }
    }
    csrec_status status = c->device->add(c->state, c->axes, to, grids, count, c->error);
    if (status) return status;
    if (pass == 0 && first) c->p->levels = c->axes[0].bits;
    count_grids(c, "class grids", grids);
    return csrec_team_stopped(&c->p->team)
               ? CSREC_OK
               : c->device->combine(c->state, of, count, first, c->error);
}

/* Stopped in the first pass, what there is counts; later, the pass does not. */
static csrec_status class_pass(course *c, const csrec_grid_class *list, int pass) {
    csrec_picture *p = c->p;
    float alpha = csrec_class_alpha[pass];
    int done = 0;
    csrec_status status = c->device->residual(c->state, alpha, c->error);
    while (done < CSREC_CLASSES && !csrec_team_stopped(&p->team) && !status) {
        int left = CSREC_CLASSES - done, count = left < c->sums ? left : c->sums;
        status = run_classes(c, list + done, pass, count, done == 0);
        if (!csrec_team_stopped(&p->team)) done += count;
    }
    if (!status && (done == CSREC_CLASSES || (pass == 0 && done > 0)))
        status = c->device->weighted(c->state, alpha, c->error);
    return status ? status : take_down(c);
}

static csrec_status class_stage(course *c) {
    csrec_grid_class list[CSREC_CLASSES];
    csrec_status status = CSREC_OK;
    csrec_classes_list(list);
    c->p->grids_done = 0;
    c->p->grids = CSREC_CLASS_GRIDS * CSREC_CLASS_PASSES;
    for (int pass = 0; pass < CSREC_CLASS_PASSES && !csrec_team_stopped(&c->p->team) && !status;
         pass++)
        status = class_pass(c, list, pass);
    return status;
}

static csrec_status feature_pass(course *c, int pass) {
    const csrec_feature_pass *with = &csrec_feature_passes[pass];
    int to[CSREC_FEATURE_GRIDS] = {0};
    for (int g = 0; g < CSREC_FEATURE_GRIDS; g++)
        csrec_recipe_feature(pass, g, c->p->options->seed, &c->axes[g]);
    csrec_status status = c->device->features(c->state, with->radius, with->width, c->error);
    if (!status) status = c->device->residual(c->state, with->alpha, c->error);
    if (!status) status = c->device->add(c->state, c->axes, to, CSREC_FEATURE_GRIDS, 1, c->error);
    if (status) return status;
    count_grids(c, "feature grids", CSREC_FEATURE_GRIDS);
    if (csrec_team_stopped(&c->p->team)) return CSREC_OK;
    status = c->device->mean(c->state, with->alpha, CSREC_FEATURE_GRIDS, c->error);
    return status ? status : take_down(c);
}

static csrec_status feature_stage(course *c, int *passes) {
    csrec_status status = CSREC_OK;
    c->p->grids_done = 0;
    c->p->grids = CSREC_FEATURE_GRIDS * CSREC_FEATURE_PASSES;
    for (int pass = 0; pass < CSREC_FEATURE_PASSES && !csrec_team_stopped(&c->p->team) && !status;
         pass++) {
        status = feature_pass(c, pass);
        if (!csrec_team_stopped(&c->p->team)) *passes = pass + 1;
    }
    return status;
}

static csrec_status run(course *c, float units, int *passes) {
    csrec_picture *p = c->p;
    csrec_status status = c->device->create(p, units, &c->sums, &c->state, c->error);
    if (!status) status = class_stage(c);
    if (!status) status = feature_stage(c, passes);
    if (!status) status = c->device->get(c->state, p->u, p->weighted, &p->leaves, c->error);
    c->device->destroy(c->state);
    return status;
}

csrec_status csrec_adaptive_run(const csrec_adaptive_device *device, csrec_picture *picture,
                                float units, int *passes, csrec_error *error) {
    course c = {.device = device, .p = picture, .sums = CSREC_CLASSES, .error = error};
    c.axes = malloc(CSREC_CLASS_GRIDS * sizeof *c.axes);
    *passes = 0;
    csrec_status status =
        c.axes ? run(&c, units, passes) : csrec_fail(error, CSREC_MEMORY, "out of memory");
    free(c.axes);
    return status;
}
