/* SPDX-License-Identifier: BSD-3-Clause */
/* The examples of CONTRIBUTING.md, a method, a solver, an operator and a format, in every tool: the
 * library that has them takes the place of libcsrec. And what the tools say of every row. */
#include "tools.h"

/* A gray picture, as the format's definition has it: P5, and 16 bits with the high byte first. */
static void make_pgm(const char *name, const char *png) {
    CLEARED(csrec_image) image;
    assert_ok(csrec_image_read(png, &image, NULL));
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    fprintf(file, "P5 # made for a test\n%d\n%d %d\n", (int)image.pixels.shape.dim[1],
            (int)image.pixels.shape.dim[0], image.bits == 16 ? 65535 : 255);
    for (int64_t i = 0; i < image.pixels.count; i++) {
        int value = (int)csrec_array_value(&image.pixels, i);
        if (image.bits == 16) fputc(value / 256, file);
        fputc(value % 256, file);
    }
    fclose(file);
}

/* Whether the pixels of a P5 are those of a .png of as many bits. */
static void expect_same_picture(const char *pgm, const char *png) {
    CLEARED(csrec_image) image;
    int width, height, white;
    FILE *file = fopen(pgm, "rb");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "P5 %d %d %d", &width, &height, &white), 3);
    fgetc(file);
    assert_ok(csrec_image_read(png, &image, NULL));
    assert_int_equal(image.pixels.count, (int64_t)width * height);
    assert_int_equal(image.bits, white == 65535 ? 16 : 8);
    for (int64_t i = 0; i < image.pixels.count; i++) {
        int value = image.bits == 16 ? 256 * fgetc(file) : 0;
        assert_true(value + fgetc(file) == (int)csrec_array_value(&image.pixels, i));
    }
    fclose(file);
}

static void expect_text(const char *command, const char *words) {
    run_well(command);
    says("out", words);
}

/* "  NAME BRIEF" and the parameters below it. */
static void expect_row(const char *text, const char *name, const char *brief,
                       const csrec_param *(*param_of)(int row, int i), int row) {
    const char *wanted = check_print("  %-10s %s", name, brief);
    const char *at = strstr(text, wanted);
    if (!at) fail_msg("--list lacks '%s'", wanted);
    const csrec_param *param;
    for (int i = 0; param_of && (param = param_of(row, i)); i++) {
        assert_non_null(strstr(at, check_print("--set %s=%g ", param->name, param->value)));
    }
}

/* The row stands below the heading of its topic, which comes once. */
static void expect_topic(const char *text, const csrec_method *method) {
    const char *heading = check_print("\nMethods for %s (--method NAME):\n",
                                      method->topic ? method->topic : "other things");
    const char *at = strstr(text, heading);
    if (!at || strstr(at + 1, heading)) fail_msg("not one heading '%s'", heading);
    const char *row = strstr(at, check_print("\n  %-10s %s", method->name, method->brief));
    const char *next = at + 1;
    while (next[0] != '\n' || next[1] < 'A' || next[1] > 'Z') next++;
    if (!row || row > next) fail_msg("%s is not below '%s'", method->name, heading);
}

TEST(listing_has_every_row) {
    const char *name, *brief, *source;
    csrec_method method;
    run_well("$R --list");
    const char *text = read_text("out");
    for (int i = 0; csrec_method_info(i, &method); i++) {
        expect_row(text, method.name, method.brief, csrec_method_param, i);
        expect_topic(text, &method);
        assert_non_null(strstr(
            strstr(text, method.brief),
            check_print("\n    --backend cuda: %s\n", method.device ? method.device : "none")));
    }
    for (int i = 0; csrec_solver_info(i, &name, &brief, &source); i++)
        expect_row(text, name, brief, csrec_solver_param, i);
    for (int i = 0; csrec_operator_info(i, &name, &brief); i++)
        expect_row(text, name, brief, csrec_operator_param, i);
    for (int i = 0; csrec_format_info(i); i++)
        expect_row(text, csrec_format_info(i)->name, csrec_format_info(i)->what, NULL, i);
}

TEST(help_has_the_examples) {
    static const char *const shells[] = {"bash", "zsh", "fish"};
    expect_text("$R --help", "smear");
    expect_text("$R --help", "descent");
    expect_text("$R --help", ".pgm");
    expect_text("$S --help", "staircase");
    expect_text("$S --help", "and PGM");
    expect_text("$L pca --help", ".pgm");
    expect_text("$B phase --help", "solver");
    expect_text("$R --version", "PGM");
    expect_text("$R --man", ".csv or .pgm");
    for (int i = 0; i < 3; i++) {
        const char *command = check_print("$R --completion %s", shells[i]);
        expect_text(command, "smear");
        expect_text(command, "rounds");
        expect_text(command, "pgm");
        expect_text(check_print("$S --completion %s", shells[i]), "staircase");
    }
}

