/* SPDX-License-Identifier: BSD-3-Clause */
/* guides.c - planes that are known beside the samples: memory, checks, boxes of them. */
#include "measurement/guides.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

csrec_guides *csrec_guides_create(int64_t n, int64_t entries) {
    csrec_guides *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->n = n;
    made->values = malloc((size_t)n * (size_t)entries * sizeof *made->values);
    if (made->values) return made;
    free(made);
    return NULL;
}

void csrec_guides_destroy(csrec_guides *guides) {
    if (guides) free(guides->values);
    free(guides);
}

csrec_guides *csrec_guides_crop(const csrec_guides *guides, const csrec_shape *shape,
                                const int64_t *at, const csrec_shape *extent) {
    int64_t whole = 0, entries = 0;
    const int last = shape->dims - 1;
    csrec_shape_count(shape, &whole);
    csrec_shape_count(extent, &entries);
    csrec_guides *made = csrec_guides_create(guides->n, entries);
    if (!made) return NULL;
    memcpy(made->name, guides->name, sizeof made->name);
    const int64_t line = extent->dim[last], lines = entries / line;
    for (int64_t k = 0; k < guides->n * lines; k++) {
        int64_t from = at[last], rest = k % lines, step = shape->dim[last];
        for (int a = last - 1; a >= 0; a--) {
            from += (at[a] + rest % extent->dim[a]) * step;
            rest /= extent->dim[a];
            step *= shape->dim[a];
        }
        memcpy(made->values + k * line, guides->values + k / lines * whole + from,
               (size_t)line * sizeof *made->values);
    }
    return made;
}

/* A plane of values, of `planes` fastest; whether each is a number of a float, and one is known. */
static csrec_status copy(int64_t entries, int64_t planes, const double *values, float *to,
                         csrec_error *error) {
    bool known = false;
    for (int64_t i = 0; i < entries; i++) {
        to[i] = (float)values[i * planes];
        if (isinf(to[i]))
            return csrec_fail(error, CSREC_DATA,
                              "guide: entry %lld is %g; give finite values, NaN where unknown",
                              (long long)i, values[i * planes]);
        known = known || !isnan(to[i]);
    }
    return known ? CSREC_OK
                 : csrec_fail(error, CSREC_DATA, "guide: no entry is known; leave it out");
}

static csrec_status check_more(const csrec_measurement *m, const char *name, int64_t planes,
                               csrec_error *error) {
    const int64_t had = m->guides ? m->guides->n : 0;
    if (m->through)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "guide: is for samples of entries, and these are measured through an "
                          "operator; leave it out");
    if (planes < 1 || planes > CSREC_GUIDES_MOST - had)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "guide: %lld planes with %lld before; at most %d are allowed, give fewer",
                          (long long)planes, (long long)had, CSREC_GUIDES_MOST);
    if (strlen(name) >= CSREC_GUIDE_NAME)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "guide: name '%.40s' is too long; give at most %d "
                          "letters",
                          name, CSREC_GUIDE_NAME - 1);
    return CSREC_OK;
}

csrec_status csrec_guides_add(csrec_measurement *m, const char *name, int64_t planes,
                              const double *values, csrec_error *error) {
    int64_t entries = 0;
    csrec_status status = check_more(m, name, planes, error);
    if (!status) status = csrec_shape_count(&m->shape, &entries);
    if (status) return status;
    const int64_t had = m->guides ? m->guides->n : 0;
    csrec_guides *all = csrec_guides_create(had + planes, entries);
    if (!all) return csrec_fail(error, CSREC_MEMORY, "out of memory for guides");
    if (had) {
        memcpy(all->name, m->guides->name, sizeof all->name);
        memcpy(all->values, m->guides->values, (size_t)(had * entries) * sizeof *all->values);
    }
    for (int64_t k = 0; k < planes && !status; k++) {
        strcpy(all->name[had + k], name);
        status = copy(entries, planes, values + k, all->values + (had + k) * entries, error);
    }
    csrec_guides_destroy(status ? all : m->guides);
    if (!status) m->guides = all;
    return status;
}

csrec_status csrec_guides_check(const csrec_measurement *m, const char *name, csrec_error *error) {
    int64_t entries = 0;
    if ((m->guides || m->sequence) && m->through)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: %s for samples of entries, and these are measured through an "
                          "operator; leave %s out",
                          name, m->guides ? "guides are" : "a sequence is",
                          m->guides ? "them" : "it");
    if (m->sequence && m->shape.dims != 3)
        return csrec_fail(error, CSREC_DATA,
                          "%s: a sequence has three axes, time first, but the signal has %d", name,
                          m->shape.dims);
    if (!m->guides) return CSREC_OK;
    if (m->guides->n < 1 || m->guides->n > CSREC_GUIDES_MOST || !m->guides->values)
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'guides': has %lld planes; 1 to %d are "
                          "allowed",
                          name, (long long)m->guides->n, CSREC_GUIDES_MOST);
    csrec_shape_count(&m->shape, &entries);
    for (int64_t i = 0; i < m->guides->n * entries; i++)
        if (isinf(m->guides->values[i]))
            return csrec_fail(error, CSREC_DATA,
                              "%s: array 'guides': entry %lld of plane %lld is infinite; save NaN "
                              "where unknown",
                              name, (long long)(i % entries), (long long)(i / entries));
    return CSREC_OK;
}

/* Of a plane and a channel. */
static bool repeats(const csrec_measurement *m, const float *plane, int64_t c) {
    const double LEAST = 32.0, ALIKE = 0.9999;
    double mean[2] = {0.0, 0.0}, squares[2] = {0.0, 0.0}, products = 0.0, n = 0.0;
    for (int64_t i = 0; i < m->n; i++) {
        const double v[2] = {(double)plane[m->index[i]], m->y[i * m->channels + c]};
        if (isnan(v[0]) || isnan(v[1])) continue;
        const double off[2] = {v[0] - mean[0], v[1] - mean[1]};
        n += 1.0;
        for (int k = 0; k < 2; k++) {
            mean[k] += off[k] / n;
            squares[k] += off[k] * (v[k] - mean[k]);
        }
        products += off[0] * (v[1] - mean[1]);
    }
    return n >= LEAST && fabs(products) > ALIKE * sqrt(squares[0]) * sqrt(squares[1]);
}

bool csrec_guides_repeat(const csrec_measurement *m) {
    int64_t entries = 0;
    csrec_shape_count(&m->shape, &entries);
    for (int64_t k = 0; m->guides && !m->through && k < m->guides->n; k++)
        for (int64_t c = 0; c < m->channels; c++)
            if (repeats(m, m->guides->values + k * entries, c)) return true;
    return false;
}
