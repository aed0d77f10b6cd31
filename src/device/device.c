/* SPDX-License-Identifier: BSD-3-Clause */
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

/* The numbers of "0,2"; false: it is no such list. */
static bool parse_list(const char *text, csrec_device_list *list) {
    for (list->n = 0; list->n < CSREC_DEVICES_MOST; text++) {
        char *end = NULL;
        bool digit = *text >= '0' && *text <= '9';
        long ordinal = digit ? strtol(text, &end, 10) : -1;
        if (!digit || ordinal > INT32_MAX) return false;
        list->ordinal[list->n++] = (int)ordinal;
        text = end;
        if (*text != ',') return *text == '\0';
    }
    return false;
}

/* "cuda:0,2" into kind and ordinals; "cuda" has none. */
static bool parse(const char *name, csrec_device_list *list) {
    for (int k = 0; k < CSREC_DEVICE_KINDS; k++) {
        size_t length = strlen(kinds[k].name);
        if (strncmp(name, kinds[k].name, length) != 0) continue;
        *list = (csrec_device_list){.kind = (csrec_device_kind)k};
        if (name[length] == '\0') return true;
        if (name[length] == ':' && parse_list(name + length + 1, list)) return true;
    }
    return false;
}

static csrec_status unknown(const char *name, csrec_error *error) {
    return csrec_fail(error, CSREC_ARGUMENT,
                      "backend '%s' is unknown; use auto, cpu, cuda, or cuda:0,2 for devices 0 and "
                      "2",
                      name);
}

csrec_status csrec_device_check(const char *name, csrec_error *error) {
    csrec_device_list list;
    return csrec_device_automatic(name) || parse(name, &list) ? CSREC_OK : unknown(name, error);
}

static csrec_status find(const char *name, csrec_device_list *list, csrec_error *error) {
    if (!parse(name, list)) return unknown(name, error);
    if (devices[list->kind]) return CSREC_OK;
    return csrec_fail(error, CSREC_DEVICE,
                      "backend %s: not built; use backend cpu or rebuild with %s",
                      kinds[list->kind].name, kinds[list->kind].title);
}

static csrec_status open_device(csrec_device_kind kind, int ordinal, csrec_context *context,
                                csrec_error *error) {
    csrec_context made = {.kind = kind, .ordinal = ordinal};
    csrec_status status = devices[kind]->open(&made, error);
    if (!status) *context = made;
    return status;
}

csrec_status csrec_context_create(const char *name, csrec_context *context, csrec_error *error) {
    csrec_device_list list;
    CSREC_TRY(find(name, &list, error));
    if (list.n > 1)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "backend %s: one device is used here; name one, as %s:%d", name,
                          kinds[list.kind].name, list.ordinal[0]);
    return open_device(list.kind, list.n ? list.ordinal[0] : -1, context, error);
}

csrec_status csrec_context_create_at(const csrec_device_list *list, int device,
                                     csrec_context *context, csrec_error *error) {
    return open_device(list->kind, list->ordinal[device], context, error);
}

/* Those that are usable; none: why the first is not. */
static csrec_status list_all(csrec_device_list *list, csrec_error *error) {
    const csrec_device *device = devices[list->kind];
    csrec_error why = {{0}}, other;
    int count = device->count(&why);
    for (int i = 0; i < count && list->n < CSREC_DEVICES_MOST; i++)
        if (!device->usable(i, list->n || i ? &other : &why)) list->ordinal[list->n++] = i;
    if (list->n) return CSREC_OK;
    return csrec_fail(error, CSREC_DEVICE, "backend %s: %s; use backend cpu",
                      kinds[list->kind].name, why.text);
}

/* All usable devices for "cuda", those of the list for "cuda:0,2", in which one may come twice. */
static csrec_status list_of(const char *name, csrec_device_list *list, csrec_error *error) {
    csrec_error why = {{0}};
    CSREC_TRY(find(name, list, error));
    if (!list->n) return list_all(list, error);
    for (int k = 0; k < list->n; k++)
        if (devices[list->kind]->usable(list->ordinal[k], &why))
            return csrec_fail(error, CSREC_DEVICE, "backend %s: %s; use backend cpu", name,
                              why.text);
    return CSREC_OK;
}

csrec_status csrec_backend_devices(const char *backend, int device[CSREC_DEVICES_MOST], int *n,
                                   csrec_error *error) {
    csrec_device_list list = {.n = 0};
    CSREC_TRY(csrec_device_automatic(backend) ? CSREC_OK : list_of(backend, &list, error));
    memcpy(device, list.ordinal, (size_t)list.n * sizeof *device);
    *n = list.n;
    return CSREC_OK;
}

void csrec_context_destroy(csrec_context *context) {
    if (devices[context->kind]->close) devices[context->kind]->close(context);
}

void csrec_context_enter(const csrec_context *context) {
    if (devices[context->kind]->enter) devices[context->kind]->enter(context, NULL);
}

csrec_status csrec_device_lacks(const csrec_context *context, const char *what, const char *have,
                                csrec_error *error) {
    return csrec_fail(error, CSREC_UNSUPPORTED, "%s has no %s engine; %s%suse backend cpu", what,
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

/* Without a list, or for work that one device does, the first that can be opened is enough. */
static csrec_status run_on(const char *name, const csrec_device_work *work, void *job,
                           csrec_device_ran *ran, csrec_error *error) {
    csrec_context context;
    csrec_device_list *list = &ran->list;
    csrec_status status = find(name, list, error);
    bool one = !status && !list->n && (list->kind == CSREC_DEVICE_CPU || !work->run_many);
    if (!status && !one) status = list_of(name, list, error);
    if (status) return status;
    ran->device = kinds[list->kind].name;
    if (list->n > 1 && work->run_many) return work->run_many(list, job, error);
    CSREC_TRY(one ? csrec_context_create(name, &context, error)
                  : csrec_context_create_at(list, 0, &context, error));
    list->n = 1;
    list->ordinal[0] = context.ordinal;
    status = work->run(&context, job, error);
    csrec_context_destroy(&context);
    return status;
}

static csrec_status run_in_words(const char *name, const csrec_device_work *work, void *job,
                                 csrec_device_ran *ran, csrec_error *error) {
    csrec_error why = {{0}};
    csrec_status status = run_on(name, work, job, ran, &why);
    return status ? csrec_fail(error, status, "%s", csrec_words_of(status, &why)) : CSREC_OK;
}

csrec_status csrec_device_run(const char *name, const csrec_device_work *work, void *job,
                              csrec_device_ran *ran, csrec_error *error) {
    csrec_device_ran own = {.device = kinds[CSREC_DEVICE_CPU].name};
    if (!ran) ran = &own;
    *ran = own;
    if (!csrec_device_automatic(name)) return run_in_words(name, work, job, ran, error);
    for (int k = CSREC_DEVICE_KINDS - 1; k > CSREC_DEVICE_CPU; k--) {
        if (!devices[k] || !work->device_faster || !work->device_faster((csrec_device_kind)k, job))
            continue;
        csrec_error why = {{0}};
        csrec_status status = run_in_words(kinds[k].name, work, job, ran, &why);
        if (!status) return status;
        if (!(status == CSREC_MEMORY || status == CSREC_DEVICE || status == CSREC_UNSUPPORTED))
            return csrec_fail(error, status, "%s", why.text);
        ran->given_up = why;
    }
    return run_in_words(kinds[CSREC_DEVICE_CPU].name, work, job, ran, error);
}
