/* methods.c - lists the tables of methods, solvers, operators and formats; reads --set. */
#include "recover.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_params(FILE *out, const csrec_param *(*param_of)(int number, int i), int number) {
    const csrec_param *param;
    for (int i = 0; (param = param_of(number, i)); i++)
        fprintf(out, "    --set %s=%g  %s\n", param->name, param->value, param->help);
}

static bool measures(const char *operator) {
    const char *name;
    for (int i = 0; (name = csrec_through_info(i)); i++)
        if (strcmp(name, operator) == 0) return true;
    return false;
}

/* Of those that are no bases. */
static void print_operators(FILE *out, bool measuring) {
    const char *name, *brief;
    for (int i = 0; csrec_operator_info(i, &name, &brief); i++)
        if (!csrec_operator_is_basis(i) && measures(name) == measuring)
            fprintf(out, "  %-10s %s\n", name, brief);
}

static void print_formats(FILE *out) {
    static const struct {
        int use;
        const char *text;
    } uses[] = {{CSREC_USE_READ, " read"},
                {CSREC_USE_WRITE, " written"},
                {CSREC_USE_SAMPLES, " measurements"},
                {CSREC_USE_ARRAYS, " models and atoms"},
                {CSREC_USE_SLABS, " slabs"}};
    const csrec_format *format;
    fprintf(out, "Formats (by their endings; --format NAME):\n");
    for (int i = 0; (format = csrec_format_info(i)); i++) {
        fprintf(out, "  %-10s %s (%s):", format->name, format->what, format->endings);
        const char *between = "";
        for (size_t k = 0; k < sizeof uses / sizeof *uses; k++)
            if (format->uses & uses[k].use) {
                fprintf(out, "%s%s", between, uses[k].text);
                between = ",";
            }
        if (!format->uses) fprintf(out, " not built in, needs %s", format->needs);
        fprintf(out, "\n");
    }
}

const char *cli_method_name(int i) {
    csrec_method method;
    return csrec_method_info(i, &method) ? method.name : NULL;
}

/* Solvers, then the methods that --solver may name. */
const char *cli_solver_name(int i) {
    const char *name, *brief, *source;
    csrec_method method;
    int k = 0;
    for (; csrec_solver_info(k, &name, &brief, &source); k++)
        if (k == i) return name;
    i -= k;
    for (k = 0; csrec_method_info(k, &method); k++)
        if (method.solver && i-- == 0) return method.solver;
    return NULL;
}

const char *cli_basis_name(int i) {
    const char *name, *brief;
    for (int k = 0; csrec_operator_info(k, &name, &brief); k++)
        if (csrec_operator_is_basis(k) && i-- == 0) return name;
    return NULL;
}

void cli_methods_list(FILE *out) {
    const char *name, *brief, *source;
    csrec_method method;
    fprintf(out, "--set method.KEY=, solver.KEY= or basis.KEY= says whose parameter it is.\n"
                 "Methods (--method NAME):\n");
    for (int i = 0; csrec_method_info(i, &method); i++) {
        fprintf(out, "  %-10s %s (%s)\n", method.name, method.brief, method.source);
        print_params(out, csrec_method_param, i);
        fprintf(out, "    --backend cuda: %s\n", method.device ? method.device : "none");
    }
    fprintf(out, "Solvers (--solver NAME), of methods that take one:\n");
    for (int i = 0; csrec_solver_info(i, &name, &brief, &source); i++) {
        fprintf(out, "  %-10s %s (%s)\n", name, brief, source);
        print_params(out, csrec_solver_param, i);
    }
    fprintf(out, "Bases (--basis NAME):\n");
    for (int i = 0; csrec_operator_info(i, &name, &brief); i++) {
        if (!csrec_operator_is_basis(i)) continue;
        fprintf(out, "  %-10s %s\n", name, brief);
        print_params(out, csrec_operator_param, i);
    }
    fprintf(out, "Operators (cssample --operator NAME):\n");
    print_operators(out, true);
    fprintf(out, "Operators of the library alone (csrec_operator_create):\n");
    print_operators(out, false);
    print_formats(out);
}

/* Parameter i of all methods, solvers and operators, repeats included. */
static const char *any_key(int i) {
    const char *name, *brief, *source;
    const csrec_param *param;
    csrec_method method;
    for (int k = 0; csrec_method_info(k, &method); k++)
        for (int p = 0; (param = csrec_method_param(k, p)); p++)
            if (i-- == 0) return param->name;
    for (int k = 0; csrec_solver_info(k, &name, &brief, &source); k++)
        for (int p = 0; (param = csrec_solver_param(k, p)); p++)
            if (i-- == 0) return param->name;
    for (int k = 0; csrec_operator_info(k, &name, &brief); k++)
        for (int p = 0; (param = csrec_operator_param(k, p)); p++)
            if (i-- == 0) return param->name;
    return NULL;
}

const char *cli_setting_key(int i) {
    const char *key;
    for (int k = 0; (key = any_key(k)); k++) {
        int first = 0;
        while (strcmp(any_key(first), key) != 0) first++;
        if (first == k && i-- == 0) return key;
    }
    return NULL;
}

int cli_settings_read(const cli_tool *tool, const cli_texts *texts, char names[][32],
                      csrec_setting *settings) {
    for (int i = 0; i < texts->n; i++) {
        const char *text = texts->text[i], *equals = strchr(text, '=');
        char *end;
        double value = equals ? strtod(equals + 1, &end) : 0.0;
        if (!equals || equals == text || equals - text > 31 || end == equals + 1 || *end ||
            !isfinite(value))
            return cli_usage(tool, "--set: '%s' is not KEY=NUMBER; see %s --list", text,
                             tool->name);
        memcpy(names[i], text, (size_t)(equals - text));
        names[i][equals - text] = '\0';
        settings[i] = (csrec_setting){names[i], value};
    }
    return CLI_CONTINUE;
}

void cli_settings_add(int n, csrec_setting *settings, csrec_recover_options *options) {
    csrec_solve_options *solve = &options->solve;
    int before = solve->n_settings < CLI_PRESET_SETTINGS ? solve->n_settings : CLI_PRESET_SETTINGS;
    memmove(settings + before, settings, (size_t)n * sizeof *settings);
    for (int i = 0; i < before; i++) settings[i] = solve->settings[i];
    solve->settings = settings;
    solve->n_settings = before + n;
}
