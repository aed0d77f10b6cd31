/* SPDX-License-Identifier: BSD-3-Clause */
/* exr_find.c - which part and which channels of an OpenEXR are meant, of all that a renderer may
 * put into a file. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "files/exr/exr.h"

enum { NAME = 256 };

/* ------------------------------------------------------------------ channels ------------------ */

/* "R" of no layer, or "diffuse.R" of one; -1: there is none. */
static int find(const exr_attr_chlist_t *list, const char *layer, const char *name) {
    char whole[NAME];
    snprintf(whole, sizeof whole, "%s%s%s", layer, *layer && *name ? "." : "", name);
    for (int i = 0; i < list->num_channels; i++)
        if (strcmp(list->entries[i].name.str, whole) == 0) return i;
    return -1;
}

/* The length of the name of the channel's layer, 0: none. */
static size_t layer_of(const char *channel) {
    const char *dot = strrchr(channel, '.');
    return dot ? (size_t)(dot - channel) : 0;
}

static bool is_of(const char *channel, const char *layer) {
    return layer_of(channel) == strlen(layer) && strncmp(channel, layer, strlen(layer)) == 0;
}

/* The only channel of a layer, of all channels if it is "", besides A; -1: there are others. */
static int find_only(const exr_attr_chlist_t *list, const char *layer, int alpha) {
    int only = -1;
    for (int i = 0; i < list->num_channels; i++) {
        if (*layer && !is_of(list->entries[i].name.str, layer)) continue;
        if (i == alpha && list->num_channels > 1) continue;
        if (only >= 0) return -1;
        only = i;
    }
    return only;
}

/* R, G and B of the layer, or X, Y and Z, as of normals, or Y, or the channel of that name, or the
 * only one; and A of the layer, or of the part. false: it has none of these. */
static bool choose(const exr_attr_chlist_t *list, const char *layer, csrec_exr_layout *l) {
    static const char *const names[4][4] = {{"R", "G", "B"}, {"X", "Y", "Z"}, {"Y"}, {""}};
    l->alpha = find(list, layer, "A");
    if (l->alpha < 0) l->alpha = find(list, "", "A");
    bool all = false;
    for (int set = 0; set < 4 && !all; set++) {
        all = true;
        for (l->channels = 0; names[set][l->channels]; l->channels++) {
            l->channel[l->channels] = find(list, layer, names[set][l->channels]);
            all = all && l->channel[l->channels] >= 0;
        }
        l->linear = set != 1;
        l->chroma = all && set == 2 && find(list, layer, "RY") >= 0;
    }
    if (!all) l->channel[0] = find_only(list, layer, l->alpha);
    if (l->channel[0] < 0) return false;
    const char *name = list->entries[l->channel[0]].name.str;
    const size_t length = layer_of(name);
    l->linear = l->linear && (l->channels == 3 || strcmp(name + length + (length > 0), "Y") == 0);
    if (l->channel[0] == l->alpha) l->alpha = -1;
    return true;
}

/* What is shown of all: of no layer, or of the only one. */
static bool choose_default(const exr_attr_chlist_t *list, csrec_exr_layout *l) {
    char layer[NAME];
    const char *name = list->entries[0].name.str;
    const bool alpha = strcmp(name, "A") == 0 && list->num_channels > 1;
    if (choose(list, "", l)) return true;
    if (alpha) name = list->entries[1].name.str;
    snprintf(layer, sizeof layer, "%.*s", (int)layer_of(name), name);
    for (int i = alpha; i < list->num_channels; i++)
        if (!*layer || !is_of(list->entries[i].name.str, layer)) return false;
    return choose(list, layer, l);
}

/* ------------------------------------------------------------------ parts --------------------- */

static const char *name_of(const csrec_exr *exr, int part) {
    const char *name = NULL;
    return exr_get_name(exr->file, part, &name) || !name ? "" : name;
}

/* What follows the name of the part in "part" or "part/layer"; NULL: another name. */
static const char *within(const char *part, const char *name) {
    const size_t length = strlen(part);
    if (length == 0 || strncmp(name, part, length) != 0) return NULL;
    if (name[length] == '/') return name + length + 1;
    return name[length] ? NULL : name + length;
}

