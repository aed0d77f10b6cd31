/* speculate_piece.h - a piece of a long signal on one device: its pursuit runs down to a key and
 * logs its picks, which can be undone, and takes steps of columns above the piece. */
#ifndef CSREC_KERNELS_METHOD_GRIDS_SPECULATE_PIECE_H
#define CSREC_KERNELS_METHOD_GRIDS_SPECULATE_PIECE_H

#include "kernels/method/grids/speculate.h"

#ifdef __cplusplus
extern "C" {
#endif

__extension__ typedef __int128 csrec_piece_wide;

/* A pick of a piece, in the order of the piece. */
typedef struct csrec_piece_log {
    uint64_t key;
    int64_t code; /* 4 j + kind: of sample j (0), of the node of gap j, j + 1 by its difference (1)
                     or sum (2) */
    double d, change; /* step; what the sum over the piece changes by */
    csrec_piece_wide gain;
} csrec_piece_log;

/* What a column above does to the samples of the piece: first .. middle - 1 change by -d, middle ..
 * end - 1 by d. */
typedef struct csrec_piece_shift {
    int64_t first, middle, end;
    double d;
} csrec_piece_shift;

/* How a run ended. */
typedef struct csrec_piece_head {
    uint64_t key; /* of the next column */
    bool gains;   /* false: it would not shorten the residual */
    bool full;    /* the log was */
} csrec_piece_head;

typedef struct csrec_cuda_piece csrec_cuda_piece;

/* problem: with units, and the levels at the ends. The calling thread's device is used then, and
 * must be in all calls. room: picks of a run. */
csrec_status csrec_cuda_piece_create(const csrec_speculate_problem *problem, int64_t room,
                                     csrec_cuda_piece **piece, csrec_error *error);
void csrec_cuda_piece_destroy(csrec_cuda_piece *piece);

/* Picks while the best key is at least `least`, which is 64 or more. shift: NULL, or done before.
 */
csrec_status csrec_cuda_piece_run(csrec_cuda_piece *piece, uint64_t least,
                                  const csrec_piece_shift *shift, csrec_piece_log *log,
                                  int64_t *count, csrec_piece_head *head, csrec_error *error);

/* Takes picks back, which may be any of those done. O(n). */
csrec_status csrec_cuda_piece_undo(csrec_cuda_piece *piece, const csrec_piece_log *log,
                                   int64_t count, csrec_error *error);

csrec_status csrec_cuda_piece_atoms(csrec_cuda_piece *piece, csrec_atoms *atoms,
                                    csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
