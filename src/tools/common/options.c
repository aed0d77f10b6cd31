/* SPDX-License-Identifier: BSD-3-Clause */
/* options.c - parses a command line by the tool's table. */
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The option that a word of the library names, channels_last; NULL: none. */
static const char *option_named(const cli_tool *tool, const char *word, size_t length) {
    for (int i = 0; i < tool->n_options; i++) {
        const char *name = tool->options[i].name;
        size_t k = 0;
        while (k < length && word[k] == (name[k] == '-' ? '_' : name[k])) k++;
        if (k == length && name[k] == '\0') return name;
    }
    return NULL;
}

/* A word with a _ may be an option, and so may what follows it by "or". */
void cli_spell(const cli_tool *tool, const char *from, char *text, size_t room) {
    size_t used = 0;
    bool follows = false;
    while (*from && used + 1 < room) {
        const size_t length = strcspn(from, " ,;:=");
        const char *name = NULL;
        if (follows || memchr(from, '_', length)) name = option_named(tool, from, length);
        const int n =
            snprintf(text + used, room - used, "%s%.*s%.1s", name ? "--" : "",
                     (int)(name ? strlen(name) : length), name ? name : from, from + length);
        used += (size_t)n < room - used ? (size_t)n : room - used - 1;
        follows = (name && from[length] == ' ') || (follows && strncmp(from, "or ", 3) == 0);
        from += length + (from[length] != '\0');
    }
    text[used] = '\0';
}

/* A message stays on one line, whatever bytes a file name has. */
int cli_say(int code, const cli_tool *tool, const char *format, ...) {
    char own[1000], text[1024];
    va_list values;
    va_start(values, format);
    vsnprintf(own, sizeof own, format, values);
    va_end(values);
    cli_spell(tool, own, text, sizeof text);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    fprintf(stderr, "%s%s: %s\n", cli_line_start(), tool->name, text);
    return code;
}

static void *field(void *arguments, size_t offset) {
    return (char *)arguments + offset;
}

const char *cli_named_path(const char *text, char name[64]) {
    char file[CSREC_PATH_ROOM];
    const char *equals = strchr(text, '=');
    const bool named = equals && equals > text && equals[1] && equals - text < 64 &&
                       !memchr(text, '/', (size_t)(equals - text)) &&
                       access(csrec_path_file(text, file), F_OK) != 0;
    if (name) snprintf(name, 64, "%.*s", named ? (int)(equals - text) : 0, text);
    return named ? equals + 1 : text;
}

static int wrong_value(const cli_tool *tool, const cli_option *option, const char *value,
                       const char *remedy) {
    return cli_usage(tool, "--%s: '%s' is not %s", option->name, value, remedy);
}

const char *cli_backend_name(int i) {
    static const char *const names[] = {"auto", "cpu", "cuda"};
    return i >= 0 && i < 3 ? names[i] : NULL;
}

static void list_devices(void) {
    const char *backend;
    char device[256];
    for (int i = 0; csrec_backend_info(i, &backend, device, sizeof device); i++)
        printf("%s: %s\n", backend, device);
}

/* "a KIND from 0 to 5", "a KIND, 0 or more", or "a finite KIND". */
static const char *describe_range(const char *kind, const cli_option *option, char text[96]) {
    char range[CSREC_RANGE_ROOM];
    csrec_range_text(option->low, option->high, range);
    const char *between = strstr(range, " to ") ? " from " : ", ";
    snprintf(text, 96, "a %s%s%s%s", *range ? "" : "finite ", kind, *range ? between : "", range);
    return text;
}

static int store_integer(const cli_tool *tool, const cli_option *option, const char *value,
                         int64_t *to) {
    char *end, remedy[96];
    errno = 0;
    long long number = strtoll(value, &end, 10);
    bool fits = errno == 0 && end != value && *end == '\0' && (double)number >= option->low &&
                (double)number <= option->high;
    if (!fits)
        return wrong_value(tool, option, value, describe_range("whole number", option, remedy));
    *to = number;
    return CLI_CONTINUE;
}

