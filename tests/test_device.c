/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices by name, their list, the one fallback of "auto", and work on two contexts at a time. */
#include <pthread.h>
#include "backends.h"
#include "operators.h"

SEED(seed);

TEST(cpu_is_always_there) {
    for (int k = 0; k < 2; k++) {
        ENDS_BY(csrec_context_destroy) csrec_context context = {.ordinal = 1};
        assert_ok(csrec_context_create(k ? "cpu:0" : "cpu", &context, NULL));
        assert_string_equal(csrec_device_name(context.kind), "cpu");
        assert_int_equal(context.ordinal, 0);
    }
    assert_true(csrec_device_automatic("auto") && csrec_device_automatic(NULL));
    assert_false(csrec_device_automatic("cpu"));
}

TEST(unknown_names_are_refused) {
    const char *names[] = {"abacus",  "cpus",    "cpu:", "cpu:x",
                           "cuda:1x", "cuda:-1", "",     "cuda:99999999999999999999"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        csrec_context context = {.ordinal = 77};
        assert_refused(csrec_context_create(names[k], &context, &told), CSREC_ARGUMENT, names[k]);
        assert_int_equal(context.ordinal, 77);
    }
}

/* Either it works, or one line says why not and what to do. */
TEST(cuda_works_or_says_why) {
    csrec_context context;
    csrec_error error = {{0}};
    csrec_status status = csrec_context_create("cuda", &context, &error);
    if (status) {
        assert_true(status == CSREC_DEVICE || status == CSREC_UNSUPPORTED);
        assert_non_null(strstr(error.text, "backend cpu"));
        assert_null(strchr(error.text, '\n'));
    } else {
        assert_string_equal(csrec_device_name(context.kind), "cuda");
        assert_true(context.ordinal >= 0);
        csrec_context_destroy(&context);
    }
    assert_refused(csrec_context_create("cuda:4711", &context, &told), CSREC_DEVICE, "backend cpu");
    assert_int_equal(csrec_context_create("cpu:1", &context, &error), CSREC_DEVICE);
}

TEST(listing_names_both) {
    const char *name;
    char text[256];
    int cpu = 0, cuda = 0, i = 0;
    for (; csrec_backend_info(i, &name, text, sizeof text); i++) {
        cpu += strcmp(name, "cpu") == 0;
        cuda += strcmp(name, "cuda") == 0;
        assert_true(strlen(text) > 0);
        print_message("%s: %s\n", name, text);
    }
    assert_int_equal(cpu, 1);
    assert_true(cuda >= 1);
    assert_int_equal(i, cpu + cuda);
}

typedef struct job {
    csrec_status there, here; /* what the work says on a device, on the CPU */
    int devices, cpus;        /* times it ran */
    bool device_faster;
} job;

static bool job_pays(csrec_device_kind kind, const void *data) {
    assert_true(kind != CSREC_DEVICE_CPU);
    return ((const job *)data)->device_faster;
}

static csrec_status run_job(const csrec_context *context, void *data, csrec_error *error) {
    job *j = data;
    bool cpu = context->kind == CSREC_DEVICE_CPU;
    *(cpu ? &j->cpus : &j->devices) += 1;
    if (error) snprintf(error->text, sizeof error->text, "%s", cpu ? "here" : "there");
    return cpu ? j->here : j->there;
}

static const csrec_device_work job_work = {.device_faster = job_pays, .run = run_job};

/* Unprofitable devices are not tried; a failure on the CPU is the work's own. */
TEST(auto_is_the_cpu_where_nothing_pays) {
    csrec_device_ran ran;
    csrec_error error;
    const csrec_device_work plain = {.run = run_job};
    job j = {0};
    assert_ok(csrec_device_run("auto", &job_work, &j, &ran, &error));
    assert_ok(csrec_device_run(NULL, &plain, &j, NULL, NULL));
    assert_ok(csrec_device_run("cpu", &job_work, &j, &ran, &error));
    assert_int_equal(j.cpus, 3);
    assert_int_equal(j.devices, 0);
    assert_string_equal(ran.device, "cpu");
    assert_string_equal(ran.given_up.text, "");
    j.here = CSREC_DATA;
    assert_int_equal(csrec_device_run("auto", &job_work, &j, &ran, &error), CSREC_DATA);
    assert_string_equal(error.text, "here");
    assert_int_equal(csrec_device_run("gpu", &job_work, &j, &ran, &error), CSREC_ARGUMENT);
    assert_int_equal(j.cpus, 4);
}

