/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_ismrmrd.c - acquisitions of ISMRMRD, lines of k-space in any order with a head each, on the
 * grid of the encoded space, or with a trajectory of their own. Lines of the grid that come several
 * times are averaged; those of noise give its covariance, in proportion to the bandwidth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files/hdf5/hdf5_kspace.h"

/* Flags are bits from 1. */
enum {
    NOISE = 19,
    REVERSE = 22,
    PIECE = 256 /* acquisitions read at a time */
};

/* What is read of a head; names are those of the format. */
typedef struct acquisition {
    uint64_t flags;
    uint16_t samples, channels, center, pre, post, space, axes;
    float dwell;
    uint16_t step[2], slice, contrast, phase, repetition, set;
    hvl_t data, traj;
} acquisition;

typedef struct field {
    const char *name;
    size_t offset;
} field;

static const field heads[] = {{"number_of_samples", offsetof(acquisition, samples)},
                              {"active_channels", offsetof(acquisition, channels)},
                              {"center_sample", offsetof(acquisition, center)},
                              {"discard_pre", offsetof(acquisition, pre)},
                              {"discard_post", offsetof(acquisition, post)},
                              {"trajectory_dimensions", offsetof(acquisition, axes)},
                              {"encoding_space_ref", offsetof(acquisition, space)}};
static const field indices[] = {{"kspace_encode_step_1", offsetof(acquisition, step[0])},
                                {"kspace_encode_step_2", offsetof(acquisition, step[1])},
                                {"slice", offsetof(acquisition, slice)},
                                {"contrast", offsetof(acquisition, contrast)},
                                {"phase", offsetof(acquisition, phase)},
                                {"repetition", offsetof(acquisition, repetition)},
                                {"set", offsetof(acquisition, set)}};

/* What is read: heads, or data as well, or trajectories as well. */
enum { HEADS, DATA, ANY };

/* The type in memory: of an acquisition three structures, for the head, its idx, and the data. */
static hid_t type_of(int what) {
    const hid_t idx = H5Tcreate(H5T_COMPOUND, sizeof(acquisition));
    const hid_t floats = H5Tvlen_create(H5T_NATIVE_FLOAT);
    for (size_t k = 0; k < sizeof indices / sizeof *indices; k++)
        H5Tinsert(idx, indices[k].name, indices[k].offset, H5T_NATIVE_UINT16);
    const hid_t whole = H5Tcreate(H5T_COMPOUND, 3 * sizeof(acquisition));
    const hid_t both = H5Tcreate(H5T_COMPOUND, 2 * sizeof(acquisition));
    for (size_t k = 0; k < sizeof heads / sizeof *heads; k++)
        H5Tinsert(both, heads[k].name, heads[k].offset, H5T_NATIVE_UINT16);
    H5Tinsert(both, "flags", offsetof(acquisition, flags), H5T_NATIVE_UINT64);
    H5Tinsert(both, "sample_time_us", offsetof(acquisition, dwell), H5T_NATIVE_FLOAT);
    H5Tinsert(both, "idx", sizeof(acquisition), idx);
    H5Tinsert(whole, "head", 0, both);
    if (what == ANY)
        H5Tinsert(whole, "traj", 2 * sizeof(acquisition) + offsetof(acquisition, traj), floats);
    if (what != HEADS)
        H5Tinsert(whole, "data", 2 * sizeof(acquisition) + offsetof(acquisition, data), floats);
    H5Tclose(idx);
    H5Tclose(floats);
    H5Tclose(both);
    return whole;
}

/* A piece of heads, or of all; the three parts of each are brought together. */
static bool read_piece(hid_t dataset, int what, hsize_t from, hsize_t count, acquisition *room) {
    const hid_t type = type_of(what), space = H5Dget_space(dataset);
    const hid_t memory = H5Screate_simple(1, &count, NULL);
    memset(room, 0, 3 * (size_t)count * sizeof *room); /* of what the file lacks */
    const bool good = H5Sselect_hyperslab(space, H5S_SELECT_SET, &from, NULL, &count, NULL) >= 0 &&
                      H5Dread(dataset, type, memory, space, H5P_DEFAULT, room) >= 0;
    for (hsize_t k = 0; k < count && good; k++) {
        acquisition all = room[3 * k];
        const acquisition *idx = &room[3 * k + 1];
        memcpy(all.step, idx->step, sizeof all.step);
        all.slice = idx->slice;
        all.contrast = idx->contrast;
        all.phase = idx->phase;
        all.repetition = idx->repetition;
        all.set = idx->set;
        all.data = room[3 * k + 2].data;
        all.traj = room[3 * k + 2].traj;
        room[k] = all;
    }
    H5Sclose(memory);
    H5Sclose(space);
    H5Tclose(type);
    return good;
}

