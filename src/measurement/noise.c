/* SPDX-License-Identifier: BSD-3-Clause */
/* noise.c - the standard deviation of the noise, from the flattest parts of a measurement.
 *
 * Samples are divided by their places into blocks of four leaves, and a plane is fitted to each
 * leaf. What a plane leaves is noise, and what the signal does beyond planes; the flattest blocks
 * have little of the latter. For noise of the variance v alone, the mean square of a block with f
 * degrees of freedom is v chi^2_f / f. The blocks below its quantile LOWER are taken, and v is
 * their mean by that of the lower part of chi^2_f / f: a fixed point, sought upwards from the tenth
 * of the blocks that is flattest. Where fewer blocks are taken than LOWER of them, some are only
 * nearly flat, and v is lowered a little.
 *
 * One sigma is refused where the noise is not the same in dark and bright places: in quarters of
 * the blocks, by their means, it is compared by the mean logarithm of squared differences of
 * adjacent samples. Where that of samples farther apart is hardly larger they differ by noise, not
 * by the signal. Of 400 pairs of normal noise, of which neighbours share samples, the mean of the
 * logarithm has a standard deviation below 0.16; of two quarters it differs by log 4 once in 10^8.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "measurement/law.h"
#include "measurement/measurement.h"
#include "base/unit.h"
#include "measurement/channels.h"
#include "measurement/cut.h"
#include "measurement/nearby.h"

enum { LEAVES = 4, BLOCKS_LEAST = 8, LEAF_MOST = 2 * CSREC_DIMS_MAX + 4 };

/* LOWER, the same as a quantile of the normal distribution, and how much sigma is lowered where no
 * block is flat (docs/measured.md). */
static const double LOWER = 0.65, LOWER_NORMAL = 0.38532047, NEARLY_FLAT = 0.1;

/* Squared distance of neighbours, in that of a grid of as many samples. */
static const double NEAR = 1.3;

/* Samples of a leaf, at most; half of them are one more than a plane has parameters. */
static int leaf_samples(int dims) {
    return 2 * dims + 4;
}

/* A block: the sum of squares that planes leave, and its degrees of freedom; the same of half the
 * differences of adjacent samples, and their number. */
typedef struct flat_block {
    double squares, freedom, adjacent, pairs;
    double mean, logs[2], logged[2]; /* of adjacent samples, of others; number of those added */
    bool cut;                        /* some of its values are at an end of the range */
} flat_block;

typedef struct noise_job {
    const csrec_measurement *m;
    double unit; /* y = unit * value */
    double near; /* squared distance up to which samples are neighbours */
    csrec_nearby nearby;
    double end[2];     /* csrec_cut_ends */
    flat_block *block; /* these of the noise only */
    int64_t blocks;
} noise_job;

static double value_of(const noise_job *j, int64_t rank, int64_t channel) {
    int64_t at = csrec_nearby_sample(&j->nearby, rank) * j->m->channels + channel;
    return j->m->y[at] / j->unit;
}

static void remove_part(int n, const double *of, double *from) {
    double share = csrec_dot(n, of, from);
    for (int i = 0; i < n; i++) from[i] -= share * of[i];
}

/* An orthonormal basis of the planes over the places of n samples; returns their number: fewer
 * where places have less than all axes. */
static int plane_basis(const noise_job *j, int64_t begin, int n,
                       double basis[CSREC_DIMS_MAX + 1][LEAF_MOST]) {
    const int64_t *first = csrec_nearby_place(&j->nearby, begin);
    int count = 1;
    for (int i = 0; i < n; i++) basis[0][i] = 1.0 / sqrt((double)n);
    for (int a = 0; a < j->nearby.dims; a++) {
        double *axis = basis[count];
        for (int i = 0; i < n; i++)
            axis[i] = (double)(csrec_nearby_place(&j->nearby, begin + i)[a] - first[a]);
        remove_part(n, basis[0], axis);
        double whole = csrec_dot(n, axis, axis);
        for (int k = 1; k < count; k++) remove_part(n, basis[k], axis);
        double rest = csrec_dot(n, axis, axis);
        if (rest <= 1e-9 * whole) continue;
        for (int i = 0; i < n; i++) axis[i] /= sqrt(rest);
        count++;
    }
    return count;
}

