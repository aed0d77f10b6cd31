/* html.h - text and bytes of the report page. */
#ifndef CSREC_TOOLS_COMMON_HTML_H
#define CSREC_TOOLS_COMMON_HTML_H

#include <stdio.h>

#include "csrec.h"

/* Any bytes as the text of an element or of a quoted attribute, in HTML and in XML: markup is
 * escaped; bytes that are not UTF-8 and characters that XML forbids become U+FFFD. */
void cli_html_text(FILE *file, const char *text);

/* src="data:image/png;base64,...". */
void cli_html_png(FILE *file, const uint8_t *bytes, size_t n);

/* Length of the UTF-8 sequence that s starts with, 0 if it is none (report.c). */
int cli_utf8_length(const unsigned char *s);

#endif
