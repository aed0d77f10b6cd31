/* SPDX-License-Identifier: BSD-3-Clause */
/* slabs.c - the samples of slabs from the stored arrays of a .npz. One pass through all of them
 * finds errors, and in which zones of the file the positions of a slab are. */
#include <stdlib.h>
#include <string.h>

#include "files/measurement.h"
#include "files/npz/npz.h"

enum { PIECE = CSREC_NPZ_PIECE };

/* PIECE samples: the least and the most of their positions. Of a mask PIECE entries: true ones
 * before them, in `least`. */
typedef struct zone {
    int64_t least, most;
} zone;

typedef struct slabs {
    csrec_npz npz;
    csrec_input input;
    csrec_measurement form;
    csrec_npz_member y, places; /* places: index or mask */
    bool masked, seen;
    int64_t entries, zones;
    zone *zone;
    int64_t *index; /* [PIECE] */
    double *values; /* [PIECE * channels] */
    uint8_t *mask;  /* [PIECE] */
} slabs;

static int64_t piece_at(int64_t at, int64_t end) {
    return end - at < PIECE ? end - at : PIECE;
}

/* Elements first .. first + count - 1 of a member, in C order. */
static csrec_status read_y(slabs *s, int64_t first, int64_t count, double *to, csrec_error *error) {
    csrec_npy_header part = s->y.header;
    const int64_t C = s->form.channels;
    part.count = count * C;
    csrec_status status = csrec_npz_seek(&s->y, first * C, error);
    return status ? status : csrec_npy_values_f64(&s->y.reader, &part, s->y.name, to, error);
}

static csrec_status read_places(slabs *s, int64_t first, int64_t count, csrec_error *error) {
    csrec_npz_member *member = &s->places;
    csrec_npy_header part = member->header;
    part.count = count;
    CSREC_TRY(csrec_npz_seek(member, first, error));
    return s->masked ? csrec_npy_values(&member->reader, &part, member->name, s->mask, error)
                     : csrec_npy_values_i64(&member->reader, &part, member->name, s->index, error);
}

static csrec_status look_at_mask(slabs *s, int64_t z, int64_t count, int64_t *found) {
    s->zone[z].least = *found;
    for (int64_t i = 0; i < count; i++) *found += s->mask[i] != 0;
    return CSREC_OK;
}

static csrec_status look_at_index(slabs *s, int64_t z, int64_t count, csrec_error *error) {
    zone *one = &s->zone[z];
    csrec_status status =
        csrec_positions_check_piece(&s->form, z * PIECE, count, s->index, s->npz.name, error);
    one->least = one->most = s->index[0];
    for (int64_t i = 1; i < count && !status; i++) {
        if (s->index[i] < one->least) one->least = s->index[i];
        if (s->index[i] > one->most) one->most = s->index[i];
    }
    return status;
}

static csrec_status look_at_places(slabs *s, csrec_error *error) {
    const int64_t all = s->masked ? s->entries : s->form.n;
    int64_t found = 0;
    for (int64_t z = 0; z < s->zones; z++) {
        const int64_t count = piece_at(z * PIECE, all);
        CSREC_TRY(read_places(s, z * PIECE, count, error));
        CSREC_TRY(s->masked ? look_at_mask(s, z, count, &found)
                            : look_at_index(s, z, count, error));
    }
    if (s->masked) CSREC_TRY(csrec_npz_check_count(&s->places, found, s->form.n, error));
    return CSREC_OK;
}

static csrec_status look_at_y(slabs *s, csrec_error *error) {
    for (int64_t at = 0, count; at < s->form.n; at += count) {
        count = piece_at(at, s->form.n);
        CSREC_TRY(read_y(s, at, count, s->values, error));
        CSREC_TRY(csrec_values_check_piece(&s->form, at, count, s->values, s->npz.name, error));
    }
    return CSREC_OK;
}

/* Both members are read in their order, so that their checksums are compared. */
static csrec_status look(slabs *s, csrec_error *error) {
    s->zones = ((s->masked ? s->entries : s->form.n) + PIECE - 1) / PIECE;
    s->zone = calloc((size_t)s->zones, sizeof *s->zone);
    s->index = malloc(PIECE * sizeof *s->index);
    s->mask = malloc(PIECE);
    s->values = malloc((size_t)s->form.channels * PIECE * sizeof *s->values);
    if (!s->zone || !s->index || !s->mask || !s->values)
        return csrec_memory_fail(error, s->npz.name);
    csrec_status status = look_at_places(s, error);
    if (!status) status = csrec_npz_check_end(&s->places, error);
    if (!status) status = look_at_y(s, error);
    if (!status) status = csrec_npz_check_end(&s->y, error);
    s->seen = !status;
    return status;
}

