/* devices.h - one recovery on several devices of this process. Each device has a thread, and each
 * thread is a rank of a hub (csrec/comm.h) that does what a process of several would do. The
 * calling thread is rank 0: only it runs the progress callback. */
#ifndef CSREC_RECOVER_DEVICES_H
#define CSREC_RECOVER_DEVICES_H

#include "device/device.h"

/* What a rank runs: options are those given, with this rank's communicator, its share of the
 * threads, and progress that counts the work of all. */
typedef csrec_status (*csrec_rank_run)(const csrec_context *context,
                                       const csrec_recover_options *options, void *job,
                                       csrec_error *error);

/* Runs it on all devices of the list, at least two; fewer if threads cannot be started, which the
 * list then tells. A stop that progress requests reaches all ranks. The failure of one ends all;
 * its line names the device. */
csrec_status csrec_recover_devices(csrec_device_list *list, const csrec_recover_options *options,
                                   csrec_rank_run run, void *job, csrec_error *error);

#endif
