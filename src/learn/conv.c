/* SPDX-License-Identifier: BSD-3-Clause */
/* conv.c - learns the filters of a convolutional dictionary (learn.h): start, alternation, model.
 *
 * Alternates accelerated proximal gradient steps on the codes of each picture with projected
 * gradient steps on the filters (Olshausen and Field 1996; Heide, Heidrich and Wetzstein 2015 for
 * masks in the data term). A step that would raise F is rejected. */
#include "learn/conv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csrec/conv.h"
#include "csrec/sampling.h"
#include "base/threads.h"
#include "learn/model.h"

enum { FIRST_CODINGS = 30 };

typedef struct filter_learning {
    const csrec_conv_learn_options *options;
    csrec_learning l;
    int64_t size[2], iterations, codings, done;
    double base, low, range;
    double *objective; /* [iterations] */
    csrec_call call;
} filter_learning;

static void conv_clear(filter_learning *j) {
    free(j->l.packed[0]);
    free(j->l.packed[1]);
    free(j->l.work.memory);
    csrec_pool_clear(&j->l.pool);
}

static csrec_status check_start(const csrec_conv_learn_options *o, filter_learning *j,
                                csrec_error *error) {
    if (strcmp(csrec_model_kind(o->start), "conv") != 0)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "start: a model of kind %s has no filters; give one of kind conv",
                          csrec_model_kind(o->start));
    const int64_t *dim = csrec_model_array(o->start, "filters")->shape.dim;
    if ((o->filters && o->filters != dim[0]) || (o->size[0] && o->size[0] != dim[1]) ||
        (o->size[1] && o->size[1] != dim[2]))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "start: its %lld filters of %lld x %lld do not match the options",
                          (long long)dim[0], (long long)dim[1], (long long)dim[2]);
    j->l.filters = dim[0];
    memcpy(j->size, dim + 1, sizeof j->size);
    return CSREC_OK;
}

static csrec_status set_options(const csrec_conv_learn_options *o, filter_learning *j,
                                csrec_error *error) {
    j->l.filters = o->filters ? o->filters : 64;
    for (int a = 0; a < 2; a++) j->size[a] = o->size[a] ? o->size[a] : 8;
    csrec_status status = o->start ? check_start(o, j, error) : CSREC_OK;
    if (status) return status;
    if (j->l.filters < 1 || j->l.filters > 4096 || j->size[0] < 1 || j->size[0] > 64 ||
        j->size[1] < 1 || j->size[1] > 64)
        return csrec_fail(
            error, CSREC_ARGUMENT,
            "%lld filters of %lld x %lld; must be 1 to 4096, of 1 to 64 pixels a side",
            (long long)j->l.filters, (long long)j->size[0], (long long)j->size[1]);
    if (o->iterations < 0 || o->codings < 0 || o->threads < 0 || o->lambda < 0.0 ||
        !isfinite(o->lambda) || !(o->base <= 64.0))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "iterations, codings, threads and lambda must be at least 0, base at "
                          "most 64");
    j->l.size = j->size[0] * j->size[1];
    j->l.lambda = o->lambda > 0.0 ? o->lambda : 0.005;
    j->iterations = o->iterations ? o->iterations : 40;
    j->codings = o->codings ? o->codings : 5;
    j->base = o->base < 0.0 ? 0.0 : o->base > 0.0 ? o->base : 8.0;
    return CSREC_OK;
}

/* Values of black and white: the given ones, or the range of all samples. */
static csrec_status set_scale(filter_learning *j, int64_t count, const csrec_conv_picture *pictures,
                              csrec_error *error) {
    double low = INFINITY, high = -INFINITY;
    for (int64_t p = 0; p < count; p++)
        for (int64_t i = 0; i < pictures[p].height * pictures[p].width; i++) {
            if (pictures[p].known && !pictures[p].known[i]) continue;
            double v = (double)pictures[p].values[i];
            if (!isfinite(v))
                return csrec_fail(error, CSREC_DATA, "picture %lld: entry %lld is not finite",
                                  (long long)p, (long long)i);
            low = fmin(low, v);
            high = fmax(high, v);
        }
    const double *scale = j->options->scale;
    if (!(high > low))
        return csrec_fail(error, CSREC_DATA, "all samples of the pictures are equal");
    j->low = scale[0] != scale[1] ? fmin(scale[0], scale[1]) : low;
    j->range = scale[0] != scale[1] ? fabs(scale[1] - scale[0]) : high - low;
    /* The squares of samples, scaled so that black is 0 and white is 1, must be finite in a float.
     */
    double most = fmax(fabs(high - j->low), fabs(low - j->low)) / j->range;
    if (!isfinite(j->range) || !(most <= 1e15))
        return csrec_fail(error, CSREC_DATA,
                          "scale: samples of %g to %g are too far from black and white, %g and %g; "
                          "give the values of black and white",
                          low, high, j->low, j->low + j->range);
    return CSREC_OK;
}