/* Positions first .. end - 1 of the whole are those of the slab. */
typedef struct range {
    int64_t first, end;
} range;

static bool is_in(const range *r, int64_t position) {
    return position >= r->first && position < r->end;
}

/* Where positions of a zone may be. */
static range range_of(const slabs *s, int64_t z) {
    if (s->masked) return (range){z * PIECE, z * PIECE + piece_at(z * PIECE, s->entries)};
    return (range){s->zone[z].least, s->zone[z].most + 1};
}

/* The first sample of a zone. */
static int64_t first_of(const slabs *s, int64_t z) {
    return z == s->zones ? s->form.n : s->masked ? s->zone[z].least : z * PIECE;
}

/* The positions of its samples into s->index. */
static csrec_status read_zone(slabs *s, int64_t z, csrec_error *error) {
    const int64_t all = s->masked ? s->entries : s->form.n, count = piece_at(z * PIECE, all);
    const int64_t samples = first_of(s, z + 1) - first_of(s, z);
    int64_t n = 0;
    csrec_status status = read_places(s, z * PIECE, count, error);
    if (status || !s->masked) return status;
    for (int64_t i = 0; i < count; i++)
        if (s->mask[i]) s->index[n++] = z * PIECE + i;
    return n == samples ? CSREC_OK : csrec_npz_changed(&s->places, error);
}

static csrec_status count_samples(slabs *s, const range *r, int64_t *n, csrec_error *error) {
    *n = 0;
    for (int64_t z = 0; z < s->zones; z++) {
        const range own = range_of(s, z);
        const int64_t count = first_of(s, z + 1) - first_of(s, z);
        if (own.end <= r->first || own.first >= r->end) continue;
        if (own.first >= r->first && own.end <= r->end) {
            *n += count;
            continue;
        }
        CSREC_TRY(read_zone(s, z, error));
        for (int64_t i = 0; i < count; i++) *n += is_in(r, s->index[i]);
    }
    return CSREC_OK;
}

/* The samples of a zone that are in the slab become those of the part from *to on. */
static csrec_status take_zone(slabs *s, int64_t z, const range *r, csrec_measurement *part,
                              int64_t *to, csrec_error *error) {
    const int64_t C = s->form.channels, first = first_of(s, z), count = first_of(s, z + 1) - first;
    int64_t low = count, high = 0;
    csrec_status status = read_zone(s, z, error);
    for (int64_t i = 0; i < count && !status; i++) {
        if (!is_in(r, s->index[i])) continue;
        if (low == count) low = i;
        high = i + 1;
    }
    if (status || high == 0) return status;
    status = read_y(s, first + low, high - low, s->values, error);
    for (int64_t i = low; i < high && !status; i++) {
        if (!is_in(r, s->index[i])) continue;
        if (*to == part->n) return csrec_npz_changed(&s->places, error);
        part->index[*to] = s->index[i] - r->first;
        memcpy(part->y + *to * C, s->values + (i - low) * C, (size_t)C * sizeof *part->y);
        ++*to;
    }
    return status;
}

static csrec_status take_samples(slabs *s, const range *r, csrec_measurement *part,
                                 csrec_error *error) {
    int64_t to = 0, fault = -1;
    csrec_status status = count_samples(s, r, &part->n, error);
    if (status || part->n == 0) return status;
    status = csrec_measurement_allocate(part, s->npz.name, error);
    for (int64_t z = 0; z < s->zones && !status; z++) {
        const range own = range_of(s, z);
        if (own.end > r->first && own.first < r->end) status = take_zone(s, z, r, part, &to, error);
    }
    if (!status && to < part->n) status = csrec_npz_changed(&s->places, error);
    if (status) return status;
    status = csrec_positions_check(part->n, part->index, r->end - r->first, &fault);
    if (status == CSREC_DATA)
        return csrec_fail(
            error, status,
            "%s: array 'index': position %lld is there twice; keep one sample of each "
            "position (numpy.unique)",
            s->npz.name, (long long)(part->index[fault] + r->first));
    return status ? csrec_fail(error, status, "%s: out of memory", s->npz.name) : CSREC_OK;
}