/* What a device cannot do, auto does on the CPU and says why; what is wrong with the data, or what
 * the user named the device for, stays a failure. */
TEST(auto_goes_on_to_the_cpu) {
    const csrec_status given_up[] = {CSREC_MEMORY, CSREC_DEVICE, CSREC_UNSUPPORTED};
    csrec_context context;
    csrec_device_ran ran;
    csrec_error error;
    bool there = !csrec_context_create("cuda", &context, &error);
    if (there) csrec_context_destroy(&context);
    for (int k = 0; k < 3; k++) {
        job j = {.there = given_up[k], .device_faster = true};
        assert_ok(csrec_device_run("auto", &job_work, &j, &ran, &error));
        assert_string_equal(ran.device, "cpu");
        assert_int_equal(j.cpus, 1);
        assert_int_equal(j.devices, there);
        if (there) assert_string_equal(ran.given_up.text, "there");
        j = (job){.there = given_up[k]};
        assert_int_equal(csrec_device_run("cuda", &job_work, &j, &ran, &error),
                         there ? given_up[k] : CSREC_DEVICE);
        assert_int_equal(j.cpus, 0);
    }
    if (!there) {
        print_message("SKIPPED: %s\n", error.text);
        skip();
    }
    job j = {.there = CSREC_DATA, .device_faster = true};
    assert_int_equal(csrec_device_run("auto", &job_work, &j, &ran, &error), CSREC_DATA);
    assert_string_equal(error.text, "there");
    assert_int_equal(j.cpus, 0);
    j = (job){.device_faster = true};
    assert_ok(csrec_device_run("auto", &job_work, &j, &ran, &error));
    assert_string_equal(ran.device, "cuda");
    assert_int_equal(j.cpus, 0);
}

TEST(what_has_no_engine_is_one_line) {
    const csrec_context context = {.kind = CSREC_DEVICE_CUDA};
    csrec_error error;
    assert_int_equal(csrec_device_lacks(&context, "method pca", "grids and frames", &error),
                     CSREC_UNSUPPORTED);
    assert_string_equal(error.text, "method pca has no CUDA engine; grids and frames have; use "
                                    "backend cpu");
    csrec_device_lacks(&context, "method pca", NULL, &error);
    assert_string_equal(error.text, "method pca has no CUDA engine; use backend cpu");
}

enum { CALLS = 40, THREADS = 4 };

typedef struct caller {
    const csrec_operator *A;
    double *x, *y, *forward, *adjoint; /* and the results of one call alone */
    int64_t m, n;
    int failed;
} caller;

static void *call(void *data) {
    caller *c = data;
    OWNED double *y = malloc((size_t)c->m * sizeof *y), *x = malloc((size_t)c->n * sizeof *x);
    for (int k = 0; k < CALLS; k++) {
        c->failed += csrec_operator_forward(c->A, c->x, y) != CSREC_OK;
        c->failed += csrec_operator_adjoint(c->A, c->y, x) != CSREC_OK;
        c->failed += memcmp(y, c->forward, (size_t)c->m * sizeof *y) != 0;
        c->failed += memcmp(x, c->adjoint, (size_t)c->n * sizeof *x) != 0;
    }
    return NULL;
}

static caller prepare(const csrec_operator *A) {
    caller c = {.A = A};
    csrec_operator_size(A, &c.m, &c.n);
    c.x = kept_normals(&seed, c.n);
    c.y = kept_normals(&seed, c.m);
    c.forward = kept_normals(&seed, c.m);
    c.adjoint = kept_normals(&seed, c.n);
    assert_ok(csrec_operator_forward(A, c.x, c.forward));
    assert_ok(csrec_operator_adjoint(A, c.y, c.adjoint));
    return c;
}

