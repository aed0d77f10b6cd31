/* fingerprint.h - the line in a file that identifies what it was made from. */
#ifndef CSREC_FILES_FINGERPRINT_H
#define CSREC_FILES_FINGERPRINT_H

#include "files/input.h"

/* The line in every format, "csrec-fingerprint: TEXT\n", padded with spaces before its end to a
 * multiple of `unit` bytes. The caller frees it; NULL: out of memory. */
char *csrec_fingerprint_line(const char *text, size_t unit);

/* The line as an .npy record of one string, of *bytes. The caller frees it; NULL: out of memory. */
char *csrec_fingerprint_npy(const char *text, size_t unit, size_t *bytes);

/* An .npy file of ours ends in a second record (as numpy.save twice into one file), which holds the
 * line; its bytes, or 0 if there is none. numpy.load reads the first record alone. */
enum { CSREC_FINGERPRINT_UNIT = 64 };
uint64_t csrec_fingerprint_record(csrec_input *input);

#endif