static bool has(const acquisition *a, int flag) {
    return a->flags >> (flag - 1) & 1;
}

/* Navigators, phase corrections, feedback, dummies and the like (ACQ_IS_... of ismrmrd.h). */
static bool is_aside(const acquisition *a) {
    static const int flags[] = {23, 24, 26, 27, 28, 29, 30, 31};
    bool is = a->space != 0;
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++) is = is || has(a, flags[k]);
    return is;
}

static bool is_first(const acquisition *a) {
    return a->contrast == 0 && a->phase == 0 && a->repetition == 0 && a->set == 0;
}

typedef struct reading {
    const csrec_hdf5 *h5;
    csrec_hdf5_slice *s;
    const csrec_hdf5_scan *scan;
    uint16_t *count; /* [entries] */
    double *noise;   /* sums [coils][coils][2] */
    double n_noise, noise_dwell, dwell;
    int64_t points; /* of a trajectory */
    int64_t others; /* lines of other contrasts, repetitions ... */
    int64_t empty;  /* lines of zeros, which writers of whole grids fill in */
} reading;

/* The values of a line [channels][samples][2]. */
static csrec_status check_line(const reading *r, const acquisition *a, csrec_error *error) {
    if (a->channels != r->s->coils)
        return csrec_fail(error, CSREC_DATA, "%s: lines of %d and of %lld coils; save lines of one",
                          r->h5->name, a->channels, (long long)r->s->coils);
    if (a->data.len == 2 * (size_t)a->channels * a->samples && a->data.p) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA, "%s: a line has %zu numbers for %d samples of %d coils",
                      r->h5->name, a->data.len, a->samples, a->channels);
}

static void add_noise(reading *r, const acquisition *a) {
    const int64_t coils = r->s->coils, n = a->samples;
    const float *v = a->data.p;
    for (int64_t i = 0; i < coils * coils; i++)
        for (int64_t k = 0; k < n; k++) {
            const float *x = v + 2 * (i / coils * n + k), *y = v + 2 * (i % coils * n + k);
            r->noise[2 * i] += (double)x[0] * (double)y[0] + (double)x[1] * (double)y[1];
            r->noise[2 * i + 1] += (double)x[1] * (double)y[0] - (double)x[0] * (double)y[1];
        }
    r->n_noise += (double)n;
    r->noise_dwell = (double)a->dwell;
}

/* The line of a phase encoding; -1: outside. */
static int64_t line_of(const reading *r, const acquisition *a, int e) {
    const int64_t n = r->s->shape.dim[1 - e], middle = r->scan->middle[e];
    const int64_t line = a->step[e] + n / 2 - (middle < 0 ? n / 2 : middle);
    return line >= 0 && line < n ? line : -1;
}

static bool is_empty(const acquisition *a) {
    for (size_t i = 0; i < a->data.len; i++)
        if (((const float *)a->data.p)[i] != 0.0f) return false;
    return true;
}

static csrec_status add_line(reading *r, const acquisition *a, csrec_error *error) {
    const csrec_shape *shape = &r->s->shape;
    const int64_t width = shape->dim[2], y = line_of(r, a, 0), z = line_of(r, a, 1);
    const int64_t entries = width * shape->dim[1] * shape->dim[0];
    const int64_t center = a->center ? a->center : a->samples / 2;
    if (y < 0 || z < 0)
        return csrec_fail(error, CSREC_DATA,
                          "%s: a line is at %d, %d, outside of the encoded space of %lld x %lld; "
                          "correct encodedSpace or encodingLimits of /dataset/xml",
                          r->h5->name, a->step[0], a->step[1], (long long)shape->dim[1],
                          (long long)shape->dim[0]);
    const bool empty = is_empty(a);
    r->empty += empty;
    for (int64_t k = a->pre; k < a->samples - a->post && !empty; k++) {
        const int64_t x = (has(a, REVERSE) ? center - k : k - center) + width / 2;
        if (x < 0 || x >= width) continue;
        const int64_t at = (z * shape->dim[1] + y) * width + x;
        r->count[at]++;
        for (int64_t c = 0; c < r->s->coils; c++)
            for (int p = 0; p < 2; p++)
                r->s->values[2 * (c * entries + at) + p] +=
                    ((const float *)a->data.p)[2 * (c * a->samples + k) + p];
    }
    r->dwell = (double)a->dwell;
    return CSREC_OK;
}

