/* SPDX-License-Identifier: BSD-3-Clause */
/* data.c - batches of parts of pictures, and samples of them, to train a network on. */
#include "learn/net/data.h"
#include "learn/net/pyramid.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "csrec/sampling.h"
#include "base/random.h"
#include "learn/net/mask.h"
#include "learn/net/pass.h"

/* Each part serves three samples on average. */
enum { POOL = 4096, FIRST = 512, REUSE = 3 };

/* Streams of the seed: numbers of each must not meet. */
enum { STREAM_SAMPLE = 1 << 21, STREAM_NOISE, STREAM_UNIFORM, STREAM_CROP };

#define VALIDATION (UINT64_C(1) << 48)

struct csrec_net_data {
    csrec_net_data_options o;
    float *pool;         /* [slots][channels][side][side] */
    uint8_t *known;      /* [slots][side][side] */
    int64_t slots, made; /* parts cut so far; number i is in slot i % slots */
    size_t room;         /* bytes of a thread's work */
    char *work;
};

static int64_t pixels(const csrec_net_data *d) {
    return (int64_t)d->o.side * d->o.side;
}

void csrec_net_data_destroy(csrec_net_data *d) {
    if (!d) return;
    free(d->pool);
    free(d->known);
    free(d->work);
    free(d);
}

/* A sample's work: that of the mask, then values, known pixels, and a pyramid's. */
static size_t room_of(const csrec_net_data *d) {
    size_t n = (size_t)pixels(d), side = (size_t)d->o.side;
    size_t bytes = csrec_mask_room(d->o.side) + 64;
    bytes += (size_t)d->o.channels * n * sizeof(float) + n + 64;
    bytes += (size_t)csrec_pyramid_work((int64_t)side, (int64_t)side) * sizeof(float);
    return (bytes + 127) / 64 * 64;
}

csrec_status csrec_net_data_create(const csrec_net_data_options *options, csrec_net_data **data,
                                   csrec_error *error) {
    csrec_net_data *d = calloc(1, sizeof *d);
    if (!d) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    d->o = *options;
    d->slots = POOL < 16 * options->batch ? POOL : 16 * options->batch;
    if (d->slots < FIRST) d->slots = FIRST;
    d->room = room_of(d);
    size_t picture = (size_t)(pixels(d) * options->channels);
    d->pool = malloc((size_t)d->slots * picture * sizeof *d->pool);
    d->known = malloc((size_t)(d->slots * pixels(d)));
    d->work = aligned_alloc(64, d->room * (size_t)options->threads);
    bool complete = d->pool && d->work && d->known;
    csrec_status status =
        complete ? CSREC_OK
                 : csrec_fail(error, CSREC_MEMORY, "out of memory for %lld parts of %d x %d",
                              (long long)d->slots, options->side, options->side);
    if (status)
        csrec_net_data_destroy(d);
    else
        *data = d;
    return status;
}

void csrec_net_batch_clear(csrec_net_batch *batch) {
    csrec_pool_clear(&batch->pool);
}

csrec_status csrec_net_batch_create(const csrec_net_data *d, csrec_net_batch *batch,
                                    csrec_error *error) {
    size_t n = (size_t)(d->o.batch * pixels(d)), channels = (size_t)d->o.channels;
    *batch = (csrec_net_batch){0};
    CSREC_TAKE(&batch->pool, batch->X, (2 * channels + 2) * n);
    CSREC_TAKE(&batch->pool, batch->target, channels * n);
    CSREC_TAKE(&batch->pool, batch->weight, n);
    CSREC_ZEROS(&batch->pool, batch->unit, d->o.batch);
    if (!batch->pool.lacks) return CSREC_OK;
    csrec_net_batch_clear(batch);
    return csrec_fail(error, CSREC_MEMORY, "out of memory for a batch of %lld pictures",
                      (long long)d->o.batch);
}

/* A random part of a picture to a slot, repeated by reflection where the picture is smaller. */
static void cut(const csrec_net_data *d, int64_t number, int64_t slot) {
    float *to = d->pool + slot * d->o.channels * pixels(d);
    uint8_t *known = d->known + slot * pixels(d);
    int64_t draw[3], side = d->o.side;
    for (int i = 0; i < 3; i++)
        draw[i] =
            (int64_t)(csrec_random_u64(d->o.seed, STREAM_CROP, (uint64_t)(3 * number + i)) >> 2);
    const csrec_net_picture *p = &d->o.pictures[draw[0] % d->o.count];
    int64_t top = p->height > side ? draw[1] % (p->height - side + 1) : 0;
    int64_t left = p->width > side ? draw[2] % (p->width - side + 1) : 0;
    for (int64_t y = 0; y < side; y++)
        for (int64_t x = 0; x < side; x++) {
            int64_t from = csrec_prior_reflect(top + y, p->height) * p->width +
                           csrec_prior_reflect(left + x, p->width);
            bool has = !p->known || p->known[from];
            known[y * side + x] = has;
            for (int c = 0; c < d->o.channels; c++)
                to[(c * side + y) * side + x] =
                    has ? p->values[c * p->height * p->width + from] : 0.0f;
        }
}

static char *own_work(const csrec_net_data *d) {
    return d->work + (size_t)omp_get_thread_num() * d->room;
}

