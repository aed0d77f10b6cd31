/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.c - says which rule a row of a table breaks. */
#include "base/rows.h"

#include <string.h>

csrec_status csrec_rules_check(const char *table, const char *name, int n, const csrec_rule *rules,
                               csrec_error *error) {
    for (int i = 0; i < n; i++)
        if (!rules[i].holds)
            return csrec_fail(error, CSREC_ARGUMENT, "%s %s: %s: must be %s", table,
                              name ? name : "(without a name)", rules[i].field, rules[i].must);
    return CSREC_OK;
}

void csrec_words_begin(csrec_error *error) {
    if (error) *error->text = '\0';
}

csrec_status csrec_words_end(csrec_status status, const char *table, const char *name,
                             csrec_error *error) {
    if (!status || !error || *error->text) return status;
    return csrec_fail(error, status, "%s %s: %s", table, name, csrec_status_text(status));
}

bool csrec_is_name(const char *name) {
    static const char all[] = "0123456789_abcdefghijklmnopqrstuvwxyz";
    size_t n = name ? strlen(name) : 0;
    return n > 0 && n <= 24 && strchr(all + 11, *name) && strspn(name, all) == n;
}

bool csrec_is_line(const char *text) {
    return text && *text && !strchr(text, '\n');
}

const csrec_param *csrec_param_at(const csrec_param *params, int i) {
    for (const csrec_param *p = params; i >= 0 && p && p->name; p++)
        if (i-- == 0) return p;
    return NULL;
}

bool csrec_is_params(const csrec_param *params) {
    for (const csrec_param *p = params; p && p->name; p++) {
        if (!csrec_is_name(p->name) || !csrec_is_line(p->help)) return false;
        if (!(p->least <= p->value && p->value <= p->most)) return false;
        for (const csrec_param *q = params; q < p; q++)
            if (strcmp(q->name, p->name) == 0) return false;
    }
    return true;
}
