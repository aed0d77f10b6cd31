/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_model.c - a model file; a small measurement, made as its member "options" says, is recovered
 * with the model. */
#include <math.h>

#include "fuzz.h"
#include "learn/model.h"

enum { VALUES_MAX = 1024, EDGE_MAX = 24 };

static void choose_shape(fuzz_bytes *bytes, const csrec_model *model, csrec_measurement *m) {
    int64_t channels, count;
    m->shape = csrec_model_shape(model, &channels);
    unsigned kind = fuzz_below(bytes, 4);
    if (kind || csrec_shape_count(&m->shape, &count) || count > VALUES_MAX) {
        m->shape = (csrec_shape){.dims = kind == 3 ? 3 : 2};
        for (int d = 0; d < m->shape.dims; d++)
            m->shape.dim[d] = 1 + (7 + (int64_t)fuzz_below(bytes, EDGE_MAX)) % EDGE_MAX;
    }
    unsigned given = fuzz_below(bytes, 4);
    m->channels = given == 0 ? channels : given == 1 ? 1 : given + 1;
}

static double choose_value(fuzz_bytes *bytes, double usual) {
    return fuzz_below(bytes, 3) == 1 ? fuzz_number(bytes) : usual;
}

/* Every k-th entry is sampled; values are a hash of their number, scaled and moved. */
static void choose_samples(fuzz_bytes *bytes, int64_t entries, csrec_measurement *m) {
    int64_t every = 1 + (2 + (int64_t)fuzz_below(bytes, 16)) % 16;
    double gain = choose_value(bytes, 255.0), offset = choose_value(bytes, 0.0);
    m->n = 0;
    for (int64_t i = 0; i < entries; i += every) m->index[m->n++] = i;
    for (int64_t i = 0; i < m->n * m->channels; i++)
        m->y[i] = offset + gain * (double)(i * 37 % 64) / 64.0;
    m->sigma = choose_value(bytes, 0.0);
    m->scale[0] = choose_value(bytes, 0.0);
    m->scale[1] = choose_value(bytes, 255.0);
}

static void recover(fuzz_bytes *bytes, const csrec_model *model) {
    csrec_measurement m = {.dtype = CSREC_F64};
    csrec_error error = {""};
    int64_t entries;
    choose_shape(bytes, model, &m);
    if (m.channels < 1 || csrec_shape_count(&m.shape, &entries) ||
        entries > VALUES_MAX / m.channels)
        return;
    m.index = malloc((size_t)entries * sizeof *m.index);
    m.y = malloc((size_t)(entries * m.channels) * sizeof *m.y);
    if (!m.index || !m.y) abort();
    choose_samples(bytes, entries, &m);
    csrec_status status = csrec_measurement_check(&m, "measurement", &error);
    fuzz_choice choice;
    fuzz_choose(bytes, &m, &choice);
    if (status)
        fuzz_check_refusal(status, &error);
    else
        fuzz_recover(&m, model, &choice);
    csrec_measurement_clear(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csrec_error error = {""};
    csrec_model *model;
    csrec_status status = csrec_model_read(fuzz_path(data, size), &model, &error);
    if (status) {
        fuzz_check_refusal(status, &error);
        return 0;
    }
    fuzz_bytes bytes = fuzz_options(data, size);
    recover(&bytes, model);
    /* What was read can be written. */
    if (csrec_model_write("/dev/null", model, &error)) abort();
    csrec_model_destroy(model);
    return 0;
}
