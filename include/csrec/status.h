/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/status.h - status codes, errors, progress, devices; included by every other header. */
#ifndef CSREC_STATUS_H
#define CSREC_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define CSREC_API
#else
#define CSREC_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, text): the one list of status codes. */
#define CSREC_STATUS_LIST(X)                                                                       \
    X(OK, "success")                                                                               \
    X(ARGUMENT, "argument out of range")                                                           \
    X(MEMORY, "out of memory")                                                                     \
    X(FILE, "file cannot be opened, read or written")                                              \
    X(FORMAT, "file is not in the expected format")                                                \
    X(DATA, "data are not usable: not finite, repeated, out of range or inconsistent")             \
    X(UNSUPPORTED, "not supported by this build or this combination")                              \
    X(DEVICE, "the compute device failed or is missing")                                           \
    X(STOPPED, "stopped by the progress callback")

typedef enum csrec_status {
#define CSREC_STATUS_ENUM(name, text) CSREC_##name,
    CSREC_STATUS_LIST(CSREC_STATUS_ENUM)
#undef CSREC_STATUS_ENUM
} csrec_status;

typedef struct csrec_error {
    char text[512]; /* one line, no newline at its end */
} csrec_error;

/* The text of a status; never NULL. */
CSREC_API const char *csrec_status_text(csrec_status status);

/* "major.minor.patch" of the library in use. */
CSREC_API const char *csrec_version(void);

/* The one of n names that was probably meant by `given`: it begins with the same letter and differs
 * by the fewest letters put in, left out, changed or swapped, a third of them at most. NULL: none.
 */
CSREC_API const char *csrec_name_near(const char *given, int n, const char *const *names);

/* Numbers from least to most in words: "0 to 5", "1 or more" where most is 9e15 at least, which
 * stands for no end, "5 or less", "" without both ends. Returns text. */
enum { CSREC_RANGE_ROOM = 64 };
CSREC_API const char *csrec_range_text(double least, double most, char text[CSREC_RANGE_ROOM]);

/* What to do after a call of the system has failed with errno `reason`, as "make room on the disk";
 * `otherwise` where a remedy depends on what was tried. */
CSREC_API const char *csrec_errno_remedy(int reason, const char *otherwise);

/* ------------------------------------------------------------------ progress ------------------ */

typedef struct csrec_progress {
    const char *stage;   /* name of the current work */
    int64_t done, total; /* iterations (or grids) done, and their maximum; total 0: unknown */
    double residual;     /* ||r|| / ||y||; negative: unknown */
} csrec_progress;

/* Return true to stop. Called on the thread that made the call, only during the call, at most about
 * every 10 ms. No lock is held: it may call the library again, and calls of other threads continue.
 * Calls inside it may run on one thread. */
typedef bool (*csrec_progress_fn)(const csrec_progress *progress, void *context);

/* ------------------------------------------------------------------ devices ------------------- */

/* Line i of the listing of backends and their devices: the backend's name, and into text what the
 * device is or why it cannot be used. false past the end. */
CSREC_API bool csrec_backend_info(int i, const char **name, char *text, size_t size);

enum { CSREC_DEVICES_MOST = 64 };

/* The numbers of the devices that a backend's name stands for, [*n]: "cuda" for all usable ones,
 * "cuda:0,2" for those two, in which a device may come twice; none for "auto". CSREC_ARGUMENT:
 * unknown name; CSREC_DEVICE: not built, or not usable. Starts the driver. Thread-safe. */
CSREC_API csrec_status csrec_backend_devices(const char *backend, int device[CSREC_DEVICES_MOST],
                                             int *n, csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
