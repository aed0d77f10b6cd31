/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_scales.c - what belongs to a dataset is copied: dimension scales, which are attached as
 * libhdf5's high-level library does (HDF5 Dimension Scale Specification), which not every
 * installation has; coordinates, bounds and others, with scales of their own. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "files/hdf5/hdf5.h"

/* Bytes and texts of one variable, variables, and references to a scale. */
enum { BYTES_MOST = 1 << 30, TEXTS_MOST = 4096, COPIES_MOST = 256, REFERENCES_MOST = 256 };

/* Both files, and what was copied. */
typedef struct copier {
    const csrec_hdf5 *h5;
    hid_t like, file; /* what is there already, under another name perhaps */
    int dimensions, copies;
} copier;

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

/* The name of what is no dataset is not asked for. */
static bool is_time(const csrec_hdf5 *h5, hid_t scale) {
    char units[128] = "";
    if (scale < 0 || H5Iget_type(scale) != H5I_DATASET) return false;
    char *path = csrec_hdf5_path(scale), *last = path ? strrchr(path, '/') : NULL;
    const bool named = last && strcasecmp(last, "/time") == 0;
    free(path);
    return named || csrec_hdf5_text_is(h5, scale, "standard_name", "time") ||
           csrec_hdf5_text_is(h5, scale, "axis", "T") ||
           (csrec_hdf5_text(h5, scale, "units", units, sizeof units) && strstr(units, " since "));
}

/* 1 + the axis that has a label "time" (HDF5 Dimension Scale Specification), 0: none. */
static int labelled_time(const csrec_hdf5 *h5, hid_t dataset, int rank) {
    static const char name[] = "DIMENSION_LABELS";
    hid_t list = H5Aexists(dataset, name) > 0 ? H5Aopen(dataset, name, H5P_DEFAULT) : -1;
    if (list < 0) return 0;
    hid_t type = H5Aget_type(list), space = H5Aget_space(list);
    const bool good = H5Tis_variable_str(type) > 0 && H5Sget_simple_extent_npoints(space) == rank;
    hvl_t *label = good ? csrec_hdf5_sequences(h5, list, rank, 1) : NULL;
    int axis = 0;
    for (int a = rank; label && a-- > 0;)
        if (label[a].p && strcasecmp(label[a].p, "time") == 0) axis = a + 1;
    csrec_hdf5_sequences_free(label, rank);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(list);
    return axis;
}

int csrec_hdf5_time(const csrec_hdf5 *h5, hid_t dataset) {
    references r = {.type = H5Tvlen_create(H5T_STD_REF_OBJ)};
    hid_t space = H5Dget_space(dataset);
    int axis = 0;
    r.rank = H5Sget_simple_extent_ndims(space);
    if (r.rank > 0 && read_references(h5, dataset, &r))
        for (int a = r.rank; a-- > 0;)
            for (size_t k = 0; k < r.axis[a].len; k++) {
                hid_t scale = refer(h5, dataset, &r.axis[a], k);
                if (is_time(h5, scale)) axis = a + 1;
                if (scale >= 0) H5Oclose(scale);
            }
    csrec_hdf5_sequences_free(r.axis, r.rank);
    H5Sclose(space);
    H5Tclose(r.type);
    return axis || r.rank <= 0 ? axis : labelled_time(h5, dataset, r.rank);
}

static bool is_in_file(hid_t dataset) {
    hid_t creation = H5Dget_create_plist(dataset);
    bool good = creation >= 0 && H5Pget_layout(creation) != H5D_VIRTUAL &&
                H5Pget_external_count(creation) == 0;
    if (creation >= 0) H5Pclose(creation);
    return good;
}

/* Whether the object is a dataset of numbers or texts that lies in the file itself. */
static bool is_copied(const csrec_hdf5 *h5, hid_t object) {
    if (object < 0 || H5Iget_type(object) != H5I_DATASET) return false;
    hid_t type = H5Dget_type(object), space = H5Dget_space(object);
    size_t each = type < 0 ? 0 : H5Tget_size(type);
    hssize_t count = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    uint64_t stored = H5Dget_storage_size(object);
    bool good = each > 0 && count >= 0 &&
                (csrec_hdf5_is_plain(type, false) ||
                 (H5Tis_variable_str(type) > 0 && count <= TEXTS_MOST)) &&
                (uint64_t)count <= BYTES_MOST / each && stored <= BYTES_MOST &&
                stored <= h5->size && is_in_file(object);
    if (space >= 0) H5Sclose(space);
    if (type >= 0) H5Tclose(type);
    return good;
}

