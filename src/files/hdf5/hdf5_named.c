/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_named.c - variables that belong to others: those that attributes name, as the CF and UGRID
 * conventions have it, and those that say where and when values are. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
