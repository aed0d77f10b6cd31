/* SPDX-License-Identifier: BSD-3-Clause */
/* exr_guides.c - layers of an OpenEXR that are known beside the samples: albedo, normals, depth and
 * position, as renderers write them with their pictures. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files/exr/exr.h"
#include "files/guides.h"
#include "files/measurement.h"
#include "measurement/each.h"
#include "measurement/guides.h"

typedef csrec_exr_layer layer;
typedef csrec_exr_layers layers;

static bool is_among(const exr_attr_chlist_t *list, const char *channel, const char *set) {
    bool own = false, all = true;
    for (; *set; set++) {
        const char name[2] = {*set, '\0'};
        own = own || strcmp(channel, name) == 0;
        all = all && csrec_exr_find(list, "", name) >= 0;
    }
    return own && all;
}

const char *csrec_exr_layer_name(const csrec_exr *exr, int part, const char *channel,
                                 char text[CSREC_EXR_NAME]) {
    const exr_attr_chlist_t *list = NULL;
    const size_t length = csrec_exr_layer_of(channel), all = length ? length : strlen(channel);
    snprintf(text, CSREC_EXR_NAME, "%.*s", all < 255 ? (int)all : 255, channel);
    if (length || exr_get_channels(exr->file, part, &list)) return text;
    const bool alone = list->num_channels == 1 && strcmp(channel, "Y") == 0;
    if (is_among(list, channel, "RGB") || is_among(list, channel, "XYZ") ||
        (alone && *csrec_exr_part_name(exr, part)))
        snprintf(text, CSREC_EXR_NAME, "%s", csrec_exr_part_name(exr, part));
    return text;
}

static bool is_main(const layers *s, int part, int channel) {
    bool found = s->main.alpha == channel;
    for (int c = 0; c < s->main.channels; c++) found = found || s->main.channel[c] == channel;
    return found && part == s->main_part;
}

static layer *layer_for(layers *s, int part, const char *name) {
    for (int k = 0; k < s->n; k++)
        if (s->one[k].part == part && strcmp(s->one[k].name, name) == 0) return &s->one[k];
    const char *kind = s->kind(name);
    if (!kind && (!s->any || strstr(name, "rypto"))) return NULL;
    if (s->n == CSREC_GUIDES_MOST) return NULL;
    layer *made = &s->one[s->n++];
    *made = (layer){.part = part, .alpha = -1, .kind = kind};
    snprintf(made->name, sizeof made->name, "%s", name);
    return made;
}

const char *csrec_exr_component_of(const char *channel) {
    const size_t length = csrec_exr_layer_of(channel);
    return channel + length + (length > 0);
}

/* R, G, B, or X, Y, Z, or U, V; others as the file has them. */
static int rank_of(const exr_attr_chlist_t *list, int channel) {
    static const char order[] = "rgbxyzuv";
    const char *own = csrec_exr_component_of(list->entries[channel].name.str);
    const char *at = *own && !own[1] ? strchr(order, tolower((unsigned char)*own)) : NULL;
    return at ? (int)(at - order) : -1;
}

static void add_channel(layers *s, const exr_attr_chlist_t *list, int part, int channel) {
    char name[CSREC_EXR_NAME];
    const exr_attr_chlist_entry_t *e = &list->entries[channel];
    const char *own = csrec_exr_component_of(e->name.str);
    const bool alpha = (*own == 'A' || *own == 'a') && !own[1];
    if (is_main(s, part, channel) || e->x_sampling != 1 || e->y_sampling != 1) return;
    if (alpha && own == e->name.str) return; /* that of the part */
    layer *to = layer_for(s, part, csrec_exr_layer_name(s->exr, part, e->name.str, name));
    if (!to || (!alpha && to->channels == CSREC_EXR_PLANES)) return;
    if (alpha) {
        to->alpha = channel;
        return;
    }
    int at = to->channels++;
    for (; at > 0 && rank_of(list, to->channel[at - 1]) > rank_of(list, channel); at--)
        to->channel[at] = to->channel[at - 1];
    to->channel[at] = channel;
}

/* Whether the part is a picture of the same pixels as the first that counts. */
static bool is_alike(const layers *s, int part) {
    exr_storage_t storage;
    exr_attr_box2i_t w, own;
    return !exr_get_storage(s->exr->file, part, &storage) &&
           (storage == EXR_STORAGE_SCANLINE || storage == EXR_STORAGE_TILED) &&
           !exr_get_data_window(s->exr->file, part, &w) &&
           !exr_get_data_window(s->exr->file, s->main_part, &own) &&
           memcmp(&w, &own, sizeof w) == 0;
}

