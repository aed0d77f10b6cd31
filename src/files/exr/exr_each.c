/* SPDX-License-Identifier: BSD-3-Clause */
/* exr_each.c - layers of an OpenEXR that tell of single samples: how many rays each is the mean of,
 * and their variance, as renderers write them beside their pictures (csrec_each_kind). */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "files/exr/exr.h"
#include "measurement/guides.h"

typedef struct job {
    csrec_exr_layers s;
    csrec_exr exr;
    csrec_exr_each *each;
    int64_t entries;
    double samples; /* of a pixel, by the header; 0: not told */
} job;

static bool is_kind(const csrec_exr_layer *one, const char *kind) {
    return strcmp(one->kind, kind) == 0;
}

__attribute__((format(printf, 2, 3))) static void say(csrec_exr_each *each, const char *format,
                                                      ...) {
    const size_t used = strlen(each->note), room = sizeof each->note - used;
    va_list values;
    va_start(values, format);
    const size_t before = used ? (size_t)snprintf(each->note + used, room, "; ") : 0;
    if (before < room) vsnprintf(each->note + used + before, room - before, format, values);
    va_end(values);
}

/* Cycles: "cycles.ViewLayer.samples", a text; pbrt-v4: "samplesPerPixel" (src/pbrt/util/image.cpp,
 * Image::WriteEXR). */
static double samples_of(const exr_attribute_t *a, const char *layer) {
    const size_t length = strlen(a->name), own = csrec_exr_layer_of(layer);
    if (a->type == EXR_ATTR_INT && strcmp(a->name, "samplesPerPixel") == 0) return a->i;
    if (a->type != EXR_ATTR_STRING || strncmp(a->name, "cycles.", 7) != 0 || length < 16 ||
        strcmp(a->name + length - 8, ".samples") != 0)
        return 0.0;
    if (own && (length != own + 15 || strncmp(a->name + 7, layer, own) != 0)) return 0.0;
    return strtod(a->string->str, NULL);
}

static double find_samples(const job *j, const char *layer) {
    int32_t count = 0;
    const exr_attribute_t *a;
    double found = 0.0;
    if (exr_get_attribute_count(j->exr.file, j->s.main_part, &count)) return 0.0;
    for (int32_t i = 0; i < count && !(found >= 1.0); i++)
        if (!exr_get_attribute_by_index(j->exr.file, j->s.main_part, EXR_ATTR_LIST_FILE_ORDER, i,
                                        &a))
            found = samples_of(a, layer);
    return found >= 1.0 && isfinite(found) ? found : 0.0;
}

/* CSREC_OK with pixels of no data: they cannot be read. */
static csrec_status read_channels(job *j, int part, int channels, const int *channel,
                                  csrec_image *pixels, csrec_error *error) {
    csrec_exr_layout l = {.alpha = -1, .channels = channels};
    memcpy(l.channel, channel, (size_t)channels * sizeof *channel);
    j->exr.part = part;
    csrec_status status = csrec_exr_layout_fill(&j->exr, &l, error);
    if (!status) status = csrec_exr_pixels(&j->exr, &l, pixels, error);
    if (status) csrec_image_clear(pixels);
    j->entries = (int64_t)l.height * l.width;
    return status == CSREC_MEMORY ? status : CSREC_OK;
}

/* Numbers as they are meant, in place; false: they tell nothing. */
static bool count_rays(const job *j, const csrec_exr_layer *one, const csrec_image *pixels,
                       float *rays) {
    double most = 0.0;
    bool whole = true;
    for (int64_t i = 0; i < j->entries; i++) {
        double v = csrec_array_value(&pixels->pixels, i);
        if (is_kind(one, "inverse")) v = v > 0.0 ? 1.0 / v : 0.0;
        rays[i] = v > 0.0 && v < 0x1p126 ? (float)v : 0.0f;
        whole = whole && rays[i] == floorf(rays[i]);
        most = fmax(most, rays[i]);
    }
    if (!is_kind(one, "share") || most > 1.0) return most > 0.0;
    const double samples = find_samples(j, one->name);
    for (int64_t i = 0; i < j->entries && samples > 0.0; i++)
        if (rays[i] > 0.0f) rays[i] = (float)fmax(1.0, round(samples * rays[i]));
    return most > 0.0 && (whole || samples > 0.0);
}

static csrec_status take_rays(job *j, const csrec_exr_layer *one, csrec_error *error) {
    csrec_image pixels = {0};
    csrec_status status = read_channels(j, one->part, 1, one->channel, &pixels, error);
    if (status || !pixels.pixels.data) return status;
    float *rays = malloc((size_t)j->entries * sizeof *rays);
    if (!rays)
        status = csrec_memory_fail(error, j->exr.name);
    else if (count_rays(j, one, &pixels, rays))
        j->each->rays = rays;
    else
        free(rays);
    csrec_image_clear(&pixels);
    if (j->each->rays)
        say(j->each, "numbers of rays are its layer %.60s", one->name);
    else if (!status)
        say(j->each, "%.60s does not tell how many rays there are, and is left out", one->name);
    return status;
}

static const char *component(const job *j, int part, int channel) {
    const exr_attr_chlist_t *list = NULL;
    if (exr_get_channels(j->exr.file, part, &list)) return "";
    return csrec_exr_component_of(list->entries[channel].name.str);
}

