/* exr_attributes.c - what describes a picture, from one OpenEXR file to another. */
#include <string.h>

#include "files/exr/exr.h"

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
void csrec_exr_copy_attributes(exr_const_context_t from, exr_context_t to) {
    int32_t count = 0;
    const exr_attribute_t *a;
    if (exr_get_attribute_count(from, CSREC_EXR_PART, &count)) return;
    for (int32_t i = 0; i < count; i++)
        if (!exr_get_attribute_by_index(from, CSREC_EXR_PART, EXR_ATTR_LIST_FILE_ORDER, i, &a) &&
            !is_storage(a->name))
            copy(to, a);
}