/* The trajectory's axes are x, y and perhaps z, which a slice need not have. */
static csrec_status add_points(reading *r, const acquisition *a, csrec_error *error) {
    csrec_hdf5_slice *s = r->s;
    const int needed = s->shape.dim[0] > 1 ? 3 : 2;
    if (a->axes < needed || a->traj.len != (size_t)a->axes * a->samples || !a->traj.p)
        return csrec_fail(error, CSREC_DATA,
                          "%s: a line has %zu numbers of a trajectory for %d samples, and %d axes; "
                          "save %d or more for each sample",
                          r->h5->name, a->traj.len, a->samples, a->axes, needed);
    for (int64_t k = a->pre; k < a->samples - a->post && s->points < r->points; k++) {
        for (int d = 0; d < needed; d++)
            s->trajectory[3 * s->points + d] = ((const float *)a->traj.p)[k * a->axes + d];
        for (int64_t c = 0; c < 2 * s->coils; c++)
            s->values[2 * (c / 2 * r->points + s->points) + c % 2] =
                ((const float *)a->data.p)[2 * (c / 2 * a->samples + k) + c % 2];
        s->points++;
    }
    r->dwell = (double)a->dwell;
    return CSREC_OK;
}

/* Many writers give -0.5 to 0.5, shares of the encoded matrix. */
static void scale_points(reading *r) {
    const csrec_shape *shape = &r->s->shape;
    float most = 0.0f;
    for (int64_t i = 0; i < 3 * r->s->points; i++) most = fmaxf(most, fabsf(r->s->trajectory[i]));
    for (int64_t i = 0; i < 3 * r->s->points && most <= 0.5001f; i++)
        r->s->trajectory[i] *= (float)shape->dim[2 - i % 3];
    if (most <= 0.5001f)
        csrec_input_note(r->h5->input,
                         "its trajectory, up to %.3g, is taken as shares of the encoded matrix",
                         (double)most);
}

static csrec_status take(reading *r, const acquisition *a, csrec_error *error) {
    const bool noise = has(a, NOISE);
    if (!noise && (is_aside(a) || a->slice != r->s->number)) return CSREC_OK;
    r->others += !noise && !is_first(a);
    if (!noise && !is_first(a)) return CSREC_OK;
    csrec_status status = check_line(r, a, error);
    if (!status && noise) add_noise(r, a);
    if (status || noise) return status;
    return r->scan->cartesian ? add_line(r, a, error) : add_points(r, a, error);
}

/* Means, what is known, and the noise of a mean. */
static void finish(reading *r) {
    csrec_hdf5_slice *s = r->s;
    const int64_t entries = s->shape.dim[0] * s->shape.dim[1] * s->shape.dim[2];
    double lines = 0.0, known = 0.0;
    if (!r->scan->cartesian) scale_points(r), lines = known = 1.0;
    for (int64_t i = 0; i < entries && r->count; i++) {
        s->known[i] = r->count[i] > 0;
        known += s->known[i];
        lines += r->count[i];
        for (int64_t c = 0; c < 2 * s->coils && r->count[i] > 1; c++)
            s->values[2 * (c / 2 * entries + i) + c % 2] /= (float)r->count[i];
    }
    const bool dwells = r->dwell > 0.0 && r->noise_dwell > 0.0;
    const double scale = (dwells ? r->noise_dwell / r->dwell : 1.0) * known / (lines * r->n_noise);
    for (int64_t i = 0; i < 2 * s->coils * s->coils && r->n_noise > 0.0; i++) r->noise[i] *= scale;
    if (r->empty)
        csrec_input_note(r->h5->input, "%lld lines of zeros are taken as not measured",
                         (long long)r->empty);
    if (r->others)
        csrec_input_note(r->h5->input,
                         "%lld lines of other contrasts, repetitions, sets or phases "
                         "than the first are left out",
                         (long long)r->others);
}

/* Slices and coils, of the heads alone. */
static csrec_status look(const reading *r, hid_t data, hsize_t n, acquisition *room,
                         csrec_error *error) {
    for (hsize_t at = 0; at < n; at += PIECE) {
        const hsize_t count = n - at < PIECE ? n - at : PIECE;
        if (!read_piece(data, HEADS, at, count, room)) return csrec_hdf5_failed(r->h5, error);
        for (hsize_t k = 0; k < count; k++) {
            if (has(&room[k], NOISE) || is_aside(&room[k])) continue;
            if (room[k].slice >= r->s->slices) r->s->slices = room[k].slice + 1;
            r->s->coils = room[k].channels;
        }
    }
    if (r->s->slices > 0 && r->s->coils > 0) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA, "%s: /dataset/data has no line of k-space", r->h5->name);
}

