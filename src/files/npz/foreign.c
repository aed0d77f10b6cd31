/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign.c - an archive that is no measurement: one of its arrays is a whole signal, the one that
 * is named, else the only one of numbers with axes. */
#include <string.h>
#include <unistd.h>

#include "files/npz/npz.h"

enum { NAME = 128, LOOKED_AT = 256, LISTED = 6, LIST = 300 };

/* Whether the member has numbers with 1 to 4 axes; "elevation [60 x 80]". */
static bool is_signal(const csrec_npz *npz, const char *name, char text[LIST]) {
    csrec_npz_member member;
    if (csrec_npz_begin(npz, name, &member, NULL)) return false;
    const csrec_npy_header *h = &member.header;
    const int dims = h->shape.dims - h->is_complex;
    int used = snprintf(text, LIST, "%.60s", name);
    for (int a = 0; a < dims && a < 4; a++)
        used += snprintf(text + used, LIST - (size_t)used, "%s%lld%s", a ? " x " : " [",
                         (long long)h->shape.dim[a], a + 1 < dims ? "" : "]");
    csrec_text_clean(text);
    csrec_npz_leave(&member);
    return strchr("biuf", h->kind) && dims >= 1 && dims <= 4 && h->count > 1;
}

/* The number of such arrays; the name of the last, and the first few as a list. */
static int search(const csrec_npz *npz, char found[NAME], char list[LIST]) {
    char text[LIST], name[NAME];
    int count = 0;
    list[0] = '\0';
    for (zip_int64_t i = 0; i < zip_get_num_entries(npz->zip, 0) && i < LOOKED_AT; i++) {
        const char *whole = zip_get_name(npz->zip, (zip_uint64_t)i, 0);
        const size_t length = whole ? strlen(whole) : 0, used = strlen(list);
        const bool ends = length > 4 && strcmp(whole + length - 4, ".npy") == 0;
        if (length == 0 || length >= NAME) continue;
        snprintf(name, NAME, "%.*s", (int)(length - 4 * ends), whole);
        if (!is_signal(npz, name, text)) continue;
        if (count < LISTED && used + strlen(text) + 8 < LIST)
            snprintf(list + used, LIST - used, "%s%s", count ? ", " : "", text);
        else if (count == LISTED)
            snprintf(list + used, LIST - used, ", ...");
        memcpy(found, name, NAME);
        count++;
    }
    return count;
}

static csrec_status choose(const csrec_npz *npz, const char *member, char name[NAME],
                           csrec_error *error) {
    char list[LIST];
    const int length = (int)(member ? member - 1 - npz->name : (long)strlen(npz->name));
    if (member && snprintf(name, NAME, "%s", member + (*member == '/')) < NAME &&
        csrec_npz_has(npz, name))
        return CSREC_OK;
    const int count = search(npz, name, list);
    if (count == 1 && !member) return CSREC_OK;
    if (count == 0)
        return csrec_fail(
            error, CSREC_FORMAT,
            "%s: holds neither a measurement, with array 'y', nor an array of numbers "
            "with 1 to 4 axes; save one with numpy.savez",
            npz->name);
    return csrec_fail(error, CSREC_DATA, "%s: %s %s; name one, as in %.*s:/NAME", npz->name,
                      member ? "has no array of that name but" : "which array?", list, length,
                      npz->name);
}

static bool is_measurement(const csrec_npz *npz) {
    return csrec_npz_has(npz, "y") || csrec_npz_has(npz, "index") || csrec_npz_has(npz, "shape");
}

csrec_status csrec_npz_signal(csrec_input *input, csrec_image *signal, csrec_error *error) {
    csrec_npz npz;
    char name[NAME];
    *signal = (csrec_image){.bits = 0};
    csrec_status status = csrec_npz_open(input, &npz, error);
    if (status) return status;
    if (!input->member && is_measurement(&npz))
        status = csrec_fail(error, CSREC_FORMAT,
                            "%s: is a measurement, and no whole signal; save the array as .npy",
                            npz.name);
    if (!status) status = choose(&npz, input->member, name, error);
    if (!status) status = csrec_npz_array(&npz, name, &signal->pixels, &signal->is_complex, error);
    csrec_npz_close(&npz);
    return status;
}

/* libzip closes the file that it reads, so it gets another one. */
bool csrec_npz_is_foreign(const csrec_input *input) {
    csrec_input own = *input;
    csrec_npz npz;
    if (input->member) return true;
    if (input->file) own.file = fdopen(dup(fileno(input->file)), "rb");
    if (input->file && !own.file) return false;
    const bool opened = !csrec_npz_open(&own, &npz, NULL);
    const bool foreign = opened && !is_measurement(&npz);
    if (opened) csrec_npz_close(&npz);
    if (own.file) fclose(own.file);
    return foreign;
}
