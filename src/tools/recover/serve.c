/* SPDX-License-Identifier: BSD-3-Clause */
/* serve.c - csrecover serve: clients of a Unix socket, a thread each, or one on stdin and stdout.
 * It listens on no network. */
#include "serve.h"

#include "tools/common/progress.h"

#ifdef CSREC_HAS_JSON
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#endif

typedef struct arguments {
    const char *socket;
    int64_t clients, entries, memory, threads, message;
    double timeout;
    int backend;
} arguments;

static const cli_option options[] = {
    {"clients", 0, CLI_INTEGER, "N", "Clients at a time, with a session each (default 8).",
     CLI_AT(clients), .low = 1, .high = 1000, .group = "Limits"},
    {"entries", 0, CLI_INTEGER, "N", "Values (entries times channels) of a session (default 2^24).",
     CLI_AT(entries), .low = 1, .high = 0x1p31},
    {"memory", 0, CLI_INTEGER, "MIB",
     "Memory of a recovery, in MiB; 0: what is available (default).", CLI_AT(memory), .low = 0,
     .high = 0x1p31},
    {"message", 0, CLI_INTEGER, "MIB", "Arrays of a message, in MiB (default 1024).",
     CLI_AT(message), .low = 1, .high = 0x1p20},
    {"timeout", 0, CLI_REAL, "SECONDS",
     "Time for a message from its first byte on, and for a client to take an answer (default 60).",
     CLI_AT(timeout), .low = 0.01, .high = 1e6},
    CLI_BACKEND(arguments),
    CLI_THREADS(arguments),
    CLI_STANDARD};

static const arguments defaults = {
    .clients = 8, .entries = 1 << 24, .message = 1024, .timeout = 60.0, .backend = -1};

static const cli_tool tool = {
    .name = "csrecover serve",
    .brief = "Keeps sessions of measuring for programs in any language: samples are added, "
             "pictures and the next positions asked for, without a start of a process between.",
    .synopsis = "[SOCKET] [OPTION...]",
    .details =
        "SOCKET is the name of a Unix socket to listen on, which only its owner may use (mode "
        "0600). "
        "Without it there is one client, on stdin and stdout.\n"
        "A message is a line of JSON, as {\"do\":\"add\",\"arrays\":[[\"positions\",928],"
        "[\"values\",928]]}, and as many bytes of .npy for each of its arrays. Every message is "
        "answered by one: {\"ok\":true,...} with arrays in the same way, or "
        "{\"ok\":false,\"error\":\"...\"}. What they may say is in docs/session.md.\n"
        "A client has one session, which ends with it. A message that cannot be told from what "
        "follows it, or that takes too long, is answered, and ends the client.\n"
        "Exit code: 0 stdin has ended, 1 failure, 2 wrong usage, 130 interrupted (143 by SIGTERM).",
    .examples = "csrecover serve /run/user/1000/csrecover",
    CLI_OPTIONS(options),
    .defaults = &defaults,
    .operand = offsetof(arguments, socket),
    .optional = true};

#ifdef CSREC_HAS_JSON

typedef struct server {
    const arguments *a;
    serve_limits limits;
    pthread_mutex_t lock;
    int64_t clients;
} server;

typedef struct connection {
    server *of;
    serve_client client;
    serve_source source;
    int in, out;
    bool is_socket;
    double deadline;
} connection;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Until the file is ready, or there is no time left; in short steps, to hear of signals. */
static bool wait_for(const connection *c, int file, short event, bool for_ever) {
    enum { STEP = 200 };
    for (;;) {
        const int ready = poll(&(struct pollfd){file, event, 0}, 1, STEP);
        if (cli_interrupted()) return false;
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return false;
        if (!for_ever && now() > c->deadline) return false;
    }
}

static int64_t read_some(void *context, void *to, size_t n, bool first) {
    connection *c = context;
    if (!wait_for(c, c->in, POLLIN, first)) return -1;
    if (first) c->deadline = now() + c->of->a->timeout;
    return read(c->in, to, n);
}

static bool write_all(void *context, const void *bytes, size_t n) {
    connection *c = context;
    const char *from = bytes;
    c->deadline = now() + c->of->a->timeout;
    while (n > 0) {
        if (!wait_for(c, c->out, POLLOUT, false)) return false;
        const ssize_t done = c->is_socket ? send(c->out, from, n, MSG_NOSIGNAL | MSG_DONTWAIT)
                                          : write(c->out, from, n < 4096 ? n : 4096);
        if (done < 0 && errno != EINTR && errno != EAGAIN) return false;
        if (done <= 0) continue;
        from += done;
        n -= (size_t)done;
    }
    return true;
}

/* Nobody waits for the result. */
static bool is_gone(const csrec_progress *progress, void *context) {
    const connection *c = context;
    struct pollfd p = {c->out, 0, 0};
    (void)progress;
    return cli_interrupted() || (poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)));
}

static void talk(connection *c) {
    serve_message message = {.n = 0};
    csrec_error error;
    csrec_status status = CSREC_OK;
    bool goes_on = true;
    c->client = (serve_client){
        .limits = &c->of->limits, .stops = is_gone, .context = c, .write = write_all};
    c->source.read = read_some;
    c->source.context = c;
    while (goes_on) {
        /* what is left of the last piece has begun already */
        c->deadline = now() + c->of->a->timeout;
        status = serve_message_read(&c->source, c->of->a->message << 20, &message, &error);
        if (status == CSREC_OK)
            goes_on = serve_client_answer(&c->client, &message);
        else if (status != CSREC_STOPPED)
            goes_on =
                serve_client_refuse(&c->client, message.line, error.text) && status == CSREC_DATA;
        else
            goes_on = false;
        serve_message_clear(&message);
    }
    serve_client_close(&c->client);
}