/* The scale of an axis that can grow may not have grown with it. */
static bool is_scale(const csrec_hdf5 *h5, hid_t object, hsize_t extent) {
    if (!is_copied(h5, object) || !csrec_hdf5_text_is(h5, object, "CLASS", "DIMENSION_SCALE"))
        return false;
    hid_t space = H5Dget_space(object);
    hsize_t found = 0, most = 0;
    bool good = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                H5Sget_simple_extent_dims(space, &found, &most) == 1 &&
                (found == extent || most == H5S_UNLIMITED);
    if (space >= 0) H5Sclose(space);
    return good;
}

static void copy_texts(const csrec_hdf5 *h5, hid_t object, hid_t type, hid_t file, const char *path,
                       hid_t links) {
    hsize_t extent[H5S_MAX_RANK];
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE), from = H5Dget_space(object);
    int rank = H5Sget_simple_extent_dims(from, extent, NULL);
    hid_t space = rank > 0 ? H5Screate_simple(rank, extent, NULL) : H5Screate(H5S_SCALAR);
    H5Pset_obj_track_times(creation, false);
    H5Pset_attr_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    hid_t copy = H5Dcreate2(file, path, type, space, links, creation, H5P_DEFAULT);
    int count = (int)H5Sget_simple_extent_npoints(space);
    if (copy >= 0 && !csrec_hdf5_copy_texts(h5, object, count, type, copy))
        H5Ldelete(file, path, H5P_DEFAULT);
    if (copy >= 0) H5Dclose(copy);
    H5Sclose(space);
    H5Sclose(from);
    H5Pclose(creation);
}

/* Values and layout. libhdf5 would copy all attributes, and texts so that damage crashes. */
static void copy_values(const csrec_hdf5 *h5, hid_t object, hid_t file, const char *path) {
    hid_t links = H5Pcreate(H5P_LINK_CREATE), how = H5Pcreate(H5P_OBJECT_COPY);
    hid_t type = H5Dget_type(object), plain = H5Tcopy(type);
    H5Pset_create_intermediate_group(links, 1);
    H5Pset_copy_object(how, H5O_COPY_WITHOUT_ATTR_FLAG);
    if (H5Tis_variable_str(type) > 0)
        copy_texts(h5, object, plain, file, path, links);
    else
        H5Ocopy(object, ".", file, path, how, links);
    H5Tclose(plain);
    H5Tclose(type);
    H5Pclose(how);
    H5Pclose(links);
}

static bool is_same(hid_t a, hid_t b) {
    H5O_info_t one, other;
    return H5Oget_info(a, &one) >= 0 && H5Oget_info(b, &other) >= 0 && one.addr == other.addr;
}

/* NetCDF counts the dimensions of a file from 0. */
static void number(hid_t scale, int *dimensions) {
    static const char key[] = "_Netcdf4Dimid";
    hid_t attribute = H5Aexists(scale, key) > 0 ? H5Aopen(scale, key, H5P_DEFAULT) : -1;
    if (attribute < 0) return;
    H5Awrite(attribute, H5T_NATIVE_INT, dimensions);
    H5Aclose(attribute);
    ++*dimensions;
}

static void copy_axes_of(copier *c, hid_t like, hid_t dataset);
static void copy_named(void *copier, hid_t object);

/* The copy at the same path, or what is there already; -1: neither. */
static hid_t copy_object(copier *c, hid_t object) {
    static const char *const of_scales[] = {"_Netcdf4Coordinates", NULL};
    static const char *const of_others[] = {"_Netcdf4Coordinates", "_Netcdf4Dimid", NULL};
    bool scale = csrec_hdf5_text_is(c->h5, object, "CLASS", "DIMENSION_SCALE");
    char *path = csrec_hdf5_path(object);
    if (!path) return -1;
    hid_t copy = H5Oopen(c->file, path, H5P_DEFAULT);
    if (copy < 0 && c->copies++ < COPIES_MOST) {
        copy_values(c->h5, object, c->file, path);
        copy = H5Oopen(c->file, path, H5P_DEFAULT);
        if (copy >= 0)
            csrec_hdf5_copy_attributes(c->h5, object, copy, scale ? of_scales : of_others);
        if (copy >= 0) number(copy, &c->dimensions);
        if (copy >= 0) copy_axes_of(c, object, copy);
        if (copy >= 0) csrec_hdf5_named(c->h5, object, copy_named, c);
    }
    free(path);
    return copy;
}

static void copy_named(void *context, hid_t object) {
    copier *c = context;
    hid_t copy =
        !is_same(object, c->like) && is_copied(c->h5, object) ? copy_object(c, object) : -1;
    if (copy >= 0) H5Oclose(copy);
}

