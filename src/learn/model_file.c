/* SPDX-License-Identifier: BSD-3-Clause */
/* model_file.c - models in .npz files that NumPy reads, too: an array for each field, and texts as
 * Unicode scalars. */
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/memory.h"
#include "files/npz/npz.h"
#include "learn/model.h"

static csrec_status read_text(const csrec_npz *npz, const char *field, char *text,
                              csrec_error *error) {
    csrec_npz_member member;
    csrec_status status = csrec_npz_begin(npz, field, &member, error);
    if (status) return status;
    if (member.header.kind != 'U' && member.header.kind != 'S')
        status = csrec_fail(error, CSREC_FORMAT, "%s: is an array of numbers; must be a text",
                            member.name);
    if (!status)
        status = csrec_npy_text(&member.reader, &member.header, member.name, text,
                                CSREC_MODEL_TEXT_ROOM, error);
    return csrec_npz_end(&member, status, error);
}

static csrec_status read_kind(const csrec_npz *npz, csrec_model *model, csrec_error *error) {
    char kind[CSREC_MODEL_TEXT_ROOM], kinds[128];
    if (!csrec_npz_has(npz, "kind"))
        return csrec_fail(
            error, CSREC_FORMAT,
            "%s: array 'kind' is missing, so it is not a model; make one with cslearn", npz->name);
    CSREC_TRY(read_text(npz, "kind", kind, error));
    model->type = csrec_model_type_find(kind);
    if (!model->type)
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'kind': no models of kind '%.60s'; there are %s", npz->name,
                          kind, csrec_model_kinds(kinds));
    return CSREC_OK;
}

/* The array without its values. */
static csrec_status measure_array(const csrec_npz *npz, const csrec_model_field *field,
                                  csrec_array *array, csrec_error *error) {
    csrec_npz_member member;
    CSREC_TRY(csrec_npz_begin(npz, field->name, &member, error));
    *array = (csrec_array){
        .dtype = field->dtype, .shape = member.header.shape, .count = member.header.count};
    /* np.array([x]) instead of a scalar */
    if (!field->axes && array->count == 1) array->shape.dims = 0;
    csrec_npz_leave(&member);
    return CSREC_OK;
}

/* A whole array of floats, of `count` entries; the caller frees *values. */
static csrec_status read_floats(const csrec_npz *npz, const char *name, int64_t count,
                                float **values, csrec_error *error) {
    csrec_npz_member member;
    csrec_status status = csrec_npz_begin(npz, name, &member, error);
    if (status) return status;
    *values = malloc((size_t)member.header.count * sizeof **values);
    if (member.header.count != count)
        status = csrec_fail(error, CSREC_DATA,
                            "%s: has %lld entries; must have %lld; learn the "
                            "model again",
                            member.name, (long long)member.header.count, (long long)count);
    else if (!*values)
        status = csrec_memory_fail(error, member.name);
    else
        status = csrec_npy_values_f32(&member.reader, &member.header, member.name, *values, error);
    return csrec_npz_end(&member, status, error);
}

/* A block of codes, whose products are exact, to 16 bits; what is too large for them stays so, for
 * the check. */
static void scale_block(int64_t n, float scale, float *v) {
    for (int64_t i = 0; i < n; i++) v[i] = csrec_half_rounded(v[i] * scale);
}

/* Codes of 8 bits become values: a block of them has a scale in the array "<field>_scale"; where
 * that is 0, the block is the next of "<field>_rest". */