static void add_leaf(noise_job *j, int64_t begin, int64_t end, flat_block *block) {
    double basis[CSREC_DIMS_MAX + 1][LEAF_MOST], rest[LEAF_MOST];
    int n = (int)(end - begin), planes = plane_basis(j, begin, n, basis);
    for (int64_t c = 0; c < j->m->channels; c++) {
        for (int i = 0; i < n; i++)
            rest[i] = value_of(j, begin + i, c) - value_of(j, begin, c); /* equal ones leave 0 */
        for (int k = 0; k < planes; k++) remove_part(n, basis[k], rest);
        block->squares += csrec_dot(n, rest, rest);
        block->freedom += n - planes;
    }
}

static void add_leaves(noise_job *j, int64_t begin, int64_t end, flat_block *block) {
    int64_t middle = csrec_nearby_middle(&j->nearby, begin, end);
    if (end - begin <= leaf_samples(j->nearby.dims)) {
        add_leaf(j, begin, end, block);
        return;
    }
    add_leaves(j, begin, middle, block);
    add_leaves(j, middle, end, block);
}

static void add_pair(const noise_job *j, int64_t k, int64_t l, double distance, flat_block *block) {
    const bool far = distance > j->near;
    for (int64_t c = 0; c < j->m->channels; c++) {
        double difference = value_of(j, k, c) - value_of(j, l, c);
        if (difference != 0.0) {
            block->logs[far] += log(difference * difference);
            block->logged[far] += 1.0;
        }
        if (distance != 1.0) continue;
        block->adjacent += 0.5 * difference * difference;
        block->pairs += 1.0;
    }
}

/* Of the others a quarter is enough. */
static void add_pairs(const noise_job *j, int64_t begin, int64_t end, flat_block *block) {
    for (int64_t k = begin; k < end; k++) {
        for (int64_t c = 0; c < j->m->channels; c++)
            block->mean += value_of(j, k, c) / (double)((end - begin) * j->m->channels);
        for (int64_t l = begin; l < k; l++) {
            const double distance = csrec_nearby_distance(&j->nearby, k, l);
            if (distance <= j->near || (k + l) % 4 == 0) add_pair(j, k, l, distance, block);
        }
    }
}

/* Noise that is cut at black or white is less there. Blocks that are black or white throughout, as
 * of drawings, tell that there is none. */
static bool is_cut(const noise_job *j, int64_t begin, int64_t end) {
    const double FEW = 0.05;
    const int64_t values = (end - begin) * j->m->channels;
    int64_t at[2] = {0, 0};
    for (int64_t k = begin; k < end; k++)
        for (int64_t c = 0; c < j->m->channels; c++)
            for (int e = 0; e < 2; e++) at[e] += value_of(j, k, c) == j->end[e];
    const int64_t most = at[0] > at[1] ? at[0] : at[1];
    return (double)most > FEW * (double)values && most < values;
}

static void add_blocks(noise_job *j, int64_t begin, int64_t end) {
    int64_t middle = csrec_nearby_middle(&j->nearby, begin, end);
    if (end - begin > LEAVES * leaf_samples(j->nearby.dims)) {
        add_blocks(j, begin, middle);
        add_blocks(j, middle, end);
        return;
    }
    flat_block *block = &j->block[j->blocks++];
    *block = (flat_block){0};
    add_leaves(j, begin, end, block);
    add_pairs(j, begin, end, block);
    block->cut = is_cut(j, begin, end);
}

