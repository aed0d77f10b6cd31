/* recover_conflicts.c - options that say nothing beside others are refused, not ignored. */
#include <string.h>

#include "recover.h"

typedef struct option_given {
    const char *name;
    bool given;
} option_given;

/* The first that is given, or NULL. */
static const char *first_given(const option_given *list, int n) {
    for (int i = 0; i < n; i++)
        if (list[i].given) return list[i].name;
    return NULL;
}

/* Options of dyadic grids. */
static const char *grid_option(const cli_recover_arguments *a) {
    const option_given list[] = {{"--shifts", a->shifts > 0},
                                 {"--columns", a->columns >= 0},
                                 {"--order", a->order >= 0},
                                 {"--reference-pursuit", a->reference_pursuit}};
    return first_given(list, sizeof list / sizeof *list);
}

/* Options of when a pursuit stops. */
static const char *stop_option(const cli_recover_arguments *a) {
    const option_given list[] = {{"--epsilon", a->epsilon >= 0.0},
                                 {"--atoms", a->atoms > 0},
                                 {"--min-coefficient", a->min_coefficient >= 0.0}};
    return first_given(list, sizeof list / sizeof *list);
}

static int check_quality(const cli_request *request) {
    const cli_recover_arguments *a = &request->a;
    const option_given list[] = {{"--solver", a->solver >= 0}, {"--basis", a->basis >= 0}};
    const char *name = first_given(list, sizeof list / sizeof *list);
    if (name)
        return cli_usage(request->tool,
                         "--quality chooses a solver and a basis that suit each other; leave out "
                         "it or %s",
                         name);
    name = grid_option(a);
    return name ? cli_usage(request->tool,
                            "%s is of pursuits on plain grids, which --quality does not run; leave "
                            "out one of them",
                            name)
                : CLI_CONTINUE;
}

static int check_patches(const cli_request *request, const char *solver) {
    const char *grid = grid_option(&request->a), *name = grid ? grid : stop_option(&request->a);
    return name ? cli_usage(request->tool, "%s says nothing to --solver %s; leave it out", name,
                            solver)
                : CLI_CONTINUE;
}

static int check_model(const cli_request *request) {
    const char *grid = grid_option(&request->a), *name = grid ? grid : stop_option(&request->a);
    if (request->a.quality >= 0) name = "--quality";
    return name
               ? cli_usage(request->tool, "%s says nothing to --model; leave one of them out", name)
               : CLI_CONTINUE;
}

int cli_request_conflicts(const cli_request *request) {
    const cli_recover_arguments *a = &request->a;
    const char *solver = a->solver >= 0 ? cli_solver_name(a->solver) : "";
    const char *basis = a->basis >= 0 ? cli_basis_name(a->basis) : "haar";
    const char *name = grid_option(a);
    /* A dictionary is a basis for any solver; only other models are recoveries of their own. */
    if (a->model && strcmp(basis, "conv") != 0) return check_model(request);
    if (a->quality >= 0) return check_quality(request);
    if (cli_on_patches(solver)) return check_patches(request, solver);
    if (strcmp(basis, "haar") != 0 && name)
        return cli_usage(request->tool,
                         "%s is of pursuits on the haar basis; leave it out with --basis %s", name,
                         basis);
    if (a->reference_pursuit && *solver && strcmp(solver, "mp") != 0)
        return cli_usage(request->tool, "--reference-pursuit is of --solver mp; leave one out");
    return CLI_CONTINUE;
}
