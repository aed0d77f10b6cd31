/* SPDX-License-Identifier: BSD-3-Clause */
/* csrecover --sequence: frames in files, in a folder, as they appear, and in one array. */
#include "tools.h"

SEED(seed);

enum { MOST = 14 };

typedef struct film {
    int frames;
    int64_t height, width, channels;
} film;

static film draw_film(void) {
    return (film){5 + (int)check_below(&seed, 3), 14 + check_below(&seed, 12),
                  15 + check_below(&seed, 12), check_below(&seed, 2) ? 3 : 1};
}

static double value_at(const film *f, int64_t t, int64_t i, int64_t c) {
    const double y = (double)(i / f->width), x = (double)(i % f->width);
    return 100.0 + 60.0 * sin(0.35 * x + 0.3 * (double)(t + c)) + 2.0 * y + check_normal(&seed);
}

/* About a third is known, in all channels, and known again when it is read. */
static void make_frame(const char *name, const film *f, int64_t t) {
    CLEARED(csrec_array) array = {0};
    const csrec_shape shape = {f->channels > 1 ? 3 : 2, {f->height, f->width, f->channels}};
    assert_ok(csrec_array_create(CSREC_F32, &shape, &array));
    for (int64_t i = 0; i < f->height * f->width; i++) {
        const bool known = i == 0 || check_uniform(&seed) < 0.33;
        for (int64_t c = 0; c < f->channels; c++)
            ((float *)array.data)[i * f->channels + c] =
                known ? (float)value_at(f, t, i, c) : (float)NAN;
    }
    assert_ok(csrec_array_write(name, &array, NULL));
}

static void make_film(const char *where, const film *f) {
    char name[64];
    run_line("rm -rf %s && mkdir %s", where, where);
    for (int t = 0; t < f->frames; t++) {
        snprintf(name, sizeof name, "%s/f%d.npy", where, t);
        make_frame(name, f, t);
    }
}

static csrec_measurement read_frame(const film *f, const char *name) {
    csrec_measurement m = {0};
    const csrec_read_options options = {.channels_last = f->channels > 1};
    assert_ok(csrec_measurement_read_with(name, &options, &m, NULL));
    return m;
}

static void expect_same_frames(const film *f, const char *one, const char *other) {
    run_line("test $(ls %s | wc -l) = %d && for k in %s/*; do cmp $k %s/${k##*/} || exit 1; done",
             one, f->frames, one, other);
}

/* What is in them: python/tests/test_sequence.py; of one array, by any axis of time, too. */
TEST(frames_come_from_folders_and_lists) {
    const film f = draw_film();
    const char *axes = f.channels > 1 ? "--channels-last" : "";
    make_film("in", &f);
    run_line("$R in/ -o done/ -u map/ --sequence -t 1 --dtype float64 %s", axes);
    run_line("$R in/f?.npy -o again/ -u map2/ --sequence -t 1 --dtype float64 %s", axes);
    expect_same_frames(&f, "done", "again");
    expect_same_frames(&f, "map", "map2");
    run_well("$R volume.npy -o m.npy -u mu.npy --sequence --time-axis 1 --quality fast --volume");
}

/* The order of the numbers in names, however many zeros they begin with. */
TEST(a_folder_is_in_order) {
    const film f = {1, 9, 10, 1};
    int64_t numbers[MOST];
    char name[64], words[64];
    run_well("mkdir many && echo text >many/notes.txt && echo text >many/.hidden.npy");
    for (int64_t k = 0, number = 0; k < MOST; k++) {
        numbers[k] = number += 1 + check_below(&seed, 60);
        const int width = (int)check_below(&seed, 6);
        snprintf(name, sizeof name, "many/s_%0*lld_end.npy", width, (long long)number);
        make_frame(name, &f, k);
    }
    run_well("$R many -o ordered/ --sequence --json -q -t 1");
    const char *at = read_text("out");
    for (int k = 0; k < MOST; k++) {
        at = strstr(at, "\"input\": \"many/s_");
        if (!at) fail_msg("%d of %d frames", k, MOST);
        at += strlen("\"input\": \"many/s_");
        assert_int_equal(strtoll(at, NULL, 10), numbers[k]);
    }
    snprintf(words, sizeof words, "\"recovered\": %d,", MOST);
    says("out", words);
    run_well("touch empty.npz && mkdir bare && $R many/s_*.npy -o ordered/ --sequence -t 1");
    expect_mistake("$R bare -o ordered/ --sequence", 1, "bare: has no pictures");
    make_frame("f10.npy", &f, 0);
    make_frame("f9.npy", &f, 1);
    run_well("$R f10.npy f9.npy -o ordered/ --sequence -t 1");
    says("err", "f10.npy comes before f9.npy");
}

