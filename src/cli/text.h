/* text.h - a stream into memory. open_memstream drops what is printed while it cannot grow, and
 * neither ferror nor fclose tells. */
#ifndef CSREC_CLI_TEXT_H
#define CSREC_CLI_TEXT_H

#include <stdbool.h>
#include <stdio.h>

typedef struct cli_text {
    FILE *file;  /* print here */
    char *bytes; /* [size], then a zero; free them */
    size_t size, room;
} cli_text;

/* false: out of memory. `text` stays where it is until the close. */
bool cli_text_open(cli_text *text);

/* Closes the stream. false: out of memory, not all was taken, and nothing is to be freed. */
bool cli_text_close(cli_text *text);

#endif