/* Parts up to number `end` - 1. */
static void extend(csrec_net_data *d, int64_t end, csrec_call *call) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(d->o.threads)
    for (int64_t i = d->made; i < end; i++)
        if (!csrec_call_poll(call)) cut(d, i, i % d->slots);
    d->made = end;
}

/* Buffers of a sample in a thread's work, after those of masks. */
typedef struct sample {
    float *values, *pyramid;
    uint8_t *known;
    char *mask;
} sample;

static sample lay_out(const csrec_net_data *d, char *work) {
    sample s = {.mask = work};
    size_t first = (csrec_mask_room(d->o.side) + 63) / 64 * 64;
    s.values = (float *)(void *)(work + first);
    s.pyramid = s.values + d->o.channels * pixels(d);
    s.known = (uint8_t *)(s.pyramid + csrec_pyramid_work(d->o.side, d->o.side));
    return s;
}

/* values = picture, flipped and turned, with noise. */
static void show(const csrec_net_data *d, const float *picture, const csrec_turn *turn, float sigma,
                 uint64_t number, float *values) {
    int64_t side = d->o.side, n = pixels(d), all = d->o.channels * n;
    for (int64_t k = 0; k < all; k++)
        values[k] = picture[k / n * n + csrec_turn_source(turn, k % n / side, k % side)];
    for (int64_t k = 0; k < all && sigma > 0.0f; k++)
        values[k] += sigma * (float)csrec_random_normal(d->o.seed, STREAM_NOISE,
                                                        number * (uint64_t)all + (uint64_t)k);
}

/* Planes of a picture with s->known and sigma; its pixels are weighed where they are unknown, or
 * all of them if there is noise. */
static void make_sample(const csrec_net_data *d, const float *picture, const uint8_t *whole,
                        int turns, uint64_t number, float sigma, const sample *s, int64_t i,
                        csrec_net_batch *batch) {
    int64_t n = pixels(d), channels = d->o.channels, side = d->o.side;
    const csrec_turn turn = {turns, side, 0, 0, side, side};
    float *X = batch->X + i * (2 * channels + 2) * n, *target = batch->target + i * channels * n;
    float *weight = batch->weight + i * n;
    csrec_prior_frame frame;
    show(d, picture, &turn, 0.0f, number, target);
    show(d, picture, &turn, sigma, number, s->values);
    int64_t known = 0;
    for (int64_t k = 0; k < n; k++) {
        bool there = whole[csrec_turn_source(&turn, k / side, k % side)];
        s->known[k] = s->known[k] && there;
        known += s->known[k];
        weight[k] = there && (!s->known[k] || sigma > 0.0f) ? 1.0f : 0.0f;
    }
    if (known == 0) { /* a part without samples: it is all black, and counts for nothing */
        s->known[0] = 1;
        memset(weight, 0, (size_t)n * sizeof *weight);
    }
    const csrec_prior_samples samples = {.channels = d->o.channels,
                                         .height = side,
                                         .width = side,
                                         .values = s->values,
                                         .known = s->known,
                                         .sigma = sigma,
                                         .tone = 1.0f};
    csrec_prior_planes(&samples, 1, s->pyramid, X, &frame);
    batch->unit[i] = frame.unit;
    for (int64_t k = 0; k < channels * n; k++)
        target[k] = (float)(((double)target[k] - frame.mean[k / n]) / frame.unit);
}

void csrec_net_data_make(csrec_net_data *d, int64_t step, csrec_net_batch *batch,
                         csrec_call *call) {
    int64_t fresh = (d->o.batch + REUSE - 1) / REUSE;
    extend(d, FIRST + fresh * (step + 1), call);
    int64_t oldest = d->made > d->slots ? d->made - d->slots : 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(d->o.threads)
    for (int64_t i = 0; i < d->o.batch; i++) {
        if (csrec_call_poll(call)) continue;
        uint64_t number = (uint64_t)(step * d->o.batch + i);
        uint32_t word[4];
        csrec_random_words(d->o.seed, STREAM_SAMPLE, number, word);
        int64_t slot = (oldest + word[0] % (d->made - oldest)) % d->slots;
        sample s = lay_out(d, own_work(d));
        float sigma;
        csrec_mask_draw(d->o.seed, number, d->o.side, s.mask, s.known, &sigma);
        make_sample(d, d->pool + slot * d->o.channels * pixels(d), d->known + slot * pixels(d),
                    (int)(word[1] % 8), number, sigma, &s, i, batch);
    }
}

void csrec_net_data_validation(csrec_net_data *d, csrec_net_batch *batch) {
    for (int64_t i = 0; i < d->o.batch; i++) {
        sample s = lay_out(d, d->work);
        int64_t slot = i % d->slots; /* before the first step */
        cut(d, (int64_t)(VALIDATION >> 4) + i, slot);
        for (int64_t k = 0; k < pixels(d); k++)
            s.known[k] = csrec_random_uniform(d->o.seed, STREAM_UNIFORM,
                                              (uint64_t)(i * pixels(d) + k)) < (i % 2 ? 0.25 : 0.1);
        make_sample(d, d->pool + slot * d->o.channels * pixels(d), d->known + slot * pixels(d), 0,
                    VALIDATION + (uint64_t)i, 0.0f, &s, i, batch);
    }
}
