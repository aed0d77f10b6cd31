/* SPDX-License-Identifier: BSD-3-Clause */
/* Every file of fuzz/crashers, whose names begin with the fuzz target that it is for: that target
 * takes it, and so do the tools, with all methods. What they write is finite, or they refuse it in
 * one line; no signal ends them. */
#include "tools.h"

enum { FILES_MAX = 256 };

static char *files[FILES_MAX];
static int n_files;

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_files(void **state) {
    DIR *here = opendir(CSREC_CRASHERS);
    if (!here) return -1;
    for (struct dirent *entry; (entry = readdir(here)) && n_files < FILES_MAX;)
        if (strchr(entry->d_name, '-')) files[n_files++] = strdup(entry->d_name);
    closedir(here);
    qsort(files, (size_t)n_files, sizeof *files, by_name);
    return make_inputs(state);
}

static int forget_files(void **state) {
    while (n_files > 0) free(files[--n_files]);
    return remove_inputs(state);
}

static bool is_for(const char *name, const char *target) {
    size_t length = strlen(target);
    return strncmp(name, target, length) == 0 && name[length] == '-';
}

/* 600 s are far above what any takes; the command is stopped then and the test fails. */
TEST(check_target) {
    for (int i = 0; i < n_files; i++) {
        run_line("timeout 600 '%s/replay_%.*s' '%s/%s'", CSREC_REPLAYS, (int)strcspn(files[i], "-"),
                 files[i], CSREC_CRASHERS, files[i]);
    }
}

static void check_finite(const char *command) {
    CLEARED(csrec_array) array;
    assert_ok(csrec_array_read("crash.npy", &array, NULL));
    for (int64_t k = 0; k < array.count; k++)
        if (!isfinite(csrec_array_value(&array, k)))
            fail_msg("%s: entry %lld is %g", command, (long long)k, csrec_array_value(&array, k));
    assert_int_equal(remove("crash.npy"), 0);
}

/* Exit 0 and finite values, or exit 1 and one line. */
static void check_recovery(const char *arguments, const char *option, const char *value) {
    const char *command =
        check_print("timeout 600 $R %s -o crash.npy -q %s %s", arguments, option, value);
    if (run(command) == 0)
        check_finite(command);
    else
        check_refused(command, 1);
}

static void check_methods(const char *arguments) {
    const char *name, *brief, *source;
    for (int i = 0; (name = csrec_recover_preset(i, NULL, NULL)); i++)
        check_recovery(arguments, "-Q", strcmp(name, "max") == 0 ? "max --minutes 0.001" : name);
    for (int i = 0; csrec_solver_info(i, &name, &brief, &source); i++)
        check_recovery(arguments, "-S", name);
    for (int i = 0; csrec_operator_info(i, &name, &brief); i++)
        if (csrec_operator_param(i, 0)) check_recovery(arguments, "-B", name);
    check_recovery(arguments, "--shifts", "1");
}

TEST(check_measurements) {
    for (int i = 0; i < n_files; i++) {
        const char *arguments = check_print("'%s/%s'", CSREC_CRASHERS, files[i]);
        if (is_for(files[i], "recover")) check_methods(arguments);
        if (is_for(files[i], "npz") || is_for(files[i], "png") || is_for(files[i], "csv"))
            check_recovery(arguments, "-Q", "fast");
    }
}

TEST(check_models) {
    run_well("$S gray.png -r 0.3 -o m.npz -q && $S rgb.png -r 0.3 -o c.npz -q");
    for (int i = 0; i < n_files; i++) {
        char arguments[512];
        if (!is_for(files[i], "model")) continue;
        snprintf(arguments, sizeof arguments, "m.npz -M '%s/%s'", CSREC_CRASHERS, files[i]);
        check_recovery(arguments, "", "");
        *arguments = 'c';
        check_recovery(arguments, "", "");
    }
}

FIXTURE(list_files, forget_files);
