/* completion_fish.c - completions for fish: a line for each option. */
#include "completion.h"

static void print_option(const cli_program *program, const char *word, const cli_option *option) {
    cli_value value = cli_value_of(option);
    printf("complete -c %s", program->name);
    if (*word) printf(" -n '__fish_seen_subcommand_from %s'", word);
    if (option->letter) printf(" -s %c", option->letter);
    printf(" -l %s", option->name);
    if (value == CLI_VALUE_FILE)
        printf(" -r -F");
    else if (value == CLI_VALUE_FOLDER)
        printf(" -x -a '(__fish_complete_directories)'");
    else if (value != CLI_VALUE_NONE)
        printf(" -x");
    if (value == CLI_VALUE_WORDS || value == CLI_VALUE_KEYS) {
        printf(" -a '");
        cli_value_print(option, " ", value == CLI_VALUE_KEYS ? "=" : "");
        printf("'");
    }
    printf(" -d '");
    cli_print_sentence(option->help, "\\");
    printf("'\n");
}

void cli_completion_fish(const cli_program *program) {
    bool single = cli_program_is_tool(program);
    printf("# fish completion of %s, printed by %s --completion fish.\n\n", program->name,
           program->name);
    for (int c = 0; c < program->n_commands; c++) {
        const cli_tool *tool = program->commands[c];
        const char *word = single ? "" : cli_command_word(program, c);
        if (!single) {
            printf("complete -c %s -n __fish_use_subcommand -f -a %s -d '", program->name, word);
            cli_print_sentence(tool->brief, "\\");
            printf("'\n");
        }
        for (int i = 0; i < tool->n_options; i++) print_option(program, word, &tool->options[i]);
    }
}