/* What was meant by a number that was refused: per cent, or a comma for the point. */
static const char *number_hint(const cli_option *option, const char *value, char text[CLI_HINT]) {
    char *end;
    double number = strtod(value, &end);
    const bool percent = end != value && *end == '%' && end[1] == '\0';
    text[0] = '\0';
    if (option->share && (percent || (*end == '\0' && number > 1.0)) && number > 0.0 &&
        number <= 100.0)
        snprintf(text, CLI_HINT, "; a share: %.6g for %.6g %%", number / 100.0, number);
    else if (end != value && *end == ',' && end[1] &&
             end[1 + strspn(end + 1, "0123456789")] == '\0')
        snprintf(text, CLI_HINT, "; with a point: %.*s.%.20s", (int)(end - value), value, end + 1);
    return text;
}

static int store_real(const cli_tool *tool, const cli_option *option, const char *value,
                      double *to) {
    char *end, remedy[96], hint[CLI_HINT];
    double number = strtod(value, &end);
    bool fits = end != value && *end == '\0' && number >= option->low && number <= option->high;
    if (!fits)
        return cli_usage(tool, "--%s: '%s' is not %s%s", option->name, value,
                         describe_range("number", option, remedy),
                         number_hint(option, value, hint));
    *to = number;
    return CLI_CONTINUE;
}

static int store_seed(const cli_tool *tool, const cli_option *option, const char *value,
                      uint64_t *to) {
    char *end;
    bool hexadecimal = value[0] == '0' && (value[1] == 'x' || value[1] == 'X');
    errno = 0;
    unsigned long long number = strtoull(value, &end, hexadecimal ? 16 : 10);
    /* strtoull accepts a sign and leading spaces; a seed has neither. */
    if (errno || end == value || *end != '\0' || value[0] < '0' || value[0] > '9')
        return wrong_value(tool, option, value, "a whole number from 0 to 2^64 - 1");
    *to = number;
    return CLI_CONTINUE;
}

const char *cli_hint(const char *given, int n, const char *const *names, char text[CLI_HINT]) {
    const char *near = csrec_name_near(given, n, names);
    text[0] = '\0';
    if (near) snprintf(text, CLI_HINT, "; did you mean %.36s?", near);
    return text;
}

/* "; did you mean --solver omp?", where another option has the value; the name may be near one. */
static const char *elsewhere(const cli_tool *tool, const char *value, char text[CLI_HINT]) {
    text[0] = '\0';
    for (int i = 0; i < tool->n_options; i++) {
        const cli_option *o = &tool->options[i];
        for (int k = 0; o->choice && o->type == CLI_CHOICE && o->choice(k); k++)
            if (strcasecmp(o->choice(k), value) == 0) {
                snprintf(text, CLI_HINT, "; did you mean --%.12s %.16s?", o->name, o->choice(k));
                return text;
            }
    }
    return text;
}

static int store_choice(const cli_tool *tool, const cli_option *option, const char *value,
                        int *to) {
    enum { MOST = 64 };
    const char *choices[MOST];
    char names[320] = "one of", hint[CLI_HINT], other[CLI_HINT];
    bool capitals = false;
    int n = 0;
    for (; n < MOST && option->choice(n); n++) {
        choices[n] = option->choice(n);
        capitals = capitals || strcasecmp(choices[n], value) == 0;
        if (strcmp(choices[n], value) == 0) {
            *to = n;
            return CLI_CONTINUE;
        }
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, " %s", choices[n]);
    }
    const char *instead = option->instead ? option->instead(value) : NULL;
    if (instead)
        return cli_usage(tool, "--%s: '%s' is no longer there; use %s", option->name, value,
                         instead);
    return cli_usage(
        tool, "--%s: '%s' is not %s%s", option->name, value, names,
        !capitals && *elsewhere(tool, value, other) ? other : cli_hint(value, n, choices, hint));
}

int cli_stdout_failed(const cli_tool *tool) {
    return cli_failure(tool, "stdout: cannot be written; check its destination");
}

int cli_stdout_flush(const cli_tool *tool) {
    return fflush(stdout) == 0 && !ferror(stdout) ? CLI_DONE : cli_stdout_failed(tool);
}

