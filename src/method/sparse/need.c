/* need.c - memory and time of a recovery on a basis or frame. */
#include <math.h>
#include <string.h>

#include "operator/dct.h"
#include "method/adaptive/adaptive.h"
#include "method/sparse/sparse.h"
#include "method/estimate.h"
#include "solver/solver.h"

enum { FRAMES = 3 };

/* Seconds of one thread for a coefficient: a multiplication of a block's transform, a step of a
 * wavelet's; for an entry: a step of blocks that are never stored, and that times the edge. */
static const double PER_PRODUCT = 2.1e-10, PER_LIFTING = 2e-8, PER_PIXEL = 1.4e-9,
                    PER_PIXEL_EDGE = 1e-10;

/* A frame: its coefficients, and seconds that a product with it takes. */
typedef struct frame {
    double n, product;
    bool stored; /* coefficients are: csrec_threshold_plain */
    double step; /* seconds of an iteration that does not store them */
    double own;  /* bytes of the operator */
    double kept; /* and of what iterations that store no coefficients keep */
} frame;

static const char *solver_of(const csrec_task *task) {
    return task->options->solve.solver ? task->options->solve.solver : "threshold";
}

/* dct.c: blocks `step` apart along each axis, at both ends too. dct_shrink.c: four planes and a
 * quarter of one, over the blocks that cover the signal wherever they begin. */
static frame dct_frame(const csrec_task *task, int block, int step) {
    frame f = {.n = 1.0};
    double edges = 0.0, planes = 1.0;
    bool fast = task->shape.dims == 2 && (block & (block - 1)) == 0 && block % step == 0;
    for (int a = 0; a < task->shape.dims; a++) {
        int64_t extent = task->shape.dim[a], edge = extent < block ? extent : block;
        f.n *= (double)(((extent - edge + step - 1) / step + 1) * edge);
        edges += (double)edge;
        planes *= (double)(extent + block + 2 * step);
        fast = fast && extent >= block;
    }
    f.stored = !fast;
    f.product = PER_PRODUCT * f.n * edges;
    f.step = planes * (PER_PIXEL + PER_PIXEL_EDGE * block);
    f.own = 8.0 * (double)task->n;
    if (fast) f.kept = 4.0 * planes * (4.0 + 1.0 / (step * step)) + 8.0 * (double)task->n;
    return f;
}

static frame wavelet_frame(const csrec_task *task) {
    double n = (double)task->entries;
    return (frame){
        .n = n, .product = PER_LIFTING * n, .stored = true, .own = 8.0 * (double)task->n};
}

/* operator/conv.c: norms of all atoms, and products that take the threads themselves. */
static frame conv_frame(const csrec_task *task) {
    const csrec_array *filters = csrec_model_array(task->options->model, "filters");
    double K = (double)filters->shape.dim[0], taps = (double)filters->count / K, places = 1.0;
    for (int a = 0; a < 2; a++)
        places *= (double)(task->shape.dim[a] + filters->shape.dim[a + 1] - 1);
    double threads = task->channels > 1 ? 1.0 : (double)task->threads;
    return (frame){.n = K * places,
                   .product = PER_PRODUCT * K * places * taps / threads,
                   .stored = true,
                   .own = 8.0 * K * places + 8.0 * (double)task->n};
}

static double basis_setting(const csrec_task *task, const char *name) {
    const csrec_param *param = csrec_operator_dct.params;
    while (param->name && strcmp(param->name, name) != 0) param++;
    return param->name ? csrec_task_param(task, param) : 0.0;
}

static int frames_of(const csrec_task *task, frame *f) {
    static const int blocks[FRAMES] = {8, 16, 32};
    const char *basis = task->options->basis;
    const csrec_model *model = task->options->model; /* without filters conv is refused */
    if (strcmp(basis, "conv") == 0 && model && csrec_model_array(model, "filters")) {
        f[0] = conv_frame(task);
        return 1;
    }
    if (strcmp(basis, "dct") != 0) {
        f[0] = wavelet_frame(task);
        return 1;
    }
    int block = (int)basis_setting(task, "block");
    int step = (int)basis_setting(task, "step");
    int frames = block == 0 && strcmp(solver_of(task), "threshold") == 0 ? FRAMES : 1;
    for (int i = 0; i < frames; i++) {
        int edge = frames > 1 ? blocks[i] : block >= CSREC_DCT_LEAST ? block : 8;
        f[i] = dct_frame(task, edge, step && step < edge ? step : (edge + 1) / 2);
    }
    return frames;
}

