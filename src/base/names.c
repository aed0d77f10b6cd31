/* SPDX-License-Identifier: BSD-3-Clause */
/* names.c - which name of a table was meant: what others call so, the one that begins so, or the
 * one with the fewest letters put in, left out, changed or swapped. */
#include "base/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/inline.h"

enum { LONGEST = 31, BEGINNING = 3 };

/* What others call a method, a solver and so on. */
static const struct {
    const char *theirs, *ours;
} synonyms[] = {{"lasso", "fista"},       {"ista", "fista"},         {"l1", "fista"},
                {"bp", "bpdn"},           {"basis-pursuit", "bpdn"}, {"basis_pursuit", "bpdn"},
                {"spgl1", "bpdn"},        {"gmm", "gaussian"},       {"rof", "tv"},
                {"biharmonic", "smooth"}, {"linear", "smooth"},      {"cubic", "smooth"},
                {"random", "uniform"},    {"fft", "fourier"},        {"mri", "fourier"},
                {"walsh", "hadamard"},    {"cosine", "dct"},         {"gpu", "cuda"},
                {"h5", "hdf5"},           {"netcdf", "hdf5"},        {"high", "best"},
                {"low", "fast"},          {"default", "balanced"}};

static int letter(const char *text, int i) {
    return tolower((unsigned char)text[i]);
}

/* Letters to change, put in, leave out or swap with the next (Damerau's distance, without further
 * changes of what was swapped). Row i is of the first i letters of a. */
static int distance_of(const char *a, int n, const char *b, int m) {
    int row[3][LONGEST + 1];
    for (int j = 0; j <= m; j++) row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            bool same = letter(a, i - 1) == letter(b, j - 1);
            now[j] =
                csrec_smaller_int(csrec_smaller_int(now[j - 1], last[j]) + 1, last[j - 1] + !same);
            bool swapped = i > 1 && j > 1 && letter(a, i - 1) == letter(b, j - 2) &&
                           letter(a, i - 2) == letter(b, j - 1);
            if (swapped) now[j] = csrec_smaller_int(now[j], before[j - 2] + 1);
        }
    }
    return row[n % 3][m];
}

static bool is_same(const char *a, const char *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (letter(a, (int)i) != letter(b, (int)i)) return false;
    return true;
}

/* The distance, at least 1, of names that begin with one letter and differ in a third of the
 * letters at most, or of which one is the beginning of the other; 0: they are not near. */
static int nearness(const char *given, const char *name) {
    size_t n = strlen(given), m = strlen(name);
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcmp(name, synonyms[i].ours) == 0 && is_same(given, synonyms[i].theirs, n + 1))
            return 1;
    if (n >= BEGINNING && n < m && is_same(given, name, n)) return (int)(m - n);
    if (n > LONGEST || m > LONGEST || letter(given, 0) != letter(name, 0)) return 0;
    int distance = distance_of(given, (int)n, name, (int)m);
    if (3 * distance > (int)(n > m ? n : m)) return 0;
    return distance ? distance : 1; /* they differ in capitals */
}

const char *csrec_name_near(const char *given, int n, const char *const *names) {
    const char *found = NULL;
    int best = 0;
    for (int i = 0; i < n; i++) {
        int distance = nearness(given, names[i]);
        if (!distance || (found && distance >= best)) continue;
        found = names[i];
        best = distance;
    }
    return found;
}

void csrec_names_add(csrec_names *names, const char *name) {
    size_t used = strlen(names->list);
    snprintf(names->list + used, sizeof names->list - used, "%s%s", used ? ", " : "", name);
    int distance = nearness(names->given, name);
    if (!distance || (names->distance && distance >= names->distance)) return;
    names->distance = distance;
    snprintf(names->hint, sizeof names->hint, "; did you mean %.*s?", LONGEST, name);
}

csrec_status csrec_names_unknown(const csrec_names *names, const char *what, csrec_error *error) {
    return csrec_fail(error, CSREC_ARGUMENT, "%s '%.40s' is unknown; use one of %s%s", what,
                      names->given, names->list, names->hint);
}
