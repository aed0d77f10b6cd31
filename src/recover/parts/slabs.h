/* slabs.h - the state of a recovery in slabs: slabs.c recovers, slabs_take.c hands over. */
#ifndef CSREC_RECOVER_SLABS_H
#define CSREC_RECOVER_SLABS_H

#include "recover/plan.h"
#include "recover/parts/spread.h"
#include "recover/parts/survey.h"

struct csrec_slabs {
    csrec_measurement form; /* without positions and values; n: of the whole */
    bool pays;              /* csrec_slabs_pay */
    csrec_slab_samples_fn read;
    void *context;
    csrec_recover_options given;
    csrec_layout layout;
    csrec_survey survey;
    csrec_gaussian_axes axes;
    csrec_whole whole;
    double unit;
    int64_t row;  /* values of an entry of the first axis */
    int64_t line; /* of tiles: the next */
    int64_t next; /* entry of the first axis to take */
    csrec_tiler tiler;
    csrec_spread spread; /* cells are in `unit` */
    csrec_recover_report report;
};

/* Recovers the next line of tiles. CSREC_STOPPED: the progress asked for it. */
csrec_status csrec_slabs_next_line(csrec_slabs *slabs, csrec_error *error);

#endif
