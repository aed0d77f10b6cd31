/* SPDX-License-Identifier: BSD-3-Clause */
/* man.c - the manual page of a program, from the tables that also parse its command line. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "report.h"

/* Arrays of a measurement file, for FILES. tests/docs compares the handbook's table with them. */
static const struct {
    const char *name, *type, *meaning;
} arrays[] = {
    {"y", "float32/64, complex64/128 or integer, [N] or [N, C]",
     "the samples of C channels; NaN: a channel is not measured there. Complex samples of a "
     "complex signal; with coils [N, coils]"},
    {"shape", "int64 [D]", "the signal's shape, e.g. height, width (C order)"},
    {"index", "int64/uint64 [N]", "flat C-order position of each sample, any order, no repeats"},
    {"mask", "bool/uint8, the signal's shape",
     "instead of shape and index: y lists its true entries in C order"},
    {"seed, pattern, count", "scalars", "instead of index: the reader draws the positions again"},
    {"sigma", "float, [N] or [N, C]",
     "optional: standard deviation of the noise, in units of y; of all samples (of one ray, with "
     "rays), or of each sample or value, NaN where it is not known"},
    {"rays", "float or integer [N]",
     "optional: measurements, as rays of a renderer, that each sample is the mean of, above 0"},
    {"guides", "float [K, shape]",
     "optional: K planes that are known beside the samples, NaN where not"},
    {"guide_names", "text [K]",
     "optional: their names; planes called albedo serve the channel of their "
     "number"},
    {"sequence", "bool", "optional: of three axes the first is time: frames"},
    {"scale", "float [2]",
     "optional: the values of black and white for picture output, e.g. 0, 255"},
    {"operator", "text",
     "optional: y = A x, A being hadamard, fourier, nufft, matrix, blur or downsample; points "
     "(default): "
     "y has entries of the signal. index then numbers the measured rows, and shape is required"},
    {"ordering, scramble, split", "text, integer, bool",
     "of hadamard: the order of the rows (natural, sequency, cake-cutting, zig-zag); the seed of a "
     "permutation of the entries; y has two values a row, of the pattern's ones and of its other "
     "pixels"},
    {"complex, coils", "bool, complex [K, shape]",
     "of fourier and nufft: the signal is complex; sensitivities of K receivers"},
    {"centred, norm", "bool, text",
     "of fourier: frequency 0 and entry 0 are in the middle, fftshift(fft(ifftshift(x))), as of "
     "fastMRI, BART and SigPy; backward (default), ortho or forward, as of numpy.fft"},
    {"trajectory", "float [points, D]",
     "of nufft: frequencies in cycles per field of view; index numbers those that are measured"},
    {"noise_covariance", "complex [K, K]",
     "optional, of fourier and nufft with K coils: the mean of n n^H, by which noise is made "
     "white"},
    {"matrix, block", "float [M, entries], integer [D]",
     "of matrix: its rows; the size of the blocks that it is applied to, zeros beyond the signal"},
    {"kernel", "float, as many axes as the signal",
     "of blur: its weights, the middle at extent / 2"},
    {"factor", "integer or [D]", "of downsample: entries along each axis that are averaged"},
};

/* Escapes one character. A plain - would become a hyphen, which does not work if pasted into a
 * shell; a . or ' at the start of a line would be a request. */
static void put(char c, bool begins) {
    static const char special[] = "\\-'`^~\"";
    static const char *const escaped[] = {"e", "-", "(aq", "(ga", "(ha", "(ti", "(dq"};
    const char *found = c ? strchr(special, c) : NULL;
    if (found) {
        printf("\\%s", escaped[found - special]);
        return;
    }
    if (begins && c == '.') printf("\\&");
    putchar(c);
}

static void put_all(const char *text, size_t length, bool begins) {
    for (size_t i = 0; i < length; i++) put(text[i], begins && i == 0);
}

/* Bytes of an option's name at `text`, such as -o or --mask-out; 0: it is none. */
static size_t option_length(const char *text, size_t length) {
    size_t i = 0;
    while (i < length && i < 2 && text[i] == '-') i++;
    if (i == 0 || i == length || !isalpha((unsigned char)text[i])) return 0;
    while (i < length && (isalnum((unsigned char)text[i]) || text[i] == '-')) i++;
    return i;
}