/* After one round of an entry without a sample: the mean of samples beside it, others being 0. */
static double mean_beside(const double *from, int64_t i, int64_t height, int64_t width) {
    const int64_t y = i / width, x = i % width;
    double sum = 0.0, count = 0.0;
    if (y > 0) sum += from[i - width], count++;
    if (y < height - 1) sum += from[i + width], count++;
    if (x > 0) sum += from[i - 1], count++;
    if (x < width - 1) sum += from[i + 1], count++;
    return sum / count;
}

TEST(the_method_smears) {
    CLEARED(csrec_measurement) m;
    run_well("$S gray.png -o m.npz -r 0.4 -q");
    run_well("$R m.npz -o once.npy --dtype float64 --method smear --set rounds=1 -q");
    assert_ok(csrec_measurement_read("m.npz", NULL, &m, NULL));
    CLEARED(csrec_array) got = read_values("once.npy");
    const int64_t height = m.shape.dim[0], width = m.shape.dim[1];
    OWNED double *start = calloc((size_t)got.count, sizeof *start);
    OWNED bool *known = calloc((size_t)got.count, sizeof *known);
    for (int64_t k = 0; k < m.n; k++) {
        start[m.index[k]] = m.y[k];
        known[m.index[k]] = true;
    }
    for (int64_t i = 0; i < got.count; i++) {
        double wanted = known[i] ? start[i] : mean_beside(start, i, height, width);
        assert_true(fabs(csrec_array_value(&got, i) - wanted) < 1e-12 * 255.0);
    }
}

TEST(the_method_reports) {
    run_well("$S rgb.png -o c.npz -r 0.4 -q");
    run_well("$R c.npz -o c.png --method smear --json --history --report c.html --plot c.svg "
             "--uncertainty u.npy -r rgb.png --set rounds=50");
    const char *text = read_text("out");
    assert_non_null(strstr(text, "\"method\": \"smear\""));
    assert_non_null(strstr(text, "\"backend\": \"cpu\""));
    assert_non_null(strstr(text, "\"iterations\": 150,"));
    assert_non_null(strstr(text, "\"rounds\": 50"));
    expect_like("rgb.png", "c.png", 0.2, "smear");
    assert_non_null(strstr(read_text("c.html"), "smear"));
    run_well("$R c.npz -o c.png --method smear -v");
    says("err", "method smear, backend cpu: done");
    run_well("$R c.npz --method smear --info");
    run_well("cp c.npz again.npz && $R c.npz again.npz -o both/ --method smear -q");
    run_well("$R c.npz -o a.npy --method smear -q --tile 400 -t 1");
    run_well("$R c.npz -o b.npy --method smear -q --tile 400 -t 3 && cmp a.npy b.npy");
    run_well("$R c.npz -o c.npy --method smear -q --tile 400 --resume && cmp a.npy c.npy");
    run_well("$S line.npy -o l.npz -r 0.3 -q && $R l.npz -o l.npy --method smear -q");
    run_well("$S volume.npy -o v.npz -r 0.3 -q && $R v.npz -o v.npy --method smear -q");
    expect_mistake("$R c.npz -o x.png --method smear --set foo=1", 1,
                   "no parameter 'foo'; use rounds");
    expect_mistake("$R c.npz -o x.png --method smear --set rounds=0", 1, "rounds = 0; must be");
    expect_mistake("$R c.npz -o x.png --method smear --shifts 3", 2, "smear has no option shifts");
    expect_mistake("$R c.npz -C x.npz --method smear", 1, "not coefficients");
    run_well("$S gray.png -O hadamard -r 0.4 -o h.npz -q");
    expect_mistake("$R h.npz -o x.png --method smear", 1, "smear recovers from entries");
}

TEST(the_solver_solves) {
    run_well("$S gray.png -o m.npz -r 0.4 -q");
    run_well("$R m.npz -o d.png --basis wavelet --solver descent --epsilon 0.01 --json");
    says("out", "\"solver\": \"descent\"");
    says("out", "\"outcome\": \"converged\"");
    expect_mistake("$R m.npz -o x.png --basis dct --solver descent --set k=3", 1,
                   "no parameter 'k'");
    expect_text("$B phase -o p.npz -n 16 -g 2 -T 2 -q -s descent", "descent");
}

TEST(the_operator_measures) {
    make_array("short.npy", (csrec_shape){1, {60}}, CSREC_F32);
    run_well("$S short.npy -O staircase -o st.npz --json");
    says("out", "\"operator\": \"staircase\"");
    expect_text("$R st.npz --info", "operator  staircase");
    run_well("$R st.npz -o st.npy -q --method tv --epsilon 1e-6 --set iterations=4000");
    expect_like("short.npy", "st.npy", 0.2, "staircase");
    run_well("$R st.npz -o st.npy -q --basis identity --solver descent --epsilon 1e-3");
    expect_text("$B coherence st.npz", "60 x 60, 0 columns of zeros");
    expect_mistake("$S short.npy -O staircase -r 0.5 -o x.npz", 2, "measures all its rows");
    expect_mistake("$S short.npy -O staircase -o x.npz --factor 2", 2, "--factor goes with");
}

