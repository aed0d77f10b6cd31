/* SPDX-License-Identifier: BSD-3-Clause */
/* serve_session.c - what a client may ask of its session. */
#include "serve.h"

#ifdef CSREC_HAS_JSON
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    serve_client *client;
    const serve_message *message;
    json_t *answer;
    serve_sent sent[2];
    int n; /* of them */
    csrec_sampling next;
    double *values;
    csrec_error error;
} request;

static csrec_status refuse(request *r, const char *field, const char *must) {
    return cli_fail(&r->error, CSREC_ARGUMENT, "%s: must be %s", field, must);
}

/* Unset where it is not there. */
static csrec_status get_integer(request *r, const char *field, int64_t least, int64_t *to) {
    const json_t *value = json_object_get(r->message->line, field);
    if (!value) return CSREC_OK;
    if (!json_is_integer(value) || json_integer_value(value) < least)
        return refuse(r, field, least > 0 ? "an integer, 1 or more" : "an integer, 0 or more");
    *to = json_integer_value(value);
    return CSREC_OK;
}

static csrec_status get_flag(request *r, const char *field, bool *to) {
    const json_t *value = json_object_get(r->message->line, field);
    if (value && !json_is_boolean(value)) return refuse(r, field, "true or false");
    *to = json_is_true(value);
    return CSREC_OK;
}

static csrec_status get_text(request *r, const char *field, const char **to) {
    const json_t *value = json_object_get(r->message->line, field);
    if (value && !json_is_string(value)) return refuse(r, field, "a text");
    if (value) *to = json_string_value(value);
    return CSREC_OK;
}

static csrec_status get_pair(request *r, const char *field, const char *must, double to[2]) {
    const json_t *value = json_object_get(r->message->line, field);
    if (!value) return CSREC_OK;
    if (json_array_size(value) != 2) return refuse(r, field, must);
    for (size_t k = 0; k < 2; k++) {
        if (!json_is_number(json_array_get(value, k))) return refuse(r, field, must);
        to[k] = json_number_value(json_array_get(value, k));
    }
    return CSREC_OK;
}

static csrec_status get_shape(request *r, const char *field, csrec_shape *to) {
    const json_t *value = json_object_get(r->message->line, field);
    const size_t dims = json_array_size(value);
    if (!value) return CSREC_OK;
    if (dims < 1 || dims > 3) return refuse(r, field, "one to three integers, as [256, 256]");
    for (size_t d = 0; d < dims; d++) {
        const json_t *extent = json_array_get(value, d);
        if (!json_is_integer(extent) || json_integer_value(extent) < 1)
            return refuse(r, field, "integers of 1 or more");
        to->dim[d] = json_integer_value(extent);
    }
    to->dims = (int)dims;
    return CSREC_OK;
}

/* The array as doubles, `count` or, if that is 0, any; the caller frees *to. NULL: none. */
static csrec_status get_values(request *r, const char *name, int64_t count, double **to) {
    const csrec_array *a = serve_message_array(r->message, name);
    *to = NULL;
    if (!a) return CSREC_OK;
    if (count && a->count != count)
        return cli_fail(&r->error, CSREC_DATA, "array '%s' has %lld entries; must have %lld", name,
                        (long long)a->count, (long long)count);
    *to = malloc((size_t)a->count * sizeof **to);
    if (!*to) return cli_fail(&r->error, CSREC_MEMORY, "array '%s': out of memory", name);
    for (int64_t i = 0; i < a->count; i++) (*to)[i] = csrec_array_value(a, i);
    return CSREC_OK;
}

static int64_t entries_of(const csrec_shape *shape) {
    int64_t entries = 0;
    return csrec_shape_count(shape, &entries) ? 0 : entries;
}

/* Fields and arrays that a command does not know are mistakes of writing. */
static csrec_status check_names(request *r, const char *const *fields, const char *const *arrays) {
    const char *field;
    json_t *value;
    json_object_foreach(r->message->line, field, value) {
        int k = 0;
        while (fields[k] && strcmp(fields[k], field) != 0) k++;
        if (!fields[k] && strcmp(field, "do") && strcmp(field, "id") && strcmp(field, "arrays"))
            return cli_fail(&r->error, CSREC_ARGUMENT, "field '%.40s' is unknown here", field);
    }
    for (int i = 0; i < r->message->n; i++) {
        int k = 0;
        const char *name = r->message->name[i];
        const bool guide = strncmp(name, "guide:", 6) == 0;
        while (arrays[k] && strcmp(arrays[k], guide ? "guide:" : name) != 0) k++;
        if (!arrays[k])
            return cli_fail(&r->error, CSREC_ARGUMENT, "array '%s' is unknown here", name);
    }
    return CSREC_OK;
}

