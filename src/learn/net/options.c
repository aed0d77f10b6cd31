/* SPDX-License-Identifier: BSD-3-Clause */
/* options.c - what csrec_net_learn is given: defaults and checks. */
#include "learn/net/data.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "learn/net/prior.h"

enum { MINUTES = 10 };

static csrec_status refuse(const char *what, long long value, const char *range,
                           csrec_error *error) {
    return csrec_fail(error, CSREC_ARGUMENT, "%s = %lld; must be %s", what, value, range);
}

void csrec_net_learn_complete(csrec_net_learn_options *o) {
    bool net = o->from && strcmp(csrec_model_kind(o->from), "net") == 0;
    if (!o->channels) o->channels = net ? csrec_prior_channels(o->from) : 1;
    if (!o->batch) o->batch = 64;
    if (!o->patch) o->patch = 128;
    if (o->rate == 0.0) o->rate = 1e-4;
    if (o->minutes == 0.0 && o->steps == 0) o->minutes = MINUTES;
}

csrec_status csrec_net_learn_check(const csrec_net_learn_options *o, csrec_error *error) {
    if (o->channels != 1 && o->channels != 3)
        return refuse("channels", (long long)o->channels, "1 or 3", error);
    if (o->batch < 1 || o->batch > 4096)
        return refuse("batch", (long long)o->batch, "1 to 4096", error);
    if (o->patch < 16 || o->patch > 1024 || o->patch % 8)
        return refuse("patch", (long long)o->patch, "a multiple of 8, 16 to 1024", error);
    if (!(o->minutes >= 0.0) || o->steps < 0 || !(o->rate > 0.0 && o->rate <= 1.0))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "minutes = %g, steps = %lld, rate = %g; must be at least 0, at least 0, "
                          "and above 0 to 1",
                          o->minutes, (long long)o->steps, o->rate);
    if (o->from && strcmp(csrec_model_kind(o->from), "net") != 0)
        return csrec_fail(
            error, CSREC_ARGUMENT,
            "a model of kind %s has no network to continue from; give one of kind net",
            csrec_model_kind(o->from));
    if (o->from && csrec_prior_channels(o->from) != o->channels)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "the model is for %d channels, not %lld; omit one of them",
                          csrec_prior_channels(o->from), (long long)o->channels);
    return CSREC_OK;
}

csrec_status csrec_net_pictures_check(int64_t count, const csrec_net_picture *pictures,
                                      int64_t channels, csrec_error *error) {
    if (count < 1 || !pictures)
        return csrec_fail(
            error, CSREC_ARGUMENT,
            "pictures = %lld; must be 1 or more that a prior is adapted to: training/ "
            "of the source trains one from nothing",
            (long long)count);
    for (int64_t p = 0; p < count; p++) {
        const csrec_net_picture *picture = &pictures[p];
        if (picture->height < 1 || picture->width < 1 || !picture->values ||
            picture->height > INT32_MAX || picture->width > INT32_MAX)
            return csrec_fail(error, CSREC_ARGUMENT,
                              "picture %lld: is %lld x %lld; must be 1 x 1 or more, with values",
                              (long long)p, (long long)picture->height, (long long)picture->width);
        int64_t n = picture->height * picture->width;
        for (int64_t i = 0; i < channels * n; i++)
            if (!isfinite(picture->values[i]) && (!picture->known || picture->known[i % n]))
                return csrec_fail(error, CSREC_DATA, "picture %lld: entry %lld is not finite",
                                  (long long)p, (long long)i);
    }
    return CSREC_OK;
}
