/* SPDX-License-Identifier: BSD-3-Clause */
/* mutate_npy.c - changes .npy bytes as what they are: a type, a shape, values; or as any bytes. */
#include <math.h>

#include "base/half.h"
#include "fuzz.h"
#include "files/npy/npy.h"

enum { EXTENT_MAX = 40, MEMBER_MAX = 1 << 15 };

/* Header and elements of a member that is an array of numbers. */
typedef struct npy {
    csrec_npy_header header;
    uint8_t *values; /* in the member */
} npy;

static bool parse(const fuzz_member *member, npy *array) {
    csrec_input input = csrec_input_memory(member->data, member->size, "fuzz");
    csrec_reader reader = csrec_input_reader(&input);
    if (csrec_npy_header_read(&reader, "fuzz", &array->header, NULL)) return false;
    array->values = member->data + member->size - reader.left;
    return array->header.kind != 'U' && array->header.kind != 'S';
}

static double value_at(const npy *array, int64_t i) {
    csrec_array view = {array->header.dtype, {0}, array->header.count, array->values};
    uint64_t one = 0; /* elements of a member are not aligned */
    size_t bytes = (size_t)array->header.bytes;
    memcpy(&one, array->values + (size_t)i * bytes, bytes);
    if (array->header.half) return csrec_half_value((uint16_t)one);
    view.data = &one;
    return csrec_array_value(&view, 0);
}

/* Integers take the numbers that are one of theirs, else small ones and their ends. */
static void set_value(csrec_dtype dtype, void *at, double value) {
    size_t bytes = csrec_dtype_size(dtype);
    float single = (float)value;
    int64_t whole = value > -0x1p62 && value < 0x1p62 ? (int64_t)value
                    : value < 0                       ? INT64_MIN
                                                      : INT64_MAX;
    if (dtype == CSREC_F64)
        memcpy(at, &value, 8);
    else if (dtype == CSREC_F32)
        memcpy(at, &single, 4);
    else
        memcpy(at, &whole, bytes);
}

static void set_stored(npy *array, int64_t i, double value) {
    const csrec_npy_header *h = &array->header;
    uint8_t *at = array->values + (size_t)i * (size_t)h->bytes;
    uint16_t half = isnan(value) ? 0x7e00 : csrec_half_bits((float)value);
    if (h->half)
        memcpy(at, &half, sizeof half);
    else
        set_value(h->dtype, at, value);
}

static void change_values(npy *array, uint64_t *state) {
    double value = fuzz_numbers[fuzz_random_below(state, FUZZ_NUMBERS)];
    for (size_t many = 1 + fuzz_random_below(state, 4); many > 0; many--)
        set_stored(array, (int64_t)fuzz_random_below(state, (size_t)array->header.count), value);
}

/* All values times a number: what is consistent stays so. */
static void scale_values(npy *array, uint64_t *state) {
    double factor = fuzz_numbers[fuzz_random_below(state, FUZZ_FINITE)];
    for (int64_t i = 0; i < array->header.count; i++)
        set_stored(array, i, value_at(array, i) * factor);
}

static void copy_values(npy *array, uint64_t *state) {
    size_t bytes = (size_t)array->header.bytes, count = (size_t)array->header.count;
    size_t from = fuzz_random_below(state, count), to = fuzz_random_below(state, count);
    size_t most = count - (from > to ? from : to), n = 1 + fuzz_random_below(state, most);
    memmove(array->values + to * bytes, array->values + from * bytes, n * bytes);
}

/* The array as `dtype` in another shape of `count` entries, values repeated or cut. */
static void rebuild(fuzz_member *member, const npy *array, csrec_dtype dtype, csrec_shape shape,
                    size_t count) {
    size_t bytes = csrec_dtype_size(dtype), had = (size_t)array->header.count;
    uint8_t *values = malloc(count * bytes);
    if (!values) abort();
    for (size_t i = 0; i < count; i++)
        set_value(dtype, values + i * bytes, value_at(array, (int64_t)(i % had)));
    fuzz_member_array(member, dtype, shape, values);
    free(values);
}

static void change_type(fuzz_member *member, const npy *array, uint64_t *state) {
    rebuild(member, array, (csrec_dtype)fuzz_random_below(state, CSREC_F64 + 1),
            array->header.shape, (size_t)array->header.count);
}

static csrec_shape random_shape(uint64_t *state) {
    csrec_shape shape = {.dims = (int)fuzz_random_below(state, CSREC_DIMS_MAX + 1)};
    for (int d = 0; d < shape.dims; d++)
        shape.dim[d] = 1 + (int64_t)fuzz_random_below(state, shape.dims < 3 ? EXTENT_MAX : 5);
    return shape;
}

void fuzz_reshape_npy(fuzz_member *member, csrec_shape shape) {
    npy array;
    int64_t count = 1;
    if (!parse(member, &array)) return;
    if ((shape.dims && csrec_shape_count(&shape, &count)) || count > MEMBER_MAX / 8) return;
    rebuild(member, &array, array.header.dtype, shape, (size_t)count);
}

/* The other order of bytes or of axes, said but not done. */
static void change_order(fuzz_member *member, uint64_t *state) {
    static const char *const texts[][2] = {{"False", "True "}, {"'<", "'>"}, {"True", "False"}};
    const char *const *pair = texts[fuzz_random_below(state, 3)];
    size_t length = strlen(pair[0]);
    for (size_t i = 0; i + length < member->size && i < 128; i++)
        if (memcmp(member->data + i, pair[0], length) == 0) {
            memcpy(member->data + i, pair[1], length);
            return;
        }
}

/* Any bytes from `first` on, in any number. */
static void change_bytes(fuzz_member *member, size_t first) {
    size_t room = member->size + 64 < MEMBER_MAX ? member->size + 64 : member->size;
    uint8_t *copy = malloc(room + 1);
    if (!copy) abort();
    if (member->size) memcpy(copy, member->data, member->size);
    member->size = first + LLVMFuzzerMutate(copy + first, member->size - first, room - first);
    free(member->data);
    member->data = copy;
}

void fuzz_mutate_npy(fuzz_member *member, uint64_t *state) {
    npy array;
    size_t choice = fuzz_random_below(state, 16);
    if (!parse(member, &array) || choice == 0) {
        change_bytes(member, 0);
        return;
    }
    size_t head = (size_t)(array.values - member->data);
    if (choice < 5)
        change_values(&array, state);
    else if (choice < 8)
        scale_values(&array, state);
    else if (choice < 9)
        copy_values(&array, state);
    else if (choice < 11)
        change_type(member, &array, state);
    else if (choice < 12)
        fuzz_reshape_npy(member, random_shape(state));
    else if (choice < 13)
        change_order(member, state);
    else if (choice < 14)
        change_bytes(member, head); /* shape and values disagree */
    else                            /* as many bytes as before */
        LLVMFuzzerMutate(array.values, member->size - head, member->size - head);
}