static void run_together(caller *callers) {
    pthread_t threads[THREADS];
    for (int k = 0; k < THREADS; k++)
        assert_int_equal(pthread_create(&threads[k], NULL, call, &callers[k]), 0);
    for (int k = 0; k < THREADS; k++) assert_int_equal(pthread_join(threads[k], NULL), 0);
    for (int k = 0; k < THREADS; k++) assert_int_equal(callers[k].failed, 0);
}

/* Every operator, each with a context of its own, from a thread of its own; then all threads on one
 * of them. Every result is that of a call alone, to the bit. */
TEST_ON_EACH(operators_work_from_several_threads) {
    const char *backend = check_backend(state), *name, *brief;
    for (int i = 0; csrec_operator_info(i, &name, &brief); i++) {
        drawn d[THREADS];
        csrec_operator *A[THREADS];
        caller callers[THREADS];
        csrec_status status = CSREC_OK; /* unsupported: not built, or not on the backend */
        for (int k = 0; k < THREADS; k++) {
            d[k] = draw_operator(&seed, name, backend);
            d[k].spec.shape = &d[k].shape;
            if (!status) status = csrec_operator_create(&d[k].spec, &A[k], NULL);
            if (status) A[k] = NULL;
            if (A[k]) callers[k] = prepare(A[k]);
        }
        if (status == CSREC_UNSUPPORTED && !A[0]) {
            for (int k = 0; k < THREADS; k++) drop_drawn(&d[k]);
            continue;
        }
        assert_ok(status);
        run_together(callers);
        for (int k = 1; k < THREADS; k++) callers[k] = prepare(A[0]);
        run_together(callers);
        for (int k = 0; k < THREADS; k++) {
            csrec_operator_destroy(A[k]);
            drop_drawn(&d[k]);
        }
    }
}

/* Products A B and B A use each other's buffers in turn, and A A its own twice. */
TEST_ON_EACH(chains_share_their_factors) {
    const char *backend = check_backend(state);
    enum { N = 24 };
    csrec_operator *part[2], *chain[THREADS];
    caller callers[THREADS];
    for (int k = 0; k < 2; k++) {
        double *matrix = kept_normals(&seed, N * N);
        csrec_operator_spec spec = {
            .name = "dense", .m = N, .n = N, .matrix = matrix, .backend = backend};
        assert_ok(csrec_operator_create(&spec, &part[k], NULL));
    }
    for (int k = 0; k < THREADS; k++) {
        csrec_operator_spec spec = {.name = "chain", .backend = backend};
        spec.first = part[k % 2];
        spec.second = k < 2 ? part[1 - k] : part[k % 2];
        assert_ok(csrec_operator_create(&spec, &chain[k], NULL));
        callers[k] = prepare(chain[k]);
    }
    run_together(callers);
    for (int k = 0; k < THREADS; k++) csrec_operator_destroy(chain[k]);
    for (int k = 0; k < 2; k++) csrec_operator_destroy(part[k]);
}

/* Contexts opened and closed by several threads at a time. */
static void *open_and_close(void *data) {
    const char *name = data;
    for (int k = 0; k < CALLS; k++) {
        ENDS_BY(csrec_context_destroy) csrec_context context = {0};
        if (csrec_context_create(name, &context, NULL)) return data;
    }
    return NULL;
}

TEST_ON_EACH(contexts_live_beside_each_other) {
    const char *backend = check_backend(state);
    pthread_t threads[THREADS];
    for (int k = 0; k < THREADS; k++)
        assert_int_equal(
            pthread_create(&threads[k], NULL, open_and_close, (void *)(uintptr_t)backend), 0);
    for (int k = 0; k < THREADS; k++) {
        void *failed;
        assert_int_equal(pthread_join(threads[k], &failed), 0);
        assert_null(failed);
    }
}
