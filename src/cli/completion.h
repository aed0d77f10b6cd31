/* completion.h - what the writers of completions share. */
#ifndef CSREC_CLI_COMPLETION_H
#define CSREC_CLI_COMPLETION_H

#include "options.h"

/* What a shell offers for the value of an option. */
typedef enum cli_value {
    CLI_VALUE_NONE, /* the option takes no value */
    CLI_VALUE_ANY,  /* a number or the like: nothing to offer */
    CLI_VALUE_WORDS,
    CLI_VALUE_KEYS, /* KEY=, to be gone on with */
    CLI_VALUE_FILE,
    CLI_VALUE_FOLDER
} cli_value;

cli_value cli_value_of(const cli_option *option);

/* The words or keys, `between` them, `after` each. */
void cli_value_print(const cli_option *option, const char *between, const char *after);

/* The first sentence of a text, at most; a backslash goes before each character of `escaped`, and a
 * ' leaves and enters the quotes of a shell again. */
void cli_print_sentence(const char *text, const char *escaped);

/* The name of a shell function for a tool: letters, digits and _. */
void cli_print_function(const char *name);

void cli_completion_bash(const cli_program *program);
void cli_completion_zsh(const cli_program *program);
void cli_completion_fish(const cli_program *program);

#endif