/* Arrays guide:NAME [shape] or [shape, planes], into form->guides. */
static csrec_status get_guides(request *r, csrec_measurement *form) {
    const int64_t entries = entries_of(&form->shape);
    csrec_status status = CSREC_OK;
    for (int i = 0; i < r->message->n && !status; i++) {
        const csrec_array *a = &r->message->array[i];
        const char *name = r->message->name[i];
        double *values;
        if (strncmp(name, "guide:", 6) != 0) continue;
        if (a->count % entries)
            return cli_fail(&r->error, CSREC_DATA, "array '%s' is not of the session's shape",
                            name);
        status = get_values(r, name, 0, &values);
        if (!status)
            status = csrec_guides_add(form, name + 6, a->count / entries, values, &r->error);
        free(values);
    }
    return status;
}

static csrec_status get_settings(request *r, csrec_recover_options *o) {
    json_t *all = json_object_get(r->client->opened, "settings"), *value;
    const char *name;
    int n = 0;
    if (all && !json_is_object(all)) return refuse(r, "settings", "an object of numbers");
    const size_t room = json_object_size(all) + (size_t)o->solve.n_settings;
    r->client->setting = calloc(room + 1, sizeof *r->client->setting);
    if (!r->client->setting) return cli_fail(&r->error, CSREC_MEMORY, "out of memory");
    for (; n < o->solve.n_settings; n++) r->client->setting[n] = o->solve.settings[n];
    json_object_foreach(all, name, value) {
        if (!json_is_number(value)) return refuse(r, "settings", "an object of numbers");
        r->client->setting[n++] = (csrec_setting){name, json_number_value(value)};
    }
    o->solve.settings = r->client->setting;
    o->solve.n_settings = n;
    return CSREC_OK;
}

static csrec_status choose(request *r, const csrec_session_options *s, csrec_measurement *form,
                           bool frames, csrec_recover_options *o) {
    const serve_limits *limits = r->client->limits;
    const char *quality = NULL, *method = NULL, *name;
    csrec_status status = get_text(r, "quality", &quality);
    if (!status) status = get_text(r, "method", &method);
    if (status) return status;
    csrec_measurement one = *form;
    double ray = 1.0;
    one.n = 1;
    if (s->rays) one.rays = &ray;
    csrec_recover_defaults(o);
    for (int i = 0; quality && (name = csrec_recover_preset(i, NULL, NULL)); i++)
        if (strcmp(name, quality) == 0) {
            (void)(frames ? csrec_sequence_preset : csrec_recover_preset)(i, &one, o);
            quality = NULL;
        }
    if (quality) return refuse(r, "quality", "fast, balanced, best or max");
    if (method) o->method = method;
    o->threads = limits->threads;
    o->memory = limits->memory;
    o->backend = limits->backend;
    o->priors = limits->priors;
    o->solve.progress = r->client->stops;
    o->solve.context = r->client->context;
    return get_settings(r, o);
}

static csrec_status get_form(request *r, csrec_session_options *s, bool *frames) {
    const serve_limits *limits = r->client->limits;
    const json_t *sigma = json_object_get(r->message->line, "sigma");
    s->channels = 1;
    csrec_status status = get_shape(r, "shape", &s->shape);
    if (!status) status = get_integer(r, "channels", 1, &s->channels);
    if (!status) status = get_flag(r, "rays", &s->rays);
    if (!status) status = get_flag(r, "frames", frames);
    if (status) return status;
    const int64_t entries = entries_of(&s->shape);
    if (!entries) return refuse(r, "shape", "there, as [256, 256]");
    if (entries > limits->entries / s->channels)
        return cli_fail(&r->error, CSREC_MEMORY,
                        "shape: more than %lld values, the limit of this server",
                        (long long)limits->entries);
    if (sigma && !json_is_number(sigma)) return refuse(r, "sigma", "a number");
    s->sigma = json_number_value(sigma);
    return get_pair(r, "scale", "[black, white]", s->scale);
}