/* Wilson and Hilferty's (1931) quantile of chi^2_f / f; normal: that of the normal distribution. */
static double chi_quantile(double f, double normal) {
    double spread = 2.0 / (9.0 * f), root = 1.0 - spread + normal * sqrt(spread);
    return root * root * root;
}

/* The mean of chi^2_f / f below its quantile LOWER, which is t: 1 - (f t / 2)^(f/2) exp(-f t / 2) /
 * Gamma(f/2 + 1) / LOWER, with Stirling's series. */
static double lower_mean(double f, double t) {
    double a = 0.5 * f, density = exp(a * log(t) - a * (t - 1.0) - 1.0 / (12.0 * a));
    return 1.0 - density / sqrt(2.0 * 3.14159265358979324 * a) / LOWER;
}

static int by_mean_square(const void *a, const void *b) {
    const flat_block *p = a, *q = b;
    double left = p->squares * q->freedom, right = q->squares * p->freedom;
    return (left > right) - (left < right);
}

/* The flattest blocks together, *n of them: three at least. */
static flat_block sum_flattest(const noise_job *j, double below, int64_t *n) {
    flat_block sum = {0};
    for (*n = 0; *n < j->blocks; ++*n) {
        const flat_block *b = &j->block[*n];
        if (*n >= 3 && b->squares > below * b->freedom) break;
        sum.squares += b->squares;
        sum.freedom += b->freedom;
        sum.adjacent += b->adjacent;
        sum.pairs += b->pairs;
        sum.mean += b->mean;
    }
    return sum;
}

typedef struct noise_found {
    double sigma, mean; /* mean: of the samples */
    double flat;        /* share of the blocks that were taken, as a part of LOWER */
    double adjacent;    /* mean of half the squared differences of their adjacent samples */
    double pairs;       /* their number */
    double low,
        high; /* of quarters by their light, if they differ too much for one sigma, else 0 */
} noise_found;

static noise_found found_of(double variance, double share, const flat_block *sum) {
    double flat = fmin(share / LOWER, 1.0);
    return (noise_found){.sigma = sqrt(variance) * (1.0 - NEARLY_FLAT * (1.0 - flat)),
                         .flat = flat,
                         .adjacent = sum->pairs > 0.0 ? sum->adjacent / sum->pairs : 0.0,
                         .pairs = sum->pairs};
}

static noise_found find_fixed_point(noise_job *j) {
    const double TENTH = -1.2815516; /* of the normal distribution */
    noise_found found = {0};
    qsort(j->block, (size_t)j->blocks, sizeof *j->block, by_mean_square);
    double f = j->block[j->blocks / 2].freedom;
    double limit = chi_quantile(f, LOWER_NORMAL), mean = lower_mean(f, limit);
    const flat_block *start = &j->block[j->blocks / 10];
    double variance = start->squares / start->freedom / chi_quantile(f, TENTH);
    for (int round = 0; round < 50; round++) {
        int64_t n;
        flat_block sum = sum_flattest(j, limit * variance, &n);
        double before = variance;
        if (sum.squares == 0.0) return (noise_found){0};
        variance = sum.squares / sum.freedom / mean;
        found = found_of(variance, (double)n / (double)j->blocks, &sum);
        found.mean = sum.mean / (double)n;
        if (fabs(variance - before) <= 1e-4 * before) break;
    }
    return found;
}

static int by_cut(const void *a, const void *b) {
    return ((const flat_block *)a)->cut - ((const flat_block *)b)->cut;
}

/* Of blocks whose noise is not cut, where there are enough. */
static noise_found find_in_full(const noise_job *all) {
    noise_job j = *all;
    qsort(j.block, (size_t)j.blocks, sizeof *j.block, by_cut);
    while (j.blocks > BLOCKS_LEAST && j.block[j.blocks - 1].cut) j.blocks--;
    return find_fixed_point(&j);
}

static int by_mean(const void *a, const void *b) {
    const flat_block *p = a, *q = b;
    return (p->mean > q->mean) - (p->mean < q->mean);
}

