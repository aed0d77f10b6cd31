/* hdf5_writer.c - a new file of one dataset, with the attributes, scales and chunks of the one that
 * it is like. */
#include "files/hdf5/hdf5_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "files/format.h"

/* ------------------------------------------------------------------ arrangement --------------- */

csrec_status csrec_hdf5_writer_measure(csrec_hdf5_writer *w, const char *path) {
    const csrec_image *signal = w->signal;
    csrec_shape whole = signal->pixels.shape;
    bool split = whole.dims > 1 && (signal->has_channels || signal->bits > 0);
    int64_t channels = split ? whole.dim[--whole.dims] : 1;
    const char *reason = csrec_format_refusal(&csrec_hdf5_format.format, &whole, channels);
    if (reason || signal->alpha)
        return csrec_fail(w->error, CSREC_ARGUMENT, "%s: %s", path,
                          reason ? reason : "an HDF5 file is written without transparency");
    w->rank = signal->pixels.shape.dims;
    for (int a = 0; a < w->rank; a++)
        w->extent[a] = w->most[a] = (hsize_t)signal->pixels.shape.dim[a];
    return CSREC_OK;
}

/* A dataset of the same shape gives its axes, too: those of extent 1, and which of them can grow.
 */
static void compare(csrec_hdf5_writer *w) {
    csrec_error ignored;
    csrec_hdf5_layout *l = &w->layout;
    if (w->like.file < 0) return;
    if (csrec_hdf5_find(&w->like, &w->from, &ignored) ||
        csrec_hdf5_layout_read(&w->like, w->from, l, &ignored) ||
        !csrec_shape_equal(&l->shape, &w->signal->pixels.shape)) {
        w->from = -1;
        return;
    }
    w->rank = l->rank;
    memcpy(w->extent, l->extent, sizeof l->extent);
    memcpy(w->most, l->most, sizeof l->most);
}

/* As the path says, or as the input has it. */
static void choose_name(csrec_hdf5_writer *w, const char *path) {
    const char *member = csrec_path_member(path);
    char *own = w->from >= 0 ? csrec_hdf5_path(w->from) : NULL;
    if (member && member[strspn(member, "/")])
        w->name = strdup(member);
    else
        w->name = strdup(own ? own : "/data");
    w->renamed = w->name && own && strcmp(w->name, own) != 0;
    free(own);
}

/* ------------------------------------------------------------------ storage ------------------- */

/* Filters without loss that every libhdf5 has. */
static void copy_filter(hid_t from, unsigned i, hid_t to) {
    unsigned flags, config, values[8] = {0};
    size_t count = sizeof values / sizeof *values;
    switch (H5Pget_filter2(from, i, &flags, &count, values, 0, NULL, &config)) {
    case H5Z_FILTER_DEFLATE:
        H5Pset_deflate(to, values[0] <= 9 ? values[0] : 6);
        break;
    case H5Z_FILTER_SHUFFLE:
        H5Pset_shuffle(to);
        break;
    case H5Z_FILTER_FLETCHER32:
        H5Pset_fletcher32(to);
        break;
    default:
        break;
    }
}

