/* SPDX-License-Identifier: BSD-3-Clause */
/* devices.c - the GPUs of one process: --devices, and several inputs over them. One input
 * is shared by the library. Of several inputs each thread is a rank, as a process under MPI is: it
 * reads, recovers and writes the next input that no other has taken. A device has two threads where
 * inputs are small, so that it works for one while the other reads or writes. */
#define _GNU_SOURCE /* sched_getaffinity */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "recover.h"

/* Threads of a device, and bytes of the largest input of which memory has room for two. */
enum { THREADS = 2, SMALL = 16 << 20 };

static const char LISTED[] = "--list-devices lists them";

/* ------------------------------------------------------------------ --devices ----------------- */

static int backend_number(const char *name) {
    int i = 0;
    while (cli_backend_name(i) && strcmp(cli_backend_name(i), name) != 0) i++;
    return i;
}

static int check_repeated(const cli_request *request) {
    for (int i = 0; i < request->n_devices; i++)
        for (int k = 0; k < i; k++)
            if (request->device[i] == request->device[k])
                return cli_usage(request->tool, "--devices %s: device %d comes twice",
                                 request->a.devices, request->device[i]);
    return CLI_CONTINUE;
}

int cli_devices_check(cli_request *request) {
    cli_recover_arguments *a = &request->a;
    csrec_error error;
    const int cpu = backend_number("cpu"), cuda = backend_number("cuda");
    if (!a->devices) return CLI_CONTINUE;
    if (a->backend == cpu)
        return cli_usage(request->tool, "--devices are GPUs; omit it, or --backend cpu");
    int length = snprintf(request->backend, sizeof request->backend, "cuda:%s", a->devices);
    csrec_recover_options options;
    csrec_recover_defaults(&options);
    options.backend = request->backend;
    if (length >= (int)sizeof request->backend ||
        csrec_recover_options_check(&options, false, false, &error))
        return cli_usage(request->tool, "--devices: '%s' is no list of numbers, as 0,2; %s",
                         a->devices, LISTED);
    a->backend = cuda;
    if (csrec_backend_devices(request->backend, request->device, &request->n_devices, &error))
        return cli_failure(request->tool, "--devices: %s; %s", error.text, LISTED);
    return check_repeated(request);
}

void cli_devices_of_rank(cli_request *request, int local_rank) {
    int device = request->device[local_rank % request->n_devices];
    snprintf(request->backend, sizeof request->backend, "cuda:%d", device);
    request->n_devices = 1;
}

const char *cli_devices_text(const csrec_recover_report *report, char *text, size_t size) {
    snprintf(text, size, "%s", report->backend);
    for (int i = 0; i < report->n_devices; i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%c%d", i ? ',' : ':', report->device[i]);
    }
    return text;
}

/* ------------------------------------------------------------------ inputs over devices ------- */

typedef struct member {
    cli_request request;
    cli_progress own, *progress;
    int code;
} member;

/* A csrec_comm_run_fn. A thread that ends before its inputs would keep the others waiting. */
static void run_member(void *members, int rank, csrec_comm *comm, const csrec_error *why) {
    member *m = (member *)members + rank;
    (void)why;
    m->code = CLI_FAILURE;
    if (!comm) return;
    m->request.comm = comm;
    m->code = cli_request_run(&m->request, m->progress);
    if (rank > 0 && m->code != CLI_DONE && !m->progress->lost)
        csrec_comm_fail(comm, "stopped before the start");
}

/* Without --threads or OMP_NUM_THREADS those that the process may run on. */
static int64_t threads_of(const cli_request *request) {
    const char *given = getenv("OMP_NUM_THREADS");
    cpu_set_t mine;
    if (request->a.threads > 0) return request->a.threads;
    if (given && atoi(given) > 0) return atoi(given);
    return sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 1;
}

/* Threads of one device have its share of the processors each: they take turns with the device. */
static void make_member(const cli_request *request, int rank, int n, cli_progress *progress,
                        member *m) {
    const int devices = request->n_devices < n ? request->n_devices : n;
    int64_t threads = threads_of(request) / devices;
    m->request = *request;
    m->progress = rank ? &m->own : progress;
    cli_devices_of_rank(&m->request, rank);
    m->request.a.threads = threads < 1 ? 1 : threads;
}

static bool are_small(const cli_operands *inputs) {
    struct stat info;
    bool small = true;
    for (int i = 0; i < inputs->n && small; i++)
        small = cli_stat(inputs->text[i], &info) && info.st_size <= SMALL;
    return small;
}

/* Threads for the inputs; 1: the library is left to choose. */
static int count_threads(cli_request *request) {
    const cli_recover_arguments *a = &request->a;
    int inputs = cli_recoveries(a);
    if (request->comm || request->tiles || inputs == 1 || a->info) return 1;
    if (a->backend != backend_number("cuda")) return 1;
    if (!a->devices && csrec_backend_devices("cuda", request->device, &request->n_devices, NULL))
        return 1; /* each input tells why */
    int threads = request->n_devices * (are_small(&a->inputs) ? THREADS : 1);
    return threads < inputs ? threads : inputs;
}

int cli_devices_run(cli_request *request, cli_progress *progress) {
    cli_folders made = {.n = 0};
    int n = count_threads(request);
    if (n <= 1) return cli_request_run(request, progress);
    int code = cli_folders_make(request, &made);
    member *members = code == CLI_CONTINUE ? calloc((size_t)n, sizeof *members) : NULL;
    for (int k = 0; members && k < n; k++) make_member(request, k, n, progress, &members[k]);
    if (members && !csrec_comm_hub_run(n, run_member, members))
        code = members[0].code;
    else if (code == CLI_CONTINUE)
        code = cli_failure(request->tool, "out of memory");
    free(members);
    cli_folders_drop(&made);
    return code;
}
