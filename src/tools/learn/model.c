/* model.c - the files that a learner writes: its model and a plot of it. */
#include <stdio.h>
#include <string.h>

#include "learn.h"
#include "tools/common/output.h"

int cli_model_check(const cli_tool *tool, const char *output, const char *plot) {
    char list[64];
    if (!output) return cli_usage(tool, "nothing to write: give -o MODEL.npz");
    if (!cli_format_has(csrec_format_of(output), CSREC_USE_ARRAYS))
        return cli_usage(tool, "--output %s: models are %s", output,
                         csrec_format_list(CSREC_USE_ARRAYS, false, "or", list, sizeof list));
    if (plot && !cli_format_has(csrec_format_of(plot), CSREC_USE_PICTURE))
        return cli_ending_refuse(tool, "--plot", plot, CSREC_USE_PICTURE, "");
    int code = cli_output_check(tool, output);
    return code == CLI_CONTINUE && plot ? cli_output_check(tool, plot) : code;
}

bool cli_extents_read(const char *text, int64_t most, int64_t extents[2]) {
    long long h = 0, w = 0;
    char rest;
    if (sscanf(text, "%lldx%lld%c", &h, &w, &rest) != 2) {
        if (sscanf(text, "%lld%c", &h, &rest) != 1) h = 0;
        w = h;
    }
    extents[0] = h;
    extents[1] = w;
    return h >= 1 && h <= most && w >= 1 && w <= most;
}

void cli_inputs_list(const cli_operands *inputs, const char *between, bool names, char *text,
                     size_t room) {
    size_t used = 0;
    for (int i = 0; i < inputs->n && used < room; i++) {
        const char *path = inputs->text[i], *slash = names ? strrchr(path, '/') : NULL;
        used += (size_t)snprintf(text + used, room - used, "%s%s", i ? between : "",
                                 slash ? slash + 1 : path);
    }
}

typedef struct saving {
    csrec_model *model;
    const cli_model_files *to;
} saving;

static csrec_status add_model(void *context, csrec_files *files, csrec_error *error) {
    const saving *s = context;
    return csrec_files_add_model(files, s->to->output, s->model, error);
}

static csrec_status add_plot(void *context, csrec_files *files, csrec_error *error) {
    const saving *s = context;
    return s->to->draw(files, s->to->plot, s->model, error);
}

csrec_status cli_model_save(csrec_model *model, const cli_model_files *to, csrec_error *error) {
    if (!to->fingerprint || csrec_model_set_text(model, "source", to->source) ||
        csrec_model_set_text(model, "settings", to->settings))
        return cli_fail(error, CSREC_MEMORY, "%s: out of memory", to->output);
    const csrec_files_options options = {.no_sync = to->no_sync, .fingerprint = to->fingerprint};
    cli_product products[] = {{to->output, add_model, false}, {to->plot, add_plot, false}};
    return cli_products_write(&options, 0, 2, products, &(saving){model, to}, error);
}
