/* signal.h - a signal as a .npz of one stored array, x. */
#ifndef CSREC_FILES_NPZ_SIGNAL_H
#define CSREC_FILES_NPZ_SIGNAL_H

#include "files/frame.h"

csrec_status csrec_npz_make_frame(const struct csrec_output *output, const char *path,
                                  const csrec_image *signal, const char *like, uint32_t crc,
                                  csrec_frame *frame, csrec_error *error);

csrec_status csrec_npz_write_signal(csrec_files *files, const char *path, const csrec_image *signal,
                                    const char *like, csrec_error *error);
csrec_status csrec_npz_write_slabs(csrec_files *files, const char *path, const csrec_image *signal,
                                   csrec_slab_fn take, void *context, const char *like,
                                   csrec_error *error);

#endif
