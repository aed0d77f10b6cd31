/* survey.c - properties of all samples. Units are powers of two, so a change of the unit does not
 * round the sums. */
#include "recover/survey.h"

#include <math.h>
#include <stdlib.h>

#include "base/unit.h"

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
    for (int64_t i = 0; i < n * C; i++) {
        bool first = s->n == 0 && i < C;
        s->least[i % C] = first ? y[i] : fmin(s->least[i % C], y[i]);
        s->most[i % C] = first ? y[i] : fmax(s->most[i % C], y[i]);
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
