/* pooled_simd.h - one covariance for all channels of a group, part of gaussian_simd.h.
 *
 * The patches of a group are taken for draws of a Gaussian whose covariance is S (x) C: S between
 * the channels, C between the pixels. All channels are known at the same pixels, so that S does not
 * enter into the posterior means but for the noise, and C has the data of all channels. */

/* The group as its channel c has it. */
static csrec_group_work channel_of(const csrec_group_work *w, int c) {
    csrec_group_work one = *w;
    one.X += (int64_t)c * CSREC_GROUP_MOST * w->stride;
    one.mean += (int64_t)c * w->stride;
    return one;
}

/* The mean product of the centred rows of two channels, in one order for all instruction sets. */
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

/* L L^T = S + floor I. Returns the mean of its diagonal. */
static float factor_channels(const csrec_group_work *w, float floor,
                             float L[CSREC_GROUP_CHANNELS][CSREC_GROUP_CHANNELS]) {
    float mean = 0.0f;
    for (int c = 0; c < w->channels; c++)
        for (int e = 0; e <= c; e++) {
            csrec_group_work a = channel_of(w, c), b = channel_of(w, e);
            float s = covariance_of(&a, &b) + (c == e ? floor : 0.0f);
            if (c == e) mean += s / (float)w->channels;
            for (int k = 0; k < e; k++) s -= L[c][k] * L[e][k];
            L[c][e] = c > e ? s / L[e][e] : sqrtf(s > floor ? s : floor);
        }
    return mean;
}

/* The centred rows become those of channels without correlation, which count alike in C: weak
 * ones, of colour, tell as much about the shape of a patch as strong ones of brightness. */
static void whiten(csrec_group_work *w, float floor) {
    float L[CSREC_GROUP_CHANNELS][CSREC_GROUP_CHANNELS];
    float scale = sqrtf(factor_channels(w, floor, L) / (float)w->channels);
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

/* to += sign the covariance of the pixels, of centred rows, which are overwritten. */
static void add_covariance(csrec_group_work *w, float floor, float sign, float *to) {
    whiten(w, floor);
    for (int c = 0; c < w->channels; c++) {
        csrec_group_work one = channel_of(w, c);
        add_gram(one.X, w->size, w->stride, sign / (float)w->size, to);
    }
}

static void fit_pooled(const csrec_gaussian_picture *p, const csrec_gaussian_round *round,
                       csrec_group_work *w) {
    float diagonal = 0.0f;
    for (int c = 0; c < w->channels; c++) {
        csrec_group_work one = channel_of(w, c);
        gather(p, c, &one);
        if (round->trust > 0.0f) diagonal += mean_variance(p, c, &one);
        centre(&one);
    }
    diagonal = round->diagonal + round->trust * diagonal / (float)w->channels;
    memset(w->C, 0, (size_t)w->stride * (size_t)w->stride * sizeof *w->C);
    add_covariance(w, round->floor, 1.0f, w->C);
    close_covariance(w, diagonal);
}

/* As condition, of all channels: x [channels] rows `apart` floats from each other. */
static int condition_pooled(const csrec_gaussian_picture *p, const csrec_group_work *w, int k,
                            float noise, float *V, float *x, int64_t apart) {
    float z[CSREC_GROUP_CHANNELS][CSREC_GROUP_PIXELS];
    int n = 0;
    int64_t corner = corner_of(p, w, k);
    for (int c = 0; c < w->channels; c++) memset(x + c * apart, 0, (size_t)w->stride * sizeof *x);
    for (int pixel = 0; pixel < w->d; pixel++) {
        int64_t at = corner + w->row[pixel / w->patch_width] + pixel % w->patch_width;
        if (!p->mask[at]) continue;
        float *row = V + (int64_t)n * w->stride;
        reduce(w->C, V, n, w->stride, pixel);
        float scale = 1.0f / sqrtf((row[pixel] > 0.0f ? row[pixel] : 0.0f) + noise);
        for (int i = 0; i < w->stride; i += LANES) store(row + i, load(row + i) * scale);
        for (int c = 0; c < w->channels; c++) {
            float innovation = p->y[c][at] - w->mean[c * w->stride + pixel];
            for (int s = 0; s < n; s++) innovation -= V[(int64_t)s * w->stride + pixel] * z[c][s];
            z[c][n] = innovation * scale;
            float *to = x + c * apart;
            for (int i = 0; i < w->stride; i += LANES)
                store(to + i, load(to + i) + z[c][n] * load(row + i));
        }
        n++;
    }
    return n;
}

/* As step_em: the posterior covariance is that of one channel. */
static void step_em_pooled(const csrec_gaussian_picture *p, const csrec_gaussian_round *round,
                           float noise, csrec_group_work *w) {
    float prior[CSREC_GROUP_PIXELS];
    int kept = 0;
    memset(w->gram, 0, (size_t)w->stride * (size_t)w->stride * sizeof *w->gram);
    for (int k = 0; k < w->size; k++) {
        int n =
            condition_pooled(p, w, k, noise, w->V + (int64_t)kept * w->stride,
                             w->X + (int64_t)k * w->stride, CSREC_GROUP_MOST * (int64_t)w->stride);
        if (k % every_of(round) == 0) kept += n;
        kept = average_rows(w, round, kept, k + 1 == w->size);
    }
    for (int c = 0; c < w->channels; c++) {
        csrec_group_work one = channel_of(w, c);
        memcpy(prior, one.mean, (size_t)w->stride * sizeof *prior);
        centre(&one);
        for (int i = 0; i < w->stride; i++) one.mean[i] += prior[i];
    }
    add_covariance(w, round->floor, -1.0f, w->gram);
    take_off_gram(w, round->em_diagonal);
}

static void estimate_pooled(const csrec_gaussian_picture *p, const csrec_gaussian_round *round,
                            csrec_group_work *w, csrec_group_sums *sums) {
    float x[CSREC_GROUP_CHANNELS * CSREC_GROUP_PIXELS];
    float noise = fmaxf(round->noise, p->sigma * p->sigma);
    fit_pooled(p, round, w);
    for (int t = 0; t < round->em; t++) step_em_pooled(p, round, noise, w);
    for (int k = 0; k < w->size; k++) {
        int n = condition_pooled(p, w, k, noise, w->V, x, w->stride);
        posterior_variances(w, n);
        for (int c = 0; c < w->channels; c++) {
            csrec_group_work one = channel_of(w, c);
            add_patch(&one, k, x + (int64_t)c * w->stride, round->evenness, &sums[c]);
        }
    }
}
