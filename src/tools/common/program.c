/* SPDX-License-Identifier: BSD-3-Clause */
/* program.c - programs of several commands: the word that chooses one, and the help above them. */
#include <string.h>

#include "options.h"

bool cli_program_is_tool(const cli_program *program) {
    return program->n_commands == 1 && strcmp(program->commands[0]->name, program->name) == 0;
}

const char *cli_command_word(const cli_program *program, int command) {
    size_t length = strlen(program->name);
    const char *name = program->commands[command]->name;
    return name[length] == ' ' ? name + length + 1 : "";
}

static void print_list(const cli_program *program) {
    for (int c = 0; c < program->n_commands; c++)
        printf("  %-10s %s\n", cli_command_word(program, c), program->commands[c]->brief);
}

static void print_help(const cli_program *program) {
    printf("Usage: %s COMMAND ...\n%s\n\nCommands:\n", program->name, program->brief);
    print_list(program);
    printf("\n%s COMMAND --help lists the options of a command. For all of them: --list, "
           "the\ncommands; --version; --man, the manual page; --completion bash|zsh|fish.\n",
           program->name);
}

static int usage(const cli_program *program, const char *text, const char *word) {
    enum { MOST = 16 };
    const char *words[MOST];
    char commands[256] = "", hint[CLI_HINT];
    int n = 0;
    for (; n < program->n_commands && n < MOST; n++) {
        size_t used = strlen(commands);
        words[n] = cli_command_word(program, n);
        snprintf(commands + used, sizeof commands - used, " %s", words[n]);
    }
    return cli_usage(&(cli_tool){.name = program->name}, "%s%s; commands:%s; see %s --help%s", text,
                     word, commands, program->name, cli_hint(word, n, words, hint));
}

static int complete(const cli_program *program, const char *name) {
    for (int i = 0; name && cli_shell_name(i); i++)
        if (strcmp(name, cli_shell_name(i)) == 0) {
            cli_completion(program, i);
            return cli_stdout_flush(&(cli_tool){.name = program->name});
        }
    return cli_usage(&(cli_tool){.name = program->name},
                     "--completion: '%s' is not one of bash zsh fish", name ? name : "");
}

int cli_program_parse(const cli_program *program, int argc, char **argv, int *command) {
    const char *word = argc > 1 ? argv[1] : "";
    for (int c = 0; c < program->n_commands; c++)
        if (strcmp(word, cli_command_word(program, c)) == 0) {
            *command = c;
            return CLI_CONTINUE;
        }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        print_help(program);
    else if (strcmp(word, "--list") == 0 || strcmp(word, "-l") == 0)
        print_list(program);
    else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        printf("%s %s\n", program->name, csrec_version());
    else if (strcmp(word, "--man") == 0)
        return cli_man(program);
    else if (strcmp(word, "--completion") == 0)
        return complete(program, argc > 2 ? argv[2] : NULL);
    else if (strncmp(word, "--completion=", 13) == 0)
        return complete(program, word + 13);
    else
        return usage(program, *word ? "no such command: " : "no command given", word);
    return cli_stdout_flush(&(cli_tool){.name = program->name});
}