/* Whether its channels are those of the picture, whose layer Mitsuba's moments are of. */
static bool is_of_picture(const job *j, const csrec_exr_layer *one) {
    const csrec_exr_layout *main = &j->s.main;
    bool alike = one->channels == main->channels;
    for (int c = 0; c < main->channels && alike && main->channels > 1; c++)
        alike = strcmp(component(j, one->part, one->channel[c]),
                       component(j, j->s.main_part, main->channel[c])) == 0;
    if (!alike || is_kind(one, "variance")) return alike;
    const exr_attr_chlist_t *list = NULL;
    if (exr_get_channels(j->exr.file, j->s.main_part, &list)) return false;
    const char *name = list->entries[main->channel[0]].name.str;
    const size_t own = csrec_exr_layer_of(name);
    if (own) return strlen(one->name) == own + 3 && strncmp(one->name + 3, name, own) == 0;
    return !strchr(one->name, '.'); /* of the integrator, not of its AOVs */
}

/* Of the mean of n rays, from the variance of one, or from the mean of their squares. */
static double variance_of(const csrec_exr_layer *one, double told, double mean, double n) {
    double v = is_kind(one, "variance") ? told : (told - mean * mean) * n / (n - 1.0);
    if (!(n > 1.0) || !isfinite(v) || v < 0.0) return NAN;
    return v / n;
}

static csrec_status take_variance(job *j, const csrec_exr_layer *one, csrec_error *error) {
    csrec_image pixels = {0}, picture = {0};
    const csrec_exr_layout *main = &j->s.main;
    const int C = main->channels;
    csrec_status status = read_channels(j, one->part, C, one->channel, &pixels, error);
    if (!status) status = read_channels(j, j->s.main_part, C, main->channel, &picture, error);
    const bool read = !status && pixels.pixels.data && picture.pixels.data;
    if (read && !j->each->rays) j->each->rays = malloc((size_t)j->entries * sizeof(float));
    for (int64_t i = 0; read && j->each->rays && j->samples > 0.0 && i < j->entries; i++)
        j->each->rays[i] = (float)j->samples;
    double *v = read ? malloc((size_t)(j->entries * C) * sizeof *v) : NULL;
    if (read && (!v || !j->each->rays)) status = csrec_memory_fail(error, j->exr.name);
    for (int64_t i = 0; read && !status && i < j->entries * C; i++)
        v[i] = variance_of(one, csrec_array_value(&pixels.pixels, i),
                           csrec_array_value(&picture.pixels, i), j->each->rays[i / C]);
    j->each->variance = v;
    if (read && !status) say(j->each, "variances are its layer %.60s", one->name);
    csrec_image_clear(&pixels);
    csrec_image_clear(&picture);
    return status;
}

static csrec_status take_all(job *j, csrec_error *error) {
    const char *left = NULL;
    csrec_status status = csrec_exr_layers_find(&j->s, CSREC_GUIDES_MOST, error);
    const csrec_exr_layer *one = j->s.one;
    if (status) return status == CSREC_MEMORY ? status : CSREC_OK;
    for (int k = 0; k < j->s.n && !status && !j->each->rays; k++)
        if (one[k].channels == 1 && !is_kind(&one[k], "variance") && !is_kind(&one[k], "moment"))
            status = take_rays(j, &one[k], error);
    j->samples = j->each->rays ? 0.0 : find_samples(j, "");
    for (int k = 0; k < j->s.n && !status; k++) {
        if (!is_kind(&one[k], "variance") && !is_kind(&one[k], "moment")) continue;
        const bool fits = !j->each->variance && is_of_picture(j, &one[k]);
        if (fits && (j->each->rays || j->samples > 0.0))
            status = take_variance(j, &one[k], error);
        else if (fits)
            left = one[k].name;
    }
    if (!status && left) say(j->each, "%.60s is left out, as the number of rays is not told", left);
    return status;
}

csrec_status csrec_exr_each_read(csrec_input *input, csrec_exr_each *each, csrec_error *error) {
    csrec_error ignored;
    job *j = calloc(1, sizeof *j);
    *each = (csrec_exr_each){.rays = NULL};
    if (!j) return csrec_memory_fail(error, input->name);
    csrec_status status = csrec_exr_open(input, &j->exr, &ignored);
    const bool open = !status;
    j->each = each;
    j->s.exr = &j->exr;
    j->s.kind = csrec_each_kind;
    j->s.main.alpha = -1;
    if (!status) status = csrec_exr_choose(&j->exr, &j->s.main, &ignored);
    j->s.main_part = j->exr.part;
    const bool memory = status == CSREC_MEMORY;
    if (!status) status = take_all(j, error);
    if (open) csrec_exr_close(&j->exr);
    free(j);
    if (memory) return csrec_fail(error, CSREC_MEMORY, "%s", ignored.text);
    if (status != CSREC_MEMORY) return CSREC_OK;
    csrec_exr_each_clear(each);
    return status;
}

void csrec_exr_each_clear(csrec_exr_each *each) {
    free(each->rays);
    free(each->variance);
    *each = (csrec_exr_each){.rays = NULL};
}
