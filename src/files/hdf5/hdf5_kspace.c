/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_kspace.c - measurements of HDF5 files: k-space of fastMRI, /kspace [slices, coils, ky, kx]
 * or without coils; of ISMRMRD; else the known values of a dataset. Readout that is sampled finer
 * than the picture asks for is cut to it: a field of view of the picture's size tells as much. */
#include "files/hdf5/hdf5_kspace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fft.h"
#include "base/memory.h"
#include "files/format.h"

/* What is between <name> and its end in the text from *from to *end, which become it; names may
 * have a prefix. false: nothing. */
static bool enter(const char **from, const char **end, const char *name) {
    char text[64];
    const int length = snprintf(text, sizeof text, "%s>", name);
    for (const char *at = *from; (at = strstr(at, text)) && at < *end; at += length) {
        if (at == *from || (at[-1] != '<' && at[-1] != ':')) continue;
        *from = at + length;
        for (at = *from; (at = strstr(at, text)) && at < *end; at += length)
            if (at[-1] == '/' || at[-1] == ':') break;
        if (at && at < *end) *end = at;
        return true;
    }
    return false;
}

/* The number in /a/b/c; otherwise, as it is not a number from 0 to 2^20, `none`. */
static int64_t number_in(const char *text, const char *a, const char *b, const char *c,
                         int64_t none) {
    const char *from = text, *end = text + strlen(text);
    if (!enter(&from, &end, a) || !enter(&from, &end, b) || !enter(&from, &end, c)) return none;
    const long long value = strtoll(from, NULL, 10);
    return value >= 0 && value <= 1 << 20 ? value : none;
}

static void read_scan(const csrec_hdf5 *h5, const char *path, csrec_hdf5_scan *scan) {
    static const char *const axes[3] = {"x", "y", "z"};
    static const char *const steps[2] = {"kspace_encoding_step_1", "kspace_encoding_step_2"};
    *scan = (csrec_hdf5_scan){.middle = {-1, -1}, .cartesian = true};
    const hid_t object = csrec_hdf5_object(h5->file, path);
    const hid_t type = object >= 0 ? H5Dget_type(object) : -1;
    hvl_t *texts = NULL;
    char *fixed = NULL;
    const char *text = NULL;
    if (type >= 0 && H5Tis_variable_str(type) > 0) {
        texts = csrec_hdf5_sequences(h5, object, 1, 1);
        text = texts ? texts[0].p : NULL;
    } else if (type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tget_size(type) < 1 << 24) {
        fixed = calloc(H5Tget_size(type) + 1, 1);
        if (fixed && H5Dread(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, fixed) >= 0) text = fixed;
    }
    for (int a = 0; a < 3 && text; a++) {
        scan->encoded[a] = number_in(text, "encodedSpace", "matrixSize", axes[a], 0);
        scan->recon[a] = number_in(text, "reconSpace", "matrixSize", axes[a], 0);
        if (a < 2) scan->middle[a] = number_in(text, "encodingLimits", steps[a], "center", -1);
    }
    const char *from = text, *end = text ? text + strlen(text) : NULL;
    if (text && enter(&from, &end, "trajectory"))
        scan->cartesian = strncmp(from, "cartesian", 9) == 0;
    csrec_hdf5_sequences_free(texts, 1);
    free(fixed);
    if (type >= 0) H5Tclose(type);
}

/* A centred line of n frequencies, `apart` floats from each other, becomes that of r entries in the
 * middle of the field of view: by the transform, a cut and the transform back, both unitary. */
static csrec_status shorten(const csrec_fft *fft[2], int64_t n, int64_t r, int64_t apart,
                            const float *from, double *room, int64_t to_apart, float *to) {
    double *x = room, *y = room + 2 * n;
    for (int64_t k = 0; k < 2 * n; k++) x[k] = (double)from[(k / 2 + n / 2) % n * apart + k % 2];
    csrec_status status = csrec_fft_execute(fft[0], 1, x);
    for (int64_t k = 0; k < 2 * r; k++) {
        const int64_t away = k / 2 < r - r / 2 ? k / 2 : k / 2 - r;
        y[k] = x[2 * ((away + n) % n) + k % 2] / sqrt((double)n * (double)r);
    }
    if (!status) status = csrec_fft_execute(fft[1], -1, y);
    for (int64_t q = 0; q < 2 * r; q++)
        to[q / 2 * to_apart + q % 2] = (float)y[2 * ((q / 2 + r - r / 2) % r) + q % 2];
    return status;
}

