/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_attributes.c - attributes of an object: numbers, texts, and copies of all.
 *
 * Sequences of variable length, as texts often are, lie in collections of objects ("global heaps"),
 * to which the attribute refers by address and number. libhdf5 1.10 trusts both, and the sizes in
 * the collection, which crashes on damaged files: so it is only asked for the references, and the
 * objects are found here. */
#include <stdlib.h>
#include <string.h>

#include "files/hdf5/hdf5.h"

/* BYTES_MOST: of an attribute in memory; longer ones are left out. */
enum { BYTES_MOST = 1 << 20, OBJECTS_MOST = 1 << 16, SEQUENCES_MOST = 4096 };

static uint64_t little_endian(const uint8_t *bytes, size_t count) {
    uint64_t number = 0;
    while (count-- > 0) number = number << 8 | bytes[count];
    return number;
}

/* A conversion that keeps the bytes as they are in the file. */
static herr_t keep_bytes(hid_t from, hid_t to, H5T_cdata_t *data, size_t count, size_t stride,
                         size_t background_stride, void *values, void *background, hid_t transfer) {
    (void)count, (void)stride, (void)background_stride, (void)values, (void)background;
    (void)transfer;
    data->need_bkg = H5T_BKG_NO;
    return data->command == H5T_CONV_INIT && H5Tget_size(from) != H5Tget_size(to) ? -1 : 0;
}

/* Length, address and number of each sequence, as bytes of the file. */
static bool read_references(hid_t object, size_t size, uint8_t *references) {
    static const char name[] = "csrec sequences";
    const bool attribute = H5Iget_type(object) == H5I_ATTR;
    hid_t from = attribute ? H5Aget_type(object) : H5Dget_type(object);
    hid_t to = H5Tcreate(H5T_OPAQUE, size);
    bool good = from >= 0 && H5Tregister(H5T_PERS_SOFT, name, from, to, keep_bytes) >= 0;
    if (good) {
        good = (attribute ? H5Aread(object, to, references)
                          : H5Dread(object, to, H5S_ALL, H5S_ALL, H5P_DEFAULT, references)) >= 0;
        H5Tunregister(H5T_PERS_SOFT, name, from, to, keep_bytes);
    }
    if (from >= 0) H5Tclose(from);
    H5Tclose(to);
    return good;
}

static bool peek(const csrec_hdf5 *h5, uint64_t at, void *to, size_t count) {
    return at <= h5->size && csrec_input_peek(h5->input, at, to, count) == count;
}

/* Where the bytes of an object are, and how many. Numbers of objects are below 65536; the space
 * that is free has number 0 and ends them. */
static bool find_object(const csrec_hdf5 *h5, uint64_t collection, unsigned wanted, uint64_t *at,
                        uint64_t *size) {
    uint8_t head[16];
    const size_t bytes = 8 + h5->length_bytes; /* of the head, of the collection and of objects */
    if (collection > h5->size || !peek(h5, collection, head, bytes) || memcmp(head, "GCOL", 4) != 0)
        return false;
    uint64_t left = little_endian(head + 8, h5->length_bytes);
    if (left > h5->size - collection) return false;
    const uint64_t end = collection + left;
    *at = collection + 16;
    for (int k = 0; k < OBJECTS_MOST; k++) {
        if (*at > end || end - *at < 16 || !peek(h5, *at, head, bytes)) return false;
        unsigned number = (unsigned)little_endian(head, 2);
        *size = little_endian(head + 8, h5->length_bytes);
        *at += 16;
        if (number == 0 || *size > end - *at) return false;
        if (number == wanted) return true;
        *at += (*size + 7) / 8 * 8;
    }
    return false;
}

