/* text.h - a stream into memory. Unlike open_memstream, it reports output that was lost because
 * memory was short. */
#ifndef CSREC_TOOLS_COMMON_TEXT_H
#define CSREC_TOOLS_COMMON_TEXT_H

#include <stdbool.h>
#include <stdio.h>

typedef struct cli_text {
    FILE *file;  /* print here */
    char *bytes; /* [size], then a zero; free them */
    size_t size, room;
} cli_text;

/* false: out of memory. `text` must not be moved before the close. */
bool cli_text_open(cli_text *text);

/* Closes the stream. false: out of memory; output is incomplete, and there is nothing to free. */
bool cli_text_close(cli_text *text);

#endif
