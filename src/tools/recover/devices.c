/* SPDX-License-Identifier: BSD-3-Clause */
/* devices.c - the processes and threads that share inputs: ranks; the GPUs of --devices; and
 * several inputs over GPUs, or over the processors. One input is shared by the library. Of several
 * inputs each thread is a rank, as a process under MPI is: it reads, recovers and writes the next
 * input that no other has taken. A device has four threads where inputs are small, so that it works
 * for some while others read or write. */
#include <stdlib.h>
#include <string.h>

#include "recover.h"

/* Threads of a device, and bytes of the largest input of which memory has room for so many. On the
 * CPU each processor takes inputs for itself where all share one less well, by measurement: up to
 * 512 x 512 values in float32, from 4 inputs a processor on. */
enum { THREADS = 4, SMALL = 16 << 20, LITTLE = 2 << 20, FILES = 4 };

static const char LISTED[] = "--list-devices lists them";

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

/* Of --devices each process of a machine uses one. */
static void devices_of_rank(cli_request *request, int local_rank) {
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
    if (request->a.threads > 0) return request->a.threads;
    if (given && atoi(given) > 0) return atoi(given);
    return cli_processors();
}

static void share_processors(cli_request *own, int parts) {
    const int64_t threads = threads_of(own) / parts;
    own->a.threads = threads < 1 ? 1 : threads;
}

/* Threads of one device have its share of the processors each: they take turns with the device. */
static void share_devices(cli_request *own, int rank, int n) {
    share_processors(own, own->n_devices < n ? own->n_devices : n);
    devices_of_rank(own, rank);
}

/* What is not there is an error that takes no memory. */
static bool are_within(const cli_operands *inputs, int64_t bytes) {
    struct stat info;
    bool within = true;
    for (int i = 0; i < inputs->n && within; i++)
        within = !cli_stat(inputs->text[i], &info) || info.st_size <= bytes;
    return within;
}

/* What --memory and --minutes allow is for one input at a time. */
static int count_on_processors(const cli_request *request, int inputs) {
    const cli_recover_arguments *a = &request->a;
    int n, device[CSREC_DEVICES_MOST];
    const int64_t threads = threads_of(request);
    if (threads > inputs / FILES || a->memory || a->minutes > 0.0 ||
        !are_within(&a->inputs, LITTLE))
        return 1;
    const bool cpu = a->backend == backend_number("cpu");
    return cpu || csrec_backend_devices("cuda", device, &n, NULL) ? (int)threads : 1;
}

/* Finds the devices. */
static int count_on_devices(cli_request *request, int inputs) {
    const cli_recover_arguments *a = &request->a;
    if (!a->devices && csrec_backend_devices("cuda", request->device, &request->n_devices, NULL))
        return 1; /* each input tells why */
    const int threads = request->n_devices * (are_within(&a->inputs, SMALL) ? THREADS : 1);
    return threads < inputs ? threads : inputs;
}

/* Of n > 1 threads, each with inputs of its own. */
static int run_members(const cli_request *request, bool on_devices, int n, cli_progress *progress) {
    cli_folders made = {.n = 0};
    int code = cli_folders_make(request, &made);
    member *members = code == CLI_CONTINUE ? calloc((size_t)n, sizeof *members) : NULL;
    for (int k = 0; members && k < n; k++) {
        members[k].request = *request;
        members[k].progress = k ? &members[k].own : progress;
        if (on_devices)
            share_devices(&members[k].request, k, n);
        else
            share_processors(&members[k].request, n);
    }
    if (members && !csrec_comm_hub_run(n, run_member, members))
        code = members[0].code;
    else if (code == CLI_CONTINUE)
        code = cli_failure(request->tool, "out of memory");
    free(members);
    cli_folders_drop(&made);
    return code;
}

int cli_devices_run(cli_request *request, cli_progress *progress) {
    const cli_recover_arguments *a = &request->a;
    const int inputs = cli_recoveries(a);
    const bool on_devices = a->backend == backend_number("cuda");
    int n = 1; /* the library is left to choose */
    if (!request->comm && !request->tiles && inputs > 1 && !a->info && !a->sequence)
        n = on_devices ? count_on_devices(request, inputs) : count_on_processors(request, inputs);
    return n > 1 ? run_members(request, on_devices, n, progress)
                 : cli_request_run(request, progress);
}

int cli_request_share(cli_request *request, const cli_ranks *ranks) {
    cli_recover_arguments *a = &request->a;
    if (!ranks->comm) return CLI_CONTINUE;
    for (int i = 0; i < a->inputs.n; i++)
        if (cli_is_dash(a->inputs.text[i]))
            return cli_usage(request->tool,
                             "stdin is read by one process; name files, or start it without MPI");
    if (a->sequence)
        return cli_usage(request->tool, "--sequence is for one process; start it without MPI");
    int n = cli_recoveries(a), size = csrec_comm_size(ranks->comm);
    if (n > 1 && n < size)
        return cli_usage(request->tool,
                         "%d ranks share %d inputs; start as many ranks as inputs, or fewer", size,
                         n);
    if (n == 1 && a->info)
        return cli_usage(request->tool, "--info describes one input; start it without MPI");
    if (a->threads == 0) a->threads = cli_ranks_threads(ranks);
    if (a->devices)
        devices_of_rank(request, csrec_comm_local_rank(ranks->comm));
    else
        cli_ranks_choose_device(ranks);
    if (n > 1)
        request->comm = ranks->comm;
    else
        request->tiles = ranks->comm;
    if (csrec_comm_rank(request->tiles) > 0) { /* rank 0 speaks for all */
        a->quiet = true;
        a->verbose = false;
    }
    request->tool = &ranks->tool;
    return CLI_CONTINUE;
}