/* Axes can grow in chunks only. Times would make every file another one. */
static hid_t creation_list(csrec_hdf5_writer *w) {
    hid_t to = H5Pcreate(H5P_DATASET_CREATE);
    hid_t from = w->from >= 0 ? H5Dget_create_plist(w->from) : -1;
    w->chunked = from >= 0 && H5Pget_layout(from) == H5D_CHUNKED &&
                 H5Pget_chunk(from, H5S_MAX_RANK, w->chunk) == w->rank;
    H5Pset_obj_track_times(to, false);
    H5Pset_attr_creation_order(to, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    if (w->chunked) {
        H5Pset_chunk(to, w->rank, w->chunk);
    } else {
        memcpy(w->most, w->extent, sizeof w->most);
        H5Pset_alloc_time(to, H5D_ALLOC_TIME_EARLY);
    }
    int filters = w->chunked ? H5Pget_nfilters(from) : 0;
    for (int i = 0; i < filters; i++) copy_filter(from, (unsigned)i, to);
    if (from >= 0) H5Pclose(from);
    return to;
}

static bool create_dataset(csrec_hdf5_writer *w) {
    hid_t creation = creation_list(w), links = H5Pcreate(H5P_LINK_CREATE);
    hid_t type = csrec_hdf5_type(w->signal->pixels.dtype);
    hid_t space = H5Screate_simple(w->rank, w->extent, w->most);
    H5Pset_create_intermediate_group(links, 1);
    w->dataset = H5Dcreate2(w->h5.file, w->name, type, space, links, creation, H5P_DEFAULT);
    if (space >= 0) H5Sclose(space);
    H5Pclose(links);
    H5Pclose(creation);
    return w->dataset >= 0;
}

/* ------------------------------------------------------------------ metadata ------------------ */

/* Of how values are stored or which are known, and what the scales bring along. */
static const char *const of_storage[] = {
    "_FillValue",  "missing_value", "scale_factor", "add_offset",
    "valid_range", "valid_min",     "valid_max",    "actual_range",
    "_Unsigned",   "_Netcdf4Dimid", "_ChunkSizes",  "_Netcdf4Coordinates",
    NULL};
static const char *const of_netcdf[] = {"_NCProperties", NULL};
static const char *const of_names[] = {"_NCProperties", "default", "signal", "axes", NULL};

static void copy_group(const csrec_hdf5_writer *w, const char *path) {
    hid_t from = csrec_hdf5_object(w->like.file, path);
    hid_t to = H5Oopen(w->h5.file, path, H5P_DEFAULT);
    if (from >= 0 && to >= 0 && H5Iget_type(from) == H5I_GROUP)
        csrec_hdf5_copy_attributes(&w->like, from, to, w->renamed ? of_names : of_netcdf);
    if (from >= 0) H5Oclose(from);
    if (to >= 0) H5Oclose(to);
}

/* Attributes of the file and of the groups that contain the dataset: units, titles, NeXus classes.
 */
static void copy_groups(const csrec_hdf5_writer *w) {
    char *path = strdup(w->name);
    copy_group(w, "/");
    for (char *at = path ? strchr(path + 1, '/') : NULL; at; at = strchr(at + 1, '/')) {
        *at = '\0';
        copy_group(w, path);
        *at = '/';
    }
    free(path);
}

static void copy_metadata(const csrec_hdf5_writer *w) {
    if (w->from < 0) return;
    csrec_hdf5_copy_attributes(&w->like, w->from, w->dataset, of_storage);
    csrec_hdf5_copy_scales(&w->like, w->from, w->dataset, w->h5.file);
    copy_groups(w);
}

bool csrec_hdf5_writer_create(csrec_hdf5_writer *w) {
    if (!create_dataset(w)) return false;
    copy_metadata(w);
    csrec_hdf5_close(&w->like);
    return true;
}

/* ------------------------------------------------------------------ begin and end ------------- */

csrec_status csrec_hdf5_writer_begin(csrec_hdf5_writer *w, const char *path, const char *like) {
    csrec_error ignored;
    csrec_status status = csrec_hdf5_writer_measure(w, path);
    w->h5.file = w->like.file = w->from = -1;
    csrec_hdf5_enter(&w->calls);
    if (!status && csrec_format_open_like(&csrec_hdf5_format, like, &w->input) &&
        csrec_hdf5_open(&w->input, &w->like, &ignored))
        w->like.file = -1;
    if (status) return status;
    compare(w);
    choose_name(w, path);
    return w->name ? CSREC_OK : csrec_fail(w->error, CSREC_MEMORY, "%s: out of memory", path);
}

void csrec_hdf5_writer_end(csrec_hdf5_writer *w) {
    csrec_hdf5_close(&w->h5);
    csrec_hdf5_close(&w->like);
    csrec_hdf5_leave(&w->calls);
    csrec_input_close(&w->input);
    free(w->name);
}