/* Keeps those for which there is room. */
static void limit(layers *s, int64_t room) {
    int kept = 0;
    for (int k = 0; k < s->n; k++) {
        if (s->one[k].channels == 0 || s->one[k].channels > room) continue;
        room -= s->one[k].channels;
        s->one[kept++] = s->one[k];
    }
    s->n = kept;
}

csrec_status csrec_exr_layers_find(layers *s, int64_t room, csrec_error *error) {
    int parts = 1;
    exr_get_count(s->exr->file, &parts);
    for (int p = 0; p < parts; p++) {
        const exr_attr_chlist_t *list = NULL;
        exr_result_t result = exr_get_channels(s->exr->file, p, &list);
        if (result) return csrec_exr_failed(s->exr, result, error);
        for (int c = 0; c < list->num_channels && is_alike(s, p); c++) add_channel(s, list, p, c);
    }
    limit(s, room);
    return CSREC_OK;
}

static int add_to(csrec_exr_layout *l, int channel) {
    if (channel < 0) return -1;
    l->channel[l->channels] = channel;
    return l->channels++;
}

/* Where alpha is 0 a layer is unknown, if that is its own; that of the part may be of its picture
 * alone: then the layer has values there. */
static void take_values(const csrec_image *pixels, int64_t entries, const layer *one, int first,
                        int own, int common, double *values) {
    const int64_t C = pixels->pixels.shape.dim[2], planes = one->channels;
    const int alpha = own >= 0 ? own : common;
    bool beyond = false;
    for (int64_t i = 0; i < entries * planes; i++) {
        const int64_t at = i / planes * C;
        values[i] = csrec_array_value(&pixels->pixels, at + first + i % planes);
        beyond = beyond || (own < 0 && alpha >= 0 && fabs(values[i]) > 0.0 &&
                            !(csrec_array_value(&pixels->pixels, at + alpha) > 0.0));
    }
    for (int64_t i = 0; i < entries * planes && alpha >= 0 && !beyond; i++)
        if (!(csrec_array_value(&pixels->pixels, i / planes * C + alpha) > 0.0)) values[i] = NAN;
}

/* The kind alone, if no plane has it yet. */
static void name_layer(const layer *one, const csrec_measurement *m, char name[CSREC_EXR_NAME]) {
    bool free = one->kind != NULL;
    const char *own = csrec_exr_component_of(one->name);
    for (int64_t k = 0; m->guides && k < m->guides->n && free; k++)
        free = strcmp(m->guides->name[k], one->kind) != 0;
    snprintf(name, CSREC_EXR_NAME, "%s%s%.200s", one->kind ? one->kind : "",
             one->kind && !free ? " " : "", free ? "" : own);
}

/* The picture's, or that of the part. */
static int alpha_of(const layers *s, const exr_attr_chlist_t *list, int part) {
    if (part == s->main_part && s->main.alpha >= 0) return s->main.alpha;
    const int alpha = csrec_exr_find(list, "", "A");
    const exr_attr_chlist_entry_t *e = alpha < 0 ? NULL : &list->entries[alpha];
    return e && e->x_sampling == 1 && e->y_sampling == 1 ? alpha : -1;
}

static csrec_status take_part(layers *s, int part, csrec_measurement *m, csrec_error *error) {
    const exr_attr_chlist_t *list = NULL;
    csrec_exr_layout l = {.alpha = -1};
    csrec_image pixels = {0};
    int first[CSREC_GUIDES_MOST], own[CSREC_GUIDES_MOST], planes = 0;
    char name[CSREC_EXR_NAME];
    s->exr->part = part;
    if (exr_get_channels(s->exr->file, part, &list)) return CSREC_OK;
    for (int k = 0; k < s->n; k++) {
        if (s->one[k].part != part) continue;
        first[k] = l.channels;
        for (int c = 0; c < s->one[k].channels; c++) add_to(&l, s->one[k].channel[c]);
        own[k] = add_to(&l, s->one[k].alpha);
        if (planes < s->one[k].channels) planes = s->one[k].channels;
    }
    if (planes == 0) return CSREC_OK;
    const int common = add_to(&l, alpha_of(s, list, part));
    csrec_status status = csrec_exr_layout_fill(s->exr, &l, error);
    if (!status) status = csrec_exr_pixels(s->exr, &l, &pixels, error);
    const csrec_shape shape = {2, {l.height, l.width}};
    const int64_t entries = (int64_t)l.height * l.width;
    double *values = status ? NULL : malloc((size_t)(entries * planes) * sizeof *values);
    if (!status && !values) status = csrec_memory_fail(error, s->exr->name);
    for (int k = 0; k < s->n && !status; k++) {
        if (s->one[k].part != part) continue;
        take_values(&pixels, entries, &s->one[k], first[k], own[k], common, values);
        name_layer(&s->one[k], m, name);
        status =
            csrec_guides_take(m, s->exr->name, name, &shape, s->one[k].channels, values, error);
    }
    free(values);
    csrec_image_clear(&pixels);
    return status;
}