/* threshold.c: a guess, for which threshold_start.c keeps a pyramid, then the iterations. */
static csrec_need threshold_need(const csrec_task *task, const frame *f) {
    double entries = (double)task->entries, steps = csrec_task_setting(task, "steps", 60.0);
    double cells = task->shape.dims == 3 ? 8.0 / 7.0 : task->shape.dims == 2 ? 4.0 / 3.0 : 2.0;
    double start = 8.0 * entries * (1.0 + 2.0 * cells);
    double kept = f->own + f->kept + 8.0 * entries; /* the guess is still there when they begin */
    if (f->stored) kept += 8.0 * (f->n + 2.0 * entries);
    return (csrec_need){8.0 * (double)task->n + fmax(start, kept),
                        steps * (f->stored ? 2.0 * f->product : f->step)};
}

static csrec_need one_need(const csrec_task *task, const frame *f) {
    const char *name = solver_of(task);
    if (strcmp(name, "threshold") == 0) return threshold_need(task, f);
    csrec_solver_size size = {(double)task->n, f->n, (double)task->options->solve.stop.atoms,
                              csrec_task_setting(task, "k", 0.0)};
    csrec_solver_need need = {0};
    const csrec_solver_type *type = csrec_solver_find(name);
    if (type && type->need) need = type->need(&size);
    return (csrec_need){f->own + 16.0 * size.m + 8.0 * (double)task->entries + need.bytes,
                        need.products * f->product + need.seconds};
}

/* Bytes of the `abreast` largest tasks, of which each frame has one a channel. */
static double largest(const double *bytes, int frames, int64_t channels, int64_t abreast) {
    double own[FRAMES], sum = 0.0;
    for (int i = 0; i < frames; i++) own[i] = bytes[i];
    for (int64_t left = abreast; left > 0; left -= channels) {
        int most = 0;
        for (int i = 1; i < frames; i++)
            if (own[i] > own[most]) most = i;
        sum += own[most] * (double)(left < channels ? left : channels);
        own[most] = 0.0;
    }
    return sum;
}

/* basis.c: every frame of every channel has a result, and as many are worked on as threads. */
static double peak_of(const csrec_task *task, const double *bytes, int frames) {
    double entries = (double)task->entries, signal = csrec_signal_bytes(task);
    int64_t tasks = task->channels * frames;
    int64_t abreast = task->threads < tasks ? task->threads : tasks;
    double waiting = 8.0 * entries * (double)(tasks - abreast);
    return fmax(waiting + largest(bytes, frames, task->channels, abreast),
                8.0 * entries * (double)tasks + signal);
}

csrec_need csrec_need_of_basis(const csrec_task *task) {
    frame f[FRAMES];
    int frames = frames_of(task, f);
    double bytes[FRAMES], work = 0.0;
    for (int i = 0; i < frames; i++) {
        csrec_need one = one_need(task, &f[i]);
        bytes[i] = one.bytes;
        work += one.seconds * (double)task->channels;
    }
    csrec_need need = {peak_of(task, bytes, frames),
                       csrec_task_share(task, work, task->channels * frames)};
    if (!task->options->mean || task->shape.dims != 2) return need;
    csrec_need adaptive = csrec_need_of_adaptive(task);
    return (csrec_need){fmax(adaptive.bytes, need.bytes + csrec_signal_bytes(task)),
                        adaptive.seconds + need.seconds};
}

/* conv.c: the smooth layer, and on it fista, unless another solver is asked for. */
csrec_need csrec_need_of_conv(const csrec_task *task) {
    csrec_recover_options own = *task->options;
    own.basis = "conv";
    own.mean = false;
    if (!own.solve.solver) own.solve.solver = "fista";
    if (own.solve.stop.atoms == 0) own.solve.stop.atoms = 100;
    csrec_task rest = csrec_task_with(task, &own);
    csrec_need need = csrec_need_of_basis(&rest);
    need.bytes += csrec_signal_bytes(task) + 8.0 * (double)(task->n * task->channels);
    return need;
}
