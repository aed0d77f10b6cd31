/* net_conv_dnnl.c - oneDNN's convolutions, direct and Winograd, by its C interface of version 2.
 * Every layout is left to oneDNN, and arrays are reordered to it before the timing. */
#include <omp.h>
#include <stdlib.h>

#include <dnnl.h>

#include "bench.h"
#include "net_conv.h"

#define TEXT(number)   #number
#define NUMBER(number) TEXT(number)
#define VERSION                                                                                    \
    NUMBER(DNNL_VERSION_MAJOR) "." NUMBER(DNNL_VERSION_MINOR) "." NUMBER(DNNL_VERSION_PATCH)

/* Which arrays a pass reads and writes, as arguments of the primitive. */
typedef struct roles {
    int in[2], out;
} roles;

static const roles of_pass[NET_PASSES] = {
    [NET_FORWARD] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS}, DNNL_ARG_DST},
    [NET_BACKWARD_DATA] = {{DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS}, DNNL_ARG_DIFF_SRC},
    [NET_BACKWARD_WEIGHTS] = {{DNNL_ARG_SRC, DNNL_ARG_DIFF_DST}, DNNL_ARG_DIFF_WEIGHTS}};

typedef struct state {
    int threads;
    bool weights; /* the result */
    net_shape shape;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t primitive;
    dnnl_memory_t memory[3]; /* both inputs, result */
    dnnl_exec_arg_t arguments[3];
} state;

static void check(dnnl_status_t status, const char *what) {
    if (status != dnnl_success) bench_fail("oneDNN", what);
}

static void describe(const net_shape *shape, bool weights, dnnl_format_tag_t tag,
                     dnnl_memory_desc_t *made) {
    int64_t c = shape->channels, side = shape->side;
    dnnl_dims_t planes = {1, c, side, side}, kernel = {c, c, 3, 3};
    check(dnnl_memory_desc_init_by_tag(made, 4, weights ? kernel : planes, dnnl_f32, tag),
          "layout");
}

/* dnnl_unimplemented if there is no such algorithm for the pass on this machine. */
static dnnl_status_t plan(const net_shape *shape, net_pass pass, dnnl_alg_kind_t kind,
                          dnnl_engine_t engine, dnnl_primitive_desc_t *made) {
    static const dnnl_dims_t ones = {1, 1};
    dnnl_memory_desc_t planes, weights;
    dnnl_convolution_desc_t forward, backward;
    describe(shape, false, dnnl_format_tag_any, &planes);
    describe(shape, true, dnnl_format_tag_any, &weights);
    dnnl_prop_kind_t use = pass == NET_FORWARD ? dnnl_forward_inference : dnnl_forward_training;
    check(dnnl_convolution_forward_desc_init(&forward, use, kind, &planes, &weights, NULL, &planes,
                                             ones, ones, ones),
          "forward");
    if (pass == NET_FORWARD) return dnnl_primitive_desc_create(made, &forward, NULL, engine, NULL);
    dnnl_primitive_desc_t hint;
    dnnl_status_t status = dnnl_primitive_desc_create(&hint, &forward, NULL, engine, NULL);
    if (status != dnnl_success) return status;
    if (pass == NET_BACKWARD_DATA)
        check(dnnl_convolution_backward_data_desc_init(&backward, kind, &planes, &weights, &planes,
                                                       ones, ones, ones),
              "backward data");
    else
        check(dnnl_convolution_backward_weights_desc_init(&backward, kind, &planes, &weights, NULL,
                                                          &planes, ones, ones, ones),
              "backward weights");
    status = dnnl_primitive_desc_create(made, &backward, NULL, engine, hint);
    dnnl_primitive_desc_destroy(hint);
    return status;
}

static void reorder(const state *s, dnnl_memory_t from, dnnl_memory_t to) {
    const dnnl_memory_desc_t *a, *b;
    dnnl_primitive_desc_t planned;
    dnnl_primitive_t work;
    check(dnnl_memory_get_memory_desc(from, &a), "reorder");
    check(dnnl_memory_get_memory_desc(to, &b), "reorder");
    check(dnnl_reorder_primitive_desc_create(&planned, a, s->engine, b, s->engine, NULL),
          "reorder");
    check(dnnl_primitive_create(&work, planned), "reorder");
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    check(dnnl_primitive_execute(work, s->stream, 2, arguments), "reorder");
    check(dnnl_stream_wait(s->stream), "reorder");
    dnnl_primitive_destroy(work);
    dnnl_primitive_desc_destroy(planned);
}

