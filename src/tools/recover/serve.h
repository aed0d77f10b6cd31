/* SPDX-License-Identifier: BSD-3-Clause */
/* serve.h - csrecover serve: sessions of clients, by lines of JSON and arrays as .npy
 * (docs/session.md). */
#pragma once

#include "tools/common/options.h"

#ifdef CSREC_HAS_JSON
#include <jansson.h>

enum { SERVE_ARRAYS = 80, SERVE_LINE = 65536, SERVE_NAME = 48 };

/* Where bytes come from: so many at most, 0 at the end, below 0 after a failure or when the time is
 * over; first: of a message, for which there is no limit of time. */
typedef struct serve_source {
    int64_t (*read)(void *context, void *to, size_t n, bool first);
    void *context;
    char buffer[4096];
    size_t from, to;
} serve_source;

typedef struct serve_message {
    json_t *line; /* an object */
    int n;        /* arrays that follow it */
    char name[SERVE_ARRAYS][SERVE_NAME];
    csrec_array array[SERVE_ARRAYS];
} serve_message;

/* CSREC_STOPPED: the source has ended before a message. CSREC_FORMAT: it is none, and what follows
 * cannot be told from it; CSREC_MEMORY: larger than `most` bytes. CSREC_DATA: an array is none, and
 * all of the message was read. Clear it even then. */
csrec_status serve_message_read(serve_source *source, int64_t most, serve_message *message,
                                csrec_error *error);
void serve_message_clear(serve_message *message);

/* NULL: there is none of the name. */
const csrec_array *serve_message_array(const serve_message *message, const char *name);

/* An array that is sent: F64 or I64. */
typedef struct serve_sent {
    const char *name;
    csrec_dtype dtype;
    csrec_shape shape;
    const void *data;
} serve_sent;

/* Writes all n bytes; false: nobody reads them. */
typedef bool (*serve_write_fn)(void *context, const void *bytes, size_t n);

bool serve_message_write(serve_write_fn write, void *context, json_t *line, int n,
                         const serve_sent *sent);

typedef struct serve_limits {
    int64_t entries; /* values of a session */
    uint64_t memory; /* of csrec_recover_options */
    int threads;
    const char *backend;
    csrec_priors *priors;
} serve_limits;

typedef struct serve_client {
    const serve_limits *limits;
    bool (*stops)(const csrec_progress *now, void *context); /* of recoveries */
    void *context;
    serve_write_fn write; /* with the same context */
    csrec_session *session;
    csrec_shape shape;
    int64_t channels;
    json_t *opened;         /* the message, which options point to */
    csrec_setting *setting; /* of it */
} serve_client;

/* Does what the message says, and answers; false: the answer could not be written. */
bool serve_client_answer(serve_client *client, const serve_message *message);

/* Answers that a message could not be read. */
bool serve_client_refuse(serve_client *client, const json_t *line, const char *why);
void serve_client_close(serve_client *client);
#endif

/* csrecover serve; arguments from its name on. */
int cli_serve(int argc, char **argv);
