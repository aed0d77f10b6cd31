/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that appear together or not at all, and the temporaries of those that are killed. */
#include "check.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

static char folder[] = "csrec-files-XXXXXX";

static int enter(void **state) {
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state) {
    (void)state;
    return chdir("..") || system(check_print("rm -rf '%s'", folder));
}

static int count_temporaries(const char *in) {
    int count = 0;
    DIR *here = opendir(in);
    assert_non_null(here);
    for (struct dirent *entry; (entry = readdir(here));)
        count += strncmp(entry->d_name, ".csrec-", 7) == 0;
    closedir(here);
    return count;
}

static void put(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void expect(const char *path, const char *text) {
    char found[64] = "";
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s is missing", path);
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(found, text);
}

static csrec_files *begin(const csrec_files_options *options) {
    csrec_files *files = NULL;
    assert_ok(csrec_files_create(options, &files, NULL));
    return files;
}

static void add(csrec_files *files, const char *path, const char *text) {
    assert_well(csrec_files_add_bytes(files, path, text, strlen(text), &told));
}

TEST(nothing_changes_before_the_commit) {
    put("a", "old a");
    csrec_files *files = begin(NULL);
    add(files, "a", "new a");
    add(files, "b", "new b");
    expect("a", "old a");
    assert_int_equal(access("b", F_OK), -1);
    assert_int_equal(count_temporaries("."), 2);
    csrec_files_destroy(files);
    expect("a", "old a");
    assert_int_equal(access("b", F_OK), -1);
    assert_int_equal(count_temporaries("."), 0);
}

TEST(a_commit_replaces_all) {
    for (int no_sync = 0; no_sync < 2; no_sync++) {
        put("a", "old a");
        assert_int_equal(chmod("a", 0640), 0);
        csrec_files *files =
            begin(&(csrec_files_options){.no_sync = no_sync, .dated = true, .date = 1000000007});
        add(files, "a", "new a");
        add(files, "b", no_sync ? "b 1" : "b 0");
        assert_ok(csrec_files_commit(files, NULL));
        csrec_files_destroy(files);
        expect("a", "new a");
        expect("b", no_sync ? "b 1" : "b 0");
        struct stat info;
        assert_int_equal(stat("a", &info), 0);
        assert_int_equal(info.st_mode & 0777, 0640);
        assert_int_equal(info.st_mtim.tv_sec, 1000000007);
        assert_int_equal(count_temporaries("."), 0);
    }
}

/* To what is there, to what is not yet there, in another folder, and over two links. */
TEST(links_are_followed) {
    assert_int_equal(mkdir("far", 0777), 0);
    put("far/there", "old");
    assert_int_equal(symlink("far/there", "to-there"), 0);
    assert_int_equal(symlink("far/new", "to-new"), 0);
    assert_int_equal(symlink("to-new", "twice"), 0);
    assert_int_equal(symlink("round", "round"), 0);
    csrec_files *files = begin(NULL);
    add(files, "to-there", "1");
    add(files, "twice", "2");
    assert_int_equal(csrec_files_add_bytes(files, "round", "3", 1, NULL), CSREC_FILE);
    assert_int_equal(count_temporaries("far"), 2);
    assert_ok(csrec_files_commit(files, NULL));
    csrec_files_destroy(files);
    expect("far/there", "1");
    expect("far/new", "2");
    const char *const links[] = {"to-there", "to-new", "twice"};
    for (int i = 0; i < 3; i++) {
        struct stat info;
        assert_int_equal(lstat(links[i], &info), 0);
        assert_true(S_ISLNK(info.st_mode));
    }
}

/* Only a folder that changes between adding and renaming comes so far. */
TEST(a_rename_that_fails_midway_says_so) {
    csrec_error error;
    csrec_files *files = begin(NULL);
    add(files, "first", "1");
    add(files, "second", "2");
    add(files, "third", "3");
    assert_int_equal(mkdir("second", 0777), 0);
    assert_int_equal(csrec_files_commit(files, &error), CSREC_FILE);
    csrec_files_destroy(files);
    if (strncmp(error.text, "second: ", 8) != 0 || !strstr(error.text, "already replaced: first"))
        fail_msg("%s", error.text);
    assert_null(strchr(error.text, '\n'));
    assert_int_equal(access("third", F_OK), -1);
    assert_int_equal(count_temporaries("."), 0);
}

/* A child that adds a file and is killed, or waits until it is. */
static pid_t start_writer(bool waits) {
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        csrec_files *files = begin(NULL);
        add(files, "killed", "half");
        if (write(ready[1], "x", 1) != 1) _exit(1);
        if (!waits) raise(SIGKILL);
        for (;;) pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

TEST(killed_writers_are_swept_and_live_ones_kept) {
    assert_int_equal(check_ended(start_writer(false)), 128 + SIGKILL);
    pid_t alive = start_writer(true);
    put(".csrec-x-1.tmp", "a name of the user's own");
    put(".csrec-12-1.tmp.bak", "another");
    assert_int_equal(count_temporaries("."), 4);
    assert_int_equal(csrec_files_sweep("killed"), 1);
    assert_int_equal(csrec_files_sweep("./killed"), 0);
    assert_int_equal(count_temporaries("."), 3);
    kill(alive, SIGKILL);
    check_ended(alive);
    assert_int_equal(csrec_files_sweep("../nowhere/at/all"), 0);
    assert_int_equal(csrec_files_sweep("killed"), 1);
    assert_int_equal(count_temporaries("."), 2);
    assert_int_equal(access("killed", F_OK), -1);
    remove(".csrec-x-1.tmp");
    remove(".csrec-12-1.tmp.bak");
}

/* The sweeper may hold a temporary for a moment: the writer takes another one. */
TEST(a_sweeper_that_comes_between_is_survived) {
    pid_t child = fork();
    if (child == 0)
        for (;;) csrec_files_sweep("swept");
    for (int i = 0; i < 300; i++) {
        csrec_files *files = begin(&(csrec_files_options){.no_sync = true});
        add(files, "swept", "whole");
        add(files, "swept too", "whole");
        assert_ok(csrec_files_commit(files, NULL));
        csrec_files_destroy(files);
        expect("swept", "whole");
        expect("swept too", "whole");
    }
    kill(child, SIGKILL);
    check_ended(child);
}

FIXTURE(enter, leave);
