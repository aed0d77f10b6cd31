/* journal.h - recovered tiles kept in a file, so that a recovery that was killed goes on with what
 * it had. Tile k has its place in the file, so processes of any number share it, and each is whole
 * by its checksum: no order of writing matters. */
#ifndef CSREC_RECOVER_JOURNAL_H
#define CSREC_RECOVER_JOURNAL_H

#include "recover/parts/mosaic.h"

/* NULL: nothing is kept. */
typedef struct csrec_journal csrec_journal;

/* On all processes of the communicator (NULL: one). The file is used if it was begun with the same
 * key, tiling, channels and unit, else begun anew; path NULL: *journal = NULL, as on processes that
 * do not see the first one's file. CSREC_FILE: it cannot be made, or is another kind of file. */
csrec_status csrec_journal_open(const char *path, const char *key, const csrec_tiling *tiling,
                                int64_t channels, double unit, csrec_comm *comm,
                                csrec_journal **journal, csrec_error *error);
void csrec_journal_close(csrec_journal *journal);

/* The part of a tile that is blended into the signal. */
csrec_box csrec_journal_box(const csrec_tiling *tiling, int64_t tile);

/* Whether the tile is there: its values into part->values, which has room for its box, and its
 * report. */
bool csrec_journal_take(const csrec_journal *journal, int64_t tile, csrec_part *part,
                        csrec_recover_report *report);

/* Keeps the part of a tile, whose values are of at least its box. A file that cannot grow keeps no
 * more: the recovery goes on. */
void csrec_journal_keep(const csrec_journal *journal, int64_t tile, const csrec_part *part,
                        const csrec_recover_report *report);

#endif