TEST(the_format_is_read_and_written) {
    make_pgm("gray.pgm", "gray.png");
    make_pgm("deep.pgm", "deep.png");
    run_well("$S gray.png -o a.npz -r 0.3 -q -m mask.png");
    run_well("$S gray.pgm -o b.npz -r 0.3 -q -m mask.pgm");
    run_well("cmp a.npz b.npz");
    expect_same_picture("mask.pgm", "mask.png");
    run_well("$R a.npz -q -o a.png --method smear && $R a.npz -q -o a.pgm --method smear");
    expect_same_picture("a.pgm", "a.png");
    run_well("$R a.npz -q -o - --format pgm --method smear > b.pgm");
    expect_same_picture("b.pgm", "a.png");
    run_well("$R gray.png --mask mask.png -q -o c.png --method smear");
    run_well("$R gray.pgm --mask mask.pgm -q -o folder/ --method smear -r gray.pgm");
    expect_same_picture("folder/gray.pgm", "c.png");
    run_well("$S deep.pgm -q -r 0.3 -o d.npz && $R d.npz -q -o d.pgm --method smear && "
             "$R d.npz -q -o d.png --method smear");
    expect_same_picture("d.pgm", "d.png");
    run_well("$R a.npz -o a.pgm --method smear --resume -q && ln a.pgm same && "
             "$R a.npz -o a.pgm --method smear --resume -q && test a.pgm -ef same");
    run_well("$R a.npz -q -o e.npy -u u.pgm --method smear");
    run_well("$L pca gray.pgm -p 4 -k 5 -o p.npz --plot p.pgm -q");
    run_well("mkdir -p pictures && cp gray.pgm pictures && $L pca pictures -p 4 -k 5 -o p.npz -q");
}

TEST(the_format_refuses) {
    static const struct {
        const char *text, *words;
    } wrong[] = {{"P5", "ends early"},
                 {"P5 2 2", "ends early"},
                 {"P5 2 x 255\n1234", "three numbers"},
                 {"P5 2 2 15\n1234", "white is 15"},
                 {"P5 2 2 255\n123", "has not 2 x 2 pixels"},
                 {"P5 999999999 2 255\n123", "three numbers"},
                 {"P5 0 2 255\n123", "has not 2 x 0 pixels"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        FILE *file = fopen("w.pgm", "wb");
        assert_non_null(file);
        fwrite(wrong[i].text, 1, (strlen(wrong[i].text)), file);
        fclose(file);
        expect_mistake("$S w.pgm -o x.npz -r 0.5", 1, wrong[i].words);
        expect_mistake("$R gray.png --mask w.pgm -o x.png", 1, wrong[i].words);
    }
    run_well("$S rgb.png -o c.npz -r 0.4 -q && $S volume.npy -o v.npz -r 0.3 -q");
    expect_mistake("$R c.npz -o x.pgm", 1, "a PGM is one gray picture");
    expect_mistake("$R v.npz -o x.pgm", 1, "a PGM is one gray picture");
    assert_int_equal(run("$B phase -o x.npz -n 16 -g 2 -s omp -T 1 --plot x.pgm"), 1);
    says("err", "x.pgm: a PGM is one gray picture");
}

/* Every command that learns, of one sample, one number, 1 x N and a picture: a model with the same
 * bits from one thread and three, or one line. */
TEST(learners_keep_their_contract) {
    static const char *const small[][2] = {{"pca", "-p 2 -k 3"},
                                           {"info", NULL}}; /* does not learn */
    static const char *const inputs[] = {"dot.png", "row.png", "few.npy", "gray.png"};
    enum { COMMANDS = sizeof small / sizeof *small };
    char word[32];
    int listed = 0;
    make_picture("dot.png", 1, 1, 1, 8, false);
    make_picture("row.png", 1, 37, 1, 8, false);
    make_array("few.npy", (csrec_shape){2, {1, 5}}, CSREC_F32);
    run_well("$L --list");
    for (const char *at = read_text("out"); sscanf(at, "%31s", word) == 1; listed++) {
        if (listed >= COMMANDS || strcmp(word, small[listed][0]) != 0)
            fail_msg("cslearn %s: add it here", word);
        at = strchr(at, '\n') + 1;
    }
    for (int c = 0; c < COMMANDS && small[c][1]; c++)
        for (int i = 0; i < 4; i++) {
            int code[2];
            for (int k = 0; k < 2; k++) {
                const char *command = check_print("$L %s %s %s -o l%d.npz -q -t %d", small[c][0],
                                                  inputs[i], small[c][1], k, k ? 3 : 1);
                code[k] = run(command);
                const char *line = strchr(read_text("err"), '\n');
                if (code[k] > 1 || (code[k] == 1 && (!line || line[1])))
                    fail_msg("%s: exit code %d: %s", command, code[k], read_text("err"));
            }
            assert_int_equal(code[0], code[1]);
            if (code[0] == 0) run_well("cmp l0.npz l1.npz && $L info l0.npz --json");
        }
}

static int make_place(void **state) {
    return setenv("LD_LIBRARY_PATH", CSREC_ADDING_FOLDER, 1) || make_inputs(state);
}

FIXTURE(make_place, remove_inputs);
