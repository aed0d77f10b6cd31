/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_find.c - which dataset of a file is meant: the one that the path names, the one that NeXus
 * marks, or the only one. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "files/hdf5/hdf5.h"

enum { OBJECTS_MOST = 10000, DEPTH_MOST = 32, LISTED = 5, KNOWN = 64 };

/* ------------------------------------------------------------------ objects ------------------- */

static herr_t refuse_link(const char *file, const char *path, const char *other, const char *name,
                          unsigned *flags, hid_t access, void *data) {
    (void)file, (void)path, (void)other, (void)name, (void)flags, (void)access, (void)data;
    return -1;
}

hid_t csrec_hdf5_object(hid_t from, const char *name) {
    hid_t access = H5Pcreate(H5P_LINK_ACCESS);
    H5Pset_elink_cb(access, refuse_link, NULL);
    hid_t object = H5Oopen(from, name, access);
    H5Pclose(access);
    return object;
}

char *csrec_hdf5_path(hid_t object) {
    ssize_t length = H5Iget_name(object, NULL, 0);
    char *path = length > 0 ? malloc((size_t)length + 1) : NULL;
    if (path) H5Iget_name(object, path, (size_t)length + 1);
    return path;
}

static bool is_a(hid_t object, H5I_type_t type) {
    return object >= 0 && H5Iget_type(object) == type;
}

/* ------------------------------------------------------------------ search -------------------- */

typedef struct search {
    const csrec_hdf5 *h5;
    hid_t only, marked; /* the first of each kind, -1: none */
    int found, marks, visited, failed, depth;
    haddr_t known[KNOWN]; /* of the first ones: an object may have several names */
    char list[320];
} search;

static bool is_known(search *s, hid_t dataset) {
    H5O_info_t info;
    if (H5Oget_info(dataset, &info) < 0) return true;
    for (int i = 0; i < s->found && i < KNOWN; i++)
        if (s->known[i] == info.addr) return true;
    if (s->found < KNOWN) s->known[s->found] = info.addr;
    return false;
}

static void list(search *s, hid_t dataset, const csrec_hdf5_layout *l) {
    char text[CSREC_HDF5_TEXT];
    char *path = csrec_hdf5_path(dataset);
    size_t used = strlen(s->list), room = sizeof s->list;
    csrec_hdf5_print(path ? path : "?", text);
    free(path);
    snprintf(s->list + used, room - used, "%s%.60s [", used ? ", " : "", text);
    for (int a = 0; a < l->rank && used < room; a++) {
        used = strlen(s->list);
        snprintf(s->list + used, room - used, "%s%llu", a ? " x " : "",
                 (unsigned long long)l->extent[a]);
    }
    used = strlen(s->list);
    snprintf(s->list + used, room - used, "]");
}

/* A dataset of numbers that is not the scale of an axis. Old NeXus marks one by signal = 1. */
static void consider(search *s, hid_t dataset) {
    csrec_hdf5_layout l;
    char text[8];
    int mark = 0;
    if (csrec_hdf5_text_is(s->h5, dataset, "CLASS", "DIMENSION_SCALE") ||
        csrec_hdf5_layout_read(s->h5, dataset, &l, NULL) || is_known(s, dataset))
        return;
    if (csrec_hdf5_text(s->h5, dataset, "signal", text, sizeof text)) mark = atoi(text);
    csrec_hdf5_numbers(dataset, "signal", H5T_NATIVE_INT, 1, &mark, NULL);
    hid_t *keep = mark == 1 ? &s->marked : &s->only;
    if (*keep < 0 && H5Iinc_ref(dataset) >= 0) *keep = dataset;
    s->marks += mark == 1;
    if (s->found++ < LISTED)
        list(s, dataset, &l);
    else if (s->found == LISTED + 1)
        strncat(s->list, ", ...", sizeof s->list - strlen(s->list) - 1);
}