/* s = (picture - base) / range at the samples. */
static csrec_status load(filter_learning *j, const csrec_conv_picture *from, csrec_coded *c) {
    csrec_pool pool = {0};
    int64_t *index = CSREC_TAKE(&pool, index, c->entries), m = 0;
    double *y = CSREC_TAKE(&pool, y, c->entries), *base = CSREC_TAKE(&pool, base, c->entries);
    csrec_status status = pool.lacks ? CSREC_MEMORY : CSREC_OK;
    for (int64_t i = 0; i < c->entries && !status; i++) {
        if (from->known && !from->known[i]) continue;
        index[m] = i;
        y[m++] = ((double)from->values[i] - j->low) / j->range;
        c->mask[i] = 1.0f;
    }
    if (!status && m > 0)
        status = csrec_conv_base(from->height, from->width, m, index, y, j->base, &j->call, base);
    for (int64_t k = 0; k < m && !status; k++) c->s[index[k]] = (float)(y[k] - base[index[k]]);
    csrec_pool_clear(&pool);
    return status;
}

static csrec_status make_coded(filter_learning *j, const csrec_conv_picture *from, csrec_coded *c) {
    int axis;
    c->conv = (csrec_conv){.batch = 1,
                           .channels_in = 1,
                           .channels_out = j->l.filters,
                           .size = {1, from->height, from->width},
                           .kernel = {1, j->size[0], j->size[1]},
                           .stride = {1, 1, 1},
                           .padding = {0, j->size[0] - 1, j->size[1] - 1},
                           .dilation = {1, 1, 1}};
    csrec_conv_outputs(&c->conv, &axis);
    c->entries = from->height * from->width;
    c->codes = j->l.filters * c->conv.out[1] * c->conv.out[2];
    c->momentum = 1.0;
    float **const arrays[] = {&c->s, &c->mask, &c->picture, &c->picture_before};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        CSREC_ZEROS(&j->l.pool, *arrays[i], c->entries);
    if (j->l.pool.lacks) return CSREC_MEMORY;
    csrec_status status = load(j, from, c);
    c->objective = csrec_learn_misfit(c, c->picture); /* x = 0 */
    return status;
}

/* Memory for every product of every picture. */
static csrec_status make_room(filter_learning *j) {
    csrec_learning *l = &j->l;
    int64_t codes = 1, entries = 1;
    size_t bytes = 0, threads = (size_t)csrec_threads(j->options->threads);
    l->work.call = &j->call;
    l->work.simd = csrec_conv_simd_choose();
    l->work.threads = (int)threads;
    for (int64_t p = 0; p < l->count; p++) {
        const csrec_coded *c = &l->coded[p];
        size_t need[] = {threads * csrec_conv_room(&c->conv, false, l->work.simd, sizeof(float)),
                         threads * csrec_conv_room(&c->conv, true, l->work.simd, sizeof(float)),
                         csrec_conv_gradient_shared(&c->conv) +
                             threads * csrec_conv_gradient_room(&c->conv)};
        for (int i = 0; i < 3; i++) bytes = need[i] > bytes ? need[i] : bytes;
        if (c->codes > codes) codes = c->codes;
        if (c->entries > entries) entries = c->entries;
    }
    /* Codes are swapped with those of the pictures, so all are as long as the longest. */
    for (int64_t p = 0; p < l->count; p++) {
        CSREC_ZEROS(&l->pool, l->coded[p].x, codes);
        CSREC_ZEROS(&l->pool, l->coded[p].before, codes);
    }
    l->work.memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    CSREC_ZEROS(&l->pool, l->codes, codes);
    CSREC_ZEROS(&l->pool, l->r, entries);
    CSREC_ZEROS(&l->pool, l->part, codes / CSREC_LEARN_BLOCK + 1);
    return l->work.memory && !l->pool.lacks ? CSREC_OK : CSREC_MEMORY;
}

