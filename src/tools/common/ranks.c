/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.c - the ranks of a tool. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "ranks.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fingerprint.h"
#include "progress.h"

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

int cli_processors(void) {
#ifdef __linux__
    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof mine, &mine) == 0) return CPU_COUNT(&mine);
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 1 ? (int)online : 1;
}

int64_t cli_ranks_threads(const cli_ranks *ranks) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int local = csrec_comm_local_size(ranks->comm);
    if (local == 1 || getenv("OMP_NUM_THREADS")) return 0;
    /* Has the launcher given each rank its cores? */
    if (cli_processors() < cores) return 0;
    return cores > local ? cores / local : 1;
}

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
    csrec_status status = csrec_comm_join(&r->comm, &error);
    if (status == CSREC_STOPPED) return CLI_FAILURE; /* rank 0 tells why */
    if (status) return cli_failure(tool, "%s", error.text);
    name_rank(r, tool);
    if (!r->comm) return CLI_CONTINUE;
    csrec_comm_hurry_if(r->comm, cli_terminated);
    if (csrec_comm_rank(r->comm) > 0) hush(r);
    return CLI_CONTINUE;
}

csrec_status cli_ranks_take_first(csrec_comm *comm, int tag, int *value, csrec_error *error) {
    csrec_status status = CSREC_OK;
    int from = 0;
    if (csrec_comm_rank(comm) > 0)
        return csrec_comm_take(comm, &from, tag, value, sizeof *value, error);
    for (int to = 1; to < csrec_comm_size(comm) && !status; to++)
        status = csrec_comm_send(comm, to, tag, value, sizeof *value, error);
    return status;
}

/* What rank 0 hears of another: its code, name and card, and the last line that it has said. */
typedef struct hello {
    int code;
    char *name, *card, *said; /* to be freed */
} hello;

static csrec_status give_text(csrec_comm *comm, const char *text, csrec_error *error) {
    return csrec_comm_send(comm, 0, RANK_CARD, text, strlen(text) + 1, error);
}

static csrec_status introduce(cli_ranks *r, int code, const char *card, csrec_error *error) {
    char line[1200] = "";
    if (r->said) rewind(r->said);
    while (r->said && fgets(line, sizeof line, r->said)) line[strcspn(line, "\n")] = '\0';
    csrec_status status = csrec_comm_send(r->comm, 0, RANK_CARD, &code, sizeof code, error);
    if (!status) status = give_text(r->comm, r->name, error);
    if (!status) status = give_text(r->comm, card ? card : "", error);
    return status ? status : give_text(r->comm, line, error);
}

static csrec_status take_text(csrec_comm *comm, int from, char **text, csrec_error *error) {
    void *data;
    size_t bytes;
    CLI_TRY(csrec_comm_receive(comm, &from, RANK_CARD, &data, &bytes, error));
    *text = data;
    return bytes > 0 && (*text)[bytes - 1] == '\0'
               ? CSREC_OK
               : cli_fail(error, CSREC_DATA, "process %d is another program", from);
}

static csrec_status meet(csrec_comm *comm, int from, hello *h, csrec_error *error) {
    csrec_status status = csrec_comm_take(comm, &from, RANK_CARD, &h->code, sizeof h->code, error);
    if (!status) status = take_text(comm, from, &h->name, error);
    if (!status) status = take_text(comm, from, &h->card, error);
    return status ? status : take_text(comm, from, &h->said, error);
}

/* Whether the rank was started with other things; then it has told how. */
static bool tell_difference(const hello *h, const char *card) {
    cli_difference d;
    if (!card || !*h->card || !cli_fingerprint_compare(h->card, card, &d)) return false;
    /* A rank that has failed may not have looked for its prior. */
    if (h->code != CLI_CONTINUE && strcmp(d.name, "prior") == 0) return false;
    const cli_tool tool = {.name = h->name};
    cli_failure(&tool, "differs from rank 0 in %s: %s, and there %s; start all ranks alike", d.name,
                *d.first ? d.first : "not given", *d.second ? d.second : "not given");
    return true;
}

/* Whether the rank is another tool. The name of a rank begins with that of its tool. */
static bool tell_tool(const hello *h, const char *mine) {
    const cli_tool tool = {.name = h->name};
    int length = (int)strcspn(mine, " ");
    if (strncmp(h->name, mine, (size_t)length + 1) == 0) return false;
    cli_failure(&tool, "is another tool than rank 0, which is %.*s; start all ranks alike", length,
                mine);
    return true;
}

