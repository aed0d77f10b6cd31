/* SPDX-License-Identifier: BSD-3-Clause */
/* info.c - describes a model file. */
#include <string.h>

#include "learn.h"

typedef struct {
    const char *input;
    bool json;
} arguments;

static const cli_option options[] = {{"json", 'j', CLI_FLAG, NULL, "As JSON.", CLI_AT(json)},
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
