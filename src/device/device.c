/* device.c - devices by name, their listing, and work that "auto" may run on the CPU instead. */
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const csrec_device *const devices[CSREC_DEVICE_KINDS] =
    CSREC_ENGINES(&csrec_device_cpu, &csrec_device_cuda);

static const struct {
    const char *name, *title;
} kinds[CSREC_DEVICE_KINDS] = {{"cpu", "CPU"}, {"cuda", "CUDA"}};

const char *csrec_device_name(csrec_device_kind kind) {
    return kinds[kind].name;
}

bool csrec_device_automatic(const char *name) {
    return !name || strcmp(name, "auto") == 0;
}

/* "cuda:1" into kind and ordinal; "cuda" has ordinal -1. */
static bool parse(const char *name, csrec_context *context) {
    for (int k = 0; k < CSREC_DEVICE_KINDS; k++) {
        size_t length = strlen(kinds[k].name);
        if (strncmp(name, kinds[k].name, length) != 0) continue;
        const char *rest = name + length;
        bool digit = rest[0] == ':' && rest[1] >= '0' && rest[1] <= '9';
        char *end = (char *)(uintptr_t)rest;
        long ordinal = digit ? strtol(rest + 1, &end, 10) : -1;
        if (*end || ordinal > INT32_MAX) continue;
        *context = (csrec_context){.kind = (csrec_device_kind)k, .ordinal = (int)ordinal};
        return true;
    }
    return false;
}

csrec_status csrec_context_create(const char *name, csrec_context *context, csrec_error *error) {
    csrec_context made;
    if (!parse(name, &made))
        return csrec_fail(error, CSREC_ARGUMENT, "backend '%s' is unknown; use auto, cpu or cuda",
                          name);
    if (!devices[made.kind])
        return csrec_fail(error, CSREC_DEVICE,
                          "backend %s: not built; use --backend cpu or rebuild with %s",
                          kinds[made.kind].name, kinds[made.kind].title);
    csrec_status status = devices[made.kind]->open(&made, error);
    if (!status) *context = made;
    return status;
}

void csrec_context_destroy(csrec_context *context) {
    if (devices[context->kind]->close) devices[context->kind]->close(context);
}

csrec_status csrec_device_lacks(const csrec_context *context, const char *what, const char *have,
                                csrec_error *error) {
    return csrec_fail(error, CSREC_UNSUPPORTED, "%s has no %s engine; %s%suse --backend cpu", what,
                      kinds[context->kind].title, have ? have : "", have ? " have; " : "");
}

bool csrec_backend_info(int i, const char **name, char *text, size_t size) {
    for (int k = 0; k < CSREC_DEVICE_KINDS && i >= 0; k++) {
        *name = kinds[k].name;
        if (!devices[k]) {
            if (i-- > 0) continue;
            snprintf(text, size, "not built");
            return true;
        }
        for (int device = 0; devices[k]->describe(device, text, size); device++)
            if (i-- == 0) return true;
    }
    return false;
}

/* ---- the one fallback */

static csrec_status run_on(const char *name, const csrec_device_work *work, void *job,
                           csrec_device_ran *ran, csrec_error *error) {
    csrec_context context;
    csrec_status status = csrec_context_create(name, &context, error);
    if (status) return status;
    ran->device = kinds[context.kind].name;
    status = work->run(&context, job, error);
    csrec_context_destroy(&context);
    return status;
}

static bool may_go_on(csrec_status status) {
    return status == CSREC_MEMORY || status == CSREC_DEVICE || status == CSREC_UNSUPPORTED;
}

csrec_status csrec_device_run(const char *name, const csrec_device_work *work, void *job,
                              csrec_device_ran *ran, csrec_error *error) {
    csrec_device_ran own = {.device = kinds[CSREC_DEVICE_CPU].name};
    if (!ran) ran = &own;
    *ran = own;
    if (!csrec_device_automatic(name)) return run_on(name, work, job, ran, error);
    for (int k = CSREC_DEVICE_KINDS - 1; k > CSREC_DEVICE_CPU; k--) {
        if (!devices[k] || !work->pays || !work->pays((csrec_device_kind)k, job)) continue;
        csrec_error why = {{0}};
        csrec_status status = run_on(kinds[k].name, work, job, ran, &why);
        if (!status) return status;
        if (!may_go_on(status)) return csrec_fail(error, status, "%s", why.text);
        if (!why.text[0]) csrec_fail(&why, status, "%s", csrec_status_text(status));
        ran->given_up = why;
    }
    return run_on(kinds[CSREC_DEVICE_CPU].name, work, job, ran, error);
}
