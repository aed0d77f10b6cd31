/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_serve.c - any bytes as messages to csrecover serve, and their answers by a client without
 * files and with little memory. */
#include "fuzz.h"
#include "tools/recover/serve.h"

enum { PIECE = 61, MOST = 1 << 16, ENTRIES = 256 };

static int64_t read_piece(void *context, void *to, size_t n, bool first) {
    fuzz_bytes *bytes = context;
    (void)first;
    if (n > PIECE) n = PIECE;
    if (n > bytes->left) n = bytes->left;
    memcpy(to, bytes->at, n);
    bytes->at += n;
    bytes->left -= n;
    return (int64_t)n;
}

static bool take_answer(void *context, const void *bytes, size_t n) {
    (void)context;
    volatile uint8_t last = n > 0 ? ((const uint8_t *)bytes)[n - 1] : 0;
    (void)last;
    return true;
}

static bool stop(const csrec_progress *progress, void *context) {
    (void)progress, (void)context;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes bytes = {data, size};
    serve_source *source = calloc(1, sizeof *source);
    serve_message *message = calloc(1, sizeof *message);
    const serve_limits limits = {
        .entries = ENTRIES, .memory = 1 << 20, .threads = 1, .backend = "cpu"};
    serve_client client = {.limits = &limits, .stops = stop, .write = take_answer};
    csrec_status status = CSREC_OK;
    if (!source || !message) abort();
    *source = (serve_source){.read = read_piece, .context = &bytes};
    while (!status || status == CSREC_DATA) {
        csrec_error error = {""};
        status = serve_message_read(source, MOST, message, &error);
        const char *what = status ? NULL : json_string_value(json_object_get(message->line, "do"));
        const bool file = what && (strcmp(what, "save") == 0 || strcmp(what, "load") == 0);
        if (status && status != CSREC_STOPPED) fuzz_check_refusal(status, &error);
        if (!status && !file) serve_client_answer(&client, message);
        if (status == CSREC_DATA) serve_client_refuse(&client, message->line, error.text);
        serve_message_clear(message);
    }
    serve_client_close(&client);
    free(message);
    free(source);
    return 0;
}
