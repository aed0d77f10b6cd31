/* SPDX-License-Identifier: BSD-3-Clause */
/* exr.c - OpenEXRCore over an input or an output; which part and which channels are meant, of all
 * that a renderer may put into a file; what describes a picture, from one file to another; the row
 * of the format. */
#include <string.h>

#include "files/exr/exr.h"
#include "files/format.h"
#include "measurement/guides.h"

enum { NAME = CSREC_EXR_NAME };

/* "R" of no layer, or "diffuse.R" of one; -1: there is none. */
int csrec_exr_find(const exr_attr_chlist_t *list, const char *layer, const char *name) {
    char whole[NAME];
    snprintf(whole, sizeof whole, "%s%s%s", layer, *layer && *name ? "." : "", name);
    for (int i = 0; i < list->num_channels; i++)
        if (strcmp(list->entries[i].name.str, whole) == 0) return i;
    return -1;
}

/* The length of the name of the channel's layer, 0: none. */
size_t csrec_exr_layer_of(const char *channel) {
    const char *dot = strrchr(channel, '.');
    return dot ? (size_t)(dot - channel) : 0;
}

static bool is_of(const char *channel, const char *layer) {
    return csrec_exr_layer_of(channel) == strlen(layer) &&
           strncmp(channel, layer, strlen(layer)) == 0;
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
    l->alpha = csrec_exr_find(list, layer, "A");
    if (l->alpha < 0) l->alpha = csrec_exr_find(list, "", "A");
    bool all = false;
    for (int set = 0; set < 4 && !all; set++) {
        all = true;
        for (l->channels = 0; names[set][l->channels]; l->channels++) {
            l->channel[l->channels] = csrec_exr_find(list, layer, names[set][l->channels]);
            all = all && l->channel[l->channels] >= 0;
        }
        l->linear = set != 1;
        l->chroma = all && set == 2 && csrec_exr_find(list, layer, "RY") >= 0;
    }
    if (!all) l->channel[0] = find_only(list, layer, l->alpha);
    if (l->channel[0] < 0) return false;
    const char *name = list->entries[l->channel[0]].name.str;
    const size_t length = csrec_exr_layer_of(name);
    l->linear = l->linear && (l->channels == 3 || strcmp(name + length + (length > 0), "Y") == 0);
    if (l->channel[0] == l->alpha) l->alpha = -1;
    return true;
}

/* Whether all channels but A are of one layer; or all that are no guides. */
static bool find_layer(const exr_attr_chlist_t *list, bool guides, char layer[NAME]) {
    layer[0] = '\0';
    for (int i = 0; i < list->num_channels; i++) {
        char own[NAME];
        const char *name = list->entries[i].name.str;
        snprintf(own, sizeof own, "%.*s", (int)csrec_exr_layer_of(name), name);
        if (list->num_channels > 1 && strcmp(name, "A") == 0) continue;
        if (guides && (csrec_guide_kind(*own ? own : name) || csrec_each_kind(*own ? own : name)))
            continue;
        if (!*own || (*layer && strcmp(layer, own) != 0)) return false;
        memcpy(layer, own, sizeof own);
    }
    return *layer;
}

/* What is shown of all: of no layer, or of the only one, or of the only one beside guides. */
static bool choose_default(const exr_attr_chlist_t *list, csrec_exr_layout *l) {
    char layer[NAME];
    if (choose(list, "", l)) return true;
    return (find_layer(list, false, layer) || find_layer(list, true, layer)) &&
           choose(list, layer, l);
}

