/* methods.h - solvers and bases on the command line: the listing, and --set. */
#ifndef CSREC_CLI_METHODS_H
#define CSREC_CLI_METHODS_H

#include "options.h"

/* Every solver and basis, one line each with their parameters below. */
void cli_methods_list(FILE *out);

/* Name i of a basis for csrec_recover; NULL past the end. */
const char *cli_basis_name(int i);

/* Key i of --set: every parameter of a solver or basis once; NULL past the end. */
const char *cli_setting_key(int i);

/* key=value texts as settings [texts->n]; names stay in `names`, [CLI_TEXTS_MOST][32].
 * CLI_CONTINUE, or CLI_USAGE after one line. */
int cli_settings_read(const cli_tool *tool, const cli_texts *texts, char names[][32],
                      csrec_setting *settings);

/* The n settings read into settings [n + 1] become those of the options, after a preset's one. */
void cli_settings_add(int n, csrec_setting *settings, csrec_recover_options *options);

/* The basis is the Haar matrix, on grids. */
bool cli_on_grids(const csrec_recover_options *options);

/* The solver's name; of one that is not given, the default. */
const char *cli_solver_of(const csrec_recover_options *options);

/* Whether the solver recovers whole pictures from their patches, on no basis and no grid. */
bool cli_on_patches(const char *solver);

#endif