static csrec_status make_filters(filter_learning *j) {
    csrec_learning *l = &j->l;
    int64_t n = l->filters * l->size;
    CSREC_ZEROS(&l->pool, l->d, n);
    CSREC_ZEROS(&l->pool, l->d_next, n);
    CSREC_ZEROS(&l->pool, l->gradient, n);
    CSREC_ZEROS(&l->pool, l->amplitude, l->filters);
    CSREC_ZEROS(&l->pool, l->square, l->filters);
    CSREC_ZEROS(&l->pool, j->objective, j->iterations);
    for (int t = 0; t < 2; t++) {
        size_t bytes =
            (size_t)csrec_conv_packed(&l->coded[0].conv, t, l->work.simd) * sizeof(float);
        l->packed[t] = aligned_alloc(64, (bytes + 63) / 64 * 64);
        if (!l->packed[t]) return CSREC_MEMORY;
    }
    return l->pool.lacks ? CSREC_MEMORY : CSREC_OK;
}

static void normalise(csrec_learning *l) {
    for (int64_t k = 0; k < l->filters; k++) {
        float *d = l->d + k * l->size;
        double sum = 0.0;
        for (int64_t i = 0; i < l->size; i++) sum += (double)d[i] * (double)d[i];
        for (int64_t i = 0; i < l->size && sum > 0.0; i++)
            d[i] = (float)((double)d[i] * l->amplitude[k] / sqrt(sum));
    }
}

/* Cosine k of the filter's grid, in order of rising frequency. */
static void frequency(const filter_learning *j, int64_t k, int64_t f[2]) {
    int64_t n = j->l.size, found = 0;
    double least = -1.0;
    f[0] = f[1] = 0;
    for (int64_t taken = 0; taken <= k; taken += found) {
        double next = INFINITY;
        found = 0;
        for (int64_t i = 0; i < n; i++) {
            double a = (double)(i / j->size[1]) / (double)j->size[0];
            double b = (double)(i % j->size[1]) / (double)j->size[1], r = a * a + b * b;
            if (r <= least) continue;
            if (r < next) found = 0;
            if (r <= next) {
                next = r;
                if (taken + found++ == k) {
                    f[0] = i / j->size[1];
                    f[1] = i % j->size[1];
                }
            }
        }
        least = next;
    }
}

/* Cosines, slightly disturbed so that no two are equal, with amplitudes that fall with frequency,
 * as in pictures. Filters beyond the number of cosines start as noise. */
static void start_anew(filter_learning *j) {
    const double pi = 3.14159265358979323846, disturbed = 0.05;
    csrec_learning *l = &j->l;
    double longest = (double)(j->size[0] > j->size[1] ? j->size[0] : j->size[1]);
    for (int64_t k = 0; k < l->filters; k++) {
        int64_t f[2];
        bool noise = k >= l->size;
        frequency(j, noise ? l->size - 1 : k, f);
        double a = (double)f[0] / (double)j->size[0], b = (double)f[1] / (double)j->size[1];
        l->amplitude[k] = 1.0 / (1.0 + longest * hypot(a, b));
        for (int64_t i = 0; i < l->size; i++) {
            double wave = cos(pi * a * ((double)(i / j->size[1]) + 0.5)) *
                          cos(pi * b * ((double)(i % j->size[1]) + 0.5));
            double drawn = csrec_random_normal(j->options->seed, 0, (uint64_t)(k * l->size + i));
            l->d[k * l->size + i] = (float)(noise ? drawn : wave + disturbed * drawn);
        }
    }
    normalise(l);
}

static void start_from(filter_learning *j, const csrec_model *model) {
    csrec_learning *l = &j->l;
    const csrec_array *filters = csrec_model_array(model, "filters");
    const csrec_array *amplitudes = csrec_model_array(model, "amplitudes");
    for (int64_t k = 0; k < l->filters; k++)
        l->amplitude[k] = fmax(amplitudes ? csrec_array_value(amplitudes, k) : 1.0, 1e-6);
    for (int64_t i = 0; i < l->filters * l->size; i++)
        l->d[i] = (float)csrec_array_value(filters, i);
    normalise(l);
}

static bool report(filter_learning *j) {
    csrec_progress progress = {"learning filters", j->done, j->iterations, -1.0};
    return csrec_call_report(&j->call, &progress);
}

