/* SPDX-License-Identifier: BSD-3-Clause */
/* need.c - memory and time of a recovery by Gaussian groups. */
#include <limits.h>
#include <math.h>

#include "method/gaussian/gaussian.h"

/* Seconds of one thread: per entry of a window's distances; per place of the window sorted; and
 * per patch of a group, for a product of its covariance, a product per sample, and a product per
 * pair of samples. */
static const double PER_DISTANCE = 8e-11, PER_PLACE = 4.5e-9, PER_COVARIANCE = 1.5e-10,
                    PER_SAMPLE = 4e-10, PER_PAIR = 1.07e-11;

static csrec_gaussian_picture picture_of(const csrec_task *task) {
    csrec_gaussian_picture p = {.depth = 1, .height = 1, .width = 1};
    int *extents[] = {&p.width, &p.height, &p.depth}, used = 0;
    for (int a = task->shape.dims - 1; a >= 0 && used < 3; a--)
        if (task->shape.dim[a] > 1 || task->shape.dims == 2)
            *extents[used++] = task->shape.dim[a] < INT_MAX ? (int)task->shape.dim[a] : INT_MAX;
    p.channels = (int)task->channels;
    if (p.channels == CSREC_GAUSSIAN_POOLED && p.depth == 1) {
        p.guides = p.channels;
        p.pooled = !task->noisy;
    }
    return p;
}

/* Per entry, all channels. */
static double round_seconds(const csrec_gaussian_picture *p, const csrec_gaussian_round *round,
                            double rate) {
    const double edge = p->depth > 1 ? 16.0 : 32.0; /* round.c: CUBE, TILE */
    int axes = p->depth > 1 ? 3 : 2, deep = round->deep_radius ? round->deep_radius : round->radius;
    double around = round->patch + 2.0 * round->margin;
    double d = pow(round->patch, axes), references = 1.0 / pow(round->step, axes);
    double places = pow(2.0 * round->radius + 1.0, 2) * (axes == 3 ? 2.0 * deep + 1.0 : 1.0);
    double window = places * pow((edge + around) / edge, axes) * fmax(p->guides, 1);
    double patches = references * round->group * d * d;
    double search = round->again ? 0.0 : window * PER_DISTANCE + references * places * PER_PLACE;
    double condition = (round->em + 1) * (rate * PER_SAMPLE + d * rate * rate * PER_PAIR);
    const int conditions = p->pooled ? 1 : p->channels; /* pooled channels share them */
    return search + patches * (p->channels * PER_COVARIANCE + conditions * condition);
}

/* Thresholded blocks. */
static csrec_need start_need(const csrec_task *task) {
    static const csrec_setting small_blocks[] = {{"block", 8}};
    csrec_recover_options own = csrec_options_within(task->options, NULL);
    own.solve.settings = small_blocks;
    own.solve.n_settings = picture_of(task).depth > 1 ? 1 : 0;
    csrec_method_frames.complete(NULL, false, &own);
    csrec_task start = csrec_task_with(task, &own);
    return csrec_method_frames.need(&start);
}

/* After a given start, or the method's own, which needed `start`. */
static csrec_need rounds_need(const csrec_task *task, bool given, csrec_need start) {
    csrec_gaussian_picture p = picture_of(task);
    bool volume = p.depth > 1,
         quick = csrec_task_setting(task, CSREC_OF_METHOD, "effort", 1.0) < 1.0;
    double entries = (double)task->entries, n = (double)task->n, channels = (double)task->channels;
    csrec_need need = {0};
    int count;
    const csrec_gaussian_round *rounds =
        csrec_gaussian_rounds(volume, p.pooled, quick, given, &count);
    for (int i = 0; i < count; i++) {
        csrec_gaussian_round round = rounds[i];
        round.margin = csrec_gaussian_margin(task->rate * entries, entries, volume);
        need.bytes = fmax(need.bytes, csrec_gaussian_round_bytes(&p, &round, task->threads));
        need.seconds += entries * round_seconds(&p, &round, n / entries);
    }
    double guides = p.channels > 1 ? fmax(p.guides, 1) : 0.0;
    double values = (4.0 * channels + 1.0) * entries; /* samples and mask, touched earlier */
    double rest = (8.0 * channels + 4.0 * guides) * entries;
    csrec_need all = start; /* with its stages */
    all.bytes = values + fmax(start.bytes + 8.0 * n * channels,
                              rest + csrec_signal_bytes(task) + need.bytes);
    all.seconds += csrec_task_share(task, need.seconds, 256);
    csrec_need_stage(&all, CSREC_STAGE_GROUPS, all.seconds - start.seconds);
    return all;
}

csrec_need csrec_gaussian_need(const csrec_task *task) {
    return rounds_need(task, false, start_need(task));
}

csrec_need csrec_gaussian_refine_need(const csrec_task *task) {
    return rounds_need(task, true, (csrec_need){.bytes = 0.0});
}