/* Whether each line along the axis is measured as a whole, or not at all. */
static bool has_whole_lines(const csrec_hdf5_slice *s, int64_t n, int64_t apart, int64_t entries) {
    for (int64_t i = 0; i < entries && s->known; i++)
        if (s->known[i] != s->known[i - i / apart % n * apart]) return false;
    return true;
}

/* Cuts the axis, which is the readout, to r entries. */
static csrec_status cut_readout(csrec_hdf5_slice *s, int axis, int64_t r, csrec_error *error) {
    int64_t n = s->shape.dim[axis], apart = 1, entries;
    for (int a = axis + 1; a < s->shape.dims; a++) apart *= s->shape.dim[a];
    csrec_shape_count(&s->shape, &entries);
    if (r < 1 || r >= n || !has_whole_lines(s, n, apart, entries)) return CSREC_OK;
    csrec_fft *fft[2] = {NULL, NULL};
    double *room = malloc(2 * (size_t)(n + r) * sizeof *room);
    const int64_t whole = entries / n * r;
    float *cut = malloc(2 * (size_t)(s->coils * whole) * sizeof *cut);
    csrec_status status =
        room && cut ? csrec_fft_create(&(csrec_shape){1, {n}}, &fft[0]) : CSREC_MEMORY;
    if (!status) status = csrec_fft_create(&(csrec_shape){1, {r}}, &fft[1]);
    for (int64_t i = 0; i < s->coils * (entries / n) && !status; i++) {
        const int64_t c = i / (entries / n), line = i % (entries / n);
        const int64_t outer = line / apart, inner = line % apart;
        status = shorten((const csrec_fft *[]){fft[0], fft[1]}, n, r, 2 * apart,
                         s->values + 2 * (c * entries + outer * n * apart + inner), room, 2 * apart,
                         cut + 2 * (c * whole + outer * r * apart + inner));
    }
    for (int64_t i = 0; i < whole && s->known && !status; i++)
        s->known[i] = s->known[i / (r * apart) * n * apart + i % apart];
    csrec_fft_destroy(fft[0]);
    csrec_fft_destroy(fft[1]);
    free(room);
    if (status) {
        free(cut);
        return csrec_fail(error, status, "readout: %s", csrec_status_text(status));
    }
    free(s->values);
    s->values = cut;
    s->shape.dim[axis] = r;
    return CSREC_OK;
}

csrec_status csrec_hdf5_allocate(const csrec_hdf5 *h5, csrec_hdf5_slice *s, csrec_error *error) {
    int64_t entries;
    csrec_shape all = s->shape;
    all.dim[all.dims++] = s->coils;
    if (s->coils > 4096 || csrec_shape_count(&all, &entries) || entries > INT64_C(1) << 50)
        return csrec_fail(
            error, CSREC_DATA,
            "%s: its k-space is empty or too large, of %lld coils; 1 to 4096 are read", h5->name,
            (long long)s->coils);
    CSREC_TRY(csrec_memory_check((uint64_t)entries * 8, 3, h5->name, error));
    s->values = calloc((size_t)entries, 8);
    s->known = calloc((size_t)(entries / s->coils), 1);
    return s->values && s->known ? CSREC_OK : csrec_memory_fail(error, h5->name);
}

/* A compound of two floats r and i, as h5py writes complex numbers. */
static bool is_pairs(hid_t dataset) {
    const hid_t type = H5Dget_type(dataset);
    const bool is = H5Tget_class(type) == H5T_COMPOUND && H5Tget_nmembers(type) == 2 &&
                    H5Tget_member_index(type, "r") >= 0 && H5Tget_member_index(type, "i") >= 0;
    H5Tclose(type);
    return is;
}

