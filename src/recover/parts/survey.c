/* survey.c - properties of all samples. Units are powers of two, so a change of the unit does not
 * round the sums. */
#include "recover/parts/survey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "base/unit.h"
#include "recover/parts/select.h"

csrec_status csrec_survey_create(int64_t channels, csrec_survey *s, csrec_error *error) {
    *s = (csrec_survey){
        .channels = channels, .unit = 1.0, .colours = csrec_gaussian_colours_of(channels)};
    s->least = calloc(3 * (size_t)channels, sizeof *s->least);
    if (!s->least) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    s->most = s->least + channels;
    s->sum = s->most + channels;
    return CSREC_OK;
}

void csrec_survey_clear(csrec_survey *s) {
    free(s->least);
    *s = (csrec_survey){.channels = 0};
}

static void widen(csrec_survey *s, int64_t n, const double *y) {
    int64_t C = s->channels;
    for (int64_t c = 0; c < C; c++) {
        double least = s->n == 0 ? y[c] : s->least[c], most = s->n == 0 ? y[c] : s->most[c];
        for (int64_t i = 0; i < n; i++) {
            double v = y[i * C + c];
            least = v < least ? v : least;
            most = v > most ? v : most;
        }
        s->least[c] = least;
        s->most[c] = most;
    }
}

static void set_unit(csrec_survey *s) {
    double largest =
        fmax(csrec_largest(s->channels, s->least), csrec_largest(s->channels, s->most));
    double unit = csrec_unit_of(largest), factor = s->unit / unit;
    s->unit = unit;
    if (factor == 1.0 || s->n == 0) return;
    for (int64_t c = 0; c < s->channels; c++) s->sum[c] *= factor;
    csrec_gaussian_colours_scale(&s->colours, factor);
}

void csrec_survey_add(csrec_survey *s, int64_t n, const double *y) {
    if (n == 0) return;
    widen(s, n, y);
    set_unit(s);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t c = 0; c < s->channels; c++) s->sum[c] += y[i * s->channels + c] / s->unit;
        csrec_gaussian_colours_add(&s->colours, y + i * s->channels, s->unit);
    }
    s->n += n;
}

/* ------------------------------------------------------------------ bands --------------------- */

int64_t csrec_survey_band(const csrec_shape *shape, int64_t channels) {
    int64_t entries = 0;
    csrec_shape_count(shape, &entries);
    int64_t rows = (INT64_C(1) << 22) / (entries / shape->dim[0] * channels);
    return rows > 0 ? rows : 1;
}

void csrec_survey_empty(csrec_survey *s) {
    for (int64_t i = 0; i < 3 * s->channels; i++) s->least[i] = 0.0; /* all three */
    s->n = 0;
    s->unit = 1.0;
    s->colours = csrec_gaussian_colours_of(s->channels);
}

void csrec_survey_join(csrec_survey *s, csrec_survey *band) {
    if (band->n == 0) return;
    for (int64_t c = 0; c < s->channels; c++) {
        s->least[c] = s->n == 0 ? band->least[c] : fmin(s->least[c], band->least[c]);
        s->most[c] = s->n == 0 ? band->most[c] : fmax(s->most[c], band->most[c]);
    }
    set_unit(s);
    double factor = band->unit / s->unit;
    csrec_gaussian_colours_scale(&band->colours, factor);
    csrec_gaussian_colours_join(&s->colours, &band->colours);
    for (int64_t c = 0; c < s->channels; c++) s->sum[c] += band->sum[c] * factor;
    s->n += band->n;
    csrec_survey_empty(band);
}

size_t csrec_survey_packed(int64_t channels) {
    return sizeof(csrec_survey) + 3 * (size_t)channels * sizeof(double);
}

void csrec_survey_pack(const csrec_survey *s, void *bytes) {
    memcpy(bytes, s, sizeof *s);
    memcpy((char *)bytes + sizeof *s, s->least, 3 * (size_t)s->channels * sizeof *s->least);
}

void csrec_survey_unpack(const void *bytes, csrec_survey *s) {
    double *values = s->least;
    memcpy(s, bytes, sizeof *s);
    memcpy(values, (const char *)bytes + sizeof *s, 3 * (size_t)s->channels * sizeof *values);
    s->least = values;
    s->most = values + s->channels;
    s->sum = s->most + s->channels;
}

