/* SPDX-License-Identifier: BSD-3-Clause */
/* help.c - the help text of a tool, from the table that also parses, and the formats that texts of
 * that table name, from the table of formats; programs of several commands: the word that chooses
 * one, and the help above them. */
#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "options.h"

static const struct {
    const char *word;
    int use;
} uses[] = {{"read", CSREC_USE_READ},       {"write", CSREC_USE_WRITE},
            {"picture", CSREC_USE_PICTURE}, {"samples", CSREC_USE_SAMPLES},
            {"arrays", CSREC_USE_ARRAYS},   {"slabs", CSREC_USE_SLABS},
            {"types", CSREC_USE_TYPES}};

/* "read or}..." from its first letter: the list goes to the end of text. Returns what follows. */
static const char *fill_one(const char *from, char *text, size_t room) {
    char word[16], joint[8];
    int length = 0;
    if (sscanf(from, "%15[A-Za-z] %7[a-z]}%n", word, joint, &length) != 2 || length == 0)
        return from;
    const bool titles = isupper((unsigned char)word[0]);
    word[0] = (char)tolower((unsigned char)word[0]);
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (strcmp(word, uses[i].word) == 0)
            csrec_format_list(uses[i].use, titles, joint, text, room);
    return from + length;
}

const char *cli_fill(const char *from, char text[CLI_FILLED]) {
    size_t used = 0;
    while (*from && used + 1 < CLI_FILLED) {
        text[used] = '\0';
        if (*from != '{') {
            text[used++] = *from++;
            continue;
        }
        from = fill_one(from + 1, text + used, CLI_FILLED - used);
        used += strlen(text + used);
    }
    text[used] = '\0';
    return text;
}

enum { WIDTH = 80, COLUMN = 26 };

/* Prints text, wrapped before WIDTH and indented by `indent`; the cursor is at `column`. A newline
 * in the text starts a new line. */
static void wrap(const char *text, int column, int indent) {
    while (*text) {
        int length = (int)strcspn(text, " \n");
        if (column + length > WIDTH && column > indent) {
            printf("\n%*s", indent, "");
            column = indent;
        }
        printf("%.*s", length, text);
        column += length;
        text += length;
        if (*text == '\n') {
            printf("\n%*s", text[1] && text[1] != '\n' ? indent : 0, "");
            column = indent;
            text++;
        } else if (*text == ' ') {
            text++;
            if (column + 1 + (int)strcspn(text, " \n") <= WIDTH) printf(" ");
            column++;
        }
    }
    printf("\n");
}

static void print_row(const cli_option *option, const char *text) {
    char head[80] = {0};
    char letter[5] = "    ";
    if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(head, sizeof head, "  %s--%s%s%s", letter, option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
    if (printf("%-*s", COLUMN, head) > COLUMN || head[COLUMN - 1]) printf("\n%*s", COLUMN, "");
    wrap(text, COLUMN, COLUMN);
}

static void print_option(const cli_option *option) {
    char text[CLI_FILLED];
    cli_fill(option->help, text);
    for (int i = 0; option->choice && option->choice(i); i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s%s",
                 i ? ", " : " One of: ", option->choice(i), option->choice(i + 1) ? "" : ".");
    }
    print_row(option, text);
}

const char *cli_group_begins(const cli_tool *tool, int i) {
    const char *own = tool->options[i].group;
    for (int k = i - 1; own && k >= 0; k--)
        if (tool->options[k].group) return strcmp(own, tool->options[k].group) ? own : NULL;
    return own;
}

static void print_lines(const char *lines, int most) {
    for (int i = 0; *lines && i < most; i++) {
        int length = (int)strcspn(lines, "\n");
        printf("  %.*s\n", length, lines);
        lines += length + (lines[length] != '\0');
    }
}

static void print_all(const cli_tool *tool) {
    char text[CLI_FILLED];
    for (int i = 0; i < tool->n_options; i++) {
        const char *group = cli_group_begins(tool, i);
        if (group || i == 0) printf("\n%s:\n", group ? group : "Options");
        print_option(&tool->options[i]);
    }
    printf("\n");
    wrap(cli_fill(tool->details, text), 0, 0);
}

/* Below it, where the rest is. */
static void print_common(const cli_tool *tool) {
    const char *listed = NULL;
    printf("\nOptions:\n");
    for (int i = 0; i < tool->n_options; i++) {
        const cli_option *option = &tool->options[i];
        if (option->type == CLI_LISTING) listed = option->brief;
        if (option->brief && option->type != CLI_LISTING) print_row(option, option->brief);
    }
    printf("\n%s --help: all options%s%s; man %.*s\n", tool->name, listed ? "; --list: " : "",
           listed ? listed : "", (int)strcspn(tool->name, " "), tool->name);
}

void cli_help(const cli_tool *tool, bool all) {
    char text[CLI_FILLED];
    printf("Usage: %s %s\n", tool->name, tool->synopsis);
    wrap(cli_fill(tool->brief, text), 0, 0);
    printf("\nExamples:\n");
    print_lines(tool->examples, all ? INT_MAX : CLI_COMMON);
    all ? print_all(tool) : print_common(tool);
}

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
    printf("\nExamples:\n");
    for (int c = 0; c < program->n_commands; c++) print_lines(program->commands[c]->examples, 1);
    printf("\n%s COMMAND -h has its common options, --help all. For all commands:\n"
           "--list, --version, --man (the manual page), --completion bash|zsh|fish.\n",
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
