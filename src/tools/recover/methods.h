/* methods.h - methods, solvers and bases on the command line: the listing, and --set. */
#ifndef CSREC_TOOLS_RECOVER_METHODS_H
#define CSREC_TOOLS_RECOVER_METHODS_H

#include "tools/common/options.h"

/* Every method, solver and basis, one line each with their parameters below. */
void cli_methods_list(FILE *out);

/* Name i of a method; of what --solver takes; of a basis for csrec_recover. NULL past the end. */
const char *cli_method_name(int i);
const char *cli_solver_name(int i);
const char *cli_basis_name(int i);

/* Key i of --set: every parameter of a method, solver or basis once; NULL past the end. */
const char *cli_setting_key(int i);

/* key=value texts as settings [texts->n]; names stay in `names`, [CLI_TEXTS_MOST][32].
 * CLI_CONTINUE, or CLI_USAGE after one line. */
int cli_settings_read(const cli_tool *tool, const cli_texts *texts, char names[][32],
                      csrec_setting *settings);

/* Settings that a preset has, at most. */
enum { CLI_PRESET_SETTINGS = 4 };

/* The n settings read into settings [n + CLI_PRESET_SETTINGS] become those of the options, after
 * those of a preset. */
void cli_settings_add(int n, csrec_setting *settings, csrec_recover_options *options);

#endif
