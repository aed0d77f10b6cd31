/* SPDX-License-Identifier: BSD-3-Clause */
/* mutate_npz.c - changes a zip archive by its members, each by what it is, and makes it anew with
 * right checksums; other bytes that are a .npy likewise; any other bytes as libFuzzer does. */
#include "fuzz.h"

enum { ENTRIES_MAX = 400 };

/* Arrays of measurements, of operators, of models and of dense systems, and options. */
static const char *const names[] = {
    "y",       "shape",       "index",      "mask",      "seed",     "pattern", "count",
    "sigma",   "scale",       "operator",   "ordering",  "scramble", "complex", "coils",
    "matrix",  "block",       "kernel",     "factor",    "split",    "kind",    "mean",
    "noise",   "components",  "variances",  "channels",  "weights",  "means",   "source",
    "filters", "covariances", "amplitudes", "objective", "layers",   "loss",    "psnr",
    "A",       "options",     "centred",    "norm"};

enum { NAMES = sizeof names / sizeof *names };

static void drop(fuzz_archive *a, size_t i) {
    free(a->member[i].data);
    a->member[i] = a->member[--a->n];
}

static void add(fuzz_archive *a, const fuzz_member *from) {
    if (a->n == FUZZ_MEMBERS) return;
    fuzz_member *made = &a->member[a->n++];
    *made = (fuzz_member){0};
    memcpy(made->name, from->name, sizeof made->name);
    fuzz_member_set(made, from->data, from->size);
}

static void add_options(fuzz_archive *a, uint64_t *state) {
    uint64_t bytes[3];
    fuzz_member made = {.name = "options", (uint8_t *)bytes, sizeof bytes};
    for (int i = 0; i < 3; i++) bytes[i] = fuzz_random(state);
    add(a, &made);
}

static void rename_member(fuzz_member *member, uint64_t *state) {
    const char *name = names[fuzz_random_below(state, NAMES)];
    memset(member->name, 0, sizeof member->name);
    strcpy(member->name, name);
    if (strcmp(name, "options") != 0) strcat(member->name, ".npy");
}

static void swap_data(fuzz_member *a, fuzz_member *b) {
    fuzz_member kept = *a;
    a->data = b->data;
    a->size = b->size;
    b->data = kept.data;
    b->size = kept.size;
}

/* Another signal: a shape, and samples at distinct places of it. */
static void change_signal(fuzz_archive *a, uint64_t *state) {
    fuzz_member *y = fuzz_archive_find(a, "y"), *shape = fuzz_archive_find(a, "shape"),
                *index = fuzz_archive_find(a, "index");
    if (!y || !shape || !index) return;
    int64_t dims = 1 + (int64_t)fuzz_random_below(state, fuzz_random_below(state, 3) ? 3 : 8);
    int64_t dim[CSREC_DIMS_MAX], entries = 1, channels = 1;
    for (int64_t d = 0; d < dims; d++) {
        static const size_t most[] = {400, 20, 8, 5, 4, 3, 3, 2};
        dim[d] = 1 + (int64_t)fuzz_random_below(state, most[dims - 1]);
        entries *= dim[d];
    }
    if (entries > ENTRIES_MAX) return;
    int64_t n = 1 + (int64_t)fuzz_random_below(state, (size_t)entries);
    int64_t start = (int64_t)fuzz_random_below(state, (size_t)entries), at[ENTRIES_MAX];
    /* 409 is a prime above every number of entries, so the steps meet each place once. */
    for (int64_t i = 0; i < n; i++) at[i] = (start + i * 409) % entries;
    if (fuzz_random_below(state, 3) == 0) channels += (int64_t)fuzz_random_below(state, 4);
    fuzz_reshape_npy(y, (csrec_shape){channels > 1 ? 2 : 1, {n, channels}});
    fuzz_member_array(shape, CSREC_I64, (csrec_shape){1, {dims}}, dim);
    fuzz_member_array(index, CSREC_I64, (csrec_shape){1, {n}}, at);
}

static void mutate(fuzz_archive *a, uint64_t *state) {
    size_t n = (size_t)a->n, i = fuzz_random_below(state, n), j = fuzz_random_below(state, n);
    fuzz_member *options = fuzz_archive_find(a, "options");
    switch (fuzz_random_below(state, 20)) {
    case 0:
        if (n > 1) drop(a, i);
        break;
    case 1:
        add(a, &a->member[i]);
        break;
    case 2:
        swap_data(&a->member[i], &a->member[j]);
        break;
    case 3:
        rename_member(&a->member[i], state);
        break;
    case 4:
    case 5:
    case 6:
        change_signal(a, state);
        break;
    case 7:
    case 8:
    case 9:
    case 10:
        if (options)
            fuzz_mutate_npy(options, state);
        else
            add_options(a, state);
        break;
    default:
        fuzz_mutate_npy(&a->member[i], state);
    }
}

/* Bytes that are no archive, or no longer fit. */
static size_t mutate_single(uint8_t *data, size_t size, size_t room, uint64_t *state) {
    fuzz_member whole = {.size = 0};
    if (size < 6 || memcmp(data, "\x93NUMPY", 6) != 0) return LLVMFuzzerMutate(data, size, room);
    fuzz_member_set(&whole, data, size);
    fuzz_mutate_npy(&whole, state);
    size = whole.size < room ? whole.size : room;
    memcpy(data, whole.data, size);
    free(whole.data);
    return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
    uint64_t state = seed;
    fuzz_archive archive;
    if (fuzz_random_below(&state, 32) == 0) return LLVMFuzzerMutate(data, size, room);
    if (!fuzz_archive_read(data, size, &archive)) return mutate_single(data, size, room, &state);
    for (size_t k = 1 + fuzz_random_below(&state, 4); k > 0; k--) mutate(&archive, &state);
    size_t made = fuzz_archive_write(&archive, data, room);
    fuzz_archive_clear(&archive);
    return made ? made : LLVMFuzzerMutate(data, size, room);
}

/* Each member from one of both. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t room, unsigned seed) {
    uint64_t state = seed;
    fuzz_archive one, other;
    size_t made = 0;
    if (!fuzz_archive_read(a, a_size, &one)) return 0;
    if (fuzz_archive_read(b, b_size, &other)) {
        for (int i = 0; i < other.n; i++) {
            fuzz_member *same = fuzz_archive_find(&one, other.member[i].name);
            if (fuzz_random_below(&state, 2)) continue;
            if (same)
                fuzz_member_set(same, other.member[i].data, other.member[i].size);
            else
                add(&one, &other.member[i]);
        }
        made = fuzz_archive_write(&one, out, room);
        fuzz_archive_clear(&other);
    }
    fuzz_archive_clear(&one);
    return made;
}
