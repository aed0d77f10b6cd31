/* SPDX-License-Identifier: BSD-3-Clause */
/* device.h - where work runs: the table of devices, a context on one of them, and the one function
 * in which "auto" falls back to the CPU.
 *
 * A module with work for devices declares a table of functions in its engine.h, the CPU's engine
 * first and a device's in kernels/<room>, and makes an array of them by kind:
 *
 *     static const csrec_conv2d_engine *const engines[CSREC_DEVICE_KINDS] =
 *         CSREC_ENGINES(&csrec_conv2d_cpu, &csrec_conv2d_cuda);
 */
#pragma once

#include "base/error.h"

typedef enum csrec_device_kind {
    CSREC_DEVICE_CPU,
    CSREC_DEVICE_CUDA,
    CSREC_DEVICE_KINDS
} csrec_device_kind;

/* Engines by kind of device; NULL for what is not built. No other code checks what is built. */
#ifdef CSREC_HAS_CUDA
#define CSREC_ENGINES(cpu, cuda)                                                                   \
    { [CSREC_DEVICE_CPU] = (cpu), [CSREC_DEVICE_CUDA] = (cuda) }
#else
#define CSREC_ENGINES(cpu, cuda)                                                                   \
    { [CSREC_DEVICE_CPU] = (cpu) }
#endif

/* The device passed to work. Any number of them may be open at a time. */
typedef struct csrec_context {
    csrec_device_kind kind;
    int ordinal;  /* number of the device among those of its kind */
    void *stream; /* the kind's queue handle for its work; NULL: the device's default queue */
} csrec_context;

/* Devices of one kind that share work. */
typedef struct csrec_device_list {
    csrec_device_kind kind;
    int n, ordinal[CSREC_DEVICES_MOST];
} csrec_device_list;

typedef struct csrec_device {
    /* One line about device i; false past the last. If none is usable, entry 0 gives the reason. */
    bool (*describe)(int i, char *text, size_t size);
    /* context->ordinal < 0: the first usable device, whose number replaces it. The device becomes
     * the calling thread's. CSREC_DEVICE: not usable, with the reason. */
    csrec_status (*open)(csrec_context *context, csrec_error *error);
    void (*close)(csrec_context *context); /* NULL: nothing to release */
    /* Makes it the calling thread's again; NULL: it always is. */
    csrec_status (*enter)(const csrec_context *context, csrec_error *error);
    /* The number of devices, 0 with the reason; and whether device i is usable, without opening it:
     * CSREC_DEVICE with the reason. */
    int (*count)(csrec_error *error);
    csrec_status (*usable)(int i, csrec_error *error);
} csrec_device;

extern const csrec_device csrec_device_cpu, csrec_device_cuda;

extern const csrec_context csrec_context_cpu;

/* "cpu" or "cuda". */
const char *csrec_device_name(csrec_device_kind kind);

/* Whether the library chooses the device: "auto", or NULL. */
bool csrec_device_automatic(const char *name);

/* name: "cpu", "cuda" for the first usable device, "cuda:1" for that one. CSREC_ARGUMENT: unknown
 * name, or a list of several devices; CSREC_DEVICE: not built, or not usable. */
csrec_status csrec_context_create(const char *name, csrec_context *context, csrec_error *error);
/* The same for device number `device` of the list, whose failure names the device. */
csrec_status csrec_context_create_at(const csrec_device_list *list, int device,
                                     csrec_context *context, csrec_error *error);
void csrec_context_destroy(csrec_context *context);

/* After a callback, which may have used another device, on its thread. */
void csrec_context_enter(const csrec_context *context);

/* CSREC_ARGUMENT if it is not a backend's name, whatever is built and usable. */
csrec_status csrec_device_check(const char *name, csrec_error *error);

/* CSREC_UNSUPPORTED and one line: `what` has no engine for the context's device; `have` names what
 * has one, NULL where nothing needs to be named. */
csrec_status csrec_device_lacks(const csrec_context *context, const char *what, const char *have,
                                csrec_error *error);

/* Work that runs on any device that has an engine for it. */
typedef struct csrec_device_work {
    /* Whether "auto" should try this kind, which is not the CPU; NULL: never. */
    bool (*device_faster)(csrec_device_kind kind, const void *job);
    /* CSREC_UNSUPPORTED: not this job, or not on this device. On failure the job must be unchanged,
     * so that another device can start it again. */
    csrec_status (*run)(const csrec_context *context, void *job, csrec_error *error);
    /* Runs it on several devices, or on fewer of them: leaves in the list those that run it. NULL:
     * the first one runs it. */
    csrec_status (*run_many)(csrec_device_list *list, void *job, csrec_error *error);
} csrec_device_work;

typedef struct csrec_device_ran {
    const char *device;     /* the device that did the work */
    csrec_error given_up;   /* why "auto" fell back to the CPU; empty: no other device was tried */
    csrec_device_list list; /* the devices of that kind that did it */
} csrec_device_ran;

/* Runs the work on the device or devices of this name. "auto" tries a device where that is faster,
 * and work that fails there (CSREC_MEMORY, CSREC_DEVICE, CSREC_UNSUPPORTED) is done on the CPU;
 * where it is not faster, devices are not queried, as the query alone takes a good part of a
 * second. Other failures are returned. ran may be NULL. */
csrec_status csrec_device_run(const char *name, const csrec_device_work *work, void *job,
                              csrec_device_ran *ran, csrec_error *error);