/* With the formats of files, some of which depend on the libraries that were found. */
static void print_version(const cli_tool *tool) {
    char list[128];
    const int any = CSREC_USE_READ | CSREC_USE_WRITE | CSREC_USE_SAMPLES | CSREC_USE_ARRAYS;
    printf("%s %s\nfiles: %s\n", tool->name, csrec_version(),
           csrec_format_list(any, true, "and", list, sizeof list));
    const csrec_format *format;
    for (int i = 0; (format = csrec_format_info(i)); i++)
        if (!format->uses) printf("without %s, which needs %s\n", format->title, format->needs);
}

static int print_completion(const cli_tool *tool, const cli_option *option, const char *value) {
    int shell, code = store_choice(tool, option, value, &shell);
    if (code != CLI_CONTINUE) return code;
    cli_completion(&(cli_program){tool->name, tool->brief, &tool, 1}, shell);
    return cli_stdout_flush(tool);
}

static int store(const cli_tool *tool, const cli_option *option, const char *value,
                 void *arguments) {
    void *to = field(arguments, option->offset);
    if (option->given) *(bool *)field(arguments, option->given) = true;
    switch (option->type) {
    case CLI_FLAG:
        *(bool *)to = true;
        break;
    case CLI_TEXT:
    case CLI_READ:
    case CLI_WRITE:
        *(const char **)to = value;
        break;
    case CLI_INTEGER:
        return store_integer(tool, option, value, to);
    case CLI_SEED:
        return store_seed(tool, option, value, to);
    case CLI_REAL:
        return store_real(tool, option, value, to);
    case CLI_CHOICE:
        return store_choice(tool, option, value, to);
    case CLI_DEVICES:
        list_devices();
        return cli_stdout_flush(tool);
    case CLI_TEXTS:
    case CLI_READS: {
        cli_texts *texts = to;
        if (texts->n == CLI_TEXTS_MOST)
            return cli_usage(tool, "--%s: at most %d times", option->name, CLI_TEXTS_MOST);
        texts->text[texts->n++] = value;
        break;
    }
    case CLI_LISTING:
        tool->listing(stdout);
        return cli_stdout_flush(tool);
    case CLI_HELP:
        cli_help(tool, true);
        return cli_stdout_flush(tool);
    case CLI_VERSION:
        print_version(tool);
        return cli_stdout_flush(tool);
    case CLI_MAN:
        return cli_man(&(cli_program){tool->name, tool->brief, &tool, 1});
    case CLI_COMPLETION:
        return print_completion(tool, option, value);
    }
    return CLI_CONTINUE;
}

/* The words of the command line that are not parsed yet. */
typedef struct {
    int argc, at;
    char **argv;
    void *arguments;
} words;

/* Finds the value of an option that takes one: `attached`, or the next word. */
static int take(const cli_tool *tool, const cli_option *option, const char *attached, words *w) {
    if (!option->argument) return store(tool, option, NULL, w->arguments);
    const char *value = attached ? attached : w->at < w->argc ? w->argv[w->at++] : NULL;
    if (!value && option->missing)
        return cli_usage(tool, "--%s needs a value, %s; %s", option->name, option->argument,
                         option->missing);
    if (!value)
        return cli_usage(tool, "--%s needs a value, %s; see %s --help", option->name,
                         option->argument, tool->name);
    bool text = option->type == CLI_TEXT || option->type == CLI_READ || option->type == CLI_WRITE ||
                option->type == CLI_READS;
    if (text && !*value)
        return cli_usage(tool, "--%s needs a value, %s, but the value is empty", option->name,
                         option->argument);
    return store(tool, option, value, w->arguments);
}

static int unknown_option(const cli_tool *tool, const char *word, size_t length) {
    enum { MOST = 128 };
    const char *names[MOST];
    char given[64], hint[CLI_HINT];
    int n = 0;
    for (; n < tool->n_options && n < MOST; n++) names[n] = tool->options[n].name;
    snprintf(given, sizeof given, "%.*s", (int)length, word);
    return cli_usage(tool, "unknown option --%.*s; see %s --help%s", (int)length, word, tool->name,
                     cli_hint(given, n, names, hint));
}

