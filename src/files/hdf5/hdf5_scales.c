/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_scales.c - dimension scales of a dataset: copied, and attached as libhdf5's high-level
 * library does (HDF5 Dimension Scale Specification), which not every installation has. */
#include <stdlib.h>
#include <string.h>

#include "files/hdf5/hdf5.h"

enum { BYTES_MOST = 1 << 26 }; /* of a scale, in the file and in memory */

typedef struct reference {
    hobj_ref_t dataset;
    int axis;
} reference;

/* The type and space of DIMENSION_LIST, and its references, [rank]. */
typedef struct references {
    hid_t type, space;
    int rank;
    hvl_t *axis;
} references;

static const char OF_AXES[] = "DIMENSION_LIST", OF_SCALE[] = "REFERENCE_LIST";

/* ------------------------------------------------------------------ reading ------------------- */

static bool is_list(hid_t attribute, const references *r) {
    hid_t found = H5Aget_type(attribute), space = H5Aget_space(attribute);
    bool good = found >= 0 && H5Tget_class(found) == H5T_VLEN && H5Tequal(found, r->type) > 0 &&
                H5Sget_simple_extent_npoints(space) == r->rank;
    H5Sclose(space);
    H5Tclose(found);
    return good;
}

static bool read_references(const csrec_hdf5 *h5, hid_t dataset, references *r) {
    hid_t attribute = H5Aexists(dataset, OF_AXES) > 0 ? H5Aopen(dataset, OF_AXES, H5P_DEFAULT) : -1;
    if (attribute < 0) return false;
    if (is_list(attribute, r))
        r->axis = csrec_hdf5_sequences(h5, attribute, r->rank, h5->address_bytes);
    H5Aclose(attribute);
    return r->axis;
}

/* The object of the k-th reference of an axis. */
static hid_t refer(const csrec_hdf5 *h5, hid_t like, const hvl_t *axis, size_t k) {
    const uint8_t *bytes = (const uint8_t *)axis->p + k * h5->address_bytes;
    hobj_ref_t address = 0;
    for (size_t i = h5->address_bytes; i-- > 0;) address = address << 8 | bytes[i];
    return H5Rdereference2(like, H5P_DEFAULT, H5R_OBJECT, &address);
}

/* ------------------------------------------------------------------ copies -------------------- */

static bool is_in_file(hid_t dataset) {
    hid_t creation = H5Dget_create_plist(dataset);
    bool good = creation >= 0 && H5Pget_layout(creation) != H5D_VIRTUAL &&
                H5Pget_external_count(creation) == 0;
    if (creation >= 0) H5Pclose(creation);
    return good;
}

/* Whether the object is a dataset of numbers or short texts, in the file itself, of a size that is
 * worth a copy. */
static bool is_small(hid_t object) {
    if (object < 0 || H5Iget_type(object) != H5I_DATASET) return false;
    hid_t type = H5Dget_type(object), space = H5Dget_space(object);
    size_t each = type < 0 ? 0 : H5Tget_size(type);
    hssize_t count = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    bool good = each > 0 && csrec_hdf5_is_plain(type, false) && count >= 0 &&
                (uint64_t)count <= BYTES_MOST / each && H5Dget_storage_size(object) <= BYTES_MOST &&
                is_in_file(object);
    if (space >= 0) H5Sclose(space);
    if (type >= 0) H5Tclose(type);
    return good;
}

static bool is_scale(const csrec_hdf5 *h5, hid_t object, hsize_t extent) {
    if (!is_small(object) || !csrec_hdf5_text_is(h5, object, "CLASS", "DIMENSION_SCALE"))
        return false;
    hid_t space = H5Dget_space(object);
    hsize_t found = 0;
    bool good = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                H5Sget_simple_extent_dims(space, &found, NULL) == 1 && found == extent;
    if (space >= 0) H5Sclose(space);
    return good;
}

/* Values and layout. libhdf5 would copy all attributes, in a way that damage makes crash. */
static void copy_values(hid_t object, hid_t file, const char *path) {
    hid_t links = H5Pcreate(H5P_LINK_CREATE), how = H5Pcreate(H5P_OBJECT_COPY);
    H5Pset_create_intermediate_group(links, 1);
    H5Pset_copy_object(how, H5O_COPY_WITHOUT_ATTR_FLAG);
    H5Ocopy(object, ".", file, path, how, links);
    H5Pclose(how);
    H5Pclose(links);
}

static bool is_same(hid_t a, hid_t b) {
    H5O_info_t one, other;
    return H5Oget_info(a, &one) >= 0 && H5Oget_info(b, &other) >= 0 && one.addr == other.addr;
}

/* The copy at the same path, or what is there already; -1: neither. */
static hid_t copy_object(const csrec_hdf5 *h5, hid_t object, hid_t file) {
    char *path = csrec_hdf5_path(object);
    if (!path) return -1;
    hid_t copy = H5Oopen(file, path, H5P_DEFAULT);
    if (copy < 0) {
        copy_values(object, file, path);
        copy = H5Oopen(file, path, H5P_DEFAULT);
        if (copy >= 0) csrec_hdf5_copy_attributes(h5, object, copy, NULL);
    }
    free(path);
    return copy;
}