static csrec_status scale_blocks(const csrec_npz *npz, const char *field, csrec_array *array,
                                 csrec_error *error) {
    enum { BLOCK = CSREC_MODEL_BLOCK };
    char name[64];
    float *values = array->data, *scale = NULL, *rest = NULL;
    const int64_t blocks = (array->count + BLOCK - 1) / BLOCK;
    int64_t kept = 0;
    snprintf(name, sizeof name, "%s_scale", field);
    csrec_status status = read_floats(npz, name, blocks, &scale, error);
    for (int64_t b = 0; b < blocks && !status; b++) kept += scale[b] == 0.0f;
    snprintf(name, sizeof name, "%s_rest", field);
    if (!status && kept > 0) status = read_floats(npz, name, kept * BLOCK, &rest, error);
    const float *next = rest;
    for (int64_t b = 0; b < blocks && !status; b++) {
        float *v = values + b * BLOCK;
        const int64_t n = b < blocks - 1 ? BLOCK : array->count - b * BLOCK;
        if (scale[b] == 0.0f) {
            memcpy(v, next, (size_t)n * sizeof *v);
            next += BLOCK;
        } else {
            scale_block(n, scale[b], v);
        }
    }
    free(scale);
    free(rest);
    return status;
}

static csrec_status read_array(const csrec_npz *npz, const csrec_model_field *field,
                               csrec_array *array, csrec_error *error) {
    csrec_npz_member member;
    csrec_status status = csrec_npz_begin(npz, field->name, &member, error);
    if (status) return status;
    if (member.header.count != array->count)
        return csrec_npz_end(&member, csrec_npz_changed(&member, error), error);
    array->data = csrec_memory_allocate((size_t)array->count * csrec_dtype_size(field->dtype));
    if (!array->data) status = csrec_memory_fail(error, member.name);
    csrec_reader *reader = &member.reader;
    const csrec_npy_header *header = &member.header;
    if (!status && field->dtype == CSREC_F32)
        status = csrec_npy_values_f32(reader, header, member.name, array->data, error);
    if (!status && field->dtype == CSREC_F64)
        status = csrec_npy_values_f64(reader, header, member.name, array->data, error);
    if (!status && field->dtype == CSREC_I64)
        status = csrec_npy_values_i64(reader, header, member.name, array->data, error);
    const bool coded = field->dtype == CSREC_F32 && header->kind == 'i' && header->bytes == 1;
    status = csrec_npz_end(&member, status, error);
    return status || !coded ? status : scale_blocks(npz, field->name, array, error);
}

/* Before any array is unpacked, all shapes are checked to agree and to fit into memory. */
static csrec_status read_arrays(const csrec_npz *npz, csrec_model *model, csrec_error *error) {
    const csrec_model_field *fields = model->type->fields;
    csrec_status status = CSREC_OK;
    uint64_t bytes = 0;
    for (int f = 0; f < CSREC_MODEL_FIELDS && fields[f].name && !status; f++)
        if (csrec_npz_has(npz, fields[f].name)) {
            status = measure_array(npz, &fields[f], &model->arrays[f], error);
            bytes += (uint64_t)model->arrays[f].count * csrec_dtype_size(fields[f].dtype);
        }
    if (!status) status = csrec_model_check_shapes(model, npz->name, error);
    if (!status) status = csrec_memory_check(bytes, 1, npz->name, error);
    for (int f = 0; f < CSREC_MODEL_FIELDS && fields[f].name && !status; f++)
        if (model->arrays[f].count > 0)
            status = read_array(npz, &fields[f], &model->arrays[f], error);
    return status;
}

static csrec_status read_all(const csrec_npz *npz, csrec_model *model, csrec_error *error) {
    char text[CSREC_MODEL_TEXT_ROOM];
    CSREC_TRY(read_kind(npz, model, error));
    CSREC_TRY(read_arrays(npz, model, error));
    for (int i = 0; i < CSREC_MODEL_TEXTS; i++) {
        const char *name = csrec_model_text_names[i];
        if (!csrec_npz_has(npz, name)) continue;
        CSREC_TRY(read_text(npz, name, text, error));
        if (csrec_model_set_text(model, name, text)) return csrec_memory_fail(error, npz->name);
    }
    return csrec_model_check(model, npz->name, error);
}