static bool read_sequence(const csrec_hdf5 *h5, const uint8_t *reference, size_t each,
                          hvl_t *sequence) {
    uint64_t length = little_endian(reference, 4), at = 0, size = 0;
    uint64_t address = little_endian(reference + 4, h5->address_bytes);
    unsigned number = (unsigned)little_endian(reference + 4 + h5->address_bytes, 4);
    if (length > BYTES_MOST / each) return false;
    sequence->p = calloc((size_t)length * each + 1, 1);
    if (length > 0 &&
        (address > h5->size || !find_object(h5, h5->base + address, number, &at, &size)))
        return false;
    sequence->len = (size_t)length;
    return sequence->p && length * each <= size && peek(h5, at, sequence->p, length * each);
}

void csrec_hdf5_sequences_free(hvl_t *sequences, int count) {
    for (int k = 0; sequences && k < count; k++) free(sequences[k].p);
    free(sequences);
}

hvl_t *csrec_hdf5_sequences(const csrec_hdf5 *h5, hid_t object, int count, size_t each) {
    const size_t size = 4 + h5->address_bytes + 4;
    if (count > SEQUENCES_MOST) return NULL;
    uint8_t *references = calloc((size_t)count, size);
    hvl_t *sequences = calloc((size_t)count, sizeof *sequences);
    bool good = references && sequences && h5->address_bytes <= 8 && h5->length_bytes <= 8 &&
                read_references(object, size, references);
    for (int k = 0; good && k < count; k++)
        good = read_sequence(h5, references + (size_t)k * size, each, &sequences[k]);
    free(references);
    if (good) return sequences;
    csrec_hdf5_sequences_free(sequences, count);
    return NULL;
}

/* An attribute with its type and space. */
typedef struct opened {
    hid_t id, type, space;
    hssize_t count;
    size_t bytes; /* in memory, in the native type */
    hid_t native;
} opened;

static void close_attribute(const opened *a) {
    if (a->native >= 0) H5Tclose(a->native);
    if (a->space >= 0) H5Sclose(a->space);
    if (a->type >= 0) H5Tclose(a->type);
    if (a->id >= 0) H5Aclose(a->id);
}

/* false: nothing is open. */
static bool open_attribute(hid_t object, const char *name, opened *a) {
    *a = (opened){.id = -1, .type = -1, .space = -1, .native = -1};
    if (H5Aexists(object, name) <= 0) return false;
    a->id = H5Aopen(object, name, H5P_DEFAULT);
    if (a->id >= 0) a->type = H5Aget_type(a->id);
    if (a->id >= 0) a->space = H5Aget_space(a->id);
    if (a->type >= 0) a->native = H5Tget_native_type(a->type, H5T_DIR_DEFAULT);
    if (a->space >= 0) a->count = H5Sget_simple_extent_npoints(a->space);
    size_t each = a->native >= 0 ? H5Tget_size(a->native) : 0;
    if (each > 0 && a->count > 0 && (size_t)a->count <= BYTES_MOST / each) {
        a->bytes = each * (size_t)a->count;
        return true;
    }
    close_attribute(a);
    return false;
}

int csrec_hdf5_numbers(hid_t object, const char *name, hid_t type, int most, void *values,
                       H5T_class_t *class) {
    opened a;
    int count = 0;
    if (!open_attribute(object, name, &a)) return 0;
    H5T_class_t found = H5Tget_class(a.type);
    if ((found == H5T_INTEGER || found == H5T_FLOAT) && a.count <= most &&
        H5Aread(a.id, type, values) >= 0)
        count = (int)a.count;
    if (class) *class = found;
    close_attribute(&a);
    return count;
}

/* The text of an attribute that has one, of fixed or variable length; to be freed. */
static char *text_of(const csrec_hdf5 *h5, const opened *a) {
    if (H5Tget_class(a->type) != H5T_STRING || a->count != 1) return NULL;
    if (H5Tis_variable_str(a->type) > 0) {
        hvl_t *one = csrec_hdf5_sequences(h5, a->id, 1, 1);
        char *text = one ? one->p : NULL;
        free(one);
        return text;
    }
    char *text = calloc(a->bytes + 1, 1);
    if (text && H5Aread(a->id, a->native, text) >= 0) return text;
    free(text);
    return NULL;
}

