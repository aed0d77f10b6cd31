/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.c - the progress bar and the interrupt flag of the tools. */
#include "progress.h"

#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 16, LINE = 256 };

/* The number of the last signal, or 0; a signal handler may access nothing else. */
static atomic_int interrupted;

/* Two threads may be here at once, with a signal each. */
static void interrupt(int number) {
    if (atomic_exchange(&interrupted, number) == 0) return;
    signal(number, SIG_DFL); /* the default action, after this returns */
    raise(number);
}

static atomic_bool bar_shown; /* of any thread */

const char *cli_line_start(void) {
    return bar_shown ? "\r\033[K" : "";
}

bool cli_interrupted(void) {
    return interrupted != 0;
}

bool cli_terminated(void) {
    return interrupted == SIGTERM;
}

int cli_exit_code(int code) {
    return code == CLI_INTERRUPTED && interrupted ? 128 + interrupted : code;
}

double cli_seconds(void) {
    struct timespec clock;
    clock_gettime(CLOCK_MONOTONIC, &clock);
    return (double)clock.tv_sec + 1e-9 * (double)clock.tv_nsec;
}

static void take_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = interrupt;
    action.sa_flags = SA_RESTART;
    for (int i = 0; i < 3; i++) {
        /* Keeps ignored signals ignored: nohup ignores SIGHUP, and a shell ignores Ctrl-C for
         * background jobs. */
        bool deaf = numbers[i] == SIGHUP && sigaction(SIGHUP, NULL, &before) == 0 &&
                    before.sa_handler == SIG_IGN;
        if (!deaf) sigaction(numbers[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN); /* a failed write, which removes its temporary file */
}

void cli_progress_start(cli_progress *progress, bool quiet) {
    *progress = (cli_progress){.bar = !quiet && isatty(STDERR_FILENO)};
    take_signals();
}

void cli_progress_share(cli_progress *progress, csrec_comm *comm) {
    progress->comm = comm;
    progress->bar = progress->bar && csrec_comm_rank(comm) == 0;
}

void cli_progress_next(cli_progress *progress, const char *label, double goal) {
    snprintf(progress->label, sizeof progress->label, "%s", label);
    for (char *c = progress->label; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    progress->stage[0] = '\0';
    progress->goal = goal;
    progress->share = 0.0;
    progress->run = (cli_run){.part = 0.0};
}

void cli_progress_within(cli_progress *progress, const cli_run *run) {
    progress->run = *run;
}

double cli_share_of_stages(const csrec_estimate *estimate, const char *stage, double share) {
    double before = 0.0, whole = 0.0, done = -1.0;
    for (int i = 0; i < estimate->n_stages; i++) {
        const csrec_stage *s = &estimate->stage[i];
        if (done < 0.0 && strncmp(stage, s->name, strlen(s->name)) == 0)
            done = before + share * s->seconds;
        before += s->seconds;
        whole += s->seconds;
    }
    return done >= 0.0 && whole > 0.0 ? done / whole : -1.0;
}

double cli_seconds_left(double share, double elapsed, double expected) {
    if (expected > 0.0) {
        double first = 0.05 * expected;
        return (1.0 - share) * expected * (elapsed + first) / (share * expected + first);
    }
    return share > 0.0 ? elapsed * (1.0 - share) / share : -1.0;
}

/* The number of iterations of a pursuit is not known; its residual falls about exponentially. */
static double share_of(const cli_progress *progress, const csrec_progress *now) {
    double share = now->total > 0 ? (double)now->done / (double)now->total : 0.0;
    if (progress->goal > 0.0 && now->residual > 0.0 && now->residual < 1.0)
        share = fmax(share, log(now->residual) / log(progress->goal));
    return fmin(share, 1.0);
}

void cli_time_text(double seconds, char text[32]) {
    if (seconds < 100.0)
        snprintf(text, 32, "%.0f s", ceil(seconds));
    else if (seconds < 6000.0)
        snprintf(text, 32, "%.0f min", seconds / 60.0);
    else
        snprintf(text, 32, "%.1f h", seconds / 3600.0);
}

/* 870 it/s, 12.3k it/s, 1.2M it/s; or grids or samples a second. */
static void put_rate(char *text, size_t size, double rate, const char *stage) {
    const char *what = stage && strstr(stage, "grids")     ? "grids"
                       : stage && strstr(stage, "samples") ? "samples"
                                                           : "it";
    const char *unit = rate >= 1e6 ? "M" : rate >= 1e4 ? "k" : "";
    double value = rate >= 1e6 ? rate * 1e-6 : rate >= 1e4 ? rate * 1e-3 : rate;
    snprintf(text, size, "%.*f%s %s/s", value < 100.0 ? 1 : 0, value, unit, what);
}

static void append(char line[LINE], const char *text) {
    size_t used = strlen(line);
    snprintf(line + used, LINE - used, "%s", text);
}

static void append_bar(char line[LINE], double share) {
    char bar[BAR + 1], text[64];
    int full = (int)(share * BAR);
    memset(bar, '#', (size_t)full);
    memset(bar + full, '.', (size_t)(BAR - full));
    bar[BAR] = '\0';
    snprintf(text, sizeof text, " [%s] %3.0f %%", bar, 100.0 * share);
    append(line, text);
}

/* Of the run, or of the stage where there is none; below 0: not known. */
static double seconds_left(const cli_progress *progress, double second) {
    const cli_run *run = &progress->run;
    if (progress->comm) return cli_seconds_left(progress->all, second - run->began, 0.0);
    bool stages = run->input.n_stages > 0 || run->input.tiles > 1;
    if (progress->share <= 0.01 && !(run->expected > 0.0 && stages)) return -1.0;
    if (run->part > 0.0)
        return cli_seconds_left(progress->share, second - run->began, run->expected);
    return cli_seconds_left(progress->share, second - progress->start, 0.0);
}

/* If the end is not known, a count replaces the bar and the time left. */
static void compose(const cli_progress *progress, const csrec_progress *now, double second,
                    char line[LINE]) {
    char text[64], time[32];
    double share = progress->comm ? progress->all : progress->share;
    double seconds = second - progress->start;
    double left = seconds_left(progress, second);
    line[0] = '\0';
    append(line, progress->label);
    append(line, now->stage ? now->stage : "");
    if (share > 0.0) {
        append_bar(line, share);
    } else {
        snprintf(text, sizeof text, " %lld", (long long)now->done);
        append(line, text);
    }
    if (seconds > 0.0 && now->done > 0) {
        put_rate(text, sizeof text, (double)now->done / seconds, now->stage);
        append(line, "  ");
        append(line, text);
    }
    if (now->residual >= 0.0) {
        snprintf(text, sizeof text, "  residual %.4f", now->residual);
        append(line, text);
    }
    if (left >= 0.0 && (seconds > 0.5 || second - progress->run.began > 0.5)) {
        cli_time_text(left, time);
        snprintf(text, sizeof text, "  %s left", time);
        append(line, text);
    }
}

/* A line longer than the terminal would leave its first row on the screen. */
static int columns(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) return size.ws_col - 1;
    return 79;
}

/* A stage whose share goes on from the one before is part of it, as the rounds of learning are. */
static void begin_stage(cli_progress *progress, const char *stage, double share, double second) {
    bool goes_on = progress->stage[0] && share > 0.0 && share >= progress->share;
    snprintf(progress->stage, sizeof progress->stage, "%s", stage);
    if (goes_on) return;
    progress->start = second;
    if (progress->run.part == 0.0) progress->share = 0.0;
}

static void update(cli_progress *progress, const csrec_progress *now, double second) {
    const char *stage = now->stage ? now->stage : "work";
    const cli_run *run = &progress->run;
    double share = share_of(progress, now);
    if (strncmp(progress->stage, stage, sizeof progress->stage - 1) != 0)
        begin_stage(progress, stage, share, second);
    if (run->input.n_stages > 0) share = cli_share_of_stages(&run->input, stage, share);
    if (run->part > 0.0) share = run->before + run->part * fmax(share, 0.0);
    progress->share = fmax(progress->share, share);
}

static void draw(const cli_progress *progress, const csrec_progress *now, double second) {
    char line[LINE];
    compose(progress, now, second, line);
    fprintf(stderr, "\r\033[K%.*s", columns(), line);
    fflush(stderr);
    bar_shown = true;
}

void cli_progress_lose(cli_progress *progress, const char *why) {
    if (!progress->lost) snprintf(progress->why.text, sizeof progress->why.text, "%s", why);
    progress->lost = true;
    if (!interrupted) interrupted = SIGTERM;
}

/* Rank 0 shows the share of all. */
static void meet(cli_progress *progress, double second) {
    csrec_error error;
    double all = 0.0, share = progress->run.part > 0.0 ? progress->share : 0.0;
    bool again = second - progress->sent < 0.1;
    if (again && csrec_comm_rank(progress->comm) > 0) return;
    if (!again) progress->sent = second;
    if (csrec_comm_poll(progress->comm, share, &all, &error))
        cli_progress_lose(progress, error.text);
    progress->all = all;
}

bool cli_progress_report(const csrec_progress *now, void *context) {
    cli_progress *progress = context;
    double second = cli_seconds();
    if (progress->bar || progress->comm) update(progress, now, second);
    if (progress->comm) meet(progress, second);
    if (progress->bar && second - progress->last >= 0.1) {
        draw(progress, now, second);
        progress->last = second;
        progress->drawn = true;
    }
    return interrupted != 0 && !progress->patient;
}

void cli_progress_finish(cli_progress *progress) {
    if (!progress->drawn) return;
    fputs(cli_line_start(), stderr);
    bar_shown = progress->drawn = false;
}