/* Bytes of a name in capitals, such as FILE; 0: it is none. */
static size_t name_length(const char *text, size_t length) {
    size_t i = 0;
    while (i < length && isupper((unsigned char)text[i])) i++;
    return i < length && isalnum((unsigned char)text[i]) ? 0 : i;
}

/* Running text of `length` bytes on one input line, without a newline: options in bold, and words
 * of capitals in italics where `names`. */
static void put_text(const char *text, size_t length, bool names) {
    bool begins = true; /* a word */
    for (size_t i = 0; i < length;) {
        size_t option = begins ? option_length(text + i, length - i) : 0;
        size_t name = begins && names ? name_length(text + i, length - i) : 0;
        if (option || name) {
            printf("\\f%c", option ? 'B' : 'I');
            put_all(text + i, option + name, false);
            printf("\\fR");
            i += option + name;
            begins = false;
            continue;
        }
        /* Between letters - is a hyphen, as in 2-D. */
        if (text[i] == '-' && !begins)
            putchar('-');
        else
            put(text[i], i == 0);
        begins = !isalnum((unsigned char)text[i]) && text[i] != '-';
        i++;
    }
}

/* Lines unchanged, indented; the last may lack a newline. */
static void put_lines(const char *lines) {
    printf(".RS 4\n.nf\n");
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        put_all(lines, length, true);
        putchar('\n');
        lines += length + (lines[length] != '\0');
    }
    printf(".fi\n.RE\n");
}

/* The paragraph of the details that lists the exit codes. */
static const char EXIT[] = "Exit code: ";

/* A paragraph for each line of a text, but for that one and empty ones. */
static void put_paragraphs(const char *unfilled) {
    char room[CLI_FILLED];
    const char *text = cli_fill(unfilled, room);
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (length > 0 && strncmp(text, EXIT, sizeof EXIT - 1) != 0) {
            printf(".PP\n");
            put_text(text, length, false);
            putchar('\n');
        }
        text += length + (text[length] != '\0');
    }
}

static void print_upper(const char *text) {
    for (; *text; text++) putchar(*text == ' ' ? '-' : toupper((unsigned char)*text));
}

static void print_option(const cli_option *option) {
    printf(".TP\n");
    if (option->letter) printf("\\fB\\-%c\\fR, ", option->letter);
    char name[64];
    put_text(name, (size_t)snprintf(name, sizeof name, "--%s", option->name), false);
    if (option->argument) printf(" \\fI%s\\fR", option->argument);
    printf("\n");
    char text[CLI_FILLED];
    cli_fill(option->help, text);
    put_text(text, strlen(text), false);
    for (int i = 0; option->choice && option->choice(i); i++)
        printf("%s\\fB%s\\fR%s", i ? ", " : " One of: ", option->choice(i),
               option->choice(i + 1) ? "" : ".");
    printf("\n");
}

/* For a program, the command that lists the most exit codes. */
static const char *exit_codes(const cli_program *program) {
    const char *most = "";
    for (int c = 0; c < program->n_commands; c++) {
        const char *text = strstr(program->commands[c]->details, EXIT);
        if (text && strcspn(text, "\n") > strcspn(most, "\n")) most = text;
    }
    return *most ? most + sizeof EXIT - 1 : most;
}

/* "0 done, 1 failure, ...": a tagged paragraph a number. */
static void print_exit_codes(const char *text) {
    while (*text && *text != '\n') {
        size_t digits = strspn(text, "0123456789"), end = digits;
        while (text[end] && text[end] != '\n' &&
               !(strncmp(text + end, ", ", 2) == 0 && isdigit((unsigned char)text[end + 2])))
            end++;
        printf(".TP\n\\fB%.*s\\fR\n", (int)digits, text);
        size_t blank = text[digits] == ' ', stop = end > digits && text[end - 1] == '.';
        put_text(text + digits + blank, end - digits - blank - stop, false);
        printf("\n");
        text += end + (text[end] == ',' ? 2 : 0);
    }
}