/* Memory over an array in plain layout. */
static dnnl_memory_t plain_memory(const state *s, bool weights, float *values) {
    dnnl_memory_desc_t layout;
    dnnl_memory_t made;
    describe(&s->shape, weights, weights ? dnnl_oihw : dnnl_nchw, &layout);
    check(dnnl_memory_create(&made, &layout, s->engine, values), "memory");
    return made;
}

static const float *array(const net_arrays *arrays, int role) {
    return role == DNNL_ARG_WEIGHTS ? arrays->w : role == DNNL_ARG_SRC ? arrays->x : arrays->y;
}

static void fill(state *s, dnnl_primitive_desc_t planned, const roles *r,
                 const net_arrays *arrays) {
    int role[] = {r->in[0], r->in[1], r->out};
    for (int i = 0; i < 3; i++) {
        check(dnnl_memory_create(
                  &s->memory[i],
                  dnnl_primitive_desc_query_md(planned, dnnl_query_exec_arg_md, role[i]), s->engine,
                  DNNL_MEMORY_ALLOCATE),
              "memory");
        s->arguments[i] = (dnnl_exec_arg_t){role[i], s->memory[i]};
        if (i == 2) continue;
        /* only read, though the interface takes a plain pointer */
        float *values = (float *)(uintptr_t)array(arrays, role[i]);
        dnnl_memory_t plain = plain_memory(s, role[i] == DNNL_ARG_WEIGHTS, values);
        reorder(s, plain, s->memory[i]);
        dnnl_memory_destroy(plain);
    }
}

static void *create(dnnl_alg_kind_t kind, const net_shape *shape, net_pass pass,
                    const net_arrays *arrays, int threads) {
    state *s = bench_allocate(1, sizeof *s);
    omp_set_num_threads(threads);
    s->threads = threads;
    s->shape = *shape;
    s->weights = pass == NET_BACKWARD_WEIGHTS;
    dnnl_primitive_desc_t planned;
    check(dnnl_engine_create(&s->engine, dnnl_cpu, 0), "engine");
    if (plan(shape, pass, kind, s->engine, &planned) != dnnl_success) {
        dnnl_engine_destroy(s->engine);
        free(s);
        return NULL;
    }
    check(dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags), "stream");
    check(dnnl_primitive_create(&s->primitive, planned), "primitive");
    fill(s, planned, &of_pass[pass], arrays);
    dnnl_primitive_desc_destroy(planned);
    return s;
}

static void *create_direct(const net_shape *shape, net_pass pass, const net_arrays *arrays,
                           int threads) {
    return create(dnnl_convolution_direct, shape, pass, arrays, threads);
}

static void *create_winograd(const net_shape *shape, net_pass pass, const net_arrays *arrays,
                             int threads) {
    return create(dnnl_convolution_winograd, shape, pass, arrays, threads);
}

static void run(void *of) {
    state *s = of;
    check(dnnl_primitive_execute(s->primitive, s->stream, 3, s->arguments), "execution");
    check(dnnl_stream_wait(s->stream), "execution");
}

static void result(void *of, float *plain) {
    state *s = of;
    dnnl_memory_t to = plain_memory(s, s->weights, plain);
    reorder(s, s->memory[2], to);
    dnnl_memory_destroy(to);
}

static void destroy(void *of) {
    state *s = of;
    for (int i = 0; i < 3; i++) dnnl_memory_destroy(s->memory[i]);
    dnnl_primitive_destroy(s->primitive);
    dnnl_stream_destroy(s->stream);
    dnnl_engine_destroy(s->engine);
    free(s);
}

const net_way net_way_dnnl_direct = {"oneDNN direct", VERSION, create_direct, run, result, destroy};
const net_way net_way_dnnl_winograd = {
    "oneDNN Winograd", VERSION, create_winograd, run, result, destroy};
