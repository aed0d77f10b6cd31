/* SPDX-License-Identifier: BSD-3-Clause */
/* test_contracts.c - what a row of each table must have: every row has it, also those of the
 * examples of CONTRIBUTING.md; a row that lacks something, or delivers what its header forbids, is
 * told in one line that names the table, the row and the field. test_contracts_run.c runs them. */
#include "check.h"
#include "measurement/through.h"
#include "files/format.h"
#include "learn/model.h"
#include "recover/recover.h"

static csrec_error error;

static void expect_fine(csrec_status status) {
    if (status) fail_msg("%s", error.text);
}

/* "TABLE NAME: FIELD: must be ..." */
static void expect_told(csrec_status status, const char *table, const char *name,
                        const char *field) {
    const char *wanted = check_print("%s %s: %s: must be ", table, name, field);
    if (status != CSREC_ARGUMENT || strncmp(error.text, wanted, strlen(wanted)) != 0 ||
        strchr(error.text, '\n'))
        fail_msg("status %d: '%s' does not begin with '%s'", (int)status, error.text, wanted);
}

/* A row that is complete, under a name of its own, and then changed. */
#define BROKEN(check, table, field, ...)                                                           \
    do {                                                                                           \
        error.text[0] = '\0';                                                                      \
        const csrec_status broken_ = (__VA_ARGS__, check(&row, &error));                           \
        expect_told(broken_, table, "mine", field);                                                \
        row = whole;                                                                               \
    } while (0)

static const csrec_param twice[] = {{"k", 1, 0, 9, "one"}, {"k", 2, 0, 9, "two"}, {0}};
static const csrec_param outside[] = {{"k", 10, 0, 9, "one"}, {0}};
static const csrec_param helpless[] = {{"k", 1, 0, 9, NULL}, {0}};
static const csrec_param shouting[] = {{"K", 1, 0, 9, "one"}, {0}};
static const csrec_setting strange[] = {{"nobody", 1}, {0}};
static const char *const strangers[] = {"nobody", NULL};

TEST(methods_are_complete) {
    const csrec_method_type *type;
    int n = 0;
    for (; (type = csrec_method_at(n)); n++) {
        expect_fine(csrec_method_check_row(type, &error));
        csrec_method_type whole = *type, row;
        whole.info.name = "mine";
        expect_fine(csrec_method_check_row(&whole, &error));
        row = whole;
#define METHOD(field, ...) BROKEN(csrec_method_check_row, "method", field, __VA_ARGS__)
        METHOD("info.brief", row.info.brief = NULL);
        METHOD("info.source", row.info.source = "two\nlines");
        METHOD("run", row.run = NULL);
        METHOD("params", row.params = twice);
        METHOD("params", row.params = outside);
        METHOD("params", row.params = helpless);
        METHOD("params", row.params = shouting);
        METHOD("info.model", row.info.accepts ^= CSREC_ACCEPTS(MODEL));
        METHOD("wants", row.wants = row.suits ? NULL : "something");
        METHOD("info.device", row.info.device = row.on_device ? NULL : "all");
        METHOD("device_faster", (row.device_faster = csrec_task_always, row.on_device = NULL,
                                 row.info.device = NULL));
        METHOD("cheap_settings", row.cheap_settings = strange);
        row.info.name = csrec_method_at(n ? 0 : 1)->info.name;
        expect_told(csrec_method_check_row(&row, &error), "method", row.info.name, "info.name");
        row.info.name = NULL;
        expect_told(csrec_method_check_row(&row, &error), "method", "(without a name)",
                    "info.name");
    }
    assert_true(n > 8);
}

TEST(solvers_are_complete) {
    const char *name, *brief, *source;
    int n = 0;
    for (; csrec_solver_info(n, &name, &brief, &source); n++) {
        const csrec_solver_type *type = csrec_solver_find(name);
        expect_fine(csrec_solver_check_row(type, &error));
        csrec_solver_type whole = *type, row;
        whole.name = "mine";
        expect_fine(csrec_solver_check_row(&whole, &error));
        row = whole;
#define SOLVER(field, ...) BROKEN(csrec_solver_check_row, "solver", field, __VA_ARGS__)
        SOLVER("brief", row.brief = "");
        SOLVER("source", row.source = NULL);
        SOLVER("create", row.create = NULL);
        SOLVER("update", row.update = NULL);
        SOLVER("energy", row.energy = NULL);
        SOLVER("result", row.result = NULL);
        SOLVER("params", row.params = outside);
        SOLVER("lengths", row.lengths = strangers);
        SOLVER("reals", row.reals = strangers);
        SOLVER("steps", row.steps = -1);
        row.name = "No Name";
        expect_told(csrec_solver_check_row(&row, &error), "solver", "No Name", "name");
    }
    assert_true(n > 8);
}