/* Soft links lead to what is found anyway. Groups may contain themselves. */
static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    search *s = data;
    if (s->visited++ >= OBJECTS_MOST) return 1;
    hid_t object = info->type == H5L_TYPE_HARD ? H5Oopen(group, name, H5P_DEFAULT) : -1;
    s->failed += object < 0 && info->type == H5L_TYPE_HARD;
    if (object < 0) return 0;
    if (is_a(object, H5I_DATASET)) consider(s, object);
    if (is_a(object, H5I_GROUP) && s->depth < DEPTH_MOST) {
        s->depth++;
        H5Literate(object, H5_INDEX_NAME, H5_ITER_INC, NULL, visit, s);
        s->depth--;
    }
    H5Oclose(object);
    return 0;
}

/* ------------------------------------------------------------------ choice -------------------- */

/* What an attribute of a NeXus group names: `default` a group, and in the end `signal` the dataset.
 */
static hid_t follow(const csrec_hdf5 *h5, hid_t group, const char *attribute) {
    char name[256];
    if (!csrec_hdf5_text(h5, group, attribute, name, sizeof name)) return -1;
    return csrec_hdf5_object(group, name);
}

static hid_t marked_in(const csrec_hdf5 *h5, hid_t group) {
    hid_t at = group;
    for (int depth = 0; depth < DEPTH_MOST; depth++) {
        hid_t dataset = follow(h5, at, "signal"), next = follow(h5, at, "default");
        if (is_a(dataset, H5I_DATASET)) return dataset;
        if (is_a(next, H5I_DATASET)) return next;
        if (!is_a(next, H5I_GROUP)) break;
        at = next;
    }
    return -1;
}

static csrec_status refuse_several(const search *s, csrec_error *error) {
    const csrec_hdf5 *h5 = s->h5;
    int length = h5->member ? (int)(h5->member - 1 - h5->name) : (int)strlen(h5->name);
    return csrec_fail(error, CSREC_DATA, "%s: which dataset? %s; name one, as in %.*s:/NAME",
                      h5->name, s->list, length, h5->name);
}

static csrec_status refuse_version(const csrec_hdf5 *h5, csrec_error *error) {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "%s: cannot be opened by libhdf5 %u.%u.%u, being damaged or of a later "
                      "version; write it for that version (libver='v110' of h5py)",
                      h5->name, major, minor, release);
}

/* The one that is meant in a group. */
static csrec_status find_in(const csrec_hdf5 *h5, hid_t group, hid_t *dataset, csrec_error *error) {
    search s = {.h5 = h5, .only = -1, .marked = -1};
    *dataset = marked_in(h5, group);
    if (*dataset >= 0) return CSREC_OK;
    H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, visit, &s);
    *dataset = s.marks > 0 ? s.marked : s.only;
    if (s.marks == 1 || s.found == 1) return CSREC_OK;
    if (s.found > 1) return refuse_several(&s, error);
    if (s.failed) return refuse_version(h5, error);
    return csrec_fail(error, CSREC_DATA,
                      "%s: has no dataset of numbers with 1 to 4 axes; save an array", h5->name);
}

/* Nothing has the name: what there is. */
static csrec_status refuse_name(const csrec_hdf5 *h5, csrec_error *error) {
    search s = {.h5 = h5, .only = -1, .marked = -1};
    H5L_info_t link;
    if (H5Lget_info(h5->file, h5->member, &link, H5P_DEFAULT) >= 0 &&
        link.type == H5L_TYPE_EXTERNAL)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: is a link to another file; name the dataset in that file", h5->name);
    if (H5Lexists(h5->file, h5->member, H5P_DEFAULT) > 0) return refuse_version(h5, error);
    H5Literate(h5->file, H5_INDEX_NAME, H5_ITER_INC, NULL, visit, &s);
    return csrec_fail(error, CSREC_DATA, "%s: has no dataset of that name; name one of %s",
                      h5->name, s.found ? s.list : "none");
}

csrec_status csrec_hdf5_find(const csrec_hdf5 *h5, hid_t *dataset, csrec_error *error) {
    hid_t object = csrec_hdf5_object(h5->file, h5->member ? h5->member : "/");
    *dataset = object;
    if (is_a(object, H5I_DATASET)) return CSREC_OK;
    if (is_a(object, H5I_GROUP)) return find_in(h5, object, dataset, error);
    return h5->member ? refuse_name(h5, error) : csrec_hdf5_failed(h5, error);
}
