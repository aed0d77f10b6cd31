/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.h - the rows of the examples in CONTRIBUTING.md, which a build with CSREC_MORE_ROWS has
 * beside the library's own. In the library, each is a line in the table of its header. */
#define CSREC_MORE_METHODS(X)   X(smear)
#define CSREC_MORE_SOLVERS(X)   X(descent)
#define CSREC_MORE_OPERATORS(X) X(staircase)
#define CSREC_MORE_THROUGHS(X)  X(staircase, false, false, NULL)
#define CSREC_MORE_FORMATS(X)   X(pgm)