static csrec_status do_open(request *r) {
    serve_client *c = r->client;
    csrec_session_options s = {.sigma = 0.0};
    csrec_recover_options o;
    bool frames = false;
    double *allowed = NULL;
    if (c->session) return cli_fail(&r->error, CSREC_ARGUMENT, "a session is open; close it first");
    CLI_TRY(get_form(r, &s, &frames));
    csrec_measurement form = {.shape = s.shape, .channels = s.channels, .sigma = s.sigma};
    c->opened = json_incref(r->message->line);
    csrec_status status = get_guides(r, &form);
    if (!status) status = get_values(r, "allowed", entries_of(&s.shape), &allowed);
    if (!status) status = choose(r, &s, &form, frames, &o);
    uint8_t *bits = (uint8_t *)allowed; /* in place */
    for (int64_t i = 0; allowed && i < entries_of(&s.shape); i++) bits[i] = allowed[i] != 0.0;
    s.allowed = bits;
    s.guides = form.guides;
    s.recover = &o;
    if (!status) status = csrec_session_create(&s, &c->session, &r->error);
    c->shape = s.shape;
    c->channels = s.channels;
    free(allowed);
    csrec_measurement_clear(&form);
    if (status) serve_client_close(c);
    return status;
}

void serve_client_close(serve_client *c) {
    csrec_session_destroy(c->session);
    json_decref(c->opened);
    free(c->setting);
    c->session = NULL;
    c->opened = NULL;
    c->setting = NULL;
}

static csrec_status do_close(request *r) {
    serve_client_close(r->client);
    return CSREC_OK;
}

static csrec_status do_add(request *r) {
    const csrec_array *at = serve_message_array(r->message, "positions");
    const int64_t C = r->client->channels, n = at ? at->count : 0;
    double *y = NULL, *sigma = NULL, *rays = NULL;
    int64_t *index = NULL, left = 0;
    csrec_status status = CSREC_OK;
    if (!at || at->dtype == CSREC_F32 || at->dtype == CSREC_F64)
        return refuse(r, "array 'positions'", "there, of integers: flat, in C order");
    status = get_values(r, "values", n * C, &y);
    if (!status && !y) status = refuse(r, "array 'values'", "there");
    if (!status) status = get_values(r, "sigma", n * C, &sigma);
    if (!status) status = get_values(r, "rays", n, &rays);
    if (!status && !(index = malloc((size_t)n * sizeof *index)))
        status = cli_fail(&r->error, CSREC_MEMORY, "out of memory for positions");
    for (int64_t i = 0; i < n && !status; i++) /* what is no int64_t is outside of every shape */
        index[i] = (int64_t)fmin(csrec_array_value(at, i), 0x1p62);
    if (!status)
        status = csrec_session_add(r->client->session, n, index, y, sigma, rays, &left, &r->error);
    if (!status) json_object_set_new(r->answer, "left", json_integer(left));
    free(index);
    free(y);
    free(sigma);
    free(rays);
    return status;
}

/* Room for a value of each entry and channel, that is sent. */
static csrec_status take_values(request *r, const char *name) {
    const serve_client *c = r->client;
    serve_sent *sent = &r->sent[r->n++];
    *sent = (serve_sent){.name = name, .dtype = CSREC_F64, .shape = c->shape};
    if (c->channels > 1) sent->shape.dim[sent->shape.dims++] = c->channels;
    r->values = malloc((size_t)(entries_of(&c->shape) * c->channels) * sizeof *r->values);
    sent->data = r->values;
    return r->values ? CSREC_OK : cli_fail(&r->error, CSREC_MEMORY, "out of memory");
}

static csrec_status do_picture(request *r) {
    csrec_recover_report report;
    csrec_status status = take_values(r, "picture");
    if (!status) status = csrec_session_picture(r->client->session, r->values, &report, &r->error);
    if (!status) json_object_set_new(r->answer, "method", json_string(report.method));
    return status;
}

static csrec_status do_expected(request *r) {
    double rms;
    csrec_status status = take_values(r, "expected");
    if (!status) status = csrec_session_expected(r->client->session, r->values, &rms, &r->error);
    if (!status && isfinite(rms)) json_object_set_new(r->answer, "rms", json_real(rms));
    return status;
}

