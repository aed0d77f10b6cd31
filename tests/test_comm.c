/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators: between threads of one process, and one process among others that are a script. */
#include "check.h"
#include <stdatomic.h>

SEED(seed);

/* Messages begin with three numbers: their kind and two more (src/comm/comm.c). */
enum { HELLO = -1, CLAIM = -2, ITEMS = -3, FAIL = -5, BYE = -8 };

typedef struct head {
    int64_t kind, a, b;
} head;

typedef struct script {
    struct {
        int from;
        head h;
        char text[64];
        size_t bytes;
    } in[4096];
    int n, next;
    head out[4096];
    int to[4096], sent, closed;
} script;

/* Text: up to 31 bytes. */
static void expect(script *s, int from, head h, const char *text, size_t bytes) {
    s->in[s->n].from = from;
    s->in[s->n].h = h;
    s->in[s->n].bytes = bytes;
    strcpy(s->in[s->n++].text, text);
}

static void expect_hello(script *s, int from, const char *version) {
    expect(s, from, (head){.kind = HELLO}, version, 32);
}

static void expect_bye(script *s, int from) {
    expect(s, from, (head){.kind = BYE}, "", 0);
}

static csrec_status script_send(void *context, int to, const void *data, size_t bytes,
                                csrec_error *error) {
    script *s = context;
    (void)error;
    assert_true(bytes >= sizeof(head));
    memcpy(&s->out[s->sent], data, sizeof(head));
    s->to[s->sent++] = to;
    return CSREC_OK;
}

static csrec_status script_receive(void *context, int *from, void **data, size_t *bytes,
                                   csrec_error *error) {
    script *s = context;
    (void)error;
    *data = NULL;
    if (s->next == s->n) return CSREC_OK;
    *bytes = sizeof(head) + s->in[s->next].bytes;
    char *both = malloc(*bytes);
    assert_non_null(both);
    memcpy(both, &s->in[s->next].h, sizeof(head));
    memcpy(both + sizeof(head), s->in[s->next].text, s->in[s->next].bytes);
    *from = s->in[s->next++].from;
    *data = both;
    return CSREC_OK;
}

static void script_close(void *context) {
    ((script *)context)->closed++;
}

/* Process 0 of so many; patience 0: the usual. */
static csrec_status join(script *s, int size, double patience, csrec_comm **comm,
                         csrec_error *error) {
    const csrec_comm_calls calls = {.context = s,
                                    .size = size,
                                    .local_size = size,
                                    .patience = patience,
                                    .send = script_send,
                                    .receive = script_receive,
                                    .close = script_close};
    return csrec_comm_create(&calls, comm, error);
}

/* All claims of others, in any order: what process 0 answers are consecutive runs, at most an
 * eighth of an equal share of what is left, down to one; then none. */
TEST(claims_are_answered_in_order) {
    for (int round = 0; round < 50; round++) {
        script *s = check_keep_zeros(1, sizeof *s);
        csrec_comm *comm = NULL;
        int size = 2 + (int)check_below(&seed, 6), asked[1500];
        int64_t total = check_below(&seed, 1000), most = 1 + check_below(&seed, 40), next = 0;
        for (int k = 1; k < size; k++) expect_hello(s, k, csrec_version());
        assert_ok(join(s, size, 0.0, &comm, NULL));
        int before = s->sent;
        for (int k = 0; k < total + 10; k++) {
            asked[k] = 1 + (int)check_below(&seed, size - 1);
            expect(s, asked[k], (head){CLAIM, total, most}, "", 0);
        }
        double all;
        assert_ok(csrec_comm_poll(comm, 0.0, &all, NULL));
        assert_int_equal(s->sent - before, total + 10);
        for (int k = 0; k < total + 10; k++) {
            head h = s->out[before + k];
            int64_t left = total - next, share = left / (8 * size);
            assert_int_equal(s->to[before + k], asked[k]);
            assert_int_equal(h.kind, ITEMS);
            assert_int_equal(h.a, next);
            assert_true(left == 0 ? h.b == 0 : h.b >= 1 && h.b <= most);
            assert_true(h.b <= 1 || h.b <= share);
            next += h.b;
        }
        assert_int_equal(next, total);
        for (int k = 1; k < size; k++) expect_bye(s, k);
        csrec_comm_destroy(comm);
        assert_int_equal(s->closed, 1);
    }
}