static csrec_status take_all(layers *s, csrec_measurement *m, csrec_error *error) {
    int parts = 1;
    exr_get_count(s->exr->file, &parts);
    for (int p = 0; p < parts; p++) CSREC_TRY(take_part(s, p, m, error));
    return CSREC_OK;
}

/* all: not those alone that are of a kind, beside what is read as the picture. */
static csrec_status read_layers(csrec_input *input, bool all, csrec_measurement *m,
                                csrec_error *error) {
    csrec_exr exr;
    csrec_status status = csrec_exr_open(input, &exr, error);
    layers *s = status ? NULL : calloc(1, sizeof *s);
    if (status) return status;
    if (!s) {
        csrec_exr_close(&exr);
        return csrec_memory_fail(error, input->name);
    }
    const int64_t room = CSREC_GUIDES_MOST - (m->guides ? m->guides->n : 0);
    s->exr = &exr;
    s->kind = csrec_guide_kind;
    s->main.alpha = -1;
    if (!all) status = csrec_exr_choose(&exr, &s->main, error);
    s->main_part = exr.part;
    if (!status) status = csrec_exr_layers_find(s, room, error);
    s->any = all && s->n == 0;
    if (!status && s->any) status = csrec_exr_layers_find(s, room, error);
    if (!status) status = take_all(s, m, error);
    csrec_exr_close(&exr);
    free(s);
    return status;
}

csrec_status csrec_exr_guides(csrec_input *input, csrec_measurement *m, csrec_error *error) {
    return read_layers(input, true, m, error);
}

static void tell(csrec_input *input, const csrec_guides *guides) {
    char names[200] = "";
    size_t used = 0;
    for (int64_t k = 0; guides && k < guides->n && used < sizeof names; k++)
        if (k == 0 || strcmp(guides->name[k], guides->name[k - 1]) != 0)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                     guides->name[k]);
    if (guides) csrec_input_note(input, "guides are its layers %s", names);
}

/* The variance of each value, from planes of all entries. */
static csrec_status take_variance(const csrec_exr_each *each, csrec_measurement *m,
                                  csrec_error *error) {
    csrec_measurement own = *m;
    if (!each->variance) return CSREC_OK;
    if (csrec_each_allocate(false, true, &own))
        return csrec_fail(error, CSREC_MEMORY, "out of memory for the noise of samples");
    m->deviation = own.deviation;
    for (int64_t i = 0; i < m->n * m->channels; i++)
        m->deviation[i] =
            sqrt(each->variance[m->index[i / m->channels] * m->channels + i % m->channels]);
    return CSREC_OK;
}

csrec_status csrec_exr_measurement(csrec_input *input, const csrec_read_options *options,
                                   csrec_measurement *measurement, csrec_error *error) {
    csrec_measurement m = {0};
    csrec_exr_each each = {.rays = NULL};
    input->guides = !options->no_guides;
    input->each = true;
    csrec_status status = csrec_exr_each_read(input, &each, error);
    input->rays = each.rays;
    if (!status) status = csrec_measurement_from_signal(input, options, &m, error);
    input->rays = NULL;
    if (!status) status = take_variance(&each, &m, error);
    if (!status && input->guides) status = read_layers(input, false, &m, error);
    if (!status && each.note[0]) csrec_input_note(input, "%s", each.note);
    if (!status) tell(input, m.guides);
    csrec_exr_each_clear(&each);
    return csrec_measurement_deliver(status, &m, measurement);
}
