/* The table of backends: choice by name, the listing of devices, and what recovery says of it. */
#include <string.h>

#include "check.h"

#include "device/backend.h"

static void cpu_is_always_there(void **state) {
    (void)state;
    const csrec_backend *backend;
    csrec_error error;
    assert_ok(csrec_backend_choose("cpu", &backend, &error));
    assert_string_equal(backend->name, "cpu");
    assert_ok(csrec_backend_choose("auto", &backend, &error));
    assert_ok(csrec_backend_choose(NULL, &backend, &error));
}

static void unknown_names_are_refused(void **state) {
    (void)state;
    const csrec_backend *backend = NULL;
    csrec_error error;
    assert_int_equal(csrec_backend_choose("abacus", &backend, &error), CSREC_ARGUMENT);
    assert_non_null(strstr(error.text, "abacus"));
    assert_null(backend);
}

/* Either it works, or one line says why not and what to do. */
static void cuda_works_or_says_why(void **state) {
    (void)state;
    const csrec_backend *backend;
    csrec_error error = {{0}};
    csrec_status status = csrec_backend_choose("cuda", &backend, &error);
    if (status) {
        assert_true(status == CSREC_DEVICE || status == CSREC_UNSUPPORTED);
        assert_non_null(strstr(error.text, "--backend cpu"));
        assert_null(strchr(error.text, '\n'));
    } else {
        assert_string_equal(backend->name, "cuda");
    }
}

static void listing_names_both(void **state) {
    (void)state;
    const char *name;
    char text[256];
    int cpu = 0, cuda = 0, i = 0;
    for (; csrec_backend_info(i, &name, text, sizeof text); i++) {
        cpu += strcmp(name, "cpu") == 0;
        cuda += strcmp(name, "cuda") == 0;
        assert_true(strlen(text) > 0);
        print_message("%s: %s\n", name, text);
    }
    assert_int_equal(cpu, 1);
    assert_true(cuda >= 1);
    assert_int_equal(i, cpu + cuda);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_is_always_there),
        cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(cuda_works_or_says_why),
        cmocka_unit_test(listing_names_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