/* Limits: docs/measured.md. The mean of log chi^2 of one degree of freedom is -1.27; half squares
 * of differences are variances. */
static void compare_quarters(noise_job *j, noise_found *found) {
    const double APART = 2.0, WHITE = j->near > NEAR ? 0.7 : 0.62, PAIRS = 400.0,
                 OF_LOG = -1.2703628;
    double low = INFINITY, high = 0.0;
    qsort(j->block, (size_t)j->blocks, sizeof *j->block, by_mean);
    for (int64_t q = 0; q < 4; q++) {
        double logs[2] = {0.0, 0.0}, n[2] = {0.0, 0.0};
        for (int64_t i = j->blocks * q / 4; i < j->blocks * (q + 1) / 4; i++)
            for (int far = 0; far < 2; far++) {
                logs[far] += j->block[i].logs[far];
                n[far] += j->block[i].logged[far];
            }
        if (n[0] < PAIRS * (double)j->m->channels || n[1] == 0.0) continue;
        const double near = logs[0] / n[0], sigma = sqrt(0.5 * exp(near - OF_LOG));
        low = fmin(low, sigma);
        if (near > logs[1] / n[1] + log(WHITE)) high = fmax(high, sigma);
    }
    if (!(high > APART * low)) return;
    found->low = low;
    found->high = high;
}

/* Of blocks in the order of their means. */
static void fill_bins(const noise_job *j, csrec_noise_bin bin[CSREC_NOISE_BINS]) {
    for (int64_t k = 0; k < CSREC_NOISE_BINS; k++) {
        const int64_t begin = j->blocks * k / CSREC_NOISE_BINS;
        noise_job part = *j;
        part.block = j->block + begin;
        part.blocks = j->blocks * (k + 1) / CSREC_NOISE_BINS - begin;
        bin[k] = (csrec_noise_bin){0};
        if (part.blocks < BLOCKS_LEAST) continue;
        const noise_found found = find_fixed_point(&part);
        if (found.sigma > 0.0)
            bin[k] = (csrec_noise_bin){found.mean * j->unit, pow(found.sigma * j->unit, 2.0),
                                       found.flat * (double)part.blocks};
    }
}

/* Squared, of samples on a grid that takes the whole signal. */
static double spacing_of(const csrec_measurement *m) {
    double entries = 1.0;
    int axes = 0;
    for (int d = 0; d < m->shape.dims; d++) {
        entries *= (double)m->shape.dim[d];
        axes += m->shape.dim[d] > 1;
    }
    return pow(entries / (double)m->n, 2.0 / fmax(axes, 1.0));
}

/* bin: NULL, or also receives these. */
static csrec_status find_noise(const csrec_measurement *m, double unit, noise_found *found,
                               csrec_noise_bin *bin, csrec_error *error) {
    noise_job j = {.m = m, .unit = unit, .near = NEAR * spacing_of(m)};
    int leaf = leaf_samples(m->shape.dims);
    long long least = BLOCKS_LEAST * LEAVES * leaf;
    if (m->n < least)
        return csrec_fail(error, CSREC_DATA,
                          "%lld samples are too few to estimate the noise from, which takes %lld; "
                          "give sigma",
                          (long long)m->n, least);
    csrec_status status = csrec_nearby_create(m, LEAVES * leaf, &j.nearby, error);
    /* a block has more than half of its most samples */
    if (!status && !(j.block = malloc((size_t)(2 * m->n / (LEAVES * leaf)) * sizeof *j.block)))
        status = csrec_fail(error, CSREC_MEMORY, "no memory for the blocks of %lld samples",
                            (long long)m->n);
    if (!status) {
        csrec_cut_ends(m, j.end);
        for (int e = 0; e < 2; e++) j.end[e] /= unit;
        add_blocks(&j, 0, m->n);
        *found = find_in_full(&j);
        compare_quarters(&j, found);
        if (bin) fill_bins(&j, bin);
    }
    csrec_nearby_clear(&j.nearby);
    free(j.block);
    return status;
}

