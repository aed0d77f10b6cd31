/* SPDX-License-Identifier: BSD-3-Clause */
/* about.c - the list of chunks that describe a picture. */

#include <stdlib.h>
#include <string.h>

#include "files/format.h"

enum { HEAD = 8 }; /* length and type */

uint32_t csrec_about_number(const uint8_t *bytes, int n) {
    uint32_t number = 0;
    for (int i = 0; i < n; i++) number = number << 8 | bytes[i];
    return number;
}

void csrec_about_put(uint8_t *bytes, uint32_t number) {
    for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(number >> (24 - 8 * i));
}

uint8_t *csrec_about_add(csrec_about *about, const char *type, size_t size) {
    const size_t end = about->size + HEAD + size;
    if (size > INT32_MAX) return NULL;
    if (end > about->room) {
        uint8_t *grown = realloc(about->bytes, 2 * end);
        if (!grown) return NULL;
        about->bytes = grown;
        about->room = 2 * end;
    }
    uint8_t *head = about->bytes + about->size;
    csrec_about_put(head, (uint32_t)size);
    memcpy(head + 4, type, 4);
    about->size = end;
    return head + HEAD;
}

bool csrec_about_next(const csrec_about *about, size_t *at, csrec_chunk *chunk) {
    while (*at < about->size) {
        const uint8_t *head = about->bytes + *at;
        *chunk = (csrec_chunk){(const char *)head + 4, head + HEAD, csrec_about_number(head, 4)};
        *at += HEAD + chunk->size;
        const char type[5] = {(char)head[4], (char)head[5], (char)head[6], (char)head[7], 0};
        if (about->colours || !strstr("cHRM gAMA iCCP sRGB cICP mDCV cLLI", type)) return true;
    }
    return false;
}

bool csrec_about_is_fingerprint(const uint8_t *text, size_t size) {
    const size_t mark = sizeof CSREC_FINGERPRINT - 1;
    for (size_t i = 0; i + mark <= size; i++)
        if (memcmp(text + i, CSREC_FINGERPRINT, mark) == 0) return true;
    return false;
}

csrec_status csrec_about_read(const char *like, const csrec_image *image, csrec_about *about,
                              csrec_error *error) {
    csrec_input input;
    const csrec_shape *shape = &image->pixels.shape;
    *about = (csrec_about){0};
    if (!like || !csrec_path_is_regular(like)) return CSREC_OK;
    csrec_status status = csrec_input_open(like, &input, error);
    if (status) return status;
    const csrec_format_row *row = csrec_input_format(&input);
    status = row && row->about ? row->about(&input, about, error) : CSREC_OK;
    csrec_input_close(&input);
    if (about->extent[0] != shape->dim[0] || about->extent[1] != shape->dim[1]) about->size = 0;
    about->colours = image->colors || about->extent[2] == (shape->dims == 3 ? shape->dim[2] : 1);
    return status == CSREC_MEMORY || status == CSREC_FILE ? status : CSREC_OK;
}

/* A palette of few colours is often one of classes, of many that of a picture. */
void csrec_about_labels(csrec_input *input, const csrec_measurement *m) {
    enum { FEW = 32 };
    double seen[FEW + 1];
    int n = 0;
    csrec_error *remark = &input->facts.remark;
    const bool colours = input->facts.palette.n > 0 && m->channels == 3;
    for (int64_t i = 0; i < m->n && n <= FEW && colours; i++) {
        const double colour = (m->y[3 * i] * 256 + m->y[3 * i + 1]) * 256 + m->y[3 * i + 2];
        int at = n;
        while (at > 0 && seen[at - 1] != colour) at--;
        if (at == 0) seen[n++] = colour;
    }
    if (input->labels) return;
    if (input->facts.flags || (colours && n <= FEW))
        csrec_fail(remark, CSREC_OK,
                   "%s tells of classes, which are averaged as quantities; labels keeps to them.",
                   colours ? "Its palette of few colours" : "Its attribute flag_values");
}
