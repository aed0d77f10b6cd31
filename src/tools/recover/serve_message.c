/* SPDX-License-Identifier: BSD-3-Clause */
/* serve_message.c - messages: a line of JSON, whose member `arrays` has names and bytes of the .npy
 * that follow it. */
#include "serve.h"

#ifdef CSREC_HAS_JSON
#include <stdlib.h>
#include <string.h>

/* The next bytes of the source; 0: none. */
static size_t refill(serve_source *s, bool first) {
    const int64_t n = s->read(s->context, s->buffer, sizeof s->buffer, first);
    s->from = 0;
    s->to = n > 0 ? (size_t)n : 0;
    return s->to;
}

static csrec_status read_line(serve_source *s, char *line, size_t *length, csrec_error *error) {
    *length = 0;
    for (;;) {
        if (s->from == s->to && refill(s, *length == 0) == 0)
            return *length == 0 ? CSREC_STOPPED
                                : cli_fail(error, CSREC_FORMAT,
                                           "the line ends early, or took too long; send it whole");
        const char c = s->buffer[s->from++];
        if (c == '\n' && *length == 0) continue;
        if (c == '\n') return CSREC_OK;
        if (*length == SERVE_LINE)
            return cli_fail(error, CSREC_FORMAT,
                            "the line is longer than %d bytes; send arrays "
                            "behind it",
                            SERVE_LINE);
        line[(*length)++] = c;
    }
}

static csrec_status read_bytes(serve_source *s, char *to, size_t n) {
    for (size_t done = 0, piece; done < n; done += piece, s->from += piece) {
        if (s->from == s->to && refill(s, false) == 0) return CSREC_FORMAT;
        piece = s->to - s->from < n - done ? s->to - s->from : n - done;
        memcpy(to + done, s->buffer + s->from, piece);
    }
    return CSREC_OK;
}

static csrec_status parse(const char *line, size_t length, json_t **object, csrec_error *error) {
    json_error_t why;
    *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &why);
    if (!*object)
        return cli_fail(error, CSREC_FORMAT, "no line of JSON: %.200s at byte %d", why.text,
                        why.position);
    if (json_is_object(*object)) return CSREC_OK;
    return cli_fail(error, CSREC_FORMAT, "the line is no object {...}");
}

/* One array of `arrays`; *left: bytes that a message may still have. A bad one is read, too. */
static csrec_status read_array(serve_source *s, const json_t *pair, int64_t *left, serve_message *m,
                               csrec_error *error) {
    const char *name = json_string_value(json_array_get(pair, 0));
    const json_t *bytes = json_array_get(pair, 1);
    const int64_t size = json_is_integer(bytes) ? json_integer_value(bytes) : 0;
    if (!name || json_array_size(pair) != 2 || strlen(name) >= SERVE_NAME || size < 1)
        return cli_fail(error, CSREC_FORMAT,
                        "arrays: must be [[\"name\", bytes], ...], names of "
                        "less than %d letters",
                        SERVE_NAME);
    if (m->n == SERVE_ARRAYS || size > *left)
        return cli_fail(error, CSREC_MEMORY, "arrays: '%.40s' is beyond what a message may have",
                        name);
    *left -= size;
    char *data = malloc((size_t)size);
    if (!data) return cli_fail(error, CSREC_MEMORY, "arrays: out of memory for '%.40s'", name);
    csrec_status status = read_bytes(s, data, (size_t)size);
    if (status)
        cli_fail(error, status, "array '%.40s' ends early, or took too long", name);
    else if ((status = csrec_array_parse(data, (uint64_t)size, name, &m->array[m->n], error)))
        status = CSREC_DATA;
    else if (serve_message_array(m, name)) {
        status = cli_fail(error, CSREC_DATA, "array '%s' is there twice; send it once", name);
        csrec_array_clear(&m->array[m->n]);
    } else
        strcpy(m->name[m->n++], name);
    free(data);
    return status;
}

csrec_status serve_message_read(serve_source *s, int64_t most, serve_message *m,
                                csrec_error *error) {
    size_t length;
    char *line = malloc(SERVE_LINE);
    m->line = NULL;
    m->n = 0;
    if (!line) return cli_fail(error, CSREC_MEMORY, "out of memory");
    csrec_status status = read_line(s, line, &length, error);
    if (!status) status = parse(line, length, &m->line, error);
    free(line);
    const json_t *arrays = status ? NULL : json_object_get(m->line, "arrays");
    if (arrays && !json_is_array(arrays))
        return cli_fail(error, CSREC_FORMAT, "arrays: must be [[\"name\", bytes], ...]");
    csrec_status bad = CSREC_OK;
    csrec_error why;
    for (size_t i = 0; i < json_array_size(arrays) && !status; i++) {
        status = read_array(s, json_array_get(arrays, i), &most, m, bad ? &why : error);
        if (status == CSREC_DATA) bad = status, status = CSREC_OK;
    }
    return status ? status : bad;
}

void serve_message_clear(serve_message *m) {
    for (int i = 0; i < m->n; i++) csrec_array_clear(&m->array[i]);
    json_decref(m->line);
    m->line = NULL;
    m->n = 0;
}

const csrec_array *serve_message_array(const serve_message *m, const char *name) {
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->name[i], name) == 0) return &m->array[i];
    return NULL;
}

enum { NPY_HEADER = 256 };

/* Version 1.0: padded to 64 bytes. Returns the header's bytes. */
static size_t npy_header(const serve_sent *a, char header[NPY_HEADER]) {
    char shape[128];
    int used = 0;
    const bool little = *(const uint8_t *)&(const uint16_t){1} == 1;
    for (int d = 0; d < a->shape.dims; d++)
        used += snprintf(shape + used, sizeof shape - (size_t)used, "%lld, ",
                         (long long)a->shape.dim[d]);
    int n = 10 + snprintf(header + 10, NPY_HEADER - 10,
                          "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s), }",
                          little ? '<' : '>', a->dtype == CSREC_I64 ? "i8" : "f8", shape);
    while ((n + 1) % 64 != 0) header[n++] = ' ';
    header[n++] = '\n';
    memcpy(header, "\x93NUMPY\x01", 8);
    header[8] = (char)((n - 10) % 256);
    header[9] = (char)((n - 10) / 256);
    return (size_t)n;
}

static size_t bytes_of(const serve_sent *a) {
    size_t bytes = 8;
    for (int d = 0; d < a->shape.dims; d++) bytes *= (size_t)a->shape.dim[d];
    return bytes;
}

bool serve_message_write(serve_write_fn write, void *context, json_t *line, int n,
                         const serve_sent *sent) {
    char header[NPY_HEADER];
    json_t *arrays = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(
            arrays, json_pack("[sI]", sent[i].name,
                              (json_int_t)(npy_header(&sent[i], header) + bytes_of(&sent[i]))));
    json_object_set_new(line, "arrays", arrays);
    char *text = json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII);
    bool written = text && write(context, text, strlen(text)) && write(context, "\n", 1);
    free(text);
    for (int i = 0; i < n && written; i++)
        written = write(context, header, npy_header(&sent[i], header)) &&
                  write(context, sent[i].data, bytes_of(&sent[i]));
    return written;
}
#endif