static void *talk_to_socket(void *context) {
    connection *c = context;
    server *s = c->of;
    talk(c);
    close(c->in);
    free(c);
    pthread_mutex_lock(&s->lock);
    s->clients--;
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static bool has_room(server *s) {
    pthread_mutex_lock(&s->lock);
    const bool room = s->clients < s->a->clients;
    s->clients += room;
    pthread_mutex_unlock(&s->lock);
    return room;
}

static void greet(server *s, int file) {
    static const char busy[] =
        "{\"ok\":false,\"error\":\"too many clients; try again later\",\"arrays\":[]}\n";
    pthread_t thread;
    connection *c = calloc(1, sizeof *c);
    if (c && has_room(s)) {
        *c = (connection){.of = s, .in = file, .out = file, .is_socket = true};
        if (pthread_create(&thread, NULL, talk_to_socket, c) == 0) {
            pthread_detach(thread);
            return;
        }
        pthread_mutex_lock(&s->lock);
        s->clients--;
        pthread_mutex_unlock(&s->lock);
    }
    (void)!send(file, busy, sizeof busy - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(file);
    free(c);
}

/* Whether the name is that of a socket on which nobody listens: then it is removed. */
static bool clear_stale(const struct sockaddr_un *name) {
    struct stat info;
    if (lstat(name->sun_path, &info)) return errno == ENOENT;
    if (!S_ISSOCK(info.st_mode)) return false;
    const int probe = socket(AF_UNIX, SOCK_STREAM, 0);
    const bool alive = probe < 0 ||
                       connect(probe, (const struct sockaddr *)name, sizeof *name) == 0 ||
                       errno != ECONNREFUSED;
    if (probe >= 0) close(probe);
    return !alive && unlink(name->sun_path) == 0;
}

static int listen_on(const char *path, int *file) {
    enum { WAITING = 128 };
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof name.sun_path)
        return cli_usage(&tool, "%s: longer than %zu letters; name a shorter path", path,
                         sizeof name.sun_path - 1);
    strcpy(name.sun_path, path);
    if (!clear_stale(&name))
        return cli_failure(&tool, "%s: is there already; end its server, or name another", path);
    *file = socket(AF_UNIX, SOCK_STREAM, 0);
    const mode_t before = umask(0177);
    const bool bound = *file >= 0 && bind(*file, (struct sockaddr *)&name, sizeof name) == 0;
    umask(before);
    if (bound && listen(*file, WAITING) == 0) return CLI_CONTINUE;
    return cli_failure(&tool, "%s: %s", path, strerror(errno));
}

static int serve_socket(server *s) {
    enum { STEP = 200 };
    int file = -1;
    const int code = listen_on(s->a->socket, &file);
    if (code != CLI_CONTINUE) return code;
    cli_note(&tool, "listens on %s", s->a->socket);
    while (!cli_interrupted()) {
        struct pollfd p = {file, POLLIN, 0};
        const int client = poll(&p, 1, STEP) > 0 ? accept(file, NULL, NULL) : -1;
        if (client >= 0) greet(s, client);
    }
    close(file);
    unlink(s->a->socket);
    for (int64_t left = 1; left > 0;) { /* they hear of the signal, too */
        pthread_mutex_lock(&s->lock);
        left = s->clients;
        pthread_mutex_unlock(&s->lock);
        if (left > 0) poll(NULL, 0, STEP / 10);
    }
    return CLI_INTERRUPTED;
}

static int serve_stdin(server *s) {
    connection *c = calloc(1, sizeof *c);
    if (!c) return cli_failure(&tool, "out of memory");
    *c = (connection){.of = s, .in = 0, .out = 1};
    talk(c);
    free(c);
    return cli_interrupted() ? CLI_INTERRUPTED : CLI_DONE;
}

static int serve(const arguments *a) {
    csrec_error error;
    cli_progress progress;
    server s = {.a = a, .lock = PTHREAD_MUTEX_INITIALIZER};
    s.limits = (serve_limits){.entries = a->entries,
                              .memory = (uint64_t)a->memory << 20,
                              .threads = (int)a->threads,
                              .backend = a->backend < 0 ? "auto" : cli_backend_name(a->backend)};
    if (csrec_priors_create(&s.limits.priors, &error)) return cli_failure(&tool, "%s", error.text);
    signal(SIGPIPE, SIG_IGN);
    cli_progress_start(&progress, true);
    const int code = a->socket ? serve_socket(&s) : serve_stdin(&s);
    cli_progress_finish(&progress);
    csrec_priors_destroy(s.limits.priors);
    return code;
}
#else
static int serve(const arguments *a) {
    (void)a;
    return cli_failure(&tool,
                       "this csrecover was built without jansson, which reads JSON; build it "
                       "with jansson 2.12");
}
#endif

int cli_serve(int argc, char **argv) {
    arguments a = defaults;
    const int code = cli_parse(&tool, argc, argv, &a);
    return code == CLI_CONTINUE ? cli_exit_code(serve(&a)) : code;
}