TEST(operators_are_complete) {
    const char *name, *brief;
    int n = 0, measuring = 0;
    for (; csrec_operator_info(n, &name, &brief); n++) {
        const csrec_operator_type *type = csrec_operator_find(name);
        static const csrec_atom_search empty = {0};
        expect_fine(csrec_operator_check_row(type, &error));
        csrec_operator_type whole = *type, row;
        whole.name = "mine";
        expect_fine(csrec_operator_check_row(&whole, &error));
        row = whole;
#define OPERATOR(field, ...) BROKEN(csrec_operator_check_row, "operator", field, __VA_ARGS__)
        OPERATOR("brief", row.brief = NULL);
        OPERATOR("create", row.create = NULL);
        OPERATOR("forward", row.forward = NULL);
        OPERATOR("adjoint", row.adjoint = NULL);
        OPERATOR("params", row.params = twice);
        OPERATOR("search", row.search = &empty);
        OPERATOR("orthogonal", row.orthogonal = &empty);
        if (!row.params) continue;
        OPERATOR("synthesize", row.synthesize = NULL);
        OPERATOR("need", row.need = NULL);
    }
    for (; (name = csrec_through_info(measuring)); measuring++)
        assert_non_null(csrec_operator_find(name));
    assert_true(n > 15 && measuring > 5);
}

TEST(formats_are_complete) {
    int n = 0;
    for (; csrec_format_info(n); n++) {
        const csrec_format_row *type = csrec_format_row_of(csrec_format_info(n));
        expect_fine(csrec_format_check_row(type, &error));
        csrec_format_row whole = *type, row;
        whole.format.name = "mine";
        whole.format.endings = ".mine .my";
        whole.format.uses |= CSREC_USE_READ | CSREC_USE_WRITE | CSREC_USE_SAMPLES;
        whole.signal = csrec_png_format.signal;
        whole.write = csrec_png_format.write;
        expect_fine(csrec_format_check_row(&whole, &error));
        row = whole;
#define FORMAT(field, ...) BROKEN(csrec_format_check_row, "format", field, __VA_ARGS__)
        FORMAT("format.endings", row.format.endings = ".mine .png");
        FORMAT("format.endings", row.format.endings = "mine");
        FORMAT("format.endings", row.format.endings = NULL);
        FORMAT("format.title", row.format.title = NULL);
        FORMAT("format.what", row.format.what = "");
        FORMAT("format.uses", (row.format.uses = 0, row.format.needs = NULL));
        FORMAT("magic", (row.magic[0].bytes = "x", row.magic[0].size = 0));
        FORMAT("signal", row.signal = NULL);
        FORMAT("write", row.write = NULL);
        FORMAT("peek", (row.format.uses |= CSREC_USE_SLABS, row.peek = NULL));
        FORMAT("format.uses", row.format.uses = CSREC_USE_READ | CSREC_USE_PICTURE);
    }
    assert_true(n > 8);
}

/* Each kind is that of a method, and each method's kind is one. */
TEST(kinds_of_models_are_complete) {
    const csrec_model_type *type;
    const csrec_method_type *method;
    int n = 0;
    for (; (type = csrec_model_type_at(n)); n++) {
        bool used = false;
        for (int i = 0; (method = csrec_method_at(i)); i++)
            used = used || (method->info.model && strcmp(method->info.model, type->name) == 0);
        assert_true(used);
        expect_fine(csrec_model_check_type(type, &error));
        csrec_model_type whole = *type, row;
        whole.name = "mine";
        row = whole;
#define KIND(field, ...) BROKEN(csrec_model_check_type, "kind of model", field, __VA_ARGS__)
        KIND("fields", row.fields[0].name = NULL);
        KIND("fields", row.fields[0].name = row.fields[1].name);
        KIND("fields", row.fields[0].axes = "n,k");
        KIND("fields", row.fields[0].dtype = CSREC_U8);
    }
    for (int i = 0; (method = csrec_method_at(i)); i++)
        assert_true(!method->info.model || csrec_model_type_find(method->info.model));
    assert_int_equal(n, 4);
}

/* Each gives a plan of shapes of one to four axes, and through each operator that needs no more
 * than a shape. */
TEST(presets_are_complete) {
    double y[2] = {1.0, 2.0};
    int64_t index[2] = {0, 3};
    csrec_operator_spec through = {.name = "hadamard"};
    csrec_recover_options options;
    csrec_plan plan;
    const char *name;
    int n = 0;
    while (csrec_preset_check_row(n, &error) == CSREC_OK) n++;
    assert_int_equal(csrec_preset_check_row(n, &error), CSREC_UNSUPPORTED);
    assert_true(n > 8);
    for (int dims = 1; dims <= 4; dims++)
        for (int measured = 0; measured < (dims < 4 ? 2 : 1); measured++) {
            const csrec_shape shape = {dims, {2, 2, 3, 2}};
            csrec_measurement m = samples_at(shape, dims > 1 ? 2 : 1, 1, index, y);
            if (measured) m.through = &through;
            for (int i = 0; (name = csrec_recover_preset(i, &m, &options)); i++) {
                options.backend = "cpu";
                if (csrec_recover_plan(&m, &options, CSREC_RESULT_SIGNAL, &plan, &error))
                    fail_msg("%s, %d axes: %s", name, dims, error.text);
            }
        }
}

