/* roff.h - text as roff source for the man macros. */
#ifndef CSREC_TOOLS_COMMON_ROFF_H
#define CSREC_TOOLS_COMMON_ROFF_H

#include <stdbool.h>
#include <stddef.h>

/* Running text of `length` bytes on one input line, without a newline: options in bold, and words
 * of capitals in italics where `names`. */
void cli_roff_text(const char *text, size_t length, bool names);

/* Lines unchanged, indented; the last may lack a newline. */
void cli_roff_lines(const char *lines);

/* A new paragraph for each line of the text that is not empty. */
void cli_roff_paragraphs(const char *text);

#endif
