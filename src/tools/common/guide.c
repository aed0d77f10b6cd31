/* SPDX-License-Identifier: BSD-3-Clause */
/* guide.c - reads and tells what is known beside the samples. */
#include "guide.h"

#include <string.h>

int cli_guides_check(const cli_tool *tool, const cli_texts *guides, const char *input,
                     const char *mask) {
    int stdins = strcmp(input, "-") == 0 || (mask && strcmp(mask, "-") == 0);
    for (int i = 0; i < guides->n; i++)
        if (strcmp(cli_named_path(guides->text[i], NULL), "-") == 0 && stdins++)
            return cli_usage(tool, "--guide and another input cannot both be stdin");
    return CLI_CONTINUE;
}

csrec_status cli_guides_read(const cli_texts *guides, csrec_measurement *m, csrec_error *error) {
    char name[64];
    csrec_status status = CSREC_OK;
    for (int i = 0; i < guides->n && !status; i++) {
        const char *path = cli_named_path(guides->text[i], name);
        status = csrec_guides_read(path, *name ? name : NULL, m, error);
    }
    return status;
}

const char *cli_guides_text(const csrec_measurement *m, char text[192]) {
    const int64_t n = m->guides ? m->guides->n : 0;
    size_t used = 0;
    text[0] = '\0';
    for (int64_t k = 0; k < n && used < 192; k++)
        if (k == 0 || strcmp(m->guides->name[k], m->guides->name[k - 1]) != 0)
            used += (size_t)snprintf(text + used, 192 - used, "%s%s", used ? ", " : "",
                                     *m->guides->name[k] ? m->guides->name[k] : "unnamed");
    return text;
}

void cli_guides_json(const csrec_measurement *m, cli_json *json) {
    const char *names[CSREC_GUIDES_MOST];
    const int n = m->guides ? (int)m->guides->n : 0;
    for (int k = 0; k < n; k++) names[k] = m->guides->name[k];
    cli_json_texts(json, "guides", n, names);
}
