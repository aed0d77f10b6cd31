/* recover_fingerprint.c - the fingerprint of a recovery: inputs, settings, version; not threads. */
#include <stdlib.h>

#include "fingerprint.h"
#include "recover.h"

static void add_names(cli_fingerprint *line, const cli_recover_arguments *a) {
    const char *backend = cli_backend_name(a->backend);
    if (a->quality >= 0) cli_fingerprint_text(line, "quality", cli_quality_name(a->quality));
    if (a->method >= 0) cli_fingerprint_text(line, "method", cli_method_name(a->method));
    if (a->solver >= 0) cli_fingerprint_text(line, "solver", cli_solver_name(a->solver));
    if (a->basis >= 0) cli_fingerprint_text(line, "basis", cli_basis_name(a->basis));
    if (a->columns >= 0) cli_fingerprint_text(line, "columns", cli_columns_name(a->columns));
    if (a->order >= 0) cli_fingerprint_text(line, "order", cli_order_name(a->order));
    cli_fingerprint_text(line, "backend", backend ? backend : cli_backend_name(0));
    cli_fingerprint_text(line, "sigma", a->sigma);
    if (a->robust) cli_fingerprint_text(line, "outliers", "dropped");
    if (a->reference_pursuit) cli_fingerprint_text(line, "pursuit", "reference");
    if (a->coefficients) cli_fingerprint_text(line, "atoms", "kept"); /* of a single grid */
    for (int i = 0; i < a->set.n; i++) cli_fingerprint_text(line, "set", a->set.text[i]);
}

static void add_numbers(cli_fingerprint *line, const cli_request *request) {
    const cli_recover_arguments *a = &request->a;
    if (a->epsilon >= 0.0) cli_fingerprint_real(line, "epsilon", a->epsilon);
    if (a->min_coefficient >= 0.0)
        cli_fingerprint_real(line, "min_coefficient", a->min_coefficient);
    if (a->atoms) cli_fingerprint_integer(line, "most_atoms", a->atoms);
    if (a->shifts) cli_fingerprint_integer(line, "shifts", a->shifts);
    if (a->minutes > 0.0) cli_fingerprint_real(line, "minutes", a->minutes);
    if (a->seed_given) cli_fingerprint_integer(line, "seed", (int64_t)a->seed);
    if (a->memory) cli_fingerprint_integer(line, "memory", a->memory);
    if (a->tile) cli_fingerprint_integer(line, "tile", a->tile);
    if (a->dtype >= 0) cli_fingerprint_text(line, "dtype", cli_dtype_name(a->dtype));
    if (a->colormap >= 0) cli_fingerprint_text(line, "colormap", cli_colormap_name(a->colormap));
    if (a->bits) cli_fingerprint_integer(line, "bits", a->bits);
    if (a->unknown_given) cli_fingerprint_real(line, "unknown", a->unknown);
    cli_fingerprint_text(line, "grid", a->grid);
    if (a->channels_last) cli_fingerprint_integer(line, "channels-last", 1);
    if (a->scale) {
        cli_fingerprint_real(line, "black", request->scale[0]);
        cli_fingerprint_real(line, "white", request->scale[1]);
    }
}

char *cli_recover_fingerprint(const cli_request *request, const char *input, bool *known) {
    const cli_recover_arguments *a = &request->a;
    cli_fingerprint line;
    char *reference = a->report || a->plot ? cli_reference_path(request, input) : NULL;
    cli_fingerprint_begin(&line, request->all->name);
    cli_fingerprint_file(&line, "input", input);
    for (int i = 1; a->merge && i < a->inputs.n; i++)
        cli_fingerprint_file(&line, "merge", a->inputs.text[i]);
    cli_fingerprint_file(&line, "mask", a->mask);
    cli_fingerprint_file(&line, "model", a->model);
    cli_fingerprint_file(&line, "reference", reference);
    add_names(&line, a);
    add_numbers(&line, request);
    free(reference);
    char *text = cli_fingerprint_end(&line);
    *known = line.known && text;
    return text;
}
