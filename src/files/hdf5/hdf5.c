/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5.c - libhdf5 over files and memory, one caller at a time; the row of the format. */
#include "files/hdf5/hdf5.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "files/format.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void csrec_hdf5_enter(csrec_hdf5_calls *calls) {
    pthread_mutex_lock(&lock);
    H5dont_atexit(); /* after a damaged file its end prints that it fails to close things */
    H5Eget_auto2(H5E_DEFAULT, &calls->print, &calls->data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void csrec_hdf5_leave(const csrec_hdf5_calls *calls) {
    H5Eclear2(H5E_DEFAULT);
    H5Eset_auto2(H5E_DEFAULT, calls->print, calls->data);
    pthread_mutex_unlock(&lock);
}

void csrec_hdf5_print(const char *name, char text[CSREC_HDF5_TEXT]) {
    snprintf(text, CSREC_HDF5_TEXT, "%s", name);
    for (char *at = text; *at; at++)
        if (*at < 32 || *at > 126) *at = '?';
}

typedef struct cause {
    char text[CSREC_HDF5_TEXT];
    bool memory;
} cause;

/* The deepest failure comes first: the one that says what is wrong. */
static herr_t take_cause(unsigned n, const H5E_error2_t *failure, void *data) {
    cause *c = data;
    if (n == 0 && failure->desc) csrec_hdf5_print(failure->desc, c->text);
    c->memory = c->memory || failure->min_num == H5E_NOSPACE;
    return 0;
}

csrec_status csrec_hdf5_failed(const csrec_hdf5 *h5, csrec_error *error) {
    cause c = {.text = "no reason told"};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_cause, &c);
    if (c.memory) return csrec_memory_fail(error, h5->name);
    if (h5->size == 0)
        return csrec_fail(error, CSREC_FILE, "%s: cannot be written as HDF5 (%s); write .npy",
                          h5->name, c.text);
    return csrec_fail(error, CSREC_FORMAT, "%s: damaged HDF5 (%s); write or copy the file again",
                      h5->name, c.text);
}

/* libhdf5 would copy the bytes twice; as nothing is written, it gets those of the input. */
static void *image_malloc(size_t size, H5FD_file_image_op_t operation, void *data) {
    const csrec_input *input = data;
    (void)operation;
    return size <= input->size ? (void *)(uintptr_t)input->bytes : NULL;
}

static void *image_copy(void *to, const void *from, size_t size, H5FD_file_image_op_t operation,
                        void *data) {
    (void)size, (void)operation, (void)data;
    return to == from ? to : NULL;
}

static void *image_resize(void *image, size_t size, H5FD_file_image_op_t operation, void *data) {
    (void)image, (void)size, (void)operation, (void)data;
    return NULL;
}

static herr_t image_free(void *image, H5FD_file_image_op_t operation, void *data) {
    (void)image, (void)operation, (void)data;
    return 0;
}

static void *keep(void *data) {
    return data;
}

static herr_t drop(void *data) {
    (void)data;
    return 0;
}

static bool set_image(hid_t access, csrec_input *input) {
    H5FD_file_image_callbacks_t with = {image_malloc, image_copy, image_resize, image_free,
                                        keep,         drop,       input};
    return H5Pset_fapl_core(access, 1 << 16, false) >= 0 &&
           H5Pset_file_image_callbacks(access, &with) >= 0 &&
           H5Pset_file_image(access, (void *)(uintptr_t)input->bytes, (size_t)input->size) >= 0;
}

/* Closing a file closes what is in it. */
static hid_t access_list(void) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    H5Pset_file_locking(access, false, true); /* some file systems have none */
    return access;
}

static void read_sizes(csrec_hdf5 *h5) {
    hid_t creation = H5Fget_create_plist(h5->file);
    hsize_t block = 0;
    H5Pget_userblock(creation, &block);
    H5Pget_sizes(creation, &h5->address_bytes, &h5->length_bytes);
    h5->base = block;
    H5Pclose(creation);
}

