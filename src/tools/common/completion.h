/* completion.h - shared by the writers of completions. */
#ifndef CSREC_TOOLS_COMMON_COMPLETION_H
#define CSREC_TOOLS_COMMON_COMPLETION_H

#include "options.h"

/* What a shell completes as the value of an option. */
typedef enum cli_value {
    CLI_VALUE_NONE, /* the option takes no value */
    CLI_VALUE_ANY,  /* a number or the like: no completion */
    CLI_VALUE_WORDS,
    CLI_VALUE_KEYS, /* KEY=, then a value */
    CLI_VALUE_FILE,
    CLI_VALUE_FOLDER
} cli_value;

cli_value cli_value_of(const cli_option *option);

/* Prints the words or keys, with `between` between them and `after` after each. */
void cli_value_print(const cli_option *option, const char *between, const char *after);

/* Prints the first sentence of a text. Characters of `escaped` get a backslash; a ' closes and
 * reopens the shell's quotes. */
void cli_print_sentence(const char *text, const char *escaped);

/* The name of a shell function for a tool: letters, digits and _. */
void cli_print_function(const char *name);

void cli_completion_bash(const cli_program *program);
void cli_completion_zsh(const cli_program *program);
void cli_completion_fish(const cli_program *program);

#endif