static csrec_status read_lines(reading *r, hid_t data, hsize_t n, acquisition *room,
                               csrec_error *error) {
    csrec_status status = CSREC_OK;
    for (hsize_t at = 0; at < n && !status; at += PIECE) {
        const hsize_t count = n - at < PIECE ? n - at : PIECE;
        if (!read_piece(data, r->scan->cartesian ? DATA : ANY, at, count, room))
            return csrec_hdf5_failed(r->h5, error);
        for (hsize_t k = 0; k < count; k++) {
            if (!status) status = take(r, &room[k], error);
            free(room[k].data.p);
            if (!r->scan->cartesian) free(room[k].traj.p);
        }
    }
    return status;
}

/* The points of the slice, by the heads, and room for them. */
static csrec_status allocate_points(reading *r, hid_t data, hsize_t n, acquisition *room,
                                    csrec_error *error) {
    for (hsize_t at = 0; at < n; at += PIECE) {
        const hsize_t count = n - at < PIECE ? n - at : PIECE;
        if (!read_piece(data, HEADS, at, count, room)) return csrec_hdf5_failed(r->h5, error);
        for (hsize_t k = 0; k < count; k++) {
            const acquisition *a = &room[k];
            const int64_t some = a->samples - a->pre - a->post;
            if (!has(a, NOISE) && !is_aside(a) && a->slice == r->s->number && is_first(a))
                r->points += some > 0 ? some : 0;
        }
    }
    csrec_hdf5_slice as = *r->s;
    as.shape = (csrec_shape){1, {r->points}};
    csrec_status status = csrec_hdf5_allocate(r->h5, &as, error);
    r->s->values = as.values;
    r->s->known = as.known;
    if (status) return status;
    r->s->trajectory = calloc((size_t)r->points, 3 * sizeof *r->s->trajectory);
    return r->s->trajectory ? CSREC_OK : csrec_memory_fail(error, r->h5->name);
}

static csrec_status allocate_grid(reading *r, csrec_error *error) {
    CSREC_TRY(csrec_hdf5_allocate(r->h5, r->s, error));
    const int64_t entries = r->s->shape.dim[0] * r->s->shape.dim[1] * r->s->shape.dim[2];
    r->count = calloc((size_t)entries, sizeof *r->count);
    return r->count ? CSREC_OK : csrec_memory_fail(error, r->h5->name);
}

csrec_status csrec_hdf5_ismrmrd(const csrec_hdf5 *h5, hid_t data, const csrec_read_options *options,
                                csrec_hdf5_slice *s, csrec_hdf5_scan *scan, csrec_error *error) {
    reading r = {.h5 = h5, .s = s, .scan = scan};
    hsize_t n = 0;
    const hid_t space = H5Dget_space(data);
    const bool list = H5Sget_simple_extent_ndims(space) == 1;
    if (list) H5Sget_simple_extent_dims(space, &n, NULL);
    H5Sclose(space);
    if (scan->encoded[0] < 1 || scan->encoded[1] < 1 || scan->encoded[2] < 1 || n < 1)
        return csrec_fail(error, CSREC_DATA,
                          "%s: /dataset/xml has no encodedSpace with matrixSize x, y and z, or "
                          "/dataset/data no line",
                          h5->name);
    s->shape = (csrec_shape){3, {scan->encoded[2], scan->encoded[1], scan->encoded[0]}};
    acquisition *room = malloc(3 * PIECE * sizeof *room);
    csrec_status status =
        room ? look(&r, data, n, room, error) : csrec_memory_fail(error, h5->name);
    if (!status) status = csrec_kspace_choose(h5->input, options, s->slices, &s->number, error);
    if (!status && scan->cartesian) status = allocate_grid(&r, error);
    if (!status && !scan->cartesian) status = allocate_points(&r, data, n, room, error);
    if (!status) r.noise = calloc(2 * (size_t)(s->coils * s->coils), sizeof *r.noise);
    if (!status && !r.noise) status = csrec_memory_fail(error, h5->name);
    if (!status) status = read_lines(&r, data, n, room, error);
    if (!status) finish(&r);
    if (!status && r.n_noise > 0.0) {
        h5->input->noise = r.noise;
        h5->input->noise_coils = s->coils;
        r.noise = NULL;
    }
    free(r.count);
    free(r.noise);
    free(room);
    return status;
}