csrec_status csrec_hdf5_open(csrec_input *input, csrec_hdf5 *h5, csrec_error *error) {
    *h5 = (csrec_hdf5){.file = -1,
                       .name = input->name,
                       .member = input->member,
                       .size = input->size,
                       .input = input};
    hid_t access = access_list();
    char *name = NULL;
    bool good;
    if (input->bytes) {
        name = malloc(32); /* files of one name are one file to libhdf5 */
        if (name) snprintf(name, 32, "memory-%p", (void *)input);
        good = name && set_image(access, input);
    } else {
        size_t length =
            input->member ? (size_t)(input->member - 1 - input->name) : strlen(input->name);
        name = strndup(input->name, length);
        good = name && H5Pset_fapl_sec2(access) >= 0;
    }
    if (good) h5->file = H5Fopen(name, H5F_ACC_RDONLY, access);
    csrec_status status = CSREC_OK;
    if (h5->file >= 0) read_sizes(h5);
    if (!name) status = csrec_memory_fail(error, input->name);
    if (name && h5->file < 0) status = csrec_hdf5_failed(h5, error);
    H5Pclose(access);
    free(name);
    return status;
}

csrec_status csrec_hdf5_create(const char *name, const char *path, size_t step, csrec_hdf5 *h5,
                               csrec_error *error) {
    *h5 = (csrec_hdf5){.file = -1, .name = name};
    hid_t access = access_list(), creation = H5Pcreate(H5P_FILE_CREATE);
    char text[32];
    snprintf(text, sizeof text, "memory-%p", (void *)h5);
    H5Pset_obj_track_times(creation, false);
    /* NetCDF-4 lists variables in the order of their creation. */
    H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_attr_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    bool set = path ? H5Pset_fapl_sec2(access) >= 0 : H5Pset_fapl_core(access, step, false) >= 0;
    if (set) h5->file = H5Fcreate(path ? path : text, H5F_ACC_TRUNC, creation, access);
    csrec_status status = h5->file < 0 ? csrec_hdf5_failed(h5, error) : CSREC_OK;
    H5Pclose(creation);
    H5Pclose(access);
    return status;
}

bool csrec_hdf5_close(csrec_hdf5 *h5) {
    bool good = h5->file < 0 || H5Fclose(h5->file) >= 0;
    h5->file = -1;
    return good;
}

hid_t csrec_hdf5_type(csrec_dtype dtype) {
    const hid_t types[] = {[CSREC_BOOL] = H5T_NATIVE_UINT8, [CSREC_U8] = H5T_NATIVE_UINT8,
                           [CSREC_I8] = H5T_NATIVE_INT8,    [CSREC_U16] = H5T_NATIVE_UINT16,
                           [CSREC_I16] = H5T_NATIVE_INT16,  [CSREC_U32] = H5T_NATIVE_UINT32,
                           [CSREC_I32] = H5T_NATIVE_INT32,  [CSREC_U64] = H5T_NATIVE_UINT64,
                           [CSREC_I64] = H5T_NATIVE_INT64,  [CSREC_F32] = H5T_NATIVE_FLOAT,
                           [CSREC_F64] = H5T_NATIVE_DOUBLE};
    return types[dtype];
}

static const char *refusal(const csrec_shape *shape, int64_t channels) {
    bool fits = shape->dims + (channels > 1) <= 4;
    return fits ? NULL
                : "an HDF5 dataset is written with at most 4 axes, channels being one of "
                  "them; write .npy";
}

const csrec_format_row csrec_hdf5_format = {
    .format = {"hdf5", CSREC_HDF5_ENDINGS, "HDF5", "an HDF5 file",
               CSREC_USE_READ | CSREC_USE_WRITE | CSREC_USE_SAMPLES | CSREC_USE_TYPES |
                   CSREC_USE_SLABS | CSREC_USE_NODATA,
               CSREC_HDF5_NEEDS},
    .magic = {{CSREC_HDF5_MAGIC, sizeof CSREC_HDF5_MAGIC - 1}},
    .members = CSREC_USE_READ | CSREC_USE_WRITE,
    .signal = csrec_hdf5_signal,
    .peek = csrec_hdf5_peek,
    .measurement = csrec_hdf5_measurement,
    .refusal = refusal,
    .write = csrec_hdf5_write,
    .write_slabs = csrec_hdf5_write_slabs,
    .framing = {.make = csrec_hdf5_frame},
};