/* What a reader that does not keep to its header delivers. */
static csrec_image delivered;

static csrec_status deliver(csrec_input *input, csrec_image *signal, csrec_error *why) {
    (void)input, (void)why;
    *signal = delivered;
    if (signal->pixels.data) signal->pixels.data = calloc(64, 8);
    return CSREC_OK;
}

static csrec_status look(csrec_input *input, csrec_image *signal, bool *transparent,
                         csrec_error *why) {
    *transparent = true;
    (void)input, (void)why;
    *signal = delivered;
    return CSREC_OK;
}

TEST(signals_are_checked_at_the_door) {
    static char data[1];
    const csrec_format_row mine = {.format = {.name = "mine"}, .signal = deliver, .peek = look};
    const csrec_array picture = {CSREC_U8, {3, {4, 5, 3}}, 60, data};
    const struct {
        const char *field; /* NULL: fine */
        csrec_image image;
    } cases[] = {{NULL, {.pixels = picture, .bits = 8}},
                 {NULL, {.pixels = {CSREC_F64, {1, {7}}, 7, data}}},
                 {NULL, {.pixels = {CSREC_F64, {0}, 1, data}}},
                 {NULL, {.pixels = {CSREC_U16, {4, {1, 2, 3, 1}}, 6, data}, .bits = 16}},
                 {"pixels.shape", {.pixels = {CSREC_U8, {2, {4, 5}}, 20, data}, .bits = 8}},
                 {"pixels.count", {.pixels = {CSREC_U8, {3, {4, 5, 3}}, 61, data}, .bits = 8}},
                 {"pixels.count", {.pixels = {CSREC_F64, {2, {INT64_MAX, 5}}, -5, data}}},
                 {"pixels.count", {.pixels = {CSREC_F64, {9, {1, 1, 1, 1, 1, 1, 1, 1}}, 1, data}}},
                 {"pixels.data", {.pixels = {CSREC_U8, {3, {4, 5, 3}}, 60, NULL}, .bits = 8}},
                 {"pixels.dtype", {.pixels = picture, .bits = 16}},
                 {"pixels.dtype", {.pixels = {CSREC_F64, {3, {4, 5, 3}}, 60, data}, .bits = 8}},
                 {"bits", {.pixels = picture, .bits = 7}},
                 {"is_complex", {.pixels = {CSREC_F64, {1, {7}}, 7, data}, .is_complex = true}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int peek = 0; peek < 2; peek++) {
            csrec_input input = {.name = "a.mine", .row = &mine};
            csrec_image signal = {0};
            bool transparent;
            delivered = cases[i].image;
            csrec_status status = peek ? csrec_format_peek(&input, &signal, &transparent, &error)
                                       : csrec_format_signal(&input, &signal, &error);
            bool wrong = cases[i].field && !(peek && !delivered.pixels.data);
            if ((status == CSREC_FORMAT) != wrong) fail_msg("case %d: %s", (int)i, error.text);
            const char *wanted = check_print("a.mine: read by %s: format mine: %s: must be ",
                                             peek ? "peek" : "signal", wrong ? cases[i].field : "");
            if (wrong && strncmp(error.text, wanted, strlen(wanted)) != 0)
                fail_msg("'%s' does not begin with '%s'", error.text, wanted);
            if (!peek && !status) csrec_image_clear(&signal);
        }
}

static csrec_status fail_silently(const csrec_recovery *recovery, csrec_error *why) {
    (void)recovery, (void)why;
    return CSREC_DATA;
}

static csrec_status do_nothing(const csrec_recovery *recovery, csrec_error *why) {
    (void)recovery, (void)why;
    return CSREC_OK;
}

/* A failure has words, and a report that the method leaves alone has what all reports have. */
TEST(what_methods_leave_out_is_filled) {
    csrec_method_type mine = {.info.name = "mine", .run = fail_silently};
    csrec_recover_report report = {0};
    const csrec_recovery r = {.context = &csrec_context_cpu, .report = &report};
    const csrec_task task = {.entries = 1000, .channels = 3};
    assert_refused(csrec_method_run(&mine, &r, &told), CSREC_DATA, "method mine: ");
    mine.run = do_nothing;
    assert_ok(csrec_method_run(&mine, &r, &error));
    assert_string_equal(report.backend, "cpu");
    assert_true(report.seconds_pursuit > 0.0);
    const csrec_need need = csrec_method_need(&mine, &task);
    assert_true(need.bytes >= 2 * csrec_signal_bytes(&task) && need.seconds > 0.0);
}
