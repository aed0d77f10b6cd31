/* SPDX-License-Identifier: BSD-3-Clause */
/* model.c - the files of a learner: its model and a plot of it; cslearn info describes a model. */
#include <math.h>
#include <string.h>

#include "learn.h"

int cli_model_check(const cli_tool *tool, const cli_operands *inputs, const char *output,
                    const char *plot) {
    char list[64];
    if (!output && cli_output_meant(tool, inputs, CSREC_USE_ARRAYS) != CLI_CONTINUE)
        return CLI_USAGE;
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

enum { MOST = 64, GAP = 2 };

typedef struct sheet {
    int64_t height, width, channels, columns, zoom;
    csrec_image image;
} sheet;

/* Vector number i, value v at (v - low) / (high - low). */
static void draw(sheet *s, int64_t i, const double *values, double low, double high) {
    int64_t across = s->image.pixels.shape.dim[1];
    int64_t top = GAP + i / s->columns * (s->height * s->zoom + GAP);
    int64_t left = GAP + i % s->columns * (s->width * s->zoom + GAP);
    for (int64_t y = 0; y < s->height * s->zoom; y++)
        for (int64_t x = 0; x < s->width * s->zoom; x++)
            for (int64_t c = 0; c < s->channels; c++) {
                double v = values[(y / s->zoom * s->width + x / s->zoom) * s->channels + c];
                ((uint8_t *)
                     s->image.pixels.data)[((top + y) * across + left + x) * s->channels + c] =
                    (uint8_t)lround(255.0 * fmin(fmax((v - low) / (high - low), 0.0), 1.0));
            }
}

static void draw_all(sheet *s, const csrec_model *model, int64_t count) {
    const double *mean = csrec_model_array(model, "mean")->data;
    const double *components = csrec_model_array(model, "components")->data;
    int64_t n = s->height * s->width * s->channels;
    double low = mean[0], high = mean[0];
    for (int64_t i = 0; i < n; i++) {
        low = fmin(low, mean[i]);
        high = fmax(high, mean[i]);
    }
    draw(s, 0, mean, low, high > low ? high : low + 1.0);
    for (int64_t k = 0; k + 1 < count; k++) {
        double most = 1e-300;
        for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(components[k * n + i]));
        draw(s, k + 1, components + k * n, -most, most);
    }
}

/* A sheet for `count` vectors. */
static csrec_status open_sheet(sheet *s, int64_t count, const char *path, csrec_error *error) {
    s->image.bits = 8;
    s->zoom = s->height < 32 ? 32 / s->height : 1;
    s->columns = (int64_t)ceil(sqrt((double)count));
    int64_t lines = (count + s->columns - 1) / s->columns;
    csrec_shape shape = {3,
                         {GAP + lines * (s->height * s->zoom + GAP),
                          GAP + s->columns * (s->width * s->zoom + GAP), s->channels}};
    csrec_status status = csrec_array_create(CSREC_U8, &shape, &s->image.pixels);
    return status ? cli_fail(error, status, "%s: out of memory for the plot", path) : CSREC_OK;
}

static csrec_status write_sheet(csrec_files *files, sheet *s, const char *path,
                                csrec_error *error) {
    csrec_status status =
        csrec_files_add_signal(files, path, csrec_format_of(path), &s->image, NULL, error);
    csrec_image_clear(&s->image);
    return status;
}

csrec_status cli_plot_components(csrec_files *files, const char *path, const csrec_model *model,
                                 csrec_error *error) {
    const csrec_array *extents = csrec_model_array(model, "shape");
    int64_t channels = (int64_t)csrec_array_value(csrec_model_array(model, "channels"), 0);
    if (extents->count != 2 || (channels != 1 && channels != 3))
        return cli_fail(error, CSREC_UNSUPPORTED,
                        "%s: only 2-D components of 1 or 3 channels can be drawn; omit --plot",
                        path);
    const int64_t *size = extents->data;
    int64_t count = 1 + csrec_model_array(model, "variances")->count;
    if (count > MOST) count = MOST;
    sheet s = {.height = size[0], .width = size[1], .channels = channels};
    CLI_TRY(open_sheet(&s, count, path, error));
    draw_all(&s, model, count);
    return write_sheet(files, &s, path, error);
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

typedef struct {
    const char *input;
    bool json;
} arguments;

static const cli_option options[] = {{"json", 'j', CLI_FLAG, NULL, "As JSON.", CLI_AT(json),
                                      .group = CLI_REPORTS, .brief = "as JSON"},
                                     CLI_STANDARD};

static const cli_tool tool = {
    .name = "cslearn info",
    .brief = "Describes a model file on stdout.",
    .synopsis = "MODEL.npz [OPTION...]",
    .details = "MODEL.npz - is stdin.\nExit code: 0 done, 1 failure, 2 wrong usage.",
    .examples = "cslearn info faces.npz\ncslearn info faces.npz --json",
    CLI_OPTIONS(options),
    .operand = offsetof(arguments, input)};

static const char *const texts[] = {"source", "settings", "backend", "version", "note"};

enum { TEXTS = sizeof texts / sizeof *texts };

static bool print_json(const csrec_model *model) {
    cli_json json;
    const char *name;
    const csrec_array *array;
    cli_json_open(&json, stdout);
    cli_json_text(&json, "kind", csrec_model_kind(model));
    for (int i = 0; i < TEXTS; i++)
        cli_json_text(&json, texts[i], csrec_model_text(model, texts[i]));
    cli_json_begin(&json, "arrays");
    for (int i = 0; csrec_model_info(model, i, &name, &array); i++)
        cli_json_integers(&json, name, array->shape.dims, array->shape.dim);
    cli_json_end(&json);
    return cli_json_close(&json);
}

static bool print_text(const csrec_model *model) {
    char shape[192];
    const char *name, *text;
    const csrec_array *array;
    printf("kind: %s\n", csrec_model_kind(model));
    for (int i = 0; i < TEXTS; i++)
        if ((text = csrec_model_text(model, texts[i]))) printf("%s: %s\n", texts[i], text);
    for (int i = 0; csrec_model_info(model, i, &name, &array); i++) {
        printf("array %s: ", name);
        if (array->shape.dims == 0 || array->count <= 4)
            for (int64_t k = 0; k < array->count; k++)
                printf("%s%g", k ? ", " : "", csrec_array_value(array, k));
        else
            printf("%s", cli_shape_text(&array->shape, shape));
        printf("\n");
    }
    return fflush(stdout) == 0;
}

static int learn_info_run(int argc, char **argv) {
    arguments a = {0};
    csrec_error error;
    csrec_model *model;
    int code = cli_parse(&tool, argc, argv, &a);
    if (code != CLI_CONTINUE) return code;
    if (csrec_model_read(a.input, &model, &error)) return cli_failure(&tool, "%s", error.text);
    bool written = a.json ? print_json(model) : print_text(model);
    csrec_model_destroy(model);
    return written ? CLI_DONE : cli_stdout_failed(&tool);
}

const cli_learner cli_learn_info = {&tool, learn_info_run};
