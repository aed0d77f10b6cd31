/* SPDX-License-Identifier: BSD-3-Clause */
/* status.c - texts of status codes and names of enumerations, each from a single list. */
#include "csrec/solve.h"
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *csrec_status_text(csrec_status status) {
    switch (status) {
#define CSREC_STATUS_CASE(name, text)                                                              \
    case CSREC_##name:                                                                             \
        return text;
        CSREC_STATUS_LIST(CSREC_STATUS_CASE)
#undef CSREC_STATUS_CASE
    }
    return "unknown status";
}

const char *csrec_version(void) {
    return CSREC_VERSION;
}

csrec_status csrec_fail(csrec_error *error, csrec_status status, const char *format, ...) {
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
        /* A name from user input may contain any bytes; the text stays one line. */
        for (char *c = error->text; *c; c++)
            if (*c == '\n' || *c == '\r') *c = '?';
    }
    return status;
}

csrec_status csrec_memory_fail(csrec_error *error, const char *name) {
    return csrec_fail(error, CSREC_MEMORY, "%s%sout of memory", name ? name : "", name ? ": " : "");
}

const char *csrec_range_text(double least, double most, char text[CSREC_RANGE_ROOM]) {
    const bool begins = least > -9e15, ends = most < 9e15; /* counts end there, too */
    if (begins && ends)
        snprintf(text, CSREC_RANGE_ROOM, "%.10g to %.10g", least, most);
    else if (begins || ends)
        snprintf(text, CSREC_RANGE_ROOM, "%.10g or %s", begins ? least : most,
                 begins ? "more" : "less");
    else
        text[0] = '\0';
    return text;
}

static const struct {
    int reason;
    const char *remedy;
} remedies[] = {{EMFILE, "close files, or raise the limit of this process, ulimit -n"},
                {ENFILE, "close files, or raise the limit of the system, fs.file-max"},
                {ENOSPC, "make room on the disk"},
                {EDQUOT, "make room within the quota"},
                {EFBIG, "raise the limit, ulimit -f, or choose another disk"},
                {ENOMEM, "close other programs, or raise the limit of memory"},
                {EACCES, "change the permissions, or choose another"},
                {EPERM, "change the permissions, or choose another"},
                {EROFS, "choose another disk, this one is read-only"},
                {EISDIR, "name a file in it"},
                {ENOTDIR, "check the name: a part of it is no folder"},
                {ELOOP, "check its links, which lead in a circle"},
                {ENAMETOOLONG, "choose a shorter name"},
                {EIO, "check the disk"}};

const char *csrec_errno_remedy(int reason, const char *otherwise) {
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (remedies[i].reason == reason) return remedies[i].remedy;
    return otherwise;
}

static int find_name(const char *const *names, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return (int)i;
    return -1;
}

/* csrec_<kind>_name and csrec_<kind>_parse, which is false for other names. Enumerations count from
 * 0; the names are in their order. */
#define CSREC_NAMED(kind, ...)                                                                     \
    static const char *const kind##_names[] = {__VA_ARGS__};                                       \
    const char *csrec_##kind##_name(csrec_##kind value) {                                          \
        return kind##_names[value];                                                                \
    }                                                                                              \
    bool csrec_##kind##_parse(const char *name, csrec_##kind *value) {                             \
        int i = find_name(kind##_names, sizeof kind##_names / sizeof *kind##_names, name);         \
        if (i >= 0) *value = (csrec_##kind)i;                                                      \
        return i >= 0;                                                                             \
    }

CSREC_NAMED(pattern, "none", "uniform", "poisson", "jitter")
CSREC_NAMED(order, "morton", "hilbert", "raster")
CSREC_NAMED(columns, "paper", "two-sided")

const char *csrec_outcome_text(csrec_outcome outcome) {
    static const char *const texts[] = {
        "converged",           "done",       "coefficients below the minimum",
        "stagnation",          "step limit", "no independent column left",
        "bound cannot be met", "interrupted"};
    return texts[outcome];
}