TEST(other_sizes_are_refused) {
    for (size_t bytes = 0; bytes <= 16; bytes += 4) {
        script *s = check_keep_zeros(1, sizeof *s);
        csrec_error error = {""};
        char room[17] = "";
        int from = -1;
        ENDS_BY(end_comm) csrec_comm *comm = NULL;
        expect_hello(s, 1, csrec_version());
        expect(s, 1, (head){.kind = 5}, "01234567", 8);
        expect_bye(s, 1);
        assert_ok(join(s, 2, 0.0, &comm, &error));
        csrec_status status = csrec_comm_take(comm, &from, 5, room, bytes, &error);
        assert_int_equal(from, 1);
        assert_int_equal(status, bytes == 8 ? CSREC_OK : CSREC_DATA);
        assert_string_equal(room, bytes == 8 ? "01234567" : "");
        assert_true(bytes == 8 || strstr(error.text, "process 1 sent 8 bytes"));
    }
}

TEST(unequal_versions_are_refused) {
    static script s;
    csrec_comm *comm = NULL;
    csrec_error error = {""};
    expect_hello(&s, 1, csrec_version());
    expect_hello(&s, 2, "9.9.9");
    expect_bye(&s, 1);
    expect_bye(&s, 2);
    assert_int_equal(join(&s, 3, 0.0, &comm, &error), CSREC_UNSUPPORTED);
    assert_null(comm);
    assert_int_equal(s.closed, 1);
    assert_true(
        check_answer(CSREC_UNSUPPORTED, CSREC_UNSUPPORTED, "process 2 has version 9.9.9", &error));
    assert_non_null(strstr(error.text, csrec_version()));
}

/* A process that has failed does not wait for ever for those that are dead: nor does it close. */
TEST(dead_processes_are_left) {
    static script s;
    csrec_comm *comm = NULL;
    expect_hello(&s, 1, csrec_version());
    assert_ok(join(&s, 2, 0.1, &comm, NULL));
    csrec_comm_fail(comm, "the disk is full");
    assert_int_equal(s.out[s.sent - 1].kind, FAIL);
    csrec_comm_destroy(comm);
    assert_int_equal(s.closed, 0);
}

static bool is_told(void) {
    return true;
}

/* Nor does one that was told to end, whether it waits for a message or for the others' goodbyes. */
TEST(silence_ends_a_hurry) {
    for (int waits = 0; waits < 2; waits++) {
        script s = {0};
        csrec_comm *comm = NULL;
        int from = 1;
        void *data = NULL;
        size_t bytes;
        expect_hello(&s, 1, csrec_version());
        assert_ok(join(&s, 2, 0.1, &comm, NULL));
        csrec_comm_hurry_if(comm, is_told);
        if (waits) {
            assert_refused(csrec_comm_receive(comm, &from, 0, &data, &bytes, &told), CSREC_STOPPED,
                           "have not answered for 0.1 s");
            assert_true(csrec_comm_arrived(comm, 0));
        }
        csrec_comm_destroy(comm);
        assert_int_equal(s.closed, 0);
    }
}

enum { MOST = 6, TOTAL = 300 };

typedef struct group {
    int size;
    uint64_t seed;
    atomic_int taken[TOTAL];
    atomic_int done, failed; /* failed: assertions of threads */
    bool first_waits;
    void (*work)(struct group *g, int rank, csrec_comm *comm);
    atomic_int ran[MOST]; /* [rank] */
} group;

static void check_that(group *g, bool good) {
    if (!good) atomic_fetch_add(&g->failed, 1);
}

static void run_member(void *context, int rank, csrec_comm *comm, const csrec_error *why) {
    group *g = context;
    check_that(g, comm && csrec_comm_rank(comm) == rank && csrec_comm_size(comm) == g->size);
    if (!comm) print_error("%s\n", why->text);
    if (comm) g->work(g, rank, comm);
    atomic_fetch_add(&g->ran[rank], 1);
}

static void run_group(group *g) {
    assert_ok(csrec_comm_hub_run(g->size, run_member, g));
    for (int k = 0; k < MOST; k++) assert_int_equal(g->ran[k], k < g->size);
    assert_int_equal(g->failed, 0);
    assert_int_equal(csrec_comm_hub_run(0, run_member, g), CSREC_ARGUMENT);
}

/* From so many processes to the most. */
static void run_groups(int least, void (*work)(group *g, int rank, csrec_comm *comm)) {
    for (int size = least; size <= MOST; size++)
        run_group(&(group){.size = size, .seed = check_next(&seed), .work = work});
}

