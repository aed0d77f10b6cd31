/* describe.h - csrecover --info. */
#ifndef CSREC_TOOLS_RECOVER_DESCRIBE_H
#define CSREC_TOOLS_RECOVER_DESCRIBE_H

#include "tools/common/report.h"

/* Describes a measurement on stdout. false: a write to stdout failed. */
bool cli_describe(const char *path, const csrec_measurement *measurement);

/* The same as members of an object. */
void cli_describe_json(const csrec_measurement *measurement, cli_json *json);

/* NumPy's name of type i of csrec_dtype; NULL past the end. */
const char *cli_dtype_name(int i);

#endif
