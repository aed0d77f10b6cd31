/* completion_bash.c - a completion function for bash 4 and later, without dependencies. */
#include "completion.h"

static void print_names(const cli_option *option, const char *between) {
    if (option->letter) printf("-%c%s", option->letter, between);
    printf("--%s", option->name);
}

static void print_value(const cli_option *option) {
    cli_value value = cli_value_of(option);
    if (value == CLI_VALUE_NONE) return;
    printf("    ");
    print_names(option, " | ");
    printf(")\n");
    switch (value) {
    case CLI_VALUE_KEYS:
        printf("        compopt -o nospace 2>/dev/null\n");
        /* fall through */
    case CLI_VALUE_WORDS:
        printf("        mapfile -t COMPREPLY < <(compgen -W '");
        cli_value_print(option, " ", value == CLI_VALUE_KEYS ? "=" : "");
        printf("' -- \"$word\")\n");
        break;
    case CLI_VALUE_FILE:
    case CLI_VALUE_FOLDER:
        printf("        compopt -o filenames 2>/dev/null\n"
               "        mapfile -t COMPREPLY < <(compgen -%c -- \"$word\")\n",
               value == CLI_VALUE_FILE ? 'f' : 'd');
        break;
    default:
        break;
    }
    printf("        return\n        ;;\n");
}

/* Completes $word after $before for one tool. */
static void print_tool(const cli_tool *tool, const char *suffix) {
    cli_print_function(tool->name);
    printf("%s() {\n    case $before in\n", suffix);
    for (int i = 0; i < tool->n_options; i++) print_value(&tool->options[i]);
    printf("    esac\n    if [[ $word == -* ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '");
    for (int i = 0; i < tool->n_options; i++) {
        if (i) putchar(' ');
        print_names(&tool->options[i], " ");
    }
    printf("' -- \"$word\")\n    else\n        compopt -o filenames 2>/dev/null\n"
           "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n    fi\n}\n\n");
}

static void print_choice(const cli_program *program) {
    printf("    case ${COMP_WORDS[1]} in\n");
    for (int c = 0; c < program->n_commands; c++) {
        printf("    %s)\n        ((COMP_CWORD > 1)) && ", cli_command_word(program, c));
        cli_print_function(program->commands[c]->name);
        printf("_words && return\n        ;;\n");
    }
    printf("    esac\n    ((COMP_CWORD > 1)) && return\n"
           "    mapfile -t COMPREPLY < <(compgen -W '");
    for (int c = 0; c < program->n_commands; c++) printf("%s ", cli_command_word(program, c));
    printf("--help --version --man --completion' -- \"$word\")\n");
}

void cli_completion_bash(const cli_program *program) {
    bool single = cli_program_is_tool(program);
    printf("# bash completion of %s, printed by %s --completion bash.\n\n", program->name,
           program->name);
    for (int c = 0; c < program->n_commands; c++) print_tool(program->commands[c], "_words");
    cli_print_function(program->name);
    /* Readline splits words at =, so --name=value arrives as three words. */
    printf("() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=\n"
           "    ((COMP_CWORD > 0)) && before=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    COMPREPLY=()\n"
           "    if [[ $word == = ]]; then\n"
           "        word=\n"
           "    elif [[ $before == = ]] && ((COMP_CWORD > 1)); then\n"
           "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
           "    fi\n"
           "    [[ $before != -* && ${COMP_WORDS[COMP_CWORD - 1]} == = ]] && return\n");
    if (single) {
        printf("    ");
        cli_print_function(program->name);
        printf("_words\n");
    } else {
        print_choice(program);
    }
    printf("}\n\ncomplete -F ");
    cli_print_function(program->name);
    printf(" %s\n", program->name);
}