/* Those before it are recovered as if it were the end. */
TEST(a_bad_frame_ends_it) {
    film f = draw_film();
    char name[64];
    f.channels = 1;
    const int bad = 2 + (int)check_below(&seed, f.frames - 3);
    make_film("in", &f);
    run_line("rm -rf cut want got && mkdir cut && for k in $(seq 0 %d); do cp in/f$k.npy cut/ || "
             "exit 1; done && $R cut/ -o want/ --sequence",
             bad - 1);
    for (int kind = 0; kind < 2; kind++) {
        const film other = {1, f.height + 1, f.width, 1};
        snprintf(name, sizeof name, "in/f%d.npy", bad);
        make_frame(name, &other, 0);
        if (kind == 0) run_line("echo nonsense > %s", name);
        assert_int_equal(run("$R in/ -o got/ --sequence --json"), 1);
        says("err", name);
        says("err", kind ? "give frames of one shape" : "write the file again");
        says("err", "failed: in/f");
        says("out", "\"failed\": 1,");
        snprintf(name, sizeof name, "%d frames were not recovered", f.frames - bad - 1);
        if (bad < f.frames - 1) says("err", name);
        run_line("cd got && test $(ls | wc -l) = %d && for k in *; do cmp $k ../want/$k || exit 1; "
                 "done && cd .. && rm -r got",
                 bad);
    }
}

TEST(truths_are_compared_frame_by_frame) {
    film f = draw_film();
    f.channels = 1;
    make_film("in", &f);
    run_well(
        "rm -rf done truth && $R in/f?.npy -o truth/ --quality fast --set steps=1 --format npy");
    run_well("$R in/ -o done/ --sequence -t 1 --dtype float64 --reference truth");
    for (int t = 0; t < f.frames; t++) {
        char words[64], names[2][32];
        snprintf(names[0], sizeof names[0], "truth/f%d.npy", t);
        snprintf(names[1], sizeof names[1], "done/f%d.npy", t);
        double low = INFINITY, high = -INFINITY;
        CLEARED(csrec_array) truth = read_values(names[0]);
        for (int64_t i = 0; i < truth.count; i++) {
            low = fmin(low, csrec_array_value(&truth, i));
            high = fmax(high, csrec_array_value(&truth, i));
        }
        const double error = mean_square(names[0], names[1], NULL);
        snprintf(words, sizeof words, "in/f%d.npy: PSNR ", t);
        assert_float_equal(number_after(read_text("err"), words),
                           10.0 * log10((high - low) * (high - low) / error), 0.006);
    }
}

/* Each frame has 256 KiB of its own in the tool alone: samples and the signal. */
TEST(only_a_window_is_held) {
    const film f = {1, 160, 160, 1};
    int64_t peak[2];
    char name[64];
    if (SANITIZED) skip();
    run_well("mkdir long");
    for (int round = 0, t = 0; round < 2; round++) {
        for (; t < (round ? 60 : 16); t++) {
            snprintf(name, sizeof name, "long/f%d.npy", t);
            make_frame(name, &f, t);
        }
        peak[round] = peak_of("$R long -o held/ --sequence --quality fast");
    }
    if (peak[1] > peak[0] + 4096)
        fail_msg("16 frames need %lld KiB, 60 %lld", (long long)peak[0], (long long)peak[1]);
}

static void pause_for(double seconds) {
    nanosleep(&(struct timespec){(time_t)seconds, (long)(1e9 * fmod(seconds, 1.0))}, NULL);
}

/* In pieces, or by a new name. */
static void let_appear(int t) {
    char line[256];
    snprintf(line, sizeof line,
             t % 2 ? "cp in/f%d.npy live/.part && mv live/.part live/f%d.npy"
                   : "head -c 300 in/f%d.npy >live/f%d.npy && sleep 0.05 && "
                     "tail -c +301 in/f%d.npy >>live/f%d.npy",
             t, t, t, t);
    assert_int_equal(system(line), 0);
    pause_for(0.2);
}

