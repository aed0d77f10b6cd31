/* ranks.c - the ranks of a tool. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "ranks.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "progress.h"

/* ------------------------------------------------------------------ devices and cores --------- */

/* The GPUs of this machine, which CUDA numbers in the same order; 0: not known. */
static int count_gpus(void) {
    DIR *folder = opendir("/proc/driver/nvidia/gpus");
    int n = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) n += entry->d_name[0] != '.';
    if (folder) closedir(folder);
    return n;
}

/* Item i of a list with commas, round and round. */
static void take_item(const char *list, int i, char *item, size_t size) {
    int n = 1;
    for (const char *c = list; *c; c++) n += *c == ',';
    for (i %= n; i > 0; i--) list = strchr(list, ',') + 1;
    snprintf(item, size, "%.*s", (int)strcspn(list, ","), list);
}

void cli_ranks_choose_device(const cli_ranks *ranks) {
    int local_rank = csrec_comm_local_rank(ranks->comm);
    const char *given = getenv("CUDA_VISIBLE_DEVICES");
    char one[64] = "";
    int n = count_gpus();
    if (given && *given)
        take_item(given, local_rank, one, sizeof one);
    else if (!given && n > 1)
        snprintf(one, sizeof one, "%d", local_rank % n);
    if (*one) setenv("CUDA_VISIBLE_DEVICES", one, 1);
}

int64_t cli_ranks_threads(const cli_ranks *ranks) {
    cpu_set_t mine;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int local = csrec_comm_local_size(ranks->comm);
    if (local == 1 || getenv("OMP_NUM_THREADS")) return 0;
    if (sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) < cores)
        return 0; /* the launcher has given each rank its cores */
    return cores > local ? cores / local : 1;
}

/* ------------------------------------------------------------------ one speaks for all -------- */

static void hush(cli_ranks *r) {
    int nowhere = open("/dev/null", O_WRONLY);
    fflush(NULL);
    r->said = tmpfile();
    r->out = dup(STDOUT_FILENO);
    r->err = dup(STDERR_FILENO);
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(r->said ? fileno(r->said) : nowhere, STDERR_FILENO);
        close(nowhere);
    }
}

static void speak(cli_ranks *r) {
    if (r->out < 0) return;
    fflush(NULL);
    dup2(r->out, STDOUT_FILENO);
    dup2(r->err, STDERR_FILENO);
    close(r->out);
    close(r->err);
    r->out = r->err = -1;
}

static void repeat(cli_ranks *r) {
    char line[512];
    if (!r->said) return;
    rewind(r->said);
    while (fgets(line, sizeof line, r->said)) fputs(line, stderr);
}

static void name_rank(cli_ranks *r, const cli_tool *tool) {
    char host[100] = "";
    gethostname(host, sizeof host - 1);
    r->tool = *tool;
    if (!r->comm) return;
    snprintf(r->name, sizeof r->name, "%s on %s (rank %d)", tool->name, host,
             csrec_comm_rank(r->comm));
    r->tool.name = r->name;
}

int cli_ranks_join(const cli_tool *tool, cli_ranks *r) {
    csrec_error error;
    *r = (cli_ranks){.out = -1, .err = -1};
    if (csrec_comm_join(&r->comm, &error)) return cli_failure(tool, "%s", error.text);
    name_rank(r, tool);
    if (!r->comm) return CLI_CONTINUE;
    csrec_comm_hurry_if(r->comm, cli_terminated);
    if (csrec_comm_rank(r->comm) > 0) hush(r);
    return CLI_CONTINUE;
}

csrec_status cli_ranks_take_first(csrec_comm *comm, int tag, int *value, csrec_error *error) {
    csrec_status status = CSREC_OK;
    int from = 0;
    void *data;
    size_t bytes;
    if (csrec_comm_rank(comm) == 0) {
        for (int to = 1; to < csrec_comm_size(comm) && !status; to++)
            status = csrec_comm_send(comm, to, tag, value, sizeof *value, error);
        return status;
    }
    status = csrec_comm_receive(comm, &from, tag, &data, &bytes, error);
    if (status) return status;
    memcpy(value, data, sizeof *value);
    free(data);
    return CSREC_OK;
}

int cli_ranks_agree(cli_ranks *r, int code) {
    csrec_error error;
    int first = code;
    if (!r->comm) return code;
    csrec_status status = cli_ranks_take_first(r->comm, RANK_CODE, &first, &error);
    speak(r);
    if (status) return cli_failure(&r->tool, "%s", error.text);
    if (first != CLI_CONTINUE) return first;
    if (code != CLI_CONTINUE) {
        repeat(r);
        csrec_comm_fail(r->comm, "stopped before the start");
    }
    return code;
}

/* ------------------------------------------------------------------ printed items ------------- */

bool cli_item_give(csrec_comm *comm, int number, char *text, size_t size) {
    char *both = malloc(sizeof number + size + 1);
    csrec_status status = both ? CSREC_OK : CSREC_MEMORY;
    if (both) {
        memcpy(both, &number, sizeof number);
        memcpy(both + sizeof number, text, size + 1);
        status = csrec_comm_send(comm, 0, RANK_ITEM, both, sizeof number + size + 1, NULL);
    }
    free(both);
    free(text);
    return status == CSREC_OK;
}

void cli_items_take(csrec_comm *comm, int numbers, cli_json *json) {
    char **text = calloc((size_t)numbers, sizeof *text);
    void *data;
    size_t bytes;
    while (text && csrec_comm_arrived(comm, RANK_ITEM)) {
        int from = -1, number = 0;
        if (csrec_comm_receive(comm, &from, RANK_ITEM, &data, &bytes, NULL)) break;
        memcpy(&number, data, sizeof number);
        free(text[number]);
        text[number] = data;
    }
    for (int i = 0; text && i < numbers; i++) {
        if (!text[i]) continue;
        fprintf(json->file, "%s%s", json->some ? "," : "", text[i] + sizeof i);
        json->some = true;
        free(text[i]);
    }
    free(text);
}

void cli_ranks_leave(cli_ranks *r) {
    speak(r);
    if (r->said) fclose(r->said);
    csrec_comm_destroy(r->comm);
}
