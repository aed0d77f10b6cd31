/* options.h - what csrec_net_learn is given: defaults and checks. */
#ifndef CSREC_LEARN_NET_OPTIONS_H
#define CSREC_LEARN_NET_OPTIONS_H

#include "csrec/net.h"

/* Defaults in place of zeros. */
void csrec_net_learn_complete(csrec_net_learn_options *options);

/* Of complete options. */
csrec_status csrec_net_learn_check(const csrec_net_learn_options *options, csrec_error *error);

csrec_status csrec_net_pictures_check(int64_t count, const csrec_net_picture *pictures,
                                      int64_t channels, csrec_error *error);

#endif