static int parse_long(const cli_tool *tool, const char *word, words *w) {
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    for (int i = 0; i < tool->n_options; i++) {
        const cli_option *option = &tool->options[i];
        if (strlen(option->name) != length || strncmp(option->name, word, length) != 0) continue;
        if (equals && !option->argument)
            return cli_usage(tool, "--%s takes no value", option->name);
        return take(tool, option, equals ? equals + 1 : NULL, w);
    }
    return unknown_option(tool, word, length);
}

/* -v, -vq (flags together), -o FILE and -oFILE; but not -output. */
static int parse_short(const cli_tool *tool, const char *word, words *w) {
    int code = CLI_CONTINUE;
    for (int i = 0; i < tool->n_options; i++)
        if (strcmp(tool->options[i].name, word) == 0)
            return cli_usage(tool, "unknown option -%s; did you mean --%s?", word, word);
    for (; *word && code == CLI_CONTINUE; word++) {
        const cli_option *option = NULL;
        for (int i = 0; i < tool->n_options && !option; i++)
            if (tool->options[i].letter == *word) option = &tool->options[i];
        if (!option) return cli_usage(tool, "unknown option -%c; see %s --help", *word, tool->name);
        if (option->type == CLI_HELP) {
            cli_help(tool, false);
            return cli_stdout_flush(tool);
        }
        if (option->argument) return take(tool, option, word[1] ? word + 1 : NULL, w);
        code = take(tool, option, NULL, w);
    }
    return code;
}

static int add_operand(const cli_tool *tool, const char *word, const words *w) {
    cli_operands *operands = field(w->arguments, tool->operand);
    if (!operands->text) operands->text = calloc((size_t)w->argc, sizeof *operands->text);
    if (!operands->text) return cli_failure(tool, "out of memory");
    operands->text[operands->n++] = word;
    return CLI_CONTINUE;
}

static int parse_operand(const cli_tool *tool, const char *word, words *w) {
    if (!*word) return cli_usage(tool, "the input's name is empty");
    if (tool->many) return add_operand(tool, word, w);
    const char **operand = field(w->arguments, tool->operand);
    if (*operand)
        return cli_usage(tool, "one input only: '%s' comes after '%s'; see %s --help", word,
                         *operand, tool->name);
    *operand = word;
    return CLI_CONTINUE;
}

int cli_output_meant(const cli_tool *tool, const cli_operands *operands, int use) {
    const char *last = operands->n > 1 ? operands->text[operands->n - 1] : "-";
    const csrec_format *format = csrec_format_of(last);
    const bool named = (format && (format->uses & use)) || last[strlen(last) - 1] == '/';
    if (!named || access(last, F_OK) == 0) return CLI_CONTINUE;
    return cli_usage(tool, "%s: does not exist; to write %s: -o %s", last, last, last);
}

static bool has_operand(const cli_tool *tool, void *arguments) {
    void *operand = field(arguments, tool->operand);
    return tool->many ? ((cli_operands *)operand)->n > 0 : *(const char **)operand != NULL;
}

/* If a descriptor below 3 is closed at the start, the next opened file would get it and receive
 * what is printed. A descriptor that fails reading and writing takes its place. */
static void fill_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY);
}

int cli_parse(const cli_tool *tool, int argc, char **argv, void *arguments) {
    fill_standard_streams();
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is then a failed write, with its own message */
    words w = {argc, 1, argv, arguments};
    bool options = true;
    int code = CLI_CONTINUE;
    while (w.at < argc && code == CLI_CONTINUE) {
        const char *word = argv[w.at++];
        if (!options || word[0] != '-' || word[1] == '\0')
            code = parse_operand(tool, word, &w);
        else if (word[1] != '-')
            code = parse_short(tool, word + 1, &w);
        else if (word[2] == '\0')
            options = false;
        else
            code = parse_long(tool, word + 2, &w);
    }
    if (code == CLI_CONTINUE && !tool->optional && !has_operand(tool, arguments))
        return cli_usage(tool, "no input given; usage: %s %s", tool->name, tool->synopsis);
    return code == CLI_CONTINUE ? cli_alias_check(tool, arguments) : code;
}