static csrec_status do_next(request *r) {
    csrec_session_next_options o = {.count = 0};
    int64_t seed = 0;
    csrec_status status = get_integer(r, "count", 1, &o.count);
    if (!status) status = get_integer(r, "seed", 0, &seed);
    if (!status) status = get_integer(r, "most", 0, &o.most);
    if (!status) status = get_flag(r, "again", &o.again);
    if (!status) status = get_flag(r, "even", &o.even);
    if (!status) status = get_flag(r, "path", &o.path);
    if (!status) status = get_shape(r, "tile", &o.tile);
    if (!status) status = get_pair(r, "move", "[a move, a position that is passed]", o.move);
    o.seed = (uint64_t)seed;
    if (!status) status = csrec_session_next(r->client->session, &o, &r->next, &r->error);
    if (status) return status;
    const csrec_shape shape = {1, {r->next.n}};
    r->sent[r->n++] = (serve_sent){"positions", CSREC_I64, shape, r->next.index};
    if (r->next.rays) r->sent[r->n++] = (serve_sent){"rays", CSREC_I64, shape, r->next.rays};
    return CSREC_OK;
}

static csrec_status do_frame(request *r) {
    csrec_measurement form = {.shape = r->client->shape, .channels = r->client->channels};
    csrec_status status = get_guides(r, &form);
    if (!status) status = csrec_session_frame(r->client->session, form.guides, &r->error);
    csrec_measurement_clear(&form);
    return status;
}

static csrec_status move(request *r,
                         csrec_status (*how)(csrec_session *, const char *, csrec_error *)) {
    const char *path = NULL;
    csrec_status status = get_text(r, "path", &path);
    if (!status && (!path || !*path || strcmp(path, "-") == 0))
        status = refuse(r, "path", "the name of a file");
    return status ? status : how(r->client->session, path, &r->error);
}

static csrec_status do_save(request *r) {
    return move(r, csrec_session_save);
}

static csrec_status do_load(request *r) {
    return move(r, csrec_session_load);
}

static const struct {
    const char *name;
    bool always; /* without a session, too */
    csrec_status (*run)(request *r);
    const char *fields[12], *arrays[5];
} commands[] = {
    {"open",
     true,
     do_open,
     {"shape", "channels", "sigma", "scale", "rays", "frames", "quality", "method", "settings"},
     {"allowed", "guide:"}},
    {"add", false, do_add, {NULL}, {"positions", "values", "sigma", "rays"}},
    {"picture", false, do_picture, {NULL}, {NULL}},
    {"expected", false, do_expected, {NULL}, {NULL}},
    {"next",
     false,
     do_next,
     {"count", "seed", "most", "again", "even", "path", "tile", "move"},
     {NULL}},
    {"frame", false, do_frame, {NULL}, {"guide:"}},
    {"save", false, do_save, {"path"}, {NULL}},
    {"load", false, do_load, {"path"}, {NULL}},
    {"close", true, do_close, {NULL}, {NULL}},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static csrec_status run(request *r) {
    const char *name = json_string_value(json_object_get(r->message->line, "do"));
    int k = 0;
    while (name && k < COMMANDS && strcmp(commands[k].name, name) != 0) k++;
    if (!name || k == COMMANDS)
        return refuse(r, "do", "open, add, picture, expected, next, frame, save, load or close");
    CLI_TRY(check_names(r, commands[k].fields, commands[k].arrays));
    if (!r->client->session && !commands[k].always)
        return cli_fail(&r->error, CSREC_ARGUMENT, "no session is open; open one first");
    return commands[k].run(r);
}

static json_t *answer_to(const json_t *line, bool ok) {
    json_t *answer = json_pack("{sb}", "ok", ok), *id = json_object_get(line, "id");
    if (id) json_object_set(answer, "id", id);
    return answer;
}

bool serve_client_refuse(serve_client *c, const json_t *line, const char *why) {
    json_t *answer = answer_to(line, false);
    /* of bytes of the client, which may be no UTF-8 */
    char text[sizeof(csrec_error)];
    size_t n = 0;
    for (; why[n] && n + 1 < sizeof text; n++)
        text[n] = why[n] >= ' ' && why[n] <= '~' ? why[n] : '?';
    text[n] = '\0';
    json_object_set_new(answer, "error", json_string(text));
    const bool written = serve_message_write(c->write, c->context, answer, 0, NULL);
    json_decref(answer);
    return written;
}

bool serve_client_answer(serve_client *c, const serve_message *message) {
    request r = {.client = c, .message = message, .answer = answer_to(message->line, true)};
    const csrec_status status = run(&r);
    bool written =
        status ? serve_client_refuse(c, message->line,
                                     *r.error.text ? r.error.text : csrec_status_text(status))
               : serve_message_write(c->write, c->context, r.answer, r.n, r.sent);
    json_decref(r.answer);
    csrec_sampling_clear(&r.next);
    free(r.values);
    return written;
}
#endif
