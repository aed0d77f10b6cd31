/* made_bank.h - tables of power-law noise. */
#ifndef CSREC_LEARN_MADE_BANK_H
#define CSREC_LEARN_MADE_BANK_H

#include "learn/made.h"
#include "learn/made_draws.h"

/* Two tables a spectrum. The amplitude falls as f^-exponent, 0.3 for the first spectrum to 2.3 for
 * the last; of every third, lines along the first axis are long (grain of wood, brushed metal). */
enum { CSREC_MADE_SIDE = 512, CSREC_MADE_SPECTRA = 12, CSREC_MADE_TABLES = 24 };

/* The table: [512][512], periodic, mean 0, variance 1. */
const float *csrec_made_bank_table(const csrec_made_bank *bank, int table);

/* Whether the table's lines are long along the first axis. */
bool csrec_made_bank_is_grain(int table);

/* value[i] = the table at (x + i dx, y + i dy), bilinear. n |dx| and n |dy| at most 512. */
void csrec_made_bank_line(const float *table, double x, double y, float dx, float dy, int n,
                          float *value);

#endif