static csrec_status read_slice(const csrec_hdf5 *h5, hid_t dataset, int rank, const hsize_t *extent,
                               csrec_hdf5_slice *s, csrec_error *error) {
    hsize_t start[4] = {(hsize_t)s->number}, count[4] = {1};
    for (int a = 1; a < rank; a++) count[a] = extent[a];
    const hid_t pair = H5Tcreate(H5T_COMPOUND, 2 * sizeof(float)), space = H5Dget_space(dataset);
    const hid_t memory = H5Screate_simple(rank, count, NULL);
    const bool good = H5Tinsert(pair, "r", 0, H5T_NATIVE_FLOAT) >= 0 &&
                      H5Tinsert(pair, "i", sizeof(float), H5T_NATIVE_FLOAT) >= 0 &&
                      H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                      H5Dread(dataset, pair, memory, space, H5P_DEFAULT, s->values) >= 0;
    H5Sclose(memory);
    H5Sclose(space);
    H5Tclose(pair);
    return good ? CSREC_OK : csrec_hdf5_failed(h5, error);
}

/* /mask, of columns or of the plane; without it what is not 0 is known. */
static csrec_status read_columns(const csrec_hdf5 *h5, csrec_hdf5_slice *s, csrec_error *error) {
    const int64_t width = s->shape.dim[1], entries = width * s->shape.dim[0];
    const hid_t mask = csrec_hdf5_object(h5->file, "/mask");
    const hid_t space = mask >= 0 ? H5Dget_space(mask) : -1;
    const int64_t n = space >= 0 ? (int64_t)H5Sget_simple_extent_npoints(space) : 0;
    uint8_t *marks = n == width || n == entries ? malloc((size_t)n) : NULL;
    csrec_status status = CSREC_OK;
    if (space >= 0) H5Sclose(space);
    if (mask < 0) {
        free(s->known);
        s->known = NULL;
    } else if (!marks) {
        status =
            csrec_fail(error, CSREC_DATA, "%s: /mask has %lld values, and k-space %lld columns",
                       h5->name, (long long)n, (long long)width);
    } else {
        const hid_t type = H5Dget_type(mask);
        const hid_t as = H5Tget_class(type) == H5T_ENUM ? type : H5T_NATIVE_UINT8;
        if (H5Dread(mask, as, H5S_ALL, H5S_ALL, H5P_DEFAULT, marks) < 0)
            status = csrec_hdf5_failed(h5, error);
        for (int64_t i = 0; i < entries && !status; i++) s->known[i] = marks[i % n] != 0;
        H5Tclose(type);
    }
    free(marks);
    return status;
}

static csrec_status read_fastmri(const csrec_hdf5 *h5, hid_t dataset,
                                 const csrec_read_options *options, csrec_hdf5_slice *s,
                                 csrec_error *error) {
    hsize_t extent[H5S_MAX_RANK] = {0};
    const hid_t space = H5Dget_space(dataset);
    const int rank = H5Sget_simple_extent_ndims(space);
    H5Sget_simple_extent_dims(space, extent, NULL);
    H5Sclose(space);
    if (rank < 3 || rank > 4)
        return csrec_fail(error, CSREC_DATA,
                          "%s: /kspace has %d axes; it is read as [slices, coils, ky, kx] or "
                          "[slices, ky, kx]",
                          h5->name, rank);
    s->slices = (int64_t)extent[0];
    s->coils = rank == 4 ? (int64_t)extent[1] : 1;
    s->shape = (csrec_shape){2, {(int64_t)extent[rank - 2], (int64_t)extent[rank - 1]}};
    csrec_status status = csrec_kspace_choose(h5->input, options, s->slices, &s->number, error);
    if (!status) status = csrec_hdf5_allocate(h5, s, error);
    if (!status) status = read_slice(h5, dataset, rank, extent, s, error);
    return status ? status : read_columns(h5, s, error);
}