/* "Z, diffuse, the part left": what may be named instead of what l has, NULL: of nothing. */
static void list_names(csrec_exr *exr, const csrec_exr_layout *l, char *text, size_t room) {
    int parts = 1;
    size_t used = 0, last = 0;
    const char *before = "";
    const exr_attr_chlist_t *list = NULL;
    text[0] = '\0';
    if (exr_get_channels(exr->file, exr->part, &list)) return;
    for (int i = 0; i < list->num_channels && used < room; i++) {
        const char *name = list->entries[i].name.str;
        size_t length = layer_of(name);
        if (l && (i == l->alpha || i == l->channel[0] ||
                  (l->channels == 3 && (i == l->channel[1] || i == l->channel[2]))))
            continue;
        if (length && length == last && strncmp(name, before, length) == 0) continue;
        before = name;
        last = length;
        used += (size_t)snprintf(text + used, room - used, "%s%.*s", used ? ", " : "",
                                 length ? (int)length : 40, name);
    }
    exr_get_count(exr->file, &parts);
    for (int p = 0; p < parts && used < room; p++)
        if (p != exr->part)
            used += (size_t)snprintf(text + used, room - used, "%s%.40s", used ? ", " : "",
                                     name_of(exr, p));
    csrec_text_clean(text);
}

static csrec_status refuse(csrec_exr *exr, const char *name, csrec_error *error) {
    char names[240];
    list_names(exr, NULL, names, sizeof names);
    return csrec_fail(error, CSREC_DATA, "%s: %s; it has %s; name one, as in FILE:/NAME", exr->name,
                      *name ? "has no such layer, channel or part of one or three channels"
                            : "has neither R, G and B nor Y nor one channel alone",
                      names);
}

/* Names of parts go first; without a name it is the first part. */
csrec_status csrec_exr_choose(csrec_exr *exr, csrec_exr_layout *l, csrec_error *error) {
    const char *member = exr->input ? exr->input->member : NULL;
    const char *name = member ? member + 1 : "", *rest;
    const exr_attr_chlist_t *list = NULL;
    int parts = 1;
    bool found = false;
    exr_get_count(exr->file, &parts);
    if (!*name) parts = 1;
    for (int pass = 0; pass < 2 && !found; pass++)
        for (int p = 0; p < parts && !found; p++) {
            rest = pass ? name : within(name_of(exr, p), name);
            exr_result_t result = exr_get_channels(exr->file, p, &list);
            if (result || list->num_channels < 1) return csrec_exr_failed(exr, result, error);
            found = rest && (*rest ? choose(list, rest, l) : choose_default(list, l));
            exr->part = found ? p : 0;
        }
    if (!found) return refuse(exr, name, error);
    if (l->chroma)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: is in luminance and chroma (Y, RY, BY), whose colours have fewer "
                          "samples than pixels; save it as R, G and B, or read FILE:/Y alone",
                          exr->name);
    return CSREC_OK;
}

const char *csrec_exr_lossy(exr_compression_t compression) {
    static const char *const lossy[] = {[EXR_COMPRESSION_PXR24] = "PXR24",
                                        [EXR_COMPRESSION_B44] = "B44",
                                        [EXR_COMPRESSION_B44A] = "B44A",
                                        [EXR_COMPRESSION_DWAA] = "DWAA",
                                        [EXR_COMPRESSION_DWAB] = "DWAB"};
    const size_t c = (size_t)compression;
    return c < sizeof lossy / sizeof *lossy ? lossy[c] : NULL;
}

void csrec_exr_tell(csrec_exr *exr, const csrec_exr_layout *l) {
    char names[200];
    const char *lossy = csrec_exr_lossy(l->compression);
    exr->input->facts.linear = l->linear;
    if (lossy)
        csrec_input_note(
            exr->input, "its compression, %s, is lossy: samples are near what was rendered", lossy);
    list_names(exr, l, names, sizeof names);
    if (names[0]) csrec_input_note(exr->input, "not read are %s; FILE:/NAME reads one", names);
}