static void learn(filter_learning *j) {
    csrec_learning *l = &j->l;
    csrec_learn_pack(l, l->d);
    l->L = csrec_learn_norm(l, &l->coded[0]);
    l->step = 0.5;
    bool lower = true;
    while (j->done < j->iterations && lower && !report(j)) {
        double sum = 0.0, before = j->done ? j->objective[j->done - 1] : INFINITY;
        int64_t codings = j->done ? j->codings : FIRST_CODINGS;
        for (int64_t i = 0; i < codings; i++)
            for (int64_t p = 0; p < l->count && !csrec_call_poll(&j->call); p++)
                csrec_learn_code(l, &l->coded[p]);
        bool moved = csrec_learn_filters(l);
        if (csrec_call_stopped(&j->call)) break;
        for (int64_t p = 0; p < l->count; p++) {
            l->coded[p].objective = csrec_learn_objective(l, &l->coded[p]);
            sum += l->coded[p].objective;
        }
        j->objective[j->done++] = fmin(sum, before); /* they differ at most by rounding */
        lower = moved || sum < before;
    }
}

/* Unit filters, and their amplitudes in an array of their own. */
static csrec_status build(filter_learning *j, csrec_model **model, csrec_error *error) {
    csrec_learning *l = &j->l;
    int64_t n = l->filters * l->size;
    double *unit = malloc((size_t)n * sizeof *unit);
    if (!unit) return csrec_fail(error, CSREC_MEMORY, "out of memory for the model");
    for (int64_t i = 0; i < n; i++) unit[i] = (double)l->d[i] / l->amplitude[i / l->size];
    const double scale[2] = {j->low, j->low + j->range};
    csrec_model_parts parts = {0};
    csrec_model_add(&parts, "filters", (csrec_shape){3, {l->filters, j->size[0], j->size[1]}},
                    unit);
    csrec_model_add(&parts, "amplitudes", (csrec_shape){1, {l->filters}}, l->amplitude);
    csrec_model_add(&parts, "scale", (csrec_shape){1, {2}}, scale);
    if (j->done) csrec_model_add(&parts, "objective", (csrec_shape){1, {j->done}}, j->objective);
    csrec_status status = csrec_model_assemble("conv", &parts, model, error);
    free(unit);
    return status;
}

static csrec_status check_pictures(int64_t count, const csrec_conv_picture *pictures,
                                   csrec_error *error) {
    if (count < 1) return csrec_fail(error, CSREC_ARGUMENT, "no pictures to learn from");
    for (int64_t p = 0; p < count; p++)
        if (pictures[p].height < 1 || pictures[p].width < 1 || !pictures[p].values ||
            pictures[p].height > INT32_MAX || pictures[p].width > INT32_MAX)
            return csrec_fail(error, CSREC_ARGUMENT, "picture %lld: is %lld x %lld", (long long)p,
                              (long long)pictures[p].height, (long long)pictures[p].width);
    return CSREC_OK;
}

static csrec_status prepare(filter_learning *j, int64_t count, const csrec_conv_picture *pictures,
                            csrec_error *error) {
    csrec_learning *l = &j->l;
    CSREC_ZEROS(&l->pool, l->coded, count);
    l->count = l->coded ? count : 0;
    csrec_status status = l->coded ? CSREC_OK : CSREC_MEMORY;
    for (int64_t p = 0; p < count && !status; p++)
        status = make_coded(j, &pictures[p], &l->coded[p]);
    if (!status) status = make_room(j);
    if (!status) status = make_filters(j);
    if (status)
        return csrec_fail(error, status,
                          "out of memory for the codes of %lld pictures; learn from "
                          "fewer or smaller ones",
                          (long long)count);
    if (j->options->start)
        start_from(j, j->options->start);
    else
        start_anew(j);
    return CSREC_OK;
}

csrec_status csrec_conv_learn(int64_t count, const csrec_conv_picture *pictures,
                              const csrec_conv_learn_options *options, csrec_model **model,
                              bool *stopped, csrec_error *error) {
    filter_learning j = {.options = options};
    csrec_call_begin(&j.call, options->progress, options->context,
                     (csrec_progress){"learning filters", 0, 0, -1.0});
    csrec_status status = check_pictures(count, pictures, error);
    if (!status) status = set_options(options, &j, error);
    if (!status) status = set_scale(&j, count, pictures, error);
    if (!status) status = prepare(&j, count, pictures, error);
    if (!status) learn(&j);
    if (!status) status = build(&j, model, error);
    if (!status && stopped) *stopped = csrec_call_stopped(&j.call);
    csrec_call_end(&j.call);
    conv_clear(&j);
    return status;
}
