/* net_conv_block.c - our Winograd convolutions of a network's layers, csrec_block_*, for
 * net_conv.c. Packed weights and [height][width][channels] are its layout; channels here are whole
 * blocks. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "net/block.h"
#include "net_conv.h"

typedef struct state {
    net_pass pass;
    csrec_block_shape shape;
    csrec_block_work work;
    float *in, *back, *packed, *made; /* back: y of the gradient of weights */
} state;

static float *room(size_t bytes) {
    float *made = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!made) bench_fail("block", "out of memory");
    return made;
}

/* Planes to pixels, or back. */
static void turn(const state *s, const float *from, float *to, bool back) {
    int64_t n = s->shape.in, area = s->shape.height * s->shape.width;
    for (int64_t c = 0; c < n; c++)
        for (int64_t p = 0; p < area; p++)
            to[back ? c * area + p : p * n + c] = from[back ? p * n + c : c * area + p];
}

static void *create(const net_shape *shape, net_pass pass, const net_arrays *arrays, int threads) {
    state *s = bench_allocate(1, sizeof *s);
    int64_t n = shape->channels, planes = n * shape->side * shape->side, weights = 9 * n * n;
    if (csrec_block_padded(n) != n) bench_fail("block", "channels must be whole blocks");
    const csrec_block_simd *simd = csrec_block_simd_choose();
    s->pass = pass;
    s->shape = (csrec_block_shape){1, shape->side, shape->side, n, n};
    s->work = (csrec_block_work){.simd = simd, .threads = threads};
    s->work.memory = room(csrec_block_room(simd, &s->shape, threads, pass == NET_BACKWARD_WEIGHTS));
    s->in = room((size_t)planes * sizeof *s->in);
    s->back = room((size_t)planes * sizeof *s->back);
    s->made = room((size_t)(planes > weights ? planes : weights) * sizeof *s->made);
    s->packed = room((size_t)csrec_block_packed3(n, n) * sizeof *s->packed);
    turn(s, pass == NET_BACKWARD_DATA ? arrays->y : arrays->x, s->in, false);
    turn(s, arrays->y, s->back, false);
    csrec_block_pack3(simd, threads, n, n, arrays->w, pass == NET_BACKWARD_DATA, s->packed);
    return s;
}

static void run(void *of) {
    static const csrec_block_finish plain = {0};
    state *s = of;
    if (s->pass == NET_BACKWARD_WEIGHTS)
        csrec_block_gradient3(&s->work, &s->shape, s->shape.in, s->shape.out, s->in, s->back,
                              s->made);
    else
        csrec_block_conv3(&s->work, &s->shape, s->packed, s->in, &plain, s->made);
}

static void result(void *of, float *plain) {
    state *s = of;
    size_t weights = (size_t)(9 * s->shape.in * s->shape.out);
    if (s->pass == NET_BACKWARD_WEIGHTS)
        memcpy(plain, s->made, weights * sizeof *plain);
    else
        turn(s, s->made, plain, true);
}

static void destroy(void *of) {
    state *s = of;
    float *all[] = {s->in, s->back, s->made, s->packed, s->work.memory};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(s);
}

const net_way net_way_block = {"csrec_block", "", create, run, result, destroy};