/* Until all frames are pushed. */
static void await_frames(const film *f) {
    csrec_recover_options options;
    csrec_recover_defaults(&options);
    csrec_sequence *sequence = NULL;
    char line[128];
    CLEARED(csrec_measurement) m = read_frame(f, "in/f0.npy");
    assert_ok(csrec_sequence_create(&options, &sequence, NULL));
    assert_ok(csrec_sequence_push(sequence, &m, NULL));
    snprintf(line, sizeof line, "test $(ls done | wc -l) -ge %d",
             f->frames - (int)csrec_sequence_delay(sequence));
    csrec_sequence_destroy(sequence);
    for (int tenths = 0; tenths < 1200 && system(line) != 0; tenths++) pause_for(0.1);
    pause_for(1.0);
}

TEST(a_folder_is_followed) {
    film f = draw_film();
    f.channels = 1;
    make_film("in", &f);
    run_well("$R in/ -o whole/ -t 1 --dtype float64 --sequence");
    for (int by_signal = 0; by_signal < 2; by_signal++) {
        run_well("rm -rf live done && mkdir live done");
        const pid_t child = fork();
        if (child == 0)
            _exit(run(by_signal ? "$R live -o done/ -t 1 --dtype float64 --sequence --follow 0 & "
                                  "echo $! >pid; wait $!"
                                : "$R live -o done/ -t 1 --dtype float64 --sequence --follow 3"));
        for (int t = 0; t < f.frames; t++) let_appear(t);
        if (by_signal) {
            await_frames(&f);
            assert_int_equal(system("cp in/f0.npy live/e.npy"), 0); /* too late */
            assert_int_equal(system("kill -TERM $(cat pid)"), 0);
        }
        if (check_ended(child)) fail_msg("%s", read_text("err"));
        if (by_signal) assert_non_null(strstr(read_text("err"), "left out: live/e.npy"));
        expect_same_frames(&f, "done", "whole");
    }
}

TEST(what_would_be_ignored_is_refused) {
    static const mistake wrong[] = {
        {"in/ -o x/ --sequence --resume", "--resume is not for a --sequence of files", 2},
        {"in/ -o x/ --sequence --time-axis 1", "--time-axis is not for a --sequence of files", 2},
        {"in/ -o x/ --sequence --model in/f0.npy", "--model is not for --sequence", 2},
        {"in/ -o x/ --sequence --minutes 1", "--minutes is not for --sequence", 2},
        {"in/ -o x/ --sequence --history --json", "--history is not for --sequence", 2},
        {"in/ -o x/ --sequence --curve log", "curve log: frames one after another", 2},
        {"in/ -o x/ --sequence --merge", "--merge is not for --sequence", 2},
        {"in/ -o x/ --sequence --labels", "--labels is not for --sequence", 2},
        {"in/ -C x.npz --sequence", "--coefficients is not for --sequence", 2},
        {"in/ -o x.npy --sequence", "folder", 2},
        {"in/ -o in --sequence", "same file", 2},
        {"in/ -o in/ --sequence --follow 1", "folder of the frames", 2},
        {"in/f0.npy -o x/ --sequence --follow 1", "--follow takes one folder", 2},
        {"volume.npy -o x.npy --follow 1", "--follow is for --sequence", 2},
        {"volume.npy -o x.npy --time-axis 1", "--time-axis is for --sequence", 2},
        {"in/f0.npy -o x.npy --sequence", "an array of three axes", 1},
        {"none/ -o x/ --sequence", "none/: the folder cannot be read", 1},
    };
    make_film("in", &(film){3, 9, 10, 1});
    expect_mistakes("$R", wrong, sizeof wrong / sizeof *wrong);
}

TEST(what_frames_cannot_have_is_told) {
    static const char *const wrong[][2] = {
        {"--memory 1", "may use 1.0 MiB"},
        {"--method beside --set network=0 --set steps=3", "leave out one"}};
    const film f = {3, 9, 10, 1};
    char line[160];
    make_film("in", &f);
    for (int k = 0; k < 2; k++) {
        snprintf(line, sizeof line, "$R in/ -o none/ --sequence %s", wrong[k][0]);
        assert_int_equal(run(line), 1);
        if (!strstr(read_text("err"), wrong[k][1])) fail_msg("%s", read_text("err"));
        assert_int_not_equal(access("none/f0.npy", F_OK), 0);
    }
}

FIXTURE(make_inputs, remove_inputs);
