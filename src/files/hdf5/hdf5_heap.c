/* hdf5_heap.c - sequences of variable length, as texts of attributes often are. They lie in
 * collections of objects ("global heaps"), to which the attribute refers by address and number.
 * libhdf5 1.10 trusts both, and the sizes in the collection, which crashes on damaged files: so it
 * is only asked for the references, and the objects are found here. */
#include <stdlib.h>
#include <string.h>

#include "files/hdf5/hdf5.h"

enum { OBJECTS_MOST = 1 << 16, SEQUENCES_MOST = 1024, BYTES_MOST = 1 << 20 };

static uint64_t little_endian(const uint8_t *bytes, size_t count) {
    uint64_t number = 0;
    while (count-- > 0) number = number << 8 | bytes[count];
    return number;
}

/* ------------------------------------------------------------------ references ---------------- */

/* A conversion that keeps the bytes as they are in the file. */
static herr_t keep_bytes(hid_t from, hid_t to, H5T_cdata_t *data, size_t count, size_t stride,
                         size_t background_stride, void *values, void *background, hid_t transfer) {
    (void)count, (void)stride, (void)background_stride, (void)values, (void)background;
    (void)transfer;
    data->need_bkg = H5T_BKG_NO;
    return data->command == H5T_CONV_INIT && H5Tget_size(from) != H5Tget_size(to) ? -1 : 0;
}

/* Length, address and number of each sequence, as bytes of the file. */
static bool read_references(hid_t attribute, size_t size, uint8_t *references) {
    static const char name[] = "csrec sequences";
    hid_t from = H5Aget_type(attribute), to = H5Tcreate(H5T_OPAQUE, size);
    bool good = from >= 0 && H5Tregister(H5T_PERS_SOFT, name, from, to, keep_bytes) >= 0;
    if (good) {
        good = H5Aread(attribute, to, references) >= 0;
        H5Tunregister(H5T_PERS_SOFT, name, from, to, keep_bytes);
    }
    if (from >= 0) H5Tclose(from);
    H5Tclose(to);
    return good;
}

/* ------------------------------------------------------------------ collections --------------- */

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

/* ------------------------------------------------------------------ both ---------------------- */

void csrec_hdf5_sequences_free(hvl_t *sequences, int count) {
    for (int k = 0; sequences && k < count; k++) free(sequences[k].p);
    free(sequences);
}

hvl_t *csrec_hdf5_sequences(const csrec_hdf5 *h5, hid_t attribute, int count, size_t each) {
    const size_t size = 4 + h5->address_bytes + 4;
    if (count > SEQUENCES_MOST) return NULL;
    uint8_t *references = calloc((size_t)count, size);
    hvl_t *sequences = calloc((size_t)count, sizeof *sequences);
    bool good = references && sequences && h5->address_bytes <= 8 && h5->length_bytes <= 8 &&
                read_references(attribute, size, references);
    for (int k = 0; good && k < count; k++)
        good = read_sequence(h5, references + (size_t)k * size, each, &sequences[k]);
    free(references);
    if (good) return sequences;
    csrec_hdf5_sequences_free(sequences, count);
    return NULL;
}
