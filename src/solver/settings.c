/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.c - looks settings up in the tables of parameters, and checks them. */
#include "solver/solver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {"method", "solver", "basis"};

enum { KINDS = sizeof kinds / sizeof *kinds };

const csrec_param *csrec_param_find(const csrec_param *params, const char *name) {
    for (const csrec_param *p = params; p && p->name; p++)
        if (strcmp(p->name, name) == 0) return p;
    return NULL;
}

/* The parameter's name in a setting's; NULL: it is another kind's. */
static const char *part_of(csrec_owner_kind kind, const char *setting) {
    size_t length = strcspn(setting, ".");
    if (!setting[length]) return setting;
    bool own = strlen(kinds[kind]) == length && strncmp(setting, kinds[kind], length) == 0;
    return own ? setting + length + 1 : NULL;
}

const csrec_param *csrec_setting_param(const csrec_owner *owner, const csrec_setting *setting) {
    const char *name = part_of(owner->kind, setting->name);
    return name ? csrec_param_find(owner->params, name) : NULL;
}

bool csrec_setting_is(const char *setting, csrec_owner_kind kind, const char *name) {
    const char *part = part_of(kind, setting);
    return part && strcmp(part, name) == 0;
}

double csrec_setting_value(const csrec_solve_options *options, csrec_owner_kind kind,
                           const char *name, double otherwise) {
    for (int i = options->n_settings - 1; i >= 0; i--)
        if (csrec_setting_is(options->settings[i].name, kind, name))
            return options->settings[i].value;
    return otherwise;
}

void csrec_setting_prepend(csrec_solve_options *options, csrec_setting first, csrec_setting *room) {
    room[0] = first;
    for (int i = 0; i < options->n_settings; i++) room[i + 1] = options->settings[i];
    options->settings = room;
    options->n_settings++;
}

static bool lists(const char *const *names, const char *name) {
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

static csrec_status check_range(const csrec_param *param, const csrec_setting *set, bool whole,
                                csrec_error *error) {
    bool inside = set->value >= param->least && set->value <= param->most;
    if (inside && (!whole || set->value == floor(set->value))) return CSREC_OK;
    char range[CSREC_RANGE_ROOM];
    return csrec_fail(error, CSREC_ARGUMENT, "%s = %g; must be %s%s", set->name, set->value,
                      whole ? "a whole number, " : "",
                      csrec_range_text(param->least, param->most, range));
}

/* "method sparse, solver omp", into text. */
static void describe(int n, const csrec_owner *owners, size_t room, char *text) {
    *text = '\0';
    for (int i = 0; i < n; i++) {
        size_t used = strlen(text);
        if (owners[i].name)
            snprintf(text + used, room - used, "%s%s %s", used ? ", " : "", kinds[owners[i].kind],
                     owners[i].name);
    }
}

/* "; it is a parameter of romp, iht", the solvers that have it, into text; "": none has. */
static void find_solvers(const char *name, size_t room, char *text) {
    const char *solver, *brief, *source;
    const csrec_param *p;
    *text = '\0';
    for (int i = 0; csrec_solver_info(i, &solver, &brief, &source); i++)
        for (int j = 0; (p = csrec_solver_param(i, j)); j++) {
            size_t used = strlen(text);
            if (strcmp(p->name, name) == 0)
                snprintf(text + used, room - used, "%s%s", used ? ", " : "; it is a parameter of ",
                         solver);
        }
}

/* One remedy: the parameter of another owner, else a near name of its own, or the list of them. */
static csrec_status unknown(const csrec_setting *set, int n, const csrec_owner *owners,
                            csrec_error *error) {
    const char *dot = strchr(set->name, '.');
    csrec_names names = {.given = dot ? dot + 1 : set->name};
    char whose[120], also[120] = "";
    describe(n, owners, sizeof whose, whose);
    for (int i = 0; i < n; i++)
        if (csrec_param_find(owners[i].params, names.given))
            return csrec_fail(error, CSREC_ARGUMENT, "%s: no parameter '%.40s'; use %s.%s", whose,
                              set->name, kinds[owners[i].kind], names.given);
    for (int i = 0; i < n; i++)
        for (const csrec_param *p = owners[i].params; p && p->name; p++)
            csrec_names_add(&names, p->name);
    if (!*names.hint) find_solvers(names.given, sizeof also, also);
    return csrec_fail(error, CSREC_ARGUMENT, "%s: no parameter '%.40s'; %s%s%s%s", whose, set->name,
                      *names.list ? "use " : "there is none", names.list, names.hint, also);
}

static csrec_status ambiguous(const csrec_setting *set, const bool owns[KINDS],
                              csrec_error *error) {
    char spellings[120] = "";
    for (int kind = 0; kind < KINDS; kind++) {
        size_t used = strlen(spellings);
        if (owns[kind])
            snprintf(spellings + used, sizeof spellings - used, "%s%s.%s", used ? " or " : "",
                     kinds[kind], set->name);
    }
    return csrec_fail(error, CSREC_ARGUMENT, "%s: several have this parameter; say whose: %s",
                      set->name, spellings);
}

csrec_status csrec_settings_check(const csrec_solve_options *options, int n,
                                  const csrec_owner *owners, csrec_error *error) {
    for (int i = 0; i < options->n_settings; i++) {
        const csrec_setting *set = &options->settings[i];
        const csrec_param *param = NULL;
        bool owns[KINDS] = {false}, whole = false;
        int found = 0;
        for (int k = 0; k < n; k++) {
            const csrec_param *own = csrec_setting_param(&owners[k], set);
            if (!own) continue;
            owns[owners[k].kind] = true;
            whole = !lists(owners[k].reals, own->name);
            param = own;
            found++;
        }
        if (found > 1) return ambiguous(set, owns, error);
        csrec_status status =
            param ? check_range(param, set, whole, error) : unknown(set, n, owners, error);
        if (status) return status;
    }
    return CSREC_OK;
}