static csrec_status read_slab(void *state, csrec_slab slab, csrec_measurement *part,
                              csrec_error *error) {
    slabs *s = state;
    csrec_measurement made = s->form;
    const int64_t row = s->entries / s->form.shape.dim[0];
    const range r = {slab.first * row, (slab.first + slab.count) * row};
    csrec_input asked = {.name = s->npz.name, .slab = slab};
    csrec_status status = csrec_input_narrow(&asked, &made.shape, error);
    if (!status && !s->seen) status = look(s, error);
    if (!status) status = take_samples(s, &r, &made, error);
    return csrec_measurement_deliver(status, &made, part);
}

static void close_slabs(void *state) {
    slabs *s = state;
    if (s->y.file) csrec_npz_leave(&s->y);
    if (s->places.file) csrec_npz_leave(&s->places);
    csrec_npz_close(&s->npz);
    csrec_input_close(&s->input);
    free(s->zone);
    free(s->index);
    free(s->values);
    free(s->mask);
    free(s);
}

static csrec_status refuse(const slabs *s, const char *what, csrec_error *error) {
    return csrec_fail(error, CSREC_UNSUPPORTED, "%s: is read as a whole, for %s", s->npz.name,
                      what);
}

static bool is_scattered(const csrec_npy_header *header) {
    return header->fortran && header->shape.dims > 1;
}

static csrec_status open_places(slabs *s, csrec_error *error) {
    csrec_status status = CSREC_OK;
    const csrec_npz *npz = &s->npz;
    if (!s->masked) status = csrec_npz_shape(npz, &s->form, error);
    if (!status) status = csrec_npz_begin(npz, s->masked ? "mask" : "index", &s->places, error);
    if (!status)
        status = s->masked ? csrec_npz_check_mask(npz, &s->places, &s->form, error)
                           : csrec_npz_check_index(&s->places, s->form.n, error);
    return status ? status : csrec_measurement_check_frame(&s->form, npz->name, &s->entries, error);
}

/* Small arrays first: shape, type and number of samples are known even if it is refused. */
static csrec_status open_arrays(slabs *s, bool guides, csrec_error *error) {
    const csrec_npz *npz = &s->npz;
    const bool index = csrec_npz_has(npz, "index");
    s->masked = csrec_npz_has(npz, "mask");
    if (csrec_npz_has(npz, "operator")) return refuse(s, "it has an operator", error);
    if (index == s->masked) return refuse(s, "it has no index or mask", error);
    CSREC_TRY(csrec_npz_begin_y(npz, &s->form, &s->y, error));
    CSREC_TRY(csrec_npz_tones(npz, &s->form, error));
    CSREC_TRY(open_places(s, error));
    if (s->form.is_complex) return refuse(s, "it has complex numbers", error);
    if (csrec_npz_has(npz, "sequence")) return refuse(s, "it is a sequence", error);
    if (guides && csrec_npz_has(npz, "guides")) return refuse(s, "it has guides", error);
    if (csrec_npz_has(npz, "rays") || csrec_npz_is_each(npz))
        return refuse(s, "its samples have rays or a sigma each", error);
    if (is_scattered(&s->y.header) || is_scattered(&s->places.header))
        return refuse(s, "its arrays are in Fortran order; save them in C order", error);
    if (!csrec_npz_is_stored(npz, "y") || !csrec_npz_is_stored(npz, index ? "index" : "mask"))
        return refuse(s, "its arrays are compressed; numpy.savez stores them", error);
    return CSREC_OK;
}

csrec_status csrec_npz_open_slabs(csrec_input *input, const csrec_read_options *options,
                                  csrec_measurement *form, csrec_slab_source *source,
                                  csrec_error *error) {
    csrec_status status = csrec_read_options_check(options, false, false, input->name, error);
    slabs *s = status ? NULL : calloc(1, sizeof *s);
    *form = (csrec_measurement){0};
    if (!s) return status ? status : csrec_memory_fail(error, input->name);
    s->input = *input;
    *input = (csrec_input){.name = input->name};
    status = csrec_npz_open(&s->input, &s->npz, error);
    s->npz.in_pieces = true;
    if (!status) status = open_arrays(s, !options->no_guides, error);
    *form = s->form;
    return CSREC_SETTLE(status, close_slabs(s),
                        (*source = (csrec_slab_source){s, read_slab, close_slabs}));
}