/* The code of all after that of rank k is known. Where rank 0 has failed, it has said why. */
static int judge(const hello *h, const cli_ranks *r, int code, const char *card) {
    const char *message = strstr(h->said, ": ");
    const cli_tool tool = {.name = h->name};
    if (code != CLI_CONTINUE) return code;
    if (tell_tool(h, r->name) || tell_difference(h, card)) return CLI_FAILURE;
    if (h->code == CLI_CONTINUE) return code;
    return cli_failure(&tool, "%s", message ? message + 2 : "stopped before the start");
}

static int judge_all(cli_ranks *r, int code, const char *card, csrec_error *error) {
    csrec_status status = CSREC_OK;
    int all = code;
    for (int k = 1; k < csrec_comm_size(r->comm) && !status; k++) {
        hello h = {0};
        status = meet(r->comm, k, &h, error);
        if (!status && all == code) all = judge(&h, r, code, card);
        free(h.name);
        free(h.card);
        free(h.said);
    }
    return status ? cli_failure(&r->tool, "%s", error->text) : all;
}

int cli_ranks_agree(cli_ranks *r, int code, const char *card) {
    csrec_error error;
    if (!r->comm) return code;
    if (csrec_comm_rank(r->comm) == 0) {
        code = judge_all(r, code, card, &error);
        if (cli_ranks_take_first(r->comm, RANK_CODE, &code, &error)) code = CLI_FAILURE;
        return code;
    }
    fflush(NULL);
    csrec_status status = introduce(r, code, card, &error);
    if (!status) status = cli_ranks_take_first(r->comm, RANK_CODE, &code, &error);
    speak(r);
    return status ? cli_failure(&r->tool, "%s", error.text) : code;
}

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

bool cli_items_take(csrec_comm *comm, int numbers, cli_json *json) {
    char **text = calloc((size_t)numbers, sizeof *text);
    bool whole = text != NULL;
    void *data;
    size_t bytes;
    while (text && csrec_comm_arrived(comm, RANK_ITEM)) {
        int from = -1, number = 0;
        if (csrec_comm_receive(comm, &from, RANK_ITEM, &data, &bytes, NULL)) break;
        if (bytes > sizeof number) memcpy(&number, data, sizeof number);
        if (bytes <= sizeof number || number < 0 || number >= numbers || text[number] ||
            ((const char *)data)[bytes - 1] != '\0') {
            whole = false;
            free(data);
            continue;
        }
        text[number] = data;
    }
    for (int i = 0; text && i < numbers; i++) {
        if (!text[i]) continue;
        fprintf(json->file, "%s%s", json->some ? "," : "", text[i] + sizeof i);
        json->some = true;
        free(text[i]);
    }
    free(text);
    return whole;
}

static const char *const rank_names[] = {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"};
enum { RANK_NAMES = sizeof rank_names / sizeof *rank_names };

static bool has_rank(void) {
    for (int i = 0; i < RANK_NAMES; i++)
        if (getenv(rank_names[i])) return true;
    return false;
}

/* Whether the launcher has started this very process, and not a script that did: MPI begins once in
 * each of a launcher's processes, and the script may start a tool that needs it. */
static bool is_rank_itself(void) {
    char path[64], *entry = NULL;
    size_t room = 0;
    bool itself = has_rank();
    if (!itself) return false;
    snprintf(path, sizeof path, "/proc/%ld/environ", (long)getppid());
    FILE *file = fopen(path, "r");
    while (file && itself && getdelim(&entry, &room, '\0', file) > 0)
        for (int i = 0; i < RANK_NAMES; i++) {
            const size_t length = strlen(rank_names[i]);
            itself = itself && (strncmp(entry, rank_names[i], length) != 0 || entry[length] != '=');
        }
    if (file) fclose(file);
    free(entry);
    return itself;
}

int cli_ranks_alone(const char *program) {
    const cli_tool tool = {.name = program};
    cli_ranks ranks = {.out = -1, .err = -1};
    if (!is_rank_itself() || csrec_comm_join(&ranks.comm, NULL) || !ranks.comm) return CLI_CONTINUE;
    name_rank(&ranks, &tool);
    int code = cli_ranks_agree(&ranks, CLI_CONTINUE, NULL);
    cli_ranks_leave(&ranks);
    return code;
}

void cli_ranks_leave(cli_ranks *r) {
    speak(r);
    if (r->said) fclose(r->said);
    csrec_comm_destroy(r->comm);
}
