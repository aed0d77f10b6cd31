/* tones.c - black and white of a measurement. */
#include "recover/tones.h"

#include <math.h>

double csrec_tones_half(const csrec_measurement *m, double half) {
    double given = fabs(m->scale[1] / 2 - m->scale[0] / 2);
    return isfinite(given) && given >= half / 8 ? given : half;
}

/* Halves first: differences of large values must not overflow. */
static double channel_half(const csrec_measurement *m, int64_t c, double *middle) {
    double least = m->y[c], most = m->y[c];
    for (int64_t i = 0; i < m->n; i++) {
        double v = m->y[i * m->channels + c];
        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    *middle = least / 2 + most / 2;
    return most / 2 - least / 2;
}

double csrec_tones_unit(const csrec_measurement *m, double *middle) {
    double half = 0.0, farthest = 0.0;
    for (int64_t c = 0; c < m->channels; c++) {
        double own;
        half = fmax(half, channel_half(m, c, &own));
        farthest = fmax(farthest, fabs(own));
        if (middle) middle[c] = own;
    }
    double unit = csrec_tones_half(m, half) / 127.5;
    /* Equal samples may lie any number of tones from black; the number must be finite in a float,
     * which tells no tones apart there. */
    unit = fmax(unit, farthest * 0x1p-60);
    return unit > 0.0 ? unit : 1.0;
}

float csrec_tones_sigma(const csrec_measurement *m, double unit) {
    return m->sigma > 0.0 ? (float)fmin(m->sigma / unit, CSREC_TONES_NOISE) : 0.0f;
}