csrec_status csrec_model_read(const char *path, csrec_model **model, csrec_error *error) {
    csrec_input input;
    csrec_npz npz;
    CSREC_TRY(csrec_input_open(path, &input, error));
    csrec_model *m = calloc(1, sizeof *m);
    csrec_status status =
        m ? csrec_npz_open(&input, &npz, error) : csrec_memory_fail(error, input.name);
    if (status == CSREC_FORMAT)
        csrec_fail(error, status,
                   "%s: is not a complete zip archive, so it is not a model; make one with cslearn",
                   input.name);
    if (!status) {
        status = read_all(&npz, m, error);
        csrec_npz_close(&npz);
    }
    csrec_input_close(&input);
    return CSREC_SETTLE(status, csrec_model_destroy(m), *model = m);
}

typedef struct text_field {
    uint32_t letters[CSREC_MODEL_TEXT_ROOM];
    char descr[32];
} text_field;

static csrec_npz_field field_of_text(const char *name, const char *text, text_field *room) {
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) room->letters[i] = (unsigned char)text[i];
    snprintf(room->descr, sizeof room->descr, "U%zu", length);
    return (csrec_npz_field){
        .name = name, .descr = room->descr, .data = room->letters, .bytes = 4 * length};
}

/* The array in numbers of 16 bits, in memory of its own; NULL: out of memory. */
static uint16_t *halves_of(const csrec_array *array) {
    uint16_t *bits = malloc((size_t)array->count * sizeof *bits);
    for (int64_t i = 0; bits && i < array->count; i++)
        bits[i] = csrec_half_bits(((const float *)array->data)[i]);
    return bits;
}

static bool field_of_array(const csrec_model *model, int f, uint16_t **halves,
                           csrec_npz_field *field) {
    const csrec_array *array = &model->arrays[f];
    *field = (csrec_npz_field){.name = model->type->fields[f].name,
                               .descr = csrec_dtype_code(array->dtype),
                               .shape = array->shape,
                               .data = array->data,
                               .bytes = (uint64_t)array->count * csrec_dtype_size(array->dtype)};
    if (array->dtype != CSREC_F32) return true;
    free(*halves);
    *halves = halves_of(array);
    field->descr = "f2";
    field->data = *halves;
    field->bytes = (uint64_t)array->count * sizeof **halves;
    return *halves != NULL;
}

csrec_status csrec_files_add_model(csrec_files *files, const char *path, const csrec_model *model,
                                   csrec_error *error) {
    csrec_npz_field fields[1 + CSREC_MODEL_TEXTS + CSREC_MODEL_FIELDS];
    text_field *rooms = calloc(1 + CSREC_MODEL_TEXTS, sizeof *rooms);
    uint16_t *halves = NULL; /* a kind has one array of them */
    bool complete = rooms != NULL;
    int count = 0;
    if (rooms)
        fields[count++] = field_of_text("kind", model->type->name, &rooms[CSREC_MODEL_TEXTS]);
    for (int i = 0; i < CSREC_MODEL_TEXTS && rooms; i++)
        if (model->texts[i] && *model->texts[i])
            fields[count++] = field_of_text(csrec_model_text_names[i], model->texts[i], &rooms[i]);
    for (int f = 0; f < CSREC_MODEL_FIELDS && model->type->fields[f].name && complete; f++)
        if (model->arrays[f].data) complete = field_of_array(model, f, &halves, &fields[count++]);
    csrec_status status = complete ? csrec_npz_add(files, path, count, fields, false, error)
                                   : csrec_memory_fail(error, path);
    free(halves);
    free(rooms);
    return status;
}

csrec_status csrec_model_write(const char *path, const csrec_model *model, csrec_error *error) {
    csrec_files *files = NULL;
    csrec_status status = csrec_files_create(NULL, &files, error);
    if (!status) status = csrec_files_add_model(files, path, model, error);
    return csrec_files_finish(files, status, error);
}
