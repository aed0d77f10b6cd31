/* apply.c - one pass over a picture of any size, in tiles that overlap by the network's reach.
 *
 * Tiles begin at multiples of 4 pixels of the smallest results, so that the 4 x 4 tiles of
 * Winograd's products are the same as in the whole picture: then so are the bits (net/block.h). */
#include <stdlib.h>
#include <string.h>

#include "net/net.h"

enum { GRAIN = 4 };

/* Tiles of one axis: their cores follow one another; each has `margin` pixels more on both sides,
 * where there are any. */
typedef struct cut {
    int64_t length, core, margin;
} cut;

static int64_t whole(int64_t count, int64_t of) {
    return (count + of - 1) / of * of;
}

static void span_of(const cut *c, int64_t first, int64_t *from, int64_t *to) {
    *from = first > c->margin ? first - c->margin : 0;
    *to = first + c->core + c->margin < c->length ? first + c->core + c->margin : c->length;
}

/* Of the largest tile. */
static int64_t side_of(const cut *c) {
    int64_t side = c->core + 2 * c->margin;
    return side < c->length ? side : c->length;
}

uint64_t csrec_net_memory(const csrec_net *net, int64_t batch, int64_t height, int64_t width) {
    csrec_net_places places;
    csrec_net_extent input = {batch ? batch : 1, height, width};
    csrec_net_place(&net->graph, net->engine, &input, batch > 0, &places);
    return (uint64_t)places.floats * sizeof(float);
}

/* The whole, or halves of its longer side, until a tile fits; at least as large as its margins. */
static void choose(const csrec_net *net, int64_t height, int64_t width, uint64_t memory,
                   cut cuts[2]) {
    int64_t grain = GRAIN * net->graph.multiple, margin = whole(net->graph.reach, grain);
    uint64_t most = memory ? memory : UINT64_C(1) << 30;
    cuts[0] = (cut){height, height, 0};
    cuts[1] = (cut){width, width, 0};
    for (;;) {
        cut *longer = &cuts[cuts[1].core > cuts[0].core];
        if (csrec_net_memory(net, 0, side_of(&cuts[0]), side_of(&cuts[1])) <= most ||
            longer->core <= 2 * margin)
            return;
        longer->core = whole((longer->core + 1) / 2, grain);
        longer->margin = margin;
    }
}

typedef struct pass {
    csrec_net *net;
    cut cuts[2];
    const float *X;
    float *Y, *tile; /* tile: results of the largest */
} pass;

/* The tile whose core begins at (y, x). */
static csrec_status run_tile(pass *p, int64_t y, int64_t x, csrec_call *team, csrec_error *error) {
    csrec_net *net = p->net;
    int64_t y0, y1, x0, x1, height = p->cuts[0].length, width = p->cuts[1].length;
    span_of(&p->cuts[0], y, &y0, &y1);
    span_of(&p->cuts[1], x, &x0, &x1);
    csrec_net_extent input = {1, y1 - y0, x1 - x0};
    csrec_status status = csrec_net_begin(net, &input, false, error);
    if (!status)
        status = net->engine->put(net->state, &input, csrec_net_channels(&net->graph, 0),
                                  p->X + y0 * width + x0, width, height * width,
                                  net->memory + net->places.result[0], error);
    if (!status) status = csrec_net_layers(net, &input, team, error);
    int n = net->graph.n;
    int64_t channels = csrec_net_channels(&net->graph, n);
    if (!status)
        status = net->engine->get(net->state, &input, channels, net->memory + net->places.result[n],
                                  p->tile, error);
    if (status) return status;
    int64_t rows = height - y < p->cuts[0].core ? height - y : p->cuts[0].core;
    int64_t columns = width - x < p->cuts[1].core ? width - x : p->cuts[1].core;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t r = 0; r < rows; r++)
            memcpy(p->Y + (c * height + y + r) * width + x,
                   p->tile + (c * input.height + y - y0 + r) * input.width + x - x0,
                   (size_t)columns * sizeof(float));
    return CSREC_OK;
}

csrec_status csrec_net_run(csrec_net *net, int64_t height, int64_t width, const float *X, float *Y,
                           uint64_t memory, csrec_call *team, csrec_error *error) {
    pass p = {.net = net, .X = X, .Y = Y};
    csrec_status status = csrec_net_check(net, 1, height, width, error);
    if (status) return status;
    choose(net, height, width, memory, p.cuts);
    size_t pixels = (size_t)(side_of(&p.cuts[0]) * side_of(&p.cuts[1]));
    size_t channels = (size_t)csrec_net_channels(&net->graph, net->graph.n);
    p.tile = malloc(channels * pixels * sizeof *p.tile);
    if (!p.tile) return csrec_fail(error, CSREC_MEMORY, "out of memory for a network's tile");
    for (int64_t y = 0; y < height && !status; y += p.cuts[0].core)
        for (int64_t x = 0; x < width && !status && !csrec_call_stopped(team); x += p.cuts[1].core)
            status = run_tile(&p, y, x, team, error);
    free(p.tile);
    return status;
}

csrec_status csrec_net_apply(csrec_net *net, int64_t height, int64_t width, const float *X,
                             float *Y, uint64_t memory, csrec_progress_fn progress, void *context,
                             csrec_error *error) {
    csrec_call team;
    csrec_call_begin(&team, progress, context, (csrec_progress){"network", 0, -1, -1.0});
    csrec_status status = csrec_net_run(net, height, width, X, Y, memory, &team, error);
    csrec_call_end(&team);
    return status;
}