/* The mask of the options replaces that of the file; it is of the signal, after a cut. */
static csrec_status deliver(csrec_input *input, const csrec_read_options *options,
                            csrec_hdf5_slice *s, csrec_measurement *measurement,
                            csrec_error *error) {
    csrec_measurement m;
    bool by_channel;
    uint8_t *marked = NULL;
    csrec_status status = csrec_kspace_begin(input, s->shape, s->coils, &m, error);
    if (!status && s->trajectory && options->mask)
        status = csrec_fail(error, CSREC_ARGUMENT, "%s: has a trajectory; leave the mask out",
                            input->name);
    if (!status && s->trajectory)
        status = csrec_kspace_follow(input, s->shape, s->trajectory, s->points, 3, &m, error);
    if (!status && options->mask)
        status = csrec_mask_read(options->mask, false, &m.shape, 1, &marked, &by_channel, error);
    const uint8_t *known = s->trajectory ? NULL : s->known;
    if (!status) status = csrec_kspace_take(input, s->values, marked ? marked : known, &m, error);
    free(marked);
    return csrec_measurement_deliver(status, &m, measurement);
}

/* What k-space of such a file lacks; NULL: nothing. */
static const char *lacks(hid_t kspace, bool fast, hid_t data, hid_t xml) {
    if (kspace >= 0 && !fast && H5Iget_type(kspace) == H5I_DATASET)
        return "/kspace is no array of complex numbers; write it as such by h5py, or name it, "
               "FILE:/kspace, to read an array of real ones";
    if (fast || (data >= 0) == (xml >= 0)) return NULL;
    if (data < 0)
        return "has /dataset/xml of ISMRMRD and no /dataset/data; write its acquisitions, or copy "
               "the file again";
    const hid_t type = H5Iget_type(data) == H5I_DATASET ? H5Dget_type(data) : -1;
    const bool lines =
        type >= 0 && H5Tget_class(type) == H5T_COMPOUND && H5Tget_member_index(type, "head") >= 0;
    if (type >= 0) H5Tclose(type);
    return lines ? "has /dataset/data of ISMRMRD and no /dataset/xml; write its header" : NULL;
}

/* *is: the file has k-space. */
static csrec_status read_file(csrec_input *input, const csrec_read_options *options, bool *is,
                              csrec_hdf5_slice *s, csrec_error *error) {
    csrec_hdf5 h5;
    csrec_hdf5_scan scan;
    csrec_status status = csrec_hdf5_open(input, &h5, error);
    if (status) return status;
    const hid_t kspace = csrec_hdf5_object(h5.file, "/kspace");
    const hid_t data = csrec_hdf5_object(h5.file, "/dataset/data");
    const hid_t xml = csrec_hdf5_object(h5.file, "/dataset/xml");
    const bool fast = kspace >= 0 && H5Iget_type(kspace) == H5I_DATASET && is_pairs(kspace);
    const char *lack = lacks(kspace, fast, data, xml);
    *is = fast || (data >= 0 && xml >= 0);
    if (lack) {
        status = csrec_fail(error, CSREC_DATA, "%s: %s", h5.name, lack);
    } else if (*is) {
        status = csrec_kspace_options(input, options, error);
        read_scan(&h5, fast ? "/ismrmrd_header" : "/dataset/xml", &scan);
        if (!status && fast) status = read_fastmri(&h5, kspace, options, s, error);
        if (!status && !fast) status = csrec_hdf5_ismrmrd(&h5, data, options, s, &scan, error);
        const int readout = fast ? 0 : s->shape.dims - 1;
        if (!status && !s->trajectory && s->shape.dim[readout] == scan.encoded[0])
            status = cut_readout(s, readout, scan.recon[0], error);
    }
    csrec_hdf5_close(&h5);
    return status;
}

csrec_status csrec_hdf5_measurement(csrec_input *input, const csrec_read_options *options,
                                    csrec_measurement *measurement, csrec_error *error) {
    csrec_hdf5_calls calls;
    csrec_hdf5_slice s = {.values = NULL};
    csrec_status status = CSREC_OK;
    bool is = false;
    if (!input->member && options->slab.count == 0) {
        csrec_hdf5_enter(&calls);
        status = read_file(input, options, &is, &s, error);
        csrec_hdf5_leave(&calls);
    }
    if (!status && is) status = deliver(input, options, &s, measurement, error);
    free(s.values);
    free(s.known);
    free(s.trajectory);
    if (status || is) return status;
    return csrec_measurement_from_signal(input, options, measurement, error);
}
