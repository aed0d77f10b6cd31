/* SPDX-License-Identifier: BSD-3-Clause */
/* input.c - reads pictures to learn from, whole or sampled, and a model to continue from. */
#include "learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cli_learn_fingerprint_begin(cli_fingerprint *line, const cli_tool *tool,
                                 const cli_learn_sources *sources) {
    char contents[CLI_CONTENTS_ROOM];
    cli_contents_of(sources->inputs.n, sources->inputs.text, contents, NULL);
    cli_fingerprint_begin(line, tool->name);
    cli_fingerprint_contents(line, "inputs", contents);
    cli_fingerprint_file(line, "mask", sources->mask);
    cli_fingerprint_file(line, "resume", sources->resume);
}

int cli_learn_check_unchanged(const cli_tool *tool, const cli_learn_sources *sources,
                              const char *before, char *after) {
    int code = CLI_CONTINUE;
    csrec_error error;
    const char *const others[] = {sources->mask, sources->resume};
    if (!before || !after)
        code = cli_failure(tool, "out of memory");
    else if (strcmp(before, after) != 0 &&
             (cli_files_lost(sources->inputs.n, sources->inputs.text, &error) ||
              cli_files_lost(2, others, &error)))
        code = cli_failure(tool, "%s", error.text);
    else if (strcmp(before, after) != 0)
        code = cli_failure(tool,
                           "%s: it, or another file of this run, changed while it was read; run "
                           "again when it is complete",
                           sources->inputs.n ? sources->inputs.text[0] : sources->resume);
    free(after);
    return code;
}

int cli_learn_start_read(const cli_tool *tool, const cli_learn_sources *sources, const char *kind,
                         const char *part, csrec_model **start) {
    csrec_error error;
    if (!sources->resume) return CLI_CONTINUE;
    if (csrec_model_read(sources->resume, start, &error))
        return cli_failure(tool, "%s", error.text);
    const char *found = csrec_model_kind(*start);
    if (strcmp(found, kind) == 0) return CLI_CONTINUE;
    return cli_failure(tool, "%s: a model of kind %s has no %s; name one of kind %s",
                       sources->resume, found, part, kind);
}

void cli_learn_input_clear(cli_learn_input *in) {
    csrec_measurement_clear(&in->samples);
    cli_signal_clear(&in->picture);
}

/* Models learn from pixels that are known in all channels. */
static void drop_uneven(csrec_measurement *m) {
    int64_t kept = 0, C = m->channels;
    for (int64_t i = 0; i < m->n; i++) {
        double *own = m->y + kept * C;
        bool whole = true;
        for (int64_t c = 0; c < C; c++) whole = whole && !isnan(own[c] = m->y[i * C + c]);
        m->index[kept] = m->index[i];
        kept += whole;
    }
    m->n = kept;
}

static csrec_status read_samples(const char *path, const char *mask, cli_learn_input *in,
                                 csrec_error *error) {
    csrec_status status = csrec_measurement_read(path, mask, &in->samples, error);
    if (status) return status;
    if (in->samples.through || in->samples.is_complex)
        return cli_fail(error, CSREC_DATA,
                        "%s: has no real samples of entries to learn from; recover it first", path);
    drop_uneven(&in->samples);
    if (in->samples.n == 0)
        return cli_fail(error, CSREC_DATA,
                        "%s: no pixel is known in all channels; learn from one channel", path);
    in->shape = in->samples.shape;
    in->channels = in->samples.channels;
    memcpy(in->scale, cli_tones_of(&in->samples).scale, sizeof in->scale);
    return CSREC_OK;
}

static csrec_status read_picture(const char *path, cli_learn_input *in, csrec_error *error) {
    csrec_status status =
        cli_signal_read(path, &(csrec_read_options){.volume = true}, &in->picture, error);
    if (status) return status;
    if (in->picture.is_complex)
        return cli_fail(error, CSREC_DATA,
                        "%s: has complex numbers; save real ones, as with .real.astype(np.float32)",
                        path);
    for (int64_t i = 0; i < in->picture.values.count; i++)
        if (!isfinite(csrec_array_value(&in->picture.values, i)))
            return cli_fail(error, CSREC_DATA,
                            "%s: entry %lld is not finite; put a number there, or save samples "
                            "with a mask",
                            path, (long long)i);
    in->shape = in->picture.shape;
    in->channels = in->picture.channels;
    if (in->picture.bits) in->scale[1] = (double)((1 << in->picture.bits) - 1);
    return CSREC_OK;
}

static bool has_known_pixels(const cli_learn_input *in) {
    const uint8_t *alpha = in->picture.alpha;
    int64_t i = 0;
    while (alpha && i < in->picture.entries && !alpha[i]) i++;
    return !alpha || i < in->picture.entries;
}

int cli_learn_input_open(const cli_tool *tool, const char *path, const char *mask,
                         cli_learn_input *in) {
    csrec_error error;
    *in = (cli_learn_input){0};
    bool samples = mask || !cli_format_has(csrec_format_of(path), CSREC_USE_READ);
    if (samples ? read_samples(path, mask, in, &error) : read_picture(path, in, &error))
        return cli_failure(tool, "%s", error.text);
    if (in->shape.dims != 2)
        return cli_failure(tool, "%s: has %d axes; learning is from pictures", path,
                           in->shape.dims);
    if (!has_known_pixels(in))
        return cli_failure(tool, "%s: all its pixels are transparent; name another picture", path);
    return CLI_CONTINUE;
}

static void put(const int64_t at[2], const int64_t size[2], int64_t y, int64_t x, double value,
                float *values, uint8_t *known) {
    y -= at[0];
    x -= at[1];
    if (y < 0 || y >= size[0] || x < 0 || x >= size[1]) return;
    values[y * size[1] + x] = (float)value;
    known[y * size[1] + x] = 1;
}

void cli_learn_input_window(const cli_learn_input *in, int64_t channel, const int64_t at[2],
                            const int64_t size[2], float *values, uint8_t *known) {
    int64_t width = in->shape.dim[1];
    const csrec_measurement *m = &in->samples;
    for (int64_t k = 0; k < m->n; k++)
        put(at, size, m->index[k] / width, m->index[k] % width, m->y[k * m->channels + channel],
            values, known);
    for (int64_t i = 0; m->n == 0 && i < in->picture.entries; i++)
        if (!in->picture.alpha || in->picture.alpha[i])
            put(at, size, i / width, i % width,
                csrec_array_value(&in->picture.values, i * in->channels + channel), values, known);
}
