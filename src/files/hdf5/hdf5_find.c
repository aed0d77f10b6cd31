/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_find.c - which dataset of a file is meant: the one that the path names, the one that NeXus
 * marks, or the only one that belongs to no other: those do that attributes name, as the CF and
 * UGRID conventions have it, and those that say where and when values are. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "files/hdf5/hdf5.h"

enum { NAMES_ROOM = 4096 };

/* Attributes that name variables, one after the other. */
static const char naming[] =
    "coordinates\0bounds\0climatology\0cell_measures\0formula_terms\0grid_mapping\0"
    "ancillary_variables\0geometry\0node_count\0part_node_count\0interior_ring\0"
    "mesh\0node_coordinates\0edge_coordinates\0face_coordinates\0edge_node_connectivity\0"
    "edge_face_connectivity\0face_node_connectivity\0face_edge_connectivity\0"
    "face_face_connectivity\0";

/* In the group of the object of that path, or else in one around it. */
static hid_t resolve(const csrec_hdf5 *h5, const char *path, const char *name) {
    char *full = malloc(strlen(path) + strlen(name) + 2), *slash;
    hid_t object = -1;
    if (full) strcpy(full, path);
    while (full && object < 0 && (slash = strrchr(full, '/'))) {
        strcpy(slash + 1, name);
        object = csrec_hdf5_object(h5->file, full);
        *slash = '\0';
    }
    free(full);
    return object;
}

/* "area: areacella" names areacella, "crs: x y" of a grid mapping all three. */
static void visit_words(const csrec_hdf5 *h5, const char *path, char *words, bool keys,
                        csrec_hdf5_named_fn visit, void *context) {
    char *rest = NULL;
    for (char *word = strtok_r(words, " \t\n", &rest); word;
         word = strtok_r(NULL, " \t\n", &rest)) {
        char *colon = strchr(word, ':');
        if (colon && !keys) continue;
        if (colon) *colon = '\0';
        hid_t object = *word ? resolve(h5, path, word) : -1;
        if (object >= 0) visit(context, object);
        if (object >= 0) H5Oclose(object);
    }
}

void csrec_hdf5_named(const csrec_hdf5 *h5, hid_t object, csrec_hdf5_named_fn visit,
                      void *context) {
    char *path = csrec_hdf5_path(object), *words = malloc(NAMES_ROOM);
    for (const char *name = naming; path && words && *name; name += strlen(name) + 1)
        if (csrec_hdf5_text(h5, object, name, words, NAMES_ROOM))
            visit_words(h5, path, words, strcmp(name, "grid_mapping") == 0, visit, context);
    free(words);
    free(path);
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), each = strlen(end);
    return length >= each && strcmp(text + length - each, end) == 0;
}

/* CF's units of latitudes and longitudes ("degrees_north", "degreeE") and of times. */
static bool has_units_of_places(const csrec_hdf5 *h5, hid_t dataset) {
    char text[128];
    if (!csrec_hdf5_text(h5, dataset, "units", text, sizeof text)) return false;
    return strstr(text, " since ") ||
           (strncmp(text, "degree", 6) == 0 && (ends_with(text, "north") || ends_with(text, "N") ||
                                                ends_with(text, "east") || ends_with(text, "E")));
}

bool csrec_hdf5_is_place(const csrec_hdf5 *h5, hid_t dataset) {
    static const char *const names[] = {"/lat",     "/lon",     "/latitude", "/longitude",
                                        "/nav_lat", "/nav_lon", "/XLAT",     "/XLONG"};
    char *path = csrec_hdf5_path(dataset), *last = path ? strrchr(path, '/') : NULL;
    bool found = false;
    for (size_t k = 0; last && k < sizeof names / sizeof *names; k++)
        found = found || strcasecmp(last, names[k]) == 0;
    free(path);
    return found || csrec_hdf5_text_is(h5, dataset, "standard_name", "latitude") ||
           csrec_hdf5_text_is(h5, dataset, "standard_name", "longitude") ||
           H5Aexists(dataset, "axis") > 0 || H5Aexists(dataset, "_CoordinateAxisType") > 0 ||
           has_units_of_places(h5, dataset);
}

enum {
    OBJECTS_MOST = 10000,
    NAMES_MOST = 40000,
    DEPTH_MOST = 32,
    LISTED = 8,
    LIST_ROOM = 320,
    LONGEST = 100
};

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

