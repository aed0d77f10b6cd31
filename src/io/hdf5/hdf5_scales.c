/* hdf5_scales.c - dimension scales of a dataset: copied, and attached as libhdf5's high-level
 * library does (HDF5 Dimension Scale Specification), which not every installation has. */
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5.h"

enum { BYTES_MOST = 1 << 26 }; /* of a scale in the file */

typedef struct reference {
    hobj_ref_t dataset;
    int axis;
} reference;

/* The references of DIMENSION_LIST, [rank]; to be reclaimed with the type and the space. */
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

static bool read_references(hid_t dataset, references *r) {
    hid_t attribute = H5Aexists(dataset, OF_AXES) > 0 ? H5Aopen(dataset, OF_AXES, H5P_DEFAULT) : -1;
    bool good = attribute >= 0 && r->axis && is_list(attribute, r) &&
                H5Aread(attribute, r->type, r->axis) >= 0;
    if (attribute >= 0) H5Aclose(attribute);
    return good;
}

/* ------------------------------------------------------------------ copies -------------------- */

/* Whether the object is a dataset in the file itself, of a size that is worth a copy. */
static bool is_small(hid_t object) {
    if (object < 0 || H5Iget_type(object) != H5I_DATASET) return false;
    hid_t creation = H5Dget_create_plist(object);
    bool good = creation >= 0 && H5Pget_layout(creation) != H5D_VIRTUAL &&
                H5Pget_external_count(creation) == 0 && H5Dget_storage_size(object) <= BYTES_MOST;
    if (creation >= 0) H5Pclose(creation);
    return good;
}

static bool is_scale(hid_t object, hsize_t extent) {
    if (!is_small(object) || !csrec_hdf5_text_is(object, "CLASS", "DIMENSION_SCALE")) return false;
    hid_t space = H5Dget_space(object);
    hsize_t found = 0;
    bool good = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                H5Sget_simple_extent_dims(space, &found, NULL) == 1 && found == extent;
    if (space >= 0) H5Sclose(space);
    return good;
}

/* The copy at the same path, or what is there already; -1: neither. References in a copy lead
 * nowhere. */
static hid_t copy_object(hid_t object, hid_t file) {
    char *path = csrec_hdf5_path(object);
    if (!path) return -1;
    if (H5Lexists(file, path, H5P_DEFAULT) <= 0) {
        hid_t links = H5Pcreate(H5P_LINK_CREATE);
        H5Pset_create_intermediate_group(links, 1);
        H5Ocopy(object, ".", file, path, H5P_DEFAULT, links);
        H5Pclose(links);
        hid_t made = H5Oopen(file, path, H5P_DEFAULT);
        if (made >= 0 && H5Aexists(made, OF_SCALE) > 0) H5Adelete(made, OF_SCALE);
        if (made >= 0 && H5Aexists(made, OF_AXES) > 0) H5Adelete(made, OF_AXES);
        if (made >= 0) H5Oclose(made);
    }
    hid_t copy = H5Oopen(file, path, H5P_DEFAULT);
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
static hvl_t attach(const hvl_t *from, int axis, hsize_t extent, hid_t like, hid_t dataset,
                    hid_t file, int *dimensions) {
    hvl_t to = {.p = calloc(from->len + 1, sizeof(hobj_ref_t))};
    for (size_t k = 0; to.p && k < from->len; k++) {
        hid_t scale = H5Rdereference2(like, H5P_DEFAULT, H5R_OBJECT, (hobj_ref_t *)from->p + k);
        hid_t copy = is_scale(scale, extent) ? copy_object(scale, file) : -1;
        if (is_scale(copy, extent)) {
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

static void copy_axes(hid_t like, hid_t dataset, hid_t file, const hsize_t *extent,
                      const references *r) {
    hvl_t axis[H5S_MAX_RANK] = {{0, NULL}};
    int dimensions = 0;
    size_t attached = 0;
    for (int a = 0; a < r->rank; a++) {
        axis[a] = attach(&r->axis[a], a, extent[a], like, dataset, file, &dimensions);
        attached += axis[a].len;
    }
    if (attached) write_references(dataset, r, axis);
    for (int a = 0; a < r->rank; a++) free(axis[a].p);
}

/* The variable that says how a map was projected (CF conventions) is beside the dataset. */
static void copy_projection(hid_t like, hid_t file) {
    char name[256];
    hid_t beside = -1;
    char *path = csrec_hdf5_path(like), *slash = path ? strrchr(path, '/') : NULL;
    if (slash && csrec_hdf5_text(like, "grid_mapping", name, sizeof name)) {
        slash[1] = '\0';
        hid_t group = csrec_hdf5_object(like, path);
        if (group >= 0) beside = csrec_hdf5_object(group, name);
        if (group >= 0) H5Oclose(group);
    }
    hid_t copy = is_small(beside) ? copy_object(beside, file) : -1;
    if (copy >= 0) H5Oclose(copy);
    if (beside >= 0) H5Oclose(beside);
    free(path);
}

void csrec_hdf5_copy_scales(hid_t like, hid_t dataset, hid_t file) {
    hsize_t extent[H5S_MAX_RANK], rank;
    references r = {.type = H5Tvlen_create(H5T_STD_REF_OBJ)};
    hid_t space = H5Dget_space(dataset);
    r.rank = H5Sget_simple_extent_dims(space, extent, NULL);
    rank = (hsize_t)r.rank;
    r.space = H5Screate_simple(1, &rank, NULL);
    r.axis = calloc((size_t)rank, sizeof *r.axis);
    if (read_references(like, &r)) {
        copy_axes(like, dataset, file, extent, &r);
        H5Dvlen_reclaim(r.type, r.space, H5P_DEFAULT, r.axis);
    }
    free(r.axis);
    H5Sclose(r.space);
    H5Sclose(space);
    H5Tclose(r.type);
    copy_projection(like, file);
}