/* Adds the axis of the dataset to those that the scale knows. */
static void refer_back(hid_t scale, hid_t dataset, int axis) {
    reference list[REFERENCES_MOST] = {{0, 0}};
    hsize_t count = 0;
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(reference));
    H5Tinsert(type, "dataset", offsetof(reference, dataset), H5T_STD_REF_OBJ);
    H5Tinsert(type, "dimension", offsetof(reference, axis), H5T_NATIVE_INT);
    if (H5Aexists(scale, OF_SCALE) > 0) { /* ours, of another axis */
        hid_t before = H5Aopen(scale, OF_SCALE, H5P_DEFAULT), space = H5Aget_space(before);
        count = (hsize_t)H5Sget_simple_extent_npoints(space);
        if (count < REFERENCES_MOST) H5Aread(before, type, list);
        H5Sclose(space);
        H5Aclose(before);
        H5Adelete(scale, OF_SCALE);
    }
    if (count < REFERENCES_MOST &&
        H5Rcreate(&list[count].dataset, dataset, ".", H5R_OBJECT, -1) >= 0)
        list[count++].axis = axis;
    hid_t space = H5Screate_simple(1, &count, NULL);
    hid_t attribute = H5Acreate2(scale, OF_SCALE, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, list);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

/* The scales of one axis: their references in the new file. */
static hvl_t attach(copier *c, const hvl_t *from, int axis, hsize_t extent, hid_t like,
                    hid_t dataset) {
    hvl_t to = {.p = calloc(from->len + 1, sizeof(hobj_ref_t))};
    for (size_t k = 0; to.p && k < from->len; k++) {
        hid_t scale = refer(c->h5, like, from, k);
        hid_t copy = is_scale(c->h5, scale, extent) ? copy_object(c, scale) : -1;
        if (copy >= 0 && !is_same(copy, dataset)) {
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

static void copy_axes(copier *c, hid_t like, hid_t dataset, const hsize_t *extent,
                      const references *r) {
    hvl_t axis[H5S_MAX_RANK] = {{0, NULL}};
    size_t attached = 0;
    for (int a = 0; a < r->rank; a++) {
        axis[a] = attach(c, &r->axis[a], a, extent[a], like, dataset);
        attached += axis[a].len;
    }
    if (attached) write_references(dataset, r, axis);
    for (int a = 0; a < r->rank; a++) free(axis[a].p);
}

static void copy_axes_of(copier *c, hid_t like, hid_t dataset) {
    hsize_t extent[H5S_MAX_RANK], rank;
    references r = {.type = H5Tvlen_create(H5T_STD_REF_OBJ)};
    hid_t space = H5Dget_space(dataset);
    r.rank = H5Sget_simple_extent_dims(space, extent, NULL);
    rank = (hsize_t)(r.rank > 0 ? r.rank : 1);
    r.space = H5Screate_simple(1, &rank, NULL);
    if (r.rank > 0 && read_references(c->h5, like, &r)) copy_axes(c, like, dataset, extent, &r);
    csrec_hdf5_sequences_free(r.axis, r.rank);
    H5Sclose(r.space);
    H5Sclose(space);
    H5Tclose(r.type);
}

/* Whether the axes of an object are among the dataset's, by their extents, in their order. */
static bool fits(hid_t object, hid_t dataset) {
    hsize_t own[H5S_MAX_RANK], all[H5S_MAX_RANK];
    hid_t one = H5Dget_space(object), other = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_dims(one, own, NULL), at = 0;
    int most = H5Sget_simple_extent_dims(other, all, NULL);
    for (int a = 0; a < most && at < rank; a++) at += own[at] == all[a];
    if (one >= 0) H5Sclose(one);
    if (other >= 0) H5Sclose(other);
    return rank >= 0 && at == rank;
}

static herr_t copy_place(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    const copier *c = data;
    hid_t object = info->type == H5L_TYPE_HARD ? H5Oopen(group, name, H5P_DEFAULT) : -1;
    if (object >= 0 && H5Iget_type(object) == H5I_DATASET && csrec_hdf5_is_place(c->h5, object) &&
        fits(object, c->like))
        copy_named(data, object);
    if (object >= 0) H5Oclose(object);
    return 0;
}

void csrec_hdf5_copy_beside(const csrec_hdf5 *h5, hid_t like, hid_t dataset, hid_t file) {
    copier c = {.h5 = h5, .like = like, .file = file};
    copy_axes_of(&c, like, dataset);
    csrec_hdf5_named(h5, like, copy_named, &c);
    char *path = csrec_hdf5_path(like), *slash = path ? strrchr(path, '/') : NULL;
    if (slash) slash[1] = '\0';
    hid_t group = slash ? csrec_hdf5_object(h5->file, path) : -1;
    if (group >= 0) H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, copy_place, &c);
    if (group >= 0) H5Oclose(group);
    free(path);
}