/* Takes items; whoever has the first one holds it until all others are done. */
static void take_items(group *g, int rank, csrec_comm *comm) {
    int64_t first = 0, count = 1, last = -1;
    csrec_error error;
    double all;
    (void)rank;
    for (;;) {
        check_that(g, csrec_comm_claim(comm, TOTAL, 1, &first, &count, &error) == CSREC_OK);
        if (count == 0) break;
        check_that(g, count == 1 && first > last && first < TOTAL);
        last = first;
        atomic_fetch_add(&g->taken[first], 1);
        while (first == 0 && g->first_waits && atomic_load(&g->done) < TOTAL - 1)
            check_that(g, csrec_comm_poll(comm, 0.0, &all, &error) == CSREC_OK);
        atomic_fetch_add(&g->done, 1);
    }
}

TEST(a_slow_item_does_not_hold_the_rest) {
    for (int size = 2; size <= MOST; size++) {
        group g = {.size = size, .first_waits = true, .work = take_items};
        run_group(&g);
        for (int i = 0; i < TOTAL; i++) assert_int_equal(g.taken[i], 1);
        assert_int_equal(g.done, TOTAL);
    }
}

static uint64_t word(const group *g, int from, int to, int tag, int i) {
    uint64_t mixed = g->seed + (uint64_t)(((from * MOST + to) * 4 + tag) * 1000 + i);
    return check_next(&mixed);
}

/* Each sends messages of three tags to all; each receives them tag by tag, of one or of any: those
 * of one process and tag arrive in their order. */
static void exchange(group *g, int rank, csrec_comm *comm) {
    enum { N = 40 };
    csrec_error error;
    int got[MOST] = {0};
    for (int i = 0; i < N; i++)
        for (int to = 0; to < g->size; to++)
            for (int tag = 0; tag < 3 && to != rank; tag++) {
                uint64_t w = word(g, rank, to, tag, i);
                check_that(g, csrec_comm_send(comm, to, tag, &w, sizeof w, &error) == CSREC_OK);
            }
    for (int tag = 2; tag >= 0; tag--) {
        memset(got, 0, sizeof got);
        for (int k = 0; k < N * (g->size - 1); k++) {
            int from = tag == 1 ? -1 : (rank + 1 + k / N) % g->size;
            OWNED void *data = NULL;
            size_t bytes;
            uint64_t w = 0;
            if (csrec_comm_receive(comm, &from, tag, &data, &bytes, &error)) {
                check_that(g, false);
                return;
            }
            check_that(g, bytes == sizeof w && from != rank);
            memcpy(&w, data, sizeof w);
            check_that(g, w == word(g, from, rank, tag, got[from]++));
        }
    }
    check_that(g, !csrec_comm_arrived(comm, 0));
    check_that(g, csrec_comm_wait(comm, &error) == CSREC_OK);
    check_that(g, csrec_comm_send(comm, g->size, 0, NULL, 0, &error) == CSREC_ARGUMENT);
    check_that(g, csrec_comm_send(comm, 0, -1, NULL, 0, &error) == CSREC_ARGUMENT);
}

TEST(messages_keep_their_order) {
    run_groups(1, exchange);
}

/* The last fails; all others learn its line, wherever they wait. */
static void fail_one(group *g, int rank, csrec_comm *comm) {
    csrec_error error = {""};
    double all;
    csrec_status status = CSREC_OK;
    if (rank == g->size - 1) {
        csrec_comm_fail(comm, "out.npy: the disk is full");
        return;
    }
    if (rank == 0)
        while (!status) status = csrec_comm_poll(comm, 0.5, &all, &error);
    else
        status = csrec_comm_wait(comm, &error);
    check_that(g, status == CSREC_STOPPED);
    check_that(g, strstr(error.text, "out.npy: the disk is full") != NULL);
    check_that(g, strstr(error.text, "process ") != NULL && !strchr(error.text, '\n'));
}

TEST(a_failure_reaches_all) {
    run_groups(2, fail_one);
}

/* Process 0 learns the sum of what is done. */
static void report_share(group *g, int rank, csrec_comm *comm) {
    csrec_error error;
    double all = 0.0, whole = 0.0;
    for (int k = 0; k < g->size; k++) whole += (k + 1) / 32.0;
    do check_that(g, csrec_comm_poll(comm, (rank + 1) / 32.0, &all, &error) == CSREC_OK);
    while (rank == 0 && all != whole && !g->failed);
    check_that(g, csrec_comm_wait(comm, &error) == CSREC_OK);
}

TEST(shares_are_summed) {
    run_groups(1, report_share);
}