bool csrec_hdf5_text(const csrec_hdf5 *h5, hid_t object, const char *name, char *text,
                     size_t room) {
    opened a;
    if (!open_attribute(object, name, &a)) return false;
    char *found = text_of(h5, &a);
    close_attribute(&a);
    bool fits = found && strlen(found) < room;
    if (fits) strcpy(text, found);
    free(found);
    return fits;
}

bool csrec_hdf5_text_is(const csrec_hdf5 *h5, hid_t object, const char *name,
                        const char *expected) {
    char text[64];
    return csrec_hdf5_text(h5, object, name, text, sizeof text) && strcmp(text, expected) == 0;
}

typedef struct copying {
    const csrec_hdf5 *h5;
    hid_t to;
    const char *const *without;
} copying;

static bool is_among(const char *const *names, const char *name) {
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

/* In the native type: of texts of variable length, where they are. */
bool csrec_hdf5_copy_texts(const csrec_hdf5 *h5, hid_t from, int count, hid_t type, hid_t to) {
    hvl_t *texts = csrec_hdf5_sequences(h5, from, count, 1);
    char **values = calloc((size_t)count, sizeof *values);
    for (int k = 0; values && texts && k < count; k++) values[k] = texts[k].p;
    bool good = values && texts &&
                (H5Iget_type(to) == H5I_ATTR
                     ? H5Awrite(to, type, values)
                     : H5Dwrite(to, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values)) >= 0;
    csrec_hdf5_sequences_free(texts, count);
    free(values);
    return good;
}

static bool write_values(const opened *from, hid_t to) {
    void *values = calloc(from->bytes, 1);
    bool good = values && H5Aread(from->id, from->native, values) >= 0 &&
                H5Awrite(to, from->native, values) >= 0;
    free(values);
    return good;
}

/* The type of the file may be one that the file has a name for: a copy has none. */
static void copy_values(const csrec_hdf5 *h5, const opened *from, const char *name, hid_t object) {
    hid_t type = H5Tcopy(from->type);
    hid_t to =
        type < 0 ? -1 : H5Acreate2(object, name, type, from->space, H5P_DEFAULT, H5P_DEFAULT);
    bool good =
        to >= 0 && (H5Tis_variable_str(from->type) > 0
                        ? csrec_hdf5_copy_texts(h5, from->id, (int)from->count, from->native, to)
                        : write_values(from, to));
    if (to >= 0) H5Aclose(to);
    if (to >= 0 && !good) H5Adelete(object, name);
    if (type >= 0) H5Tclose(type);
}

bool csrec_hdf5_is_plain(hid_t type, bool texts) {
    H5T_class_t class = H5Tget_class(type);
    if (class == H5T_STRING) return texts || H5Tis_variable_str(type) == 0;
    return class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ENUM;
}

static herr_t copy_attribute(hid_t object, const char *name, const H5A_info_t *info, void *data) {
    const copying *c = data;
    opened a;
    (void)info;
    if (is_among(c->without, name) || H5Aexists(c->to, name) > 0 ||
        !open_attribute(object, name, &a))
        return 0;
    if (csrec_hdf5_is_plain(a.type, true)) copy_values(c->h5, &a, name, c->to);
    close_attribute(&a);
    return 0;
}

void csrec_hdf5_copy_attributes(const csrec_hdf5 *h5, hid_t from, hid_t to,
                                const char *const *without) {
    copying c = {h5, to, without};
    if (H5Aiterate2(from, H5_INDEX_CRT_ORDER, H5_ITER_INC, NULL, copy_attribute, &c) < 0)
        H5Aiterate2(from, H5_INDEX_NAME, H5_ITER_INC, NULL, copy_attribute, &c);
}