/* Bands by threads: band b of them goes into packed[b]. */
static csrec_status survey_bands(const csrec_measurement *m, int64_t size, int64_t n,
                                 char *packed) {
    const size_t bytes = csrec_survey_packed(m->channels);
    int64_t failures = 0;
    const int threads = csrec_threads_for(m->n, 0);
#pragma omp parallel for schedule(static, 1) num_threads(threads) reduction(+ : failures)
    for (int64_t b = 0; b < n; b++) {
        csrec_survey band;
        const int64_t first = csrec_samples_before(m, b * size);
        const int64_t end = csrec_samples_before(m, (b + 1) * size);
        if (!csrec_survey_create(m->channels, &band, NULL)) {
            csrec_survey_add(&band, end - first, m->y + first * m->channels);
            csrec_survey_pack(&band, packed + (size_t)b * bytes);
        } else {
            failures++;
        }
        csrec_survey_clear(&band);
    }
    return failures ? CSREC_MEMORY : CSREC_OK;
}

/* Positions ascend. band: empty, and left so. */
static csrec_status survey_sorted(const csrec_measurement *m, int64_t size, int64_t entries,
                                  csrec_survey *band, csrec_survey *survey, csrec_error *error) {
    const int64_t n = (entries + size - 1) / size;
    const size_t bytes = csrec_survey_packed(m->channels);
    char *packed = malloc((size_t)n * bytes);
    csrec_status status = packed ? survey_bands(m, size, n, packed) : CSREC_MEMORY;
    for (int64_t b = 0; b < n && !status; b++) {
        csrec_survey_unpack(packed + (size_t)b * bytes, band);
        csrec_survey_join(survey, band);
    }
    free(packed);
    return status ? csrec_fail(error, status, "out of memory") : CSREC_OK;
}

/* Sample numbers by band, in the file's order within each; first [n + 1] becomes where bands begin.
 */
static void order_by_band(const csrec_measurement *m, int64_t size, int64_t n, int64_t *first,
                          int64_t *order) {
    for (int64_t k = 0; k < m->n; k++) first[m->index[k] / size + 1]++;
    for (int64_t b = 0; b < n; b++) first[b + 1] += first[b];
    for (int64_t k = 0; k < m->n; k++) order[first[m->index[k] / size]++] = k;
    for (int64_t b = n; b > 0; b--) first[b] = first[b - 1];
    first[0] = 0;
}

/* Positions in any order: as if the samples of each band had been read by themselves. band: empty,
 * and left so. */
static csrec_status survey_scattered(const csrec_measurement *m, int64_t size, int64_t entries,
                                     csrec_survey *band, csrec_survey *survey, csrec_error *error) {
    const int64_t n = (entries + size - 1) / size;
    int64_t *first = calloc((size_t)n + 1, sizeof *first);
    int64_t *order = malloc((size_t)m->n * sizeof *order);
    csrec_status status = first && order ? CSREC_OK : CSREC_MEMORY;
    if (!status) order_by_band(m, size, n, first, order);
    for (int64_t b = 0; b < n && !status; b++) {
        for (int64_t i = first[b], run; i < first[b + 1]; i += run) {
            for (run = 1; i + run < first[b + 1] && order[i + run] == order[i] + run;) run++;
            csrec_survey_add(band, run, m->y + order[i] * m->channels);
        }
        csrec_survey_join(survey, band);
    }
    free(first);
    free(order);
    return status ? csrec_fail(error, status, "out of memory") : CSREC_OK;
}

csrec_status csrec_survey_of(const csrec_measurement *m, csrec_survey *survey, csrec_error *error) {
    csrec_survey band;
    int64_t entries = 0;
    csrec_shape_count(&m->shape, &entries);
    int64_t size = csrec_survey_band(&m->shape, m->channels) * (entries / m->shape.dim[0]);
    csrec_status status = csrec_survey_create(m->channels, survey, error);
    if (!status) status = csrec_survey_create(m->channels, &band, error);
    if (status) return status;
    status = (csrec_samples_ascend(m, 0) ? survey_sorted : survey_scattered)(m, size, entries,
                                                                             &band, survey, error);
    csrec_survey_clear(&band);
    return status;
}

const double *csrec_survey_mean(csrec_survey *s, double unit) {
    for (int64_t c = 0; c < s->channels; c++)
        s->sum[c] = s->sum[c] / (double)s->n * (s->unit / unit);
    return s->sum;
}

csrec_status csrec_survey_whole(const csrec_survey *s, int64_t entries, double unit,
                                csrec_gaussian_axes *axes, csrec_whole *whole, csrec_error *error) {
    const csrec_whole mine = {
        .least = s->least, .most = s->most, .n = s->n, .entries = entries, .axes = axes};
    csrec_gaussian_axes_of(&s->colours, axes);
    csrec_status status = csrec_whole_copy(&mine, s->channels, whole, error);
    for (int64_t c = 0; c < s->channels && !status; c++) {
        whole->least[c] /= unit;
        whole->most[c] /= unit;
    }
    return status;
}