static double unit_of(const csrec_measurement *m) {
    return csrec_unit_of(csrec_largest(m->n * m->channels, m->y));
}

/* The noise of groups of channels, together; those with too few samples say nothing. */
typedef struct noise_sum {
    bool likely; /* noise that is not counts as none */
    double unit, squares, values;
    double low, high; /* of noise_found */
    double most;      /* values of the group that `bin` is of */
    csrec_noise_bin *bin;
} noise_sum;

/* Noise that is visible, in enough flat parts, and white: neighbours differ no less than others.
 * Limits: docs/measured.md. */
static bool is_likely(const noise_found *found, double range) {
    const double VISIBLE = 1.0 / 35.0, FLAT = 0.25, WHITE = 0.82, PAIRS = 30.0;
    bool white = found->pairs < PAIRS || found->adjacent > WHITE * found->sigma * found->sigma;
    return found->sigma > VISIBLE * range && found->flat > FLAT && white;
}

/* A csrec_group_fn. */
static csrec_status add_group(void *context, const csrec_groups *groups, int64_t k,
                              const csrec_measurement *part, const int64_t *sample,
                              csrec_error *error) {
    noise_sum *sum = context;
    noise_found found = {0};
    double range = 0.0, values = (double)(part->n * part->channels);
    (void)groups, (void)k, (void)sample;
    csrec_noise_bin *bin = values > sum->most ? sum->bin : NULL;
    csrec_status status = find_noise(part, sum->unit, &found, bin, error);
    if (status) return status == CSREC_DATA ? CSREC_OK : status;
    sum->most = fmax(sum->most, values);
    for (int64_t c = 0; c < part->channels && sum->likely; c++)
        range = fmax(range, csrec_nearby_range(part, sum->unit, c));
    if (found.high > sum->high) {
        sum->low = found.low;
        sum->high = found.high;
    }
    if (!sum->likely || (found.high == 0.0 && is_likely(&found, range)))
        sum->squares += values * found.sigma * found.sigma;
    sum->values += values;
    return CSREC_OK;
}

static csrec_status estimate(const csrec_measurement *m, bool likely, csrec_noise_bin *bin,
                             double *sigma, csrec_error *error) {
    csrec_error few = {""};
    CSREC_TRY(csrec_measurement_check_points(m, "measurement", error));
    noise_sum sum = {.likely = likely, .unit = unit_of(m), .bin = bin};
    csrec_status status = csrec_groups_each(m, add_group, &sum, &few);
    if (!status && sum.values == 0.0 && !likely) status = CSREC_DATA;
    if (status) return csrec_fail(error, status, "%s", few.text);
    if (sum.high > 0.0 && !likely && !bin)
        return csrec_fail(error, CSREC_DATA,
                          "the noise is not the same in dark and bright places, about %.2g and "
                          "%.2g, so no one sigma tells of it; give sigma of each sample, or rays, "
                          "the number of rays of each, or a law, poisson or light",
                          sum.low * sum.unit, sum.high * sum.unit);
    *sigma = sum.high > 0.0 && bin ? NAN
             : sum.values > 0.0    ? sqrt(sum.squares / sum.values) * sum.unit
                                   : 0.0;
    return CSREC_OK;
}

csrec_status csrec_noise_look(const csrec_measurement *m, csrec_noise_bin bin[CSREC_NOISE_BINS],
                              double *sigma, csrec_error *error) {
    return estimate(m, false, bin, sigma, error);
}

csrec_status csrec_noise_estimate(const csrec_measurement *measurement, double *sigma,
                                  csrec_error *error) {
    return estimate(measurement, false, NULL, sigma, error);
}

csrec_status csrec_noise_likely(const csrec_measurement *measurement, double *sigma,
                                csrec_error *error) {
    return estimate(measurement, true, NULL, sigma, error);
}
