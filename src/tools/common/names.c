/* SPDX-License-Identifier: BSD-3-Clause */
/* names.c - the order of names with numbers in them. */
#include <string.h>

#include "options.h"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

int cli_names_compare(const char *a, const char *b) {
    const char *const first = a, *const second = b;
    while (*a && *b) {
        if (!is_digit(*a) || !is_digit(*b)) {
            if (*a != *b) return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
            a++;
            b++;
            continue;
        }
        a += strspn(a, "0");
        b += strspn(b, "0");
        const size_t m = strspn(a, "0123456789"), n = strspn(b, "0123456789");
        const int order = m != n ? (m < n ? -1 : 1) : memcmp(a, b, m);
        if (order) return order;
        a += m;
        b += n;
    }
    if (*a || *b) return *a ? 1 : -1;
    return strcmp(first, second); /* 01 and 1 */
}

int cli_names_turn(const cli_operands *names) {
    for (int i = 1; i < names->n; i++)
        if (cli_names_compare(names->text[i - 1], names->text[i]) > 0) return i;
    return 0;
}
