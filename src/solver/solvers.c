/* SPDX-License-Identifier: BSD-3-Clause */
/* solvers.c - the table of solvers. */
#include <string.h>

#include "solver/solver.h"

static const csrec_solver_type *const types[] = {
#define CSREC_SOLVER_LISTED(name) &csrec_solver_##name,
    CSREC_SOLVERS(CSREC_SOLVER_LISTED)
#undef CSREC_SOLVER_LISTED
};

enum { TYPES = sizeof types / sizeof types[0] };

bool csrec_solver_info(int i, const char **name, const char **brief, const char **source) {
    if (i < 0 || i >= TYPES) return false;
    *name = types[i]->name;
    *brief = types[i]->brief;
    *source = types[i]->source;
    return true;
}

const csrec_solver_type *csrec_solver_find(const char *name) {
    for (int i = 0; i < TYPES; i++)
        if (strcmp(types[i]->name, name ? name : "mp") == 0) return types[i];
    return NULL;
}

void csrec_solver_names(csrec_names *names) {
    for (int i = 0; i < TYPES; i++) csrec_names_add(names, types[i]->name);
}

csrec_status csrec_solver_take(const char *name, const csrec_solver_type **type,
                               csrec_error *error) {
    csrec_names names = {.given = name};
    *type = csrec_solver_find(name);
    if (*type) return CSREC_OK;
    csrec_solver_names(&names);
    return csrec_names_unknown(&names, "solver", error);
}

const csrec_param *csrec_solver_param(int solver, int i) {
    return solver < 0 || solver >= TYPES ? NULL : csrec_param_at(types[solver]->params, i);
}

/* Whether all of names, up to a NULL, are parameters of the row. */
static bool has_params(const csrec_solver_type *row, const char *const *names) {
    for (; names && *names; names++)
        if (!csrec_param_find(row->params, *names)) return false;
    return true;
}

csrec_status csrec_solver_check_row(const csrec_solver_type *row, csrec_error *error) {
    const csrec_rule rules[] = {
        {csrec_is_name(row->name) && csrec_is_own(csrec_solver_find(row->name), row), "name",
         CSREC_MUST_NAME},
        {csrec_is_line(row->brief), "brief", CSREC_MUST_LINE},
        {csrec_is_line(row->source), "source", CSREC_MUST_LINE},
        {csrec_is_params(row->params), "params", CSREC_MUST_PARAMS},
        {has_params(row, row->lengths), "lengths", "names of its parameters, then NULL"},
        {has_params(row, row->reals), "reals", "names of its parameters, then NULL"},
        {!row->tones || csrec_param_find(row->params, "range"), "tones",
         "false without a parameter `range`"},
        {row->steps >= 0, "steps", "0 or more"},
        {row->create, "create", "the function that makes the state"},
        {row->update, "update", "the function that takes a step"},
        {row->energy, "energy", "the function that returns the squared length of r"},
        {row->result, "result", "the function that delivers the atoms and r"}};
    return csrec_rules_check("solver", row->name, CSREC_RULES(rules), error);
}

/* Of some vectors, and steps of two products. */
csrec_solver_need csrec_solver_need_of(const csrec_solver_type *type,
                                       const csrec_solver_size *size) {
    if (type->need) return type->need(size);
    return (csrec_solver_need){8.0 * (4.0 * size->n + 4.0 * size->m), 200.0, 0.0};
}

bool csrec_solver_measures(const char *solver, const char *setting) {
    for (int i = 0; i < TYPES; i++) {
        if (solver && strcmp(types[i]->name, solver) != 0) continue;
        for (const char *const *name = types[i]->lengths; name && *name; name++)
            if (csrec_setting_is(setting, CSREC_OF_SOLVER, *name)) return true;
    }
    return false;
}