/* The output of the commands' --list, stored before the page begins so that a failure prints
 * nothing. false: out of memory. */
static bool take_listings(const cli_program *program, cli_text *text) {
    if (!cli_text_open(text)) return false;
    for (int c = 0; c < program->n_commands; c++)
        if (program->commands[c]->listing) program->commands[c]->listing(text->file);
    return cli_text_close(text);
}

static void print_synopsis(const cli_tool *tool) {
    printf(".PP\n\\fB%s\\fR ", tool->name);
    put_text(tool->synopsis, strlen(tool->synopsis), true);
    printf("\n");
}

/* A program of one command is described by it; otherwise each command is a part of OPTIONS. */
static void print_commands(const cli_program *program) {
    bool single = cli_program_is_tool(program);
    printf(".SH DESCRIPTION\n");
    if (!single) put_paragraphs(program->brief);
    for (int c = 0; c < program->n_commands; c++) {
        if (!single) printf(".SS %s\n", program->commands[c]->name);
        put_paragraphs(program->commands[c]->brief);
        put_paragraphs(program->commands[c]->details);
    }
    printf(".SH OPTIONS\n");
    for (int c = 0; c < program->n_commands; c++) {
        const cli_tool *tool = program->commands[c];
        if (!single) printf(".SS %s\n", tool->name);
        for (int i = 0; i < tool->n_options; i++) {
            const char *group = cli_group_begins(tool, i);
            /* Groups are parts of OPTIONS, or of a command there. */
            if (group) printf(single ? ".SS %s\n" : ".PP\n\\fI%s\\fR\n", group);
            print_option(&tool->options[i]);
        }
    }
}

static void print_files(void) {
    char text[CLI_FILLED];
    printf(".SH FILES\n.PP\nA measurement file is a NumPy .npz with these arrays:\n");
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        printf(".TP\n\\fB%s\\fR (%s)\n%s\n", arrays[i].name, arrays[i].type, arrays[i].meaning);
    printf(".PP\nAlso read: a whole picture or array, ");
    cli_fill("{read or}", text);
    put_text(text, strlen(text), false);
    printf(", of which transparent pixels, NaN or what a mask leaves out are unknown; and a CSV of "
           "coordinates and values.\n");
}

int cli_man(const cli_program *program) {
    const cli_tool tool = {.name = program->name};
    char text[CLI_FILLED];
    size_t brief = strlen(cli_fill(program->brief, text));
    cli_text listings;
    if (!take_listings(program, &listings)) return cli_failure(&tool, "out of memory");
    printf(".TH \"");
    print_upper(program->name);
    printf("\" 1 \"\" \"csrecover %s\" \"User Commands\"\n.nh\n.SH NAME\n", csrec_version());
    for (const char *c = program->name; *c; c++) putchar(*c == ' ' ? '-' : *c);
    printf(" \\- ");
    put_text(text, brief - (brief && text[brief - 1] == '.'), false);
    printf("\n.SH SYNOPSIS\n");
    for (int c = 0; c < program->n_commands; c++) print_synopsis(program->commands[c]);
    print_commands(program);
    if (listings.size > 0) {
        printf(".SH METHODS\n");
        put_lines(listings.bytes);
    }
    free(listings.bytes);
    printf(".SH EXAMPLES\n");
    for (int c = 0; c < program->n_commands; c++) put_lines(program->commands[c]->examples);
    printf(".SH EXIT STATUS\n");
    print_exit_codes(exit_codes(program));
    print_files();
    /* The other programs of the build, from the list that CMake defines. */
    char names[] = CSREC_TOOL_NAMES;
    printf(".SH SEE ALSO\n.PP\n");
    for (char *name = strtok(names, " "); name; name = strtok(NULL, " "))
        if (strcmp(name, program->name) != 0) printf("\\fB%s\\fR(1),\n", name);
    printf("the handbook in the folder docs of the sources, and the header csrec.h.\n");
    return cli_stdout_flush(&tool);
}