typedef struct candidate {
    hid_t dataset;
    haddr_t address; /* an object may have several names */
    bool aside;      /* it belongs to another one */
} candidate;

typedef struct search {
    const csrec_hdf5 *h5;
    hid_t marked; /* the first one, -1: none */
    int count, names, marks, visited, failed, depth;
    candidate found[OBJECTS_MOST];
    haddr_t named[NAMES_MOST];
} search;

static void take_name(void *data, hid_t object) {
    search *s = data;
    H5O_info_t info;
    if (s->names < NAMES_MOST && H5Oget_info(object, &info) >= 0) s->named[s->names++] = info.addr;
}

static bool is_known(const search *s, haddr_t address) {
    for (int i = 0; i < s->count; i++)
        if (s->found[i].address == address) return true;
    return false;
}

/* A dataset of numbers that is not the scale of an axis. Old NeXus marks one by signal = 1. */
static void consider(search *s, hid_t dataset) {
    csrec_hdf5_layout l;
    H5O_info_t info;
    char text[8];
    int mark = 0;
    if (csrec_hdf5_text_is(s->h5, dataset, "CLASS", "DIMENSION_SCALE") ||
        csrec_hdf5_layout_read(s->h5, dataset, &l, NULL) || H5Oget_info(dataset, &info) < 0 ||
        is_known(s, info.addr) || H5Iinc_ref(dataset) < 0)
        return;
    if (csrec_hdf5_text(s->h5, dataset, "signal", text, sizeof text)) mark = atoi(text);
    csrec_hdf5_numbers(dataset, "signal", H5T_NATIVE_INT, 1, &mark, NULL);
    if (mark == 1 && s->marks++ == 0) s->marked = dataset;
    s->found[s->count++] = (candidate){dataset, info.addr, csrec_hdf5_is_place(s->h5, dataset)};
}

/* Soft links lead to what is found anyway. Groups may contain themselves. */
static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    search *s = data;
    if (s->visited++ >= OBJECTS_MOST) return 1;
    hid_t object = info->type == H5L_TYPE_HARD ? H5Oopen(group, name, H5P_DEFAULT) : -1;
    s->failed += object < 0 && info->type == H5L_TYPE_HARD;
    if (object < 0) return 0;
    if (is_a(object, H5I_DATASET)) consider(s, object);
    csrec_hdf5_named(s->h5, object, take_name, s);
    if (is_a(object, H5I_GROUP) && s->depth < DEPTH_MOST) {
        s->depth++;
        H5Literate(object, H5_INDEX_NAME, H5_ITER_INC, NULL, visit, s);
        s->depth--;
    }
    H5Oclose(object);
    return 0;
}

/* What the others name belongs to them, unless nothing would be left. Returns how many are left. */
static int set_aside(search *s) {
    int left = 0;
    for (int i = 0; i < s->count; i++) {
        for (int k = 0; k < s->names; k++)
            s->found[i].aside = s->found[i].aside || s->named[k] == s->found[i].address;
        left += !s->found[i].aside;
    }
    for (int i = 0; i < s->count && left == 0; i++) s->found[i].aside = false;
    return left ? left : s->count;
}

/* NULL: out of memory. */
static search *search_in(const csrec_hdf5 *h5, hid_t group, int *left) {
    search *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->h5 = h5;
    s->marked = -1;
    csrec_hdf5_named(h5, group, take_name, s);
    H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, visit, s);
    *left = set_aside(s);
    return s;
}

static void list_one(hid_t dataset, char *list, size_t room) {
    hsize_t extent[H5S_MAX_RANK];
    char text[CSREC_HDF5_TEXT];
    char *path = csrec_hdf5_path(dataset);
    hid_t space = H5Dget_space(dataset);
    int rank = space < 0 ? 0 : H5Sget_simple_extent_dims(space, extent, NULL);
    size_t used = strlen(list);
    csrec_hdf5_print(path ? path : "?", text);
    free(path);
    snprintf(list + used, room - used, "%s%.60s [", used ? ", " : "", text);
    for (int a = 0; a < rank; a++) {
        used = strlen(list);
        snprintf(list + used, room - used, "%s%llu", a ? " x " : "", (unsigned long long)extent[a]);
    }
    used = strlen(list);
    snprintf(list + used, room - used, "]");
    if (space >= 0) H5Sclose(space);
}

