/* SPDX-License-Identifier: BSD-3-Clause */
/* page.h - reads the report page as XML, which it is too: elements with their attributes and
 * texts, in order; and its pictures. Anything that is not well-formed fails the test. */
#pragma once

#include "check.h"

#include <ctype.h>

enum { PAGE_ATTRIBUTES = 16, PAGE_DEPTH = 64 };

typedef struct page_element {
    char name[32];
    int parent; /* number, -1: none */
    int n;
    struct {
        char name[32];
        const char *value; /* not unescaped */
    } attribute[PAGE_ATTRIBUTES];
    const char *text; /* behind its start tag, up to the next tag */
} page_element;

typedef struct page {
    char *bytes; /* split into strings */
    page_element *element;
    int n;
} page;

static inline void page_fail(const page *p, const char *at, const char *what) {
    fail_msg("not well-formed at byte %td: %s: %.40s", at - p->bytes, what, at);
}

static inline bool page_entity(const char *s) {
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(s, known[i], strlen(known[i])) == 0) return true;
    return false;
}

static inline char *page_name(const page *p, char *s, char name[32]) {
    int length = 0;
    while (isalnum((unsigned char)*s) || *s == '-' || *s == ':') {
        if (length == 31) page_fail(p, s, "long name");
        name[length++] = *s++;
    }
    name[length] = '\0';
    if (length == 0) page_fail(p, s, "no name");
    return s;
}

static inline char *page_attribute(const page *p, page_element *e, char *s) {
    if (e->n == PAGE_ATTRIBUTES) page_fail(p, s, "many attributes");
    s = page_name(p, s, e->attribute[e->n].name);
    for (int i = 0; i < e->n; i++)
        if (strcmp(e->attribute[i].name, e->attribute[e->n].name) == 0) page_fail(p, s, "twice");
    if (s[0] != '=' || s[1] != '"') page_fail(p, s, "attribute without a value in quotes");
    e->attribute[e->n++].value = s += 2;
    for (; *s != '"'; s++)
        if (!*s || *s == '<' || (*s == '&' && !page_entity(s))) page_fail(p, s, "value");
    *s++ = '\0';
    return s;
}

/* Behind "<"; *closed: it has no content. */
static inline char *page_start(page *p, char *s, int parent, bool *closed) {
    if ((p->n & (p->n - 1)) == 0) /* a power of two, or 0: doubled */
        p->element = realloc(p->element, (size_t)(p->n ? 2 * p->n : 1) * sizeof *p->element);
    assert_non_null(p->element);
    page_element *e = &p->element[p->n++];
    *e = (page_element){.parent = parent};
    s = page_name(p, s, e->name);
    for (;;) {
        char *before = s;
        while (isspace((unsigned char)*s)) s++;
        if (*s == '>' || *s == '/') break;
        if (s == before) page_fail(p, s, "no space");
        s = page_attribute(p, e, s);
    }
    *closed = *s == '/';
    if (*closed && s[1] != '>') page_fail(p, s, "tag");
    s += *closed ? 2 : 1;
    e->text = s;
    return s;
}

/* bytes: a string of its own, which the page takes over. */
static inline page page_parse(char *bytes) {
    page p = {.bytes = bytes};
    int open[PAGE_DEPTH], depth = 0;
    char *s = bytes;
    if (strncmp(s, "<!DOCTYPE html>", 15) == 0) s += 15;
    if (strncmp(s, "<?xml", 5) == 0) s = strstr(s, "?>") + 2;
    while (*s) {
        if (*s == '&' && !page_entity(s)) page_fail(&p, s, "entity");
        if ((unsigned char)*s < ' ' && *s != '\n') page_fail(&p, s, "control character");
        if (*s != '<') {
            s++;
            continue;
        }
        if (strncmp(s, "<!--", 4) == 0) {
            char *end = strstr(s + 4, "--");
            if (!end || end[2] != '>') page_fail(&p, s, "comment");
            s = end + 3;
            continue;
        }
        char *tag = s++, name[32];
        if (*s == '/') {
            s = page_name(&p, s + 1, name);
            if (*s++ != '>' || depth == 0 || strcmp(name, p.element[open[--depth]].name) != 0)
                page_fail(&p, s, "end tag");
        } else {
            bool closed;
            s = page_start(&p, s, depth ? open[depth - 1] : -1, &closed);
            if (depth == PAGE_DEPTH) page_fail(&p, s, "deep");
            if (!closed) open[depth++] = p.n - 1;
        }
        *tag = '\0';
    }
    if (depth) page_fail(&p, s, "open element");
    return p;
}

static inline void page_clear(page *p) {
    free(p->bytes);
    free(p->element);
}

static inline const char *page_value(const page_element *e, const char *name) {
    for (int i = 0; i < e->n; i++)
        if (strcmp(e->attribute[i].name, name) == 0) return e->attribute[i].value;
    return NULL;
}

static inline bool page_is(const page_element *e, const char *name) {
    return strcmp(e->name, name) == 0;
}

/* The element with the id; the page must have it. */
static inline const page_element *page_id(const page *p, const char *id) {
    for (int i = 0; i < p->n; i++) {
        const char *own = page_value(&p->element[i], "id");
        if (own && strcmp(own, id) == 0) return &p->element[i];
    }
    fail_msg("no element %s", id);
    return NULL;
}

static inline bool page_inside(const page *p, const page_element *e, const page_element *of) {
    while (e != of && e->parent >= 0) e = &p->element[e->parent];
    return e == of;
}

/* Element number k of the name inside of another. NULL: there are fewer. */
static inline const page_element *page_part(const page *p, const page_element *of, const char *name,
                                            int k) {
    for (int i = 0; i < p->n; i++)
        if (page_is(&p->element[i], name) && page_inside(p, &p->element[i], of) && k-- == 0)
            return &p->element[i];
    return NULL;
}

static inline int page_count(const page *p, const page_element *of, const char *name) {
    int count = 0;
    while (page_part(p, of, name, count)) count++;
    return count;
}

static inline char *page_bytes(const char *name) {
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    text[size] = '\0';
    fclose(file);
    assert_int_equal(strlen(text), size);
    return text;
}

static inline page page_read(const char *name) {
    return page_parse(page_bytes(name));
}

static inline int page_digit(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* The PNG of an attribute. */
static inline csrec_image page_decode(const page_element *e, const char *attribute) {
    csrec_image image = {0};
    FILE *file = fopen("decoded.png", "wb");
    uint32_t word = 0;
    int digits = 0;
    assert_true(e && file);
    for (const char *s = page_value(e, attribute) + 22; page_digit(*s) >= 0; s++) {
        word = word << 6 | (uint32_t)page_digit(*s);
        if (++digits % 4 != 1) fputc((int)(word >> (6 - 2 * ((digits - 1) % 4)) & 255), file);
    }
    fclose(file);
    assert_ok(csrec_image_read("decoded.png", &image, NULL));
    return image;
}

/* The picture of the panel, and its values. */
static inline csrec_image page_picture(const page *p, const char *panel) {
    return page_decode(page_part(p, page_id(p, panel), "img", 0), "src");
}

static inline csrec_image page_data(const page *p, const char *panel) {
    return page_decode(page_part(p, page_id(p, panel), "data", 0), "value");
}
