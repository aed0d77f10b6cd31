/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/sequence.h - frames of a sequence, one after another: a live scan, a rendering, a film. */
#ifndef CSREC_SEQUENCE_H
#define CSREC_SEQUENCE_H

#include "recover.h"
#include "sampling.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A sequence as it comes. Each frame is a measurement of two axes with samples, sigma and guides of
 * its own; all have one shape and one number of channels. A frame is recovered from its samples and
 * those of the frames around it (docs/beside.md), so memory is that of a window of frames, whatever
 * the length. csrec_recover of a measurement with `sequence` gives the same values.
 *
 *     csrec_sequence_create(&options, &sequence, &error);
 *     for each frame: csrec_sequence_push(sequence, &frame, &error);
 *                     while (csrec_sequence_ready(sequence))
 *                         csrec_sequence_take(sequence, signal, NULL, &report, &error);
 *     csrec_sequence_end(sequence);  then take the rest in the same way
 *
 * Only one thread at a time may use an object; the work itself runs on options->threads. */
typedef struct csrec_sequence csrec_sequence;

/* csrec_recover_preset for frames, of which this is one. */
CSREC_API const char *csrec_sequence_preset(int i, const csrec_measurement *frame,
                                            csrec_recover_options *options);

/* options: as of csrec_recover, and what they point to must last; NULL: the default.
 * With a law every frame is changed by it, and its result back ("noise" of csrec/recover.h; of law
 * light c is that of the first frame with samples, and the sum of every frame's is kept); residuals
 * of reports are those of changed samples. CSREC_ARGUMENT: atoms, a history, processes, a journal,
 * labels, or a method that is not for sequences. */
CSREC_API csrec_status csrec_sequence_create(const csrec_recover_options *options,
                                             csrec_sequence **sequence, csrec_error *error);
CSREC_API void csrec_sequence_destroy(csrec_sequence *sequence);

/* The next frame, which is copied. n = 0: nothing of it is measured (it was dropped, or is under a
 * cloud), and it is recovered from those around it; index and y are not read. CSREC_DATA: a frame
 * that csrec_measurement_check refuses but for that, or of other shape or channels;
 * CSREC_UNSUPPORTED: complex samples, through an operator, or with a law rays or a sigma of each;
 * CSREC_FILE: no prior is installed, of a method that needs it; CSREC_ARGUMENT: a frame is ready,
 * which must be taken first, or the sequence has ended; CSREC_MEMORY. After a failure the sequence
 * is as before.
 */
CSREC_API csrec_status csrec_sequence_push(csrec_sequence *sequence, const csrec_measurement *frame,
                                           csrec_error *error);

/* No more frames come: those that wait for later ones are ready. */
CSREC_API void csrec_sequence_end(csrec_sequence *sequence);

/* Frames after it that a frame waits for; 0 before the first frame is pushed. */
CSREC_API int64_t csrec_sequence_delay(const csrec_sequence *sequence);

/* Whether csrec_sequence_take has a frame; of a live sequence csrec_sequence_end makes all ready.
 */
CSREC_API bool csrec_sequence_ready(const csrec_sequence *sequence);

/* Recovers the next frame, in the order of pushing. signal: [entries * channels] of it.
 * uncertainty: NULL, or as signal, the expected root mean square error of each value, scaled by the
 * errors at samples that the vote leaves out (docs/beside.md; with its setting vote = 0 unscaled);
 * NAN where the method expects none. report: NULL, or as of csrec_recover.
 * A frame of which, and of all frames around it in its window, there are no samples is NAN, as is
 * its uncertainty, and report->remark says so; those behind it follow. CSREC_ARGUMENT: none is
 * ready; CSREC_DATA: uncertainty of samples beyond 1e150, and the frame is still ready. */
CSREC_API csrec_status csrec_sequence_take(csrec_sequence *sequence, double *signal,
                                           double *uncertainty, csrec_recover_report *report,
                                           csrec_error *error);

/* The same of the frame pushed last alone, by it and those before it: those that wait are left out,
 * and the sequence has ended. CSREC_ARGUMENT: there is none. */
CSREC_API csrec_status csrec_sequence_last(csrec_sequence *sequence, double *signal,
                                           double *uncertainty, csrec_recover_report *report,
                                           csrec_error *error);

/* Where to measure the frame that comes next, of which nothing is known yet: positions of the whole
 * frame by csrec_where_next, denser where the frame pushed last, recovered from those before it, is
 * expected to err, and where it differs from the one before, which moves; a share of the density is
 * even (docs/beside.md). Frames that wait need not be taken, and are recovered as if this had not
 * been called. options: as of csrec_where_next. Free the result with csrec_sampling_clear.
 *
 * CSREC_ARGUMENT: no frame was pushed yet; else the errors of csrec_recover and csrec_where_next.
 */
CSREC_API csrec_status csrec_sequence_next(csrec_sequence *sequence,
                                           const csrec_next_options *options, csrec_sampling *next,
                                           csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