/* Whether it says where its values are, or which of them are none: as what is measured does. */
static bool is_described(hid_t dataset) {
    static const char *const signs[] = {"coordinates", "grid_mapping", "_FillValue",
                                        "missing_value", "cell_methods"};
    for (size_t k = 0; k < sizeof signs / sizeof *signs; k++)
        if (H5Aexists(dataset, signs[k]) > 0) return true;
    return false;
}

/* Those that may be meant, what is described first. */
static void list(const search *s, char *text, size_t room) {
    int listed = 0;
    *text = '\0';
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < s->count && listed <= LISTED; i++) {
            if (s->found[i].aside || is_described(s->found[i].dataset) == pass) continue;
            if (listed++ < LISTED && strlen(text) < room - LONGEST)
                list_one(s->found[i].dataset, text, room);
            else
                strncat(text, ", ...", room - strlen(text) - 1);
        }
}

/* What an attribute of a NeXus group names: `default` a group, at last `signal` the dataset. */
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
    char text[LIST_ROOM];
    int length = h5->member ? (int)(h5->member - 1 - h5->name) : (int)strlen(h5->name);
    list(s, text, sizeof text);
    return csrec_fail(error, CSREC_DATA, "%s: which dataset? %s; name one, as in %.*s:/NAME",
                      h5->name, text, length, h5->name);
}

static csrec_status refuse_version(const csrec_hdf5 *h5, csrec_error *error) {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "%s: cannot be opened by libhdf5 %u.%u.%u, being damaged or of a later "
                      "version; write it for that version (libver='v110' of h5py)",
                      h5->name, major, minor, release);
}

/* What was chosen among several is said. */
static void take_one(const search *s, hid_t *dataset) {
    char text[CSREC_HDF5_TEXT] = "";
    for (int i = 0; i < s->count; i++)
        if (!s->found[i].aside) *dataset = s->found[i].dataset;
    if (s->count > 1) list_one(*dataset, text, sizeof text);
    if (s->count > 1)
        csrec_input_note(s->h5->input, "%s is read; the other arrays of numbers belong to it",
                         text);
}

/* The one that is meant in a group. */
static csrec_status find_in(const csrec_hdf5 *h5, hid_t group, hid_t *dataset, csrec_error *error) {
    int left = 0;
    csrec_status status = CSREC_OK;
    *dataset = marked_in(h5, group);
    if (*dataset >= 0) return CSREC_OK;
    search *s = search_in(h5, group, &left);
    if (!s) return csrec_memory_fail(error, h5->name);
    if (s->marks > 0) *dataset = s->marked;
    if (s->marks != 1 && left == 1) take_one(s, dataset);
    if (s->marks != 1 && left > 1) status = refuse_several(s, error);
    if (left == 0 && s->failed) status = refuse_version(h5, error);
    if (left == 0 && !s->failed)
        status =
            csrec_fail(error, CSREC_DATA,
                       "%s: has no dataset of numbers with 1 to 4 axes; save an array", h5->name);
    free(s);
    return status;
}

/* Nothing has the name: what there is. */
static csrec_status refuse_name(const csrec_hdf5 *h5, csrec_error *error) {
    H5L_info_t link;
    char text[LIST_ROOM] = "";
    int left = 0;
    if (H5Lget_info(h5->file, h5->member, &link, H5P_DEFAULT) >= 0 &&
        link.type == H5L_TYPE_EXTERNAL)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: is a link to another file; name the dataset in that file", h5->name);
    if (H5Lexists(h5->file, h5->member, H5P_DEFAULT) > 0) return refuse_version(h5, error);
    hid_t root = csrec_hdf5_object(h5->file, "/");
    search *s = search_in(h5, root, &left);
    if (s) list(s, text, sizeof text);
    free(s);
    return csrec_fail(error, CSREC_DATA, "%s: has no dataset of that name; name one of %s",
                      h5->name, *text ? text : "none");
}

csrec_status csrec_hdf5_find(const csrec_hdf5 *h5, hid_t *dataset, csrec_error *error) {
    hid_t object = csrec_hdf5_object(h5->file, h5->member ? h5->member : "/");
    *dataset = object;
    if (is_a(object, H5I_DATASET)) return CSREC_OK;
    if (is_a(object, H5I_GROUP)) return find_in(h5, object, dataset, error);
    return h5->member ? refuse_name(h5, error) : csrec_hdf5_failed(h5, error);
}
