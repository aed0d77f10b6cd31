/* learn_input.h - pictures to learn from, whole or sampled. */
#ifndef CSREC_CLI_LEARN_INPUT_H
#define CSREC_CLI_LEARN_INPUT_H

#include "input.h"

typedef struct cli_learn_input {
    csrec_shape shape; /* of two axes */
    int64_t channels;
    double scale[2];           /* of black and white; equal: not known */
    csrec_measurement samples; /* n 0: the picture */
    cli_signal picture;
} cli_learn_input;

/* Reads the pixels of a picture that are not transparent or, with a mask (else NULL), not masked;
 * or the samples of a measurement. Clear it also after a failure. */
csrec_status cli_learn_input_open(const char *path, const char *mask, cli_learn_input *in,
                                  csrec_error *error);
void cli_learn_input_clear(cli_learn_input *in);

/* The known pixels of one channel's window at (top, left); values and known [height][width] are
 * zeros before. */
void cli_learn_input_window(const cli_learn_input *in, int64_t channel, const int64_t at[2],
                            const int64_t size[2], float *values, uint8_t *known);

#endif
