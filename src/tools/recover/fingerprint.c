/* SPDX-License-Identifier: BSD-3-Clause */
/* fingerprint.c - what a recovery depends on: as the fingerprint of its results, and as the
 * card by which ranks find out whether they were started alike. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recover.h"

char *cli_recover_fingerprint(const cli_request *request, const char *input, bool *known) {
    const cli_recover_arguments *a = &request->a;
    cli_fingerprint line;
    char beside[CSREC_PATH_ROOM + 8];
    char *reference = a->report || a->plot ? cli_reference_path(request, input) : NULL;
    cli_fingerprint_begin(&line, request->all->name);
    cli_fingerprint_file(&line, "input", input);
    snprintf(beside, sizeof beside, "%s.msk", input); /* of a TIFF: its mask */
    if (access(beside, F_OK) == 0) cli_fingerprint_file(&line, "input.msk", beside);
    for (int i = 1; a->merge && i < a->inputs.n; i++)
        cli_fingerprint_file(&line, "merged", a->inputs.text[i]);
    cli_fingerprint_file(&line, "reference", reference);
    cli_fingerprint_options(&line, request->all, a, CLI_ON_RESULTS);
    if (a->coefficients) cli_fingerprint_text(&line, "atoms", "kept"); /* of a single grid */
    free(reference);
    char *text = cli_fingerprint_end(&line);
    *known = line.known && text;
    return text;
}

char *cli_fingerprint_add_prior(char *line, const char *prior) {
    const size_t used = line ? strlen(line) : 0, room = used + strlen(prior) + 16;
    char *longer = line && *prior ? realloc(line, room) : line;
    if (!longer) free(line);
    if (longer && *prior) snprintf(longer + used, room - used, "; prior=%s", prior);
    return longer;
}

char *cli_recover_card(const cli_request *request, const char *prior) {
    const cli_recover_arguments *a = &request->a;
    cli_fingerprint line;
    cli_fingerprint_begin(&line, request->all->name);
    cli_fingerprint_options(&line, request->all, a, CLI_ON_OUTPUTS);
    for (int i = 0; i < a->inputs.n; i++) {
        char name[32];
        snprintf(name, sizeof name, "input %d", i + 1);
        cli_fingerprint_name(&line, name, a->inputs.text[i]);
    }
    if (*prior) cli_fingerprint_text(&line, "prior", prior);
    return cli_fingerprint_end(&line);
}