const char *csrec_exr_part_name(const csrec_exr *exr, int part) {
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

/* Whether a layer, or part, is told apart: of guides, or of rays and variances. */
static bool is_told(const csrec_exr *exr, const char *layer) {
    return (exr->input->guides && csrec_guide_kind(layer)) ||
           (exr->input->each && csrec_each_kind(layer));
}

/* "Z, diffuse, the part left": what may be named instead of what l has, NULL: of nothing. */
static void list_names(csrec_exr *exr, const csrec_exr_layout *l, char *text, size_t room) {
    int parts = 1;
    size_t used = 0, last = 0;
    const char *before = "";
    const exr_attr_chlist_t *list = NULL;
    char layer[NAME];
    text[0] = '\0';
    if (exr_get_channels(exr->file, exr->part, &list)) return;
    for (int i = 0; i < list->num_channels && used < room; i++) {
        const char *name = list->entries[i].name.str;
        if (l && is_told(exr, csrec_exr_layer_name(exr, exr->part, name, layer))) continue;
        size_t length = csrec_exr_layer_of(name);
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
        if (p != exr->part && !(l && is_told(exr, csrec_exr_part_name(exr, p))))
            used += (size_t)snprintf(text + used, room - used, "%s%.40s", used ? ", " : "",
                                     csrec_exr_part_name(exr, p));
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
            rest = pass ? name : within(csrec_exr_part_name(exr, p), name);
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

/* Pixels a side: strides of three channels of 32 bits fit 31 bits. */
enum { SIDE_MOST = 1 << 27 };

/* Names in the file may have any bytes; a message is one line. */
static void on_error(exr_const_context_t file, exr_result_t code, const char *message) {
    void *data = NULL;
    (void)code;
    if (!file || exr_get_user_data(file, &data) || !data) return;
    csrec_exr *exr = data;
    if (exr->text[0]) return;
    snprintf(exr->text, sizeof exr->text, "%s", message);
    csrec_text_clean(exr->text);
}

static int64_t on_size(exr_const_context_t file, void *data) {
    (void)file;
    return (int64_t)((csrec_exr *)data)->input->size;
}

static int64_t on_read(exr_const_context_t file, void *data, void *buffer, uint64_t bytes,
                       uint64_t offset, exr_stream_error_func_ptr_t fail) {
    const csrec_input *input = ((csrec_exr *)data)->input;
    (void)file, (void)fail;
    uint64_t left = offset < input->size ? input->size - offset : 0;
    size_t take = bytes < left ? (size_t)bytes : (size_t)left;
    if (input->bytes) {
        memcpy(buffer, input->bytes + (take ? offset : 0), take);
        return (int64_t)take;
    }
    if (take == 0) return 0;
    if (fseeko(input->file, (off_t)offset, SEEK_SET)) return -1;
    size_t got = fread(buffer, 1, take, input->file);
    return ferror(input->file) ? -1 : (int64_t)got;
}

static int64_t on_write(exr_const_context_t file, void *data, const void *buffer, uint64_t bytes,
                        uint64_t offset, exr_stream_error_func_ptr_t fail) {
    csrec_exr *exr = data;
    (void)file, (void)fail;
    if (offset != exr->at && fseeko(exr->output, (off_t)offset, SEEK_SET)) return -1;
    size_t done = fwrite(buffer, 1, (size_t)bytes, exr->output);
    exr->at = offset + done;
    return done == bytes ? (int64_t)done : -1;
}

static exr_context_initializer_t setup(csrec_exr *exr) {
    exr_context_initializer_t with = EXR_DEFAULT_CONTEXT_INITIALIZER;
    with.error_handler_fn = on_error;
    with.user_data = exr;
    with.max_image_width = with.max_image_height = SIDE_MOST;
    with.max_tile_width = with.max_tile_height = SIDE_MOST;
    with.flags = EXR_CONTEXT_FLAG_DISABLE_CHUNK_RECONSTRUCTION;
    return with;
}

csrec_status csrec_exr_open(csrec_input *input, csrec_exr *exr, csrec_error *error) {
    *exr = (csrec_exr){.name = input->name, .input = input};
    exr_context_initializer_t with = setup(exr);
    with.read_fn = on_read;
    with.size_fn = on_size;
    exr_result_t result = exr_start_read(&exr->file, "file", &with);
    if (!result) return CSREC_OK;
    csrec_exr_close(exr);
    return csrec_exr_failed(exr, result, error);
}

csrec_status csrec_exr_create(FILE *output, const char *name, csrec_exr *exr, csrec_error *error) {
    *exr = (csrec_exr){.name = name, .output = output};
    exr_context_initializer_t with = setup(exr);
    with.write_fn = on_write;
    exr_result_t result = exr_start_write(&exr->file, "file", EXR_WRITE_FILE_DIRECTLY, &with);
    if (!result) return CSREC_OK;
    csrec_exr_close(exr);
    return csrec_exr_failed(exr, result, error);
}

exr_result_t csrec_exr_close(csrec_exr *exr) {
    exr_result_t result = exr->file ? exr_finish(&exr->file) : EXR_ERR_SUCCESS;
    exr->file = NULL;
    return result;
}

csrec_status csrec_exr_failed(csrec_exr *exr, exr_result_t result, csrec_error *error) {
    if (result == EXR_ERR_OUT_OF_MEMORY) return csrec_memory_fail(error, exr->name);
    const char *text = exr->text[0] ? exr->text : exr_get_default_error_message(result);
    if (!exr->output)
        return csrec_fail(error, CSREC_FORMAT,
                          "%s: damaged OpenEXR (%s); write or copy the file again", exr->name,
                          text);
    if (ferror(exr->output)) return csrec_output_failed(exr->name, error);
    return csrec_fail(error, CSREC_FILE, "%s: cannot be written as OpenEXR (%s); write .npy",
                      exr->name, text);
}

/* How the picture is stored, which the new file says for itself, and what no longer shows it. */
static bool is_storage(const char *name) {
    static const char *const names[] = {"channels",  "compression", "dataWindow",
                                        "lineOrder", "tiles",       "chunkCount",
                                        "type",      "version",     "maxSamplesPerPixel",
                                        "name",      "preview",     "dwaCompressionLevel"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static void copy_strings(exr_context_t to, const exr_attribute_t *a) {
    const char *texts[64];
    const exr_attr_string_vector_t *v = a->stringvector;
    if (v->n_strings > 64) return;
    for (int i = 0; i < v->n_strings; i++) texts[i] = v->strings[i].str;
    exr_attr_set_string_vector(to, CSREC_EXR_PART, a->name, v->n_strings, texts);
}

/* Those whose values have no fixed size. */
static void copy_long(exr_context_t to, const exr_attribute_t *a) {
    switch (a->type) {
    case EXR_ATTR_STRING:
        exr_attr_set_string(to, CSREC_EXR_PART, a->name, a->string->str);
        break;
    case EXR_ATTR_STRING_VECTOR:
        copy_strings(to, a);
        break;
    case EXR_ATTR_FLOAT_VECTOR:
        exr_attr_set_float_vector(to, CSREC_EXR_PART, a->name, a->floatvector->length,
                                  a->floatvector->arr);
        break;
    case EXR_ATTR_OPAQUE:
        exr_attr_set_user(to, CSREC_EXR_PART, a->name, a->type_name, a->opaque->size,
                          a->opaque->packed_data);
        break;
    default:
        break; /* a type that OpenEXR has learned since */
    }
}

/* X(TYPE, function, member of the attribute) */
#define VALUES(X) X(DOUBLE, double, d) X(ENVMAP, envmap, uc) X(FLOAT, float, f) X(INT, int, i)
#define POINTERS(X)                                                                                \
    X(BOX2I, box2i)                                                                                \
    X(BOX2F, box2f)                                                                                \
    X(CHROMATICITIES, chromaticities)                                                              \
    X(KEYCODE, keycode)                                                                            \
    X(M33F, m33f)                                                                                  \
    X(M33D, m33d)                                                                                  \
    X(M44F, m44f)                                                                                  \
    X(M44D, m44d)                                                                                  \
    X(RATIONAL, rational)                                                                          \
    X(TIMECODE, timecode) X(V2I, v2i) X(V2F, v2f) X(V2D, v2d) X(V3I, v3i) X(V3F, v3f) X(V3D, v3d)

static void copy(exr_context_t to, const exr_attribute_t *a) {
    switch (a->type) {
#define COPY_VALUE(type, function, member)                                                         \
    case EXR_ATTR_##type:                                                                          \
        exr_attr_set_##function(to, CSREC_EXR_PART, a->name, a->member);                           \
        break;
        VALUES(COPY_VALUE)
#undef COPY_VALUE
#define COPY_POINTER(type, member)                                                                 \
    case EXR_ATTR_##type:                                                                          \
        exr_attr_set_##member(to, CSREC_EXR_PART, a->name, a->member);                             \
        break;
        POINTERS(COPY_POINTER)
#undef COPY_POINTER
    default:
        copy_long(to, a);
        break;
    }
}

/* Not by exr_copy_unset_attributes, which takes tiles and preview as well. */
void csrec_exr_copy_attributes(const csrec_exr *from, exr_context_t to) {
    int32_t count = 0;
    const exr_attribute_t *a;
    if (exr_get_attribute_count(from->file, from->part, &count)) return;
    for (int32_t i = 0; i < count; i++)
        if (!exr_get_attribute_by_index(from->file, from->part, EXR_ATTR_LIST_FILE_ORDER, i, &a) &&
            !is_storage(a->name))
            copy(to, a);
}

static const char *refusal(const csrec_shape *shape, int64_t channels) {
    bool fits = shape->dims == 2 && (channels == 1 || channels == 3) &&
                shape->dim[0] <= SIDE_MOST && shape->dim[1] <= SIDE_MOST;
    return fits ? NULL : "an OpenEXR file holds pictures of 1 or 3 channels; write .npy";
}

const csrec_format_row csrec_exr_format = {
    .format = {"exr", ".exr", "OpenEXR", "an OpenEXR picture",
               CSREC_USE_READ | CSREC_USE_WRITE | CSREC_USE_SAMPLES | CSREC_USE_CHANNELS,
               CSREC_EXR_NEEDS},
    .magic = {{"\x76\x2f\x31\x01", 4}},
    .members = CSREC_USE_READ,
    .signal = csrec_exr_signal,
    .measurement = csrec_exr_measurement,
    .guides = csrec_exr_guides,
    .refusal = refusal,
    .write = csrec_exr_write,
};
