/* SPDX-License-Identifier: BSD-3-Clause */
/* pooled_simd.h - one covariance for all channels of a group, part of gaussian_simd.h.
 *
 * The patches of a group are modelled as draws of a Gaussian with covariance S (x) C: S between
 * the channels, C between the pixels. All channels are known at the same pixels, so S affects the
 * posterior means only through the noise, and C is estimated from all channels. */

/* The group's data of channel c. */
static csrec_group_work channel_of(const csrec_group_work *w, int c) {
    csrec_group_work one = *w;
    one.X += (int64_t)c * CSREC_GROUP_MOST * w->stride;
    one.mean += (int64_t)c * w->stride;
    return one;
}

/* The mean product of two channels' centred rows, summed in one order on all instruction sets. */
static float covariance_of(const csrec_group_work *a, const csrec_group_work *b) {
    float column[CSREC_GROUP_PIXELS], whole = 0.0f;
    for (int c = 0; c < a->stride; c += LANES) {
        vec sum = {0};
        for (int k = 0; k < a->size; k++) {
            int64_t at = (int64_t)k * a->stride + c;
            sum += load(a->X + at) * load(b->X + at);
        }
        store(column + c, sum);
    }
    for (int i = 0; i < a->d; i++) whole += column[i];
    return whole / (float)(a->size * a->d);
}

/* Decorrelates the channels of the centred rows. */
static void whiten(csrec_group_work *w, float floor) {
    float L[CSREC_GROUP_CHANNELS][CSREC_GROUP_CHANNELS];
    for (int c = 0; c < w->channels; c++)
        for (int e = 0; e <= c; e++) {
            csrec_group_work a = channel_of(w, c), b = channel_of(w, e);
            L[c][e] = covariance_of(&a, &b);
        }
    float scale = csrec_gaussian_whitening(w->channels, floor, L);
    int64_t rows = CSREC_GROUP_MOST * (int64_t)w->stride;
    for (int64_t at = 0; at < (int64_t)w->size * w->stride; at += LANES) {
        vec x[CSREC_GROUP_CHANNELS];
        for (int c = 0; c < w->channels; c++) {
            x[c] = load(w->X + c * rows + at);
            for (int e = 0; e < c; e++) x[c] -= L[c][e] * x[e];
            x[c] *= 1.0f / L[c][c];
        }
        for (int c = 0; c < w->channels; c++) store(w->X + c * rows + at, x[c] * scale);
    }
}

/* to += sign * the covariance of the pixels, from centred rows; overwrites the rows of several
 * channels. */
static void add_covariance(csrec_group_work *w, float floor, float sign, float *to) {
    if (w->channels > 1) whiten(w, floor);
    for (int c = 0; c < w->channels; c++) {
        csrec_group_work one = channel_of(w, c);
        add_gram(one.X, w->size, w->stride, sign / (float)w->size, to);
    }
}
