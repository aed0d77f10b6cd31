/* completion_zsh.c - a completion function for zsh, by _arguments. */
#include "completion.h"

static void print_value(const cli_option *option) {
    cli_value value = cli_value_of(option);
    if (value == CLI_VALUE_NONE) return;
    printf(":%s:", option->argument);
    switch (value) {
    case CLI_VALUE_WORDS:
        printf("(");
        cli_value_print(option, " ", "");
        printf(")");
        break;
    case CLI_VALUE_KEYS:
        printf("{compadd -S \"\" -- ");
        cli_value_print(option, " ", "=");
        printf("}");
        break;
    case CLI_VALUE_FILE:
        printf("_files");
        break;
    case CLI_VALUE_FOLDER:
        printf("_files -/");
        break;
    default:
        printf(" ");
    }
}

/* '(-o --output)'{-o+,--output=}'[brief]:FILE:_files'. For a repeatable option, * replaces the list
 * of exclusions. */
static void print_option(const cli_option *option) {
    const char *plus = option->argument ? "+" : "", *equals = option->argument ? "=" : "";
    bool many = option->type == CLI_TEXTS;
    printf("        ");
    if (option->letter && many)
        printf("'*'{-%c%s,--%s%s}'", option->letter, plus, option->name, equals);
    else if (option->letter)
        printf("'(-%c --%s)'{-%c%s,--%s%s}'", option->letter, option->name, option->letter, plus,
               option->name, equals);
    else
        printf("'%s--%s%s", many ? "*" : "", option->name, equals);
    printf("[");
    cli_print_sentence(option->help, "[]:\\");
    printf("]");
    print_value(option);
    printf("' \\\n");
}

static void print_arguments(const cli_tool *tool) {
    printf("    _arguments -s -S \\\n");
    for (int i = 0; i < tool->n_options; i++) print_option(&tool->options[i]);
    printf("        '*:input:_files'\n");
}

static void print_commands(const cli_program *program) {
    for (int c = 0; c < program->n_commands; c++) {
        cli_print_function(program->commands[c]->name);
        printf("() {\n");
        print_arguments(program->commands[c]);
        printf("}\n\n");
    }
    cli_print_function(program->name);
    printf("() {\n    if ((CURRENT == 2)); then\n        local -a commands=(\n");
    for (int c = 0; c < program->n_commands; c++) {
        printf("            '%s:", cli_command_word(program, c));
        cli_print_sentence(program->commands[c]->brief, ":\\");
        printf("'\n");
    }
    printf("        )\n        _describe command commands\n        return\n    fi\n"
           "    local command=$words[2]\n    shift words\n    ((CURRENT--))\n"
           "    case $command in\n");
    for (int c = 0; c < program->n_commands; c++) {
        printf("    %s) ", cli_command_word(program, c));
        cli_print_function(program->commands[c]->name);
        printf(" ;;\n");
    }
    printf("    esac\n}\n\n");
}

void cli_completion_zsh(const cli_program *program) {
    printf("#compdef %s\n# zsh completion of %s, printed by %s --completion zsh.\n\n",
           program->name, program->name, program->name);
    if (cli_program_is_tool(program)) {
        cli_print_function(program->name);
        printf("() {\n");
        print_arguments(program->commands[0]);
        printf("}\n\n");
    } else {
        print_commands(program);
    }
    /* In a file of fpath the text is the body of the function; if sourced, it registers itself. */
    printf("if [ \"$funcstack[1]\" = ");
    cli_print_function(program->name);
    printf(" ]; then\n    ");
    cli_print_function(program->name);
    printf(" \"$@\"\nelse\n    compdef ");
    cli_print_function(program->name);
    printf(" %s\nfi\n", program->name);
}
