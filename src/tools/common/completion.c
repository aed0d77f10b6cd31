/* completion.c - shell completion for bash, zsh and fish, from the tables that also parse the
 * options. */
#include "completion.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *name;
    void (*print)(const cli_program *program);
} shells[] = {
    {"bash", cli_completion_bash}, {"zsh", cli_completion_zsh}, {"fish", cli_completion_fish}};

const char *cli_shell_name(int i) {
    return i < (int)(sizeof shells / sizeof *shells) ? shells[i].name : NULL;
}

void cli_completion(const cli_program *program, int shell) {
    shells[shell].print(program);
}

cli_value cli_value_of(const cli_option *option) {
    if (!option->argument) return CLI_VALUE_NONE;
    if (option->choice || strchr(option->argument, '|')) return CLI_VALUE_WORDS;
    if (option->key) return CLI_VALUE_KEYS;
    if (strcmp(option->argument, "FILE") == 0) return CLI_VALUE_FILE;
    return strcmp(option->argument, "FOLDER") == 0 ? CLI_VALUE_FOLDER : CLI_VALUE_ANY;
}

void cli_value_print(const cli_option *option, const char *between, const char *after) {
    const char *(*word)(int i) = option->choice ? option->choice : option->key;
    for (int i = 0; word && word(i); i++) printf("%s%s%s", i ? between : "", word(i), after);
    for (const char *c = word ? "" : option->argument; *c; c++)
        if (*c == '|')
            printf("%s%s", after, between);
        else
            putchar(*c);
    if (!word) printf("%s", after);
}

/* A full stop in brackets or before a small letter, as in "e.g. a", does not end a sentence. */
static size_t sentence_length(const char *text) {
    size_t i = 0;
    int depth = 0;
    for (; text[i] && text[i] != '\n'; i++) {
        depth += (text[i] == '(') - (text[i] == ')');
        if (depth == 0 && text[i] == '.' &&
            (text[i + 1] == '\0' || (text[i + 1] == ' ' && isupper((unsigned char)text[i + 2]))))
            break;
    }
    return i;
}

void cli_print_sentence(const char *unfilled, const char *escaped) {
    char room[CLI_FILLED];
    const char *text = cli_fill(unfilled, room);
    size_t length = sentence_length(text);
    for (size_t i = 0; i < length; i++)
        if (text[i] == '\'')
            printf("'\\''");
        else
            printf("%s%c", strchr(escaped, text[i]) ? "\\" : "", text[i]);
}

void cli_print_function(const char *name) {
    putchar('_');
    for (; *name; name++) putchar(isalnum((unsigned char)*name) ? *name : '_');
}