/* NetCDF counts the dimensions of a file from 0. */
static void number(hid_t scale, int dimension) {
    static const char key[] = "_Netcdf4Dimid";
    hid_t attribute = H5Aexists(scale, key) > 0 ? H5Aopen(scale, key, H5P_DEFAULT) : -1;
    if (attribute < 0) return;
    H5Awrite(attribute, H5T_NATIVE_INT, &dimension);
    H5Aclose(attribute);
}

/* ------------------------------------------------------------------ attaching ----------------- */

/* Adds the axis of the dataset to those that the scale knows. */
static void refer_back(hid_t scale, hid_t dataset, int axis) {
    reference list[H5S_MAX_RANK] = {{0, 0}};
    hsize_t count = 0;
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(reference));
    H5Tinsert(type, "dataset", offsetof(reference, dataset), H5T_STD_REF_OBJ);
    H5Tinsert(type, "dimension", offsetof(reference, axis), H5T_NATIVE_INT);
    if (H5Aexists(scale, OF_SCALE) > 0) { /* ours, of another axis */
        hid_t before = H5Aopen(scale, OF_SCALE, H5P_DEFAULT), space = H5Aget_space(before);
        count = (hsize_t)H5Sget_simple_extent_npoints(space);
        if (count < H5S_MAX_RANK) H5Aread(before, type, list);
        H5Sclose(space);
        H5Aclose(before);
        H5Adelete(scale, OF_SCALE);
    }
    if (count < H5S_MAX_RANK && H5Rcreate(&list[count].dataset, dataset, ".", H5R_OBJECT, -1) >= 0)
        list[count++].axis = axis;
    hid_t space = H5Screate_simple(1, &count, NULL);
    hid_t attribute = H5Acreate2(scale, OF_SCALE, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, list);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

/* The scales of one axis: their references in the new file. */
static hvl_t attach(const csrec_hdf5 *h5, const hvl_t *from, int axis, hsize_t extent, hid_t like,
                    hid_t dataset, hid_t file, int *dimensions) {
    hvl_t to = {.p = calloc(from->len + 1, sizeof(hobj_ref_t))};
    for (size_t k = 0; to.p && k < from->len; k++) {
        hid_t scale = refer(h5, like, from, k);
        hid_t copy = is_scale(h5, scale, extent) ? copy_object(h5, scale, file) : -1;
        if (copy >= 0 && !is_same(copy, dataset)) {
            if (H5Aexists(copy, OF_SCALE) <= 0) number(copy, (*dimensions)++);
            refer_back(copy, dataset, axis);
            if (H5Rcreate((hobj_ref_t *)to.p + to.len, copy, ".", H5R_OBJECT, -1) >= 0) to.len++;
        }
        if (copy >= 0) H5Oclose(copy);
        if (scale >= 0) H5Oclose(scale);
    }
    return to;
}

static void write_references(hid_t dataset, const references *r, const hvl_t *axis) {
    hid_t attribute = H5Acreate2(dataset, OF_AXES, r->type, r->space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0) return;
    H5Awrite(attribute, r->type, axis);
    H5Aclose(attribute);
}

static void copy_axes(const csrec_hdf5 *h5, hid_t like, hid_t dataset, hid_t file,
                      const hsize_t *extent, const references *r) {
    hvl_t axis[H5S_MAX_RANK] = {{0, NULL}};
    int dimensions = 0;
    size_t attached = 0;
    for (int a = 0; a < r->rank; a++) {
        axis[a] = attach(h5, &r->axis[a], a, extent[a], like, dataset, file, &dimensions);
        attached += axis[a].len;
    }
    if (attached) write_references(dataset, r, axis);
    for (int a = 0; a < r->rank; a++) free(axis[a].p);
}

/* The variable that says how a map was projected (CF conventions) is beside the dataset. */
static void copy_projection(const csrec_hdf5 *h5, hid_t like, hid_t file) {
    char name[256];
    hid_t beside = -1;
    char *path = csrec_hdf5_path(like), *slash = path ? strrchr(path, '/') : NULL;
    if (slash && csrec_hdf5_text(h5, like, "grid_mapping", name, sizeof name)) {
        slash[1] = '\0';
        hid_t group = csrec_hdf5_object(like, path);
        if (group >= 0) beside = csrec_hdf5_object(group, name);
        if (group >= 0) H5Oclose(group);
    }
    hid_t copy = is_small(beside) ? copy_object(h5, beside, file) : -1;
    if (copy >= 0) H5Oclose(copy);
    if (beside >= 0) H5Oclose(beside);
    free(path);
}

void csrec_hdf5_copy_scales(const csrec_hdf5 *h5, hid_t like, hid_t dataset, hid_t file) {
    hsize_t extent[H5S_MAX_RANK], rank;
    references r = {.type = H5Tvlen_create(H5T_STD_REF_OBJ)};
    hid_t space = H5Dget_space(dataset);
    r.rank = H5Sget_simple_extent_dims(space, extent, NULL);
    rank = (hsize_t)r.rank;
    r.space = H5Screate_simple(1, &rank, NULL);
    if (read_references(h5, like, &r)) copy_axes(h5, like, dataset, file, extent, &r);
    csrec_hdf5_sequences_free(r.axis, r.rank);
    H5Sclose(r.space);
    H5Sclose(space);
    H5Tclose(r.type);
    copy_projection(h5, like, file);
}
