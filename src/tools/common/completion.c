/* SPDX-License-Identifier: BSD-3-Clause */
/* completion.c - shell completion for bash, zsh and fish, from the tables that also parse the
 * options. */
#include <ctype.h>
#include <string.h>

#include "options.h"

/* What a shell completes as the value of an option. */
typedef enum value {
    NONE, /* the option takes no value */
    ANY,  /* a number or the like: no completion */
    WORDS,
    KEYS, /* KEY=, then a value */
    A_FILE,
    A_FOLDER
} value;

static value value_of(const cli_option *option) {
    if (!option->argument) return NONE;
    if (option->choice || strchr(option->argument, '|')) return WORDS;
    if (option->key) return KEYS;
    if (strcmp(option->argument, "FILE") == 0) return A_FILE;
    return strcmp(option->argument, "FOLDER") == 0 ? A_FOLDER : ANY;
}

/* The words or keys, `after` each. */
static void print_words(const cli_option *option, const char *after) {
    const char *(*word)(int i) = option->choice ? option->choice : option->key;
    for (int i = 0; word && word(i); i++) printf("%s%s%s", i ? " " : "", word(i), after);
    for (const char *c = word ? "" : option->argument; *c; c++)
        if (*c == '|')
            printf("%s ", after);
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

/* The first sentence of a text. Characters of `escaped` get a backslash; a ' closes and reopens the
 * shell's quotes. */
static void print_sentence(const char *unfilled, const char *escaped) {
    char room[CLI_FILLED];
    const char *text = cli_fill(unfilled, room);
    size_t length = sentence_length(text);
    for (size_t i = 0; i < length; i++)
        if (text[i] == '\'')
            printf("'\\''");
        else
            printf("%s%c", strchr(escaped, text[i]) ? "\\" : "", text[i]);
}

/* The shell function of a tool: letters, digits and _. */
typedef struct function {
    char name[64];
} function;

static function function_of(const char *name) {
    function f;
    snprintf(f.name, sizeof f.name, "_%s", name);
    for (char *c = f.name; *c; c++)
        if (!isalnum((unsigned char)*c)) *c = '_';
    return f;
}

static void print_bash_names(const cli_option *option, const char *between) {
    if (option->letter) printf("-%c%s", option->letter, between);
    printf("--%s", option->name);
}

static void print_bash_value(const cli_option *option) {
    value kind = value_of(option);
    if (kind == NONE) return;
    printf("    ");
    print_bash_names(option, " | ");
    printf(")\n");
    if (kind == KEYS) printf("        compopt -o nospace 2>/dev/null\n");
    if (kind == KEYS || kind == WORDS) {
        printf("        mapfile -t COMPREPLY < <(compgen -W '");
        print_words(option, kind == KEYS ? "=" : "");
        printf("' -- \"$word\")\n");
    } else if (kind != ANY) {
        printf("        compopt -o filenames 2>/dev/null\n"
               "        mapfile -t COMPREPLY < <(compgen -%c -- \"$word\")\n",
               kind == A_FILE ? 'f' : 'd');
    }
    printf("        return\n        ;;\n");
}

/* Completes $word after $before for one tool. */
static void print_bash_tool(const cli_tool *tool) {
    printf("%s_words() {\n    case $before in\n", function_of(tool->name).name);
    for (int i = 0; i < tool->n_options; i++) print_bash_value(&tool->options[i]);
    printf("    esac\n    if [[ $word == -* ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '");
    for (int i = 0; i < tool->n_options; i++) {
        if (i) putchar(' ');
        print_bash_names(&tool->options[i], " ");
    }
    printf("' -- \"$word\")\n    else\n        compopt -o filenames 2>/dev/null\n"
           "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n    fi\n}\n\n");
}

static void print_bash_choice(const cli_program *program) {
    printf("    case ${COMP_WORDS[1]} in\n");
    for (int c = 0; c < program->n_commands; c++)
        printf("    %s)\n        ((COMP_CWORD > 1)) && %s_words && return\n        ;;\n",
               cli_command_word(program, c), function_of(program->commands[c]->name).name);
    printf("    esac\n    ((COMP_CWORD > 1)) && return\n"
           "    mapfile -t COMPREPLY < <(compgen -W '");
    for (int c = 0; c < program->n_commands; c++) printf("%s ", cli_command_word(program, c));
    printf("--help --version --man --completion' -- \"$word\")\n");
}

/* A function without dependencies. Readline splits words at =: --name=value is three. */
static void print_bash(const cli_program *program) {
    const function f = function_of(program->name);
    printf("# bash completion of %s, printed by %s --completion bash.\n\n", program->name,
           program->name);
    for (int c = 0; c < program->n_commands; c++) print_bash_tool(program->commands[c]);
    printf("%s() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=\n"
           "    ((COMP_CWORD > 0)) && before=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    COMPREPLY=()\n"
           "    if [[ $word == = ]]; then\n"
           "        word=\n"
           "    elif [[ $before == = ]] && ((COMP_CWORD > 1)); then\n"
           "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
           "    fi\n"
           "    [[ $before != -* && ${COMP_WORDS[COMP_CWORD - 1]} == = ]] && return\n",
           f.name);
    if (cli_program_is_tool(program))
        printf("    %s_words\n", f.name);
    else
        print_bash_choice(program);
    printf("}\n\ncomplete -F %s %s\n", f.name, program->name);
}

static void print_zsh_value(const cli_option *option) {
    value kind = value_of(option);
    if (kind == NONE) return;
    printf(":%s:", option->argument);
    if (kind == WORDS || kind == KEYS) {
        printf("%s", kind == WORDS ? "(" : "{compadd -S \"\" -- ");
        print_words(option, kind == WORDS ? "" : "=");
        printf("%s", kind == WORDS ? ")" : "}");
    } else {
        printf("%s", kind == A_FILE ? "_files" : kind == A_FOLDER ? "_files -/" : " ");
    }
}

/* '(-o --output)'{-o+,--output=}'[brief]:FILE:_files'. For a repeatable option, * replaces the list
 * of exclusions. */
static void print_zsh_option(const cli_option *option) {
    const char *plus = option->argument ? "+" : "", *equals = option->argument ? "=" : "";
    bool many = option->type == CLI_TEXTS || option->type == CLI_READS;
    printf("        ");
    if (option->letter && many)
        printf("'*'{-%c%s,--%s%s}'", option->letter, plus, option->name, equals);
    else if (option->letter)
        printf("'(-%c --%s)'{-%c%s,--%s%s}'", option->letter, option->name, option->letter, plus,
               option->name, equals);
    else
        printf("'%s--%s%s", many ? "*" : "", option->name, equals);
    printf("[");
    print_sentence(option->help, "[]:\\");
    printf("]");
    print_zsh_value(option);
    printf("' \\\n");
}

static void print_zsh_tool(const cli_tool *tool) {
    printf("%s() {\n    _arguments -s -S \\\n", function_of(tool->name).name);
    for (int i = 0; i < tool->n_options; i++) print_zsh_option(&tool->options[i]);
    printf("        '*:input:_files'\n}\n\n");
}

static void print_zsh_choice(const cli_program *program) {
    printf("%s() {\n    if ((CURRENT == 2)); then\n        local -a commands=(\n",
           function_of(program->name).name);
    for (int c = 0; c < program->n_commands; c++) {
        printf("            '%s:", cli_command_word(program, c));
        print_sentence(program->commands[c]->brief, ":\\");
        printf("'\n");
    }
    printf("        )\n        _describe command commands\n        return\n    fi\n"
           "    local command=$words[2]\n    shift words\n    ((CURRENT--))\n"
           "    case $command in\n");
    for (int c = 0; c < program->n_commands; c++)
        printf("    %s) %s ;;\n", cli_command_word(program, c),
               function_of(program->commands[c]->name).name);
    printf("    esac\n}\n\n");
}

/* In a file of fpath the text is the body of the function; if sourced, it registers itself. */
static void print_zsh(const cli_program *program) {
    const function f = function_of(program->name);
    printf("#compdef %s\n# zsh completion of %s, printed by %s --completion zsh.\n\n",
           program->name, program->name, program->name);
    for (int c = 0; c < program->n_commands; c++) print_zsh_tool(program->commands[c]);
    if (!cli_program_is_tool(program)) print_zsh_choice(program);
    printf("if [ \"$funcstack[1]\" = %s ]; then\n    %s \"$@\"\nelse\n    compdef %s %s\nfi\n",
           f.name, f.name, f.name, program->name);
}

static void print_fish_option(const cli_program *program, const char *word,
                              const cli_option *option) {
    value kind = value_of(option);
    printf("complete -c %s", program->name);
    if (*word) printf(" -n '__fish_seen_subcommand_from %s'", word);
    if (option->letter) printf(" -s %c", option->letter);
    printf(" -l %s", option->name);
    if (kind == A_FILE)
        printf(" -r -F");
    else if (kind == A_FOLDER)
        printf(" -x -a '(__fish_complete_directories)'");
    else if (kind != NONE)
        printf(" -x");
    if (kind == WORDS || kind == KEYS) {
        printf(" -a '");
        print_words(option, kind == KEYS ? "=" : "");
        printf("'");
    }
    printf(" -d '");
    print_sentence(option->help, "\\");
    printf("'\n");
}

static void print_fish(const cli_program *program) {
    bool single = cli_program_is_tool(program);
    printf("# fish completion of %s, printed by %s --completion fish.\n\n", program->name,
           program->name);
    for (int c = 0; c < program->n_commands; c++) {
        const cli_tool *tool = program->commands[c];
        const char *word = single ? "" : cli_command_word(program, c);
        if (!single) {
            printf("complete -c %s -n __fish_use_subcommand -f -a %s -d '", program->name, word);
            print_sentence(tool->brief, "\\");
            printf("'\n");
        }
        for (int i = 0; i < tool->n_options; i++)
            print_fish_option(program, word, &tool->options[i]);
    }
}

static const struct {
    const char *name;
    void (*print)(const cli_program *program);
} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

const char *cli_shell_name(int i) {
    return i < (int)(sizeof shells / sizeof *shells) ? shells[i].name : NULL;
}

void cli_completion(const cli_program *program, int shell) {
    shells[shell].print(program);
}
