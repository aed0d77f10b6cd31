/* SPDX-License-Identifier: BSD-3-Clause */
/* tiff_nodata.c - the value that GDAL's tag names for unknown entries. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "files/tiff/tiff.h"

void csrec_tiff_find_nodata(TIFF *file, csrec_tiff_layout *layout) {
    uint32_t count = 0;
    const void *text = NULL;
    char copy[64], *end = copy;
    if (!TIFFFindField(file, CSREC_TIFF_NODATA, TIFF_ANY) ||
        !TIFFGetField(file, CSREC_TIFF_NODATA, &count, &text) || !text || count == 0)
        return;
    size_t length = count < sizeof copy ? count : sizeof copy - 1;
    memcpy(copy, text, length);
    copy[length] = '\0';
    layout->unknown = strtod(copy, &end);
    layout->nodata = end > copy;
    if (layout->dtype == CSREC_F32) layout->unknown = (double)(float)layout->unknown;
}

/* GDAL reads the shortest text that is the same number. */
void csrec_tiff_set_nodata(TIFF *file, double value) {
    static const TIFFFieldInfo field = {
        CSREC_TIFF_NODATA, -1, -1, TIFF_ASCII,
        FIELD_CUSTOM,      1,  0,  (char *)(uintptr_t) "GDAL_NODATA"};
    char text[32];
    if (!TIFFFindField(file, CSREC_TIFF_NODATA, TIFF_ANY)) TIFFMergeFieldInfo(file, &field, 1);
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (isnan(value) || strtod(text, NULL) == value) break;
    }
    TIFFSetField(file, CSREC_TIFF_NODATA, isnan(value) ? "nan" : text);
}

/* Dark colours have the value of nodata in a channel or two. */
bool csrec_tiff_is_colour(const csrec_tiff_layout *l) {
    const bool rgb = l->photometric == PHOTOMETRIC_RGB || l->photometric == PHOTOMETRIC_YCBCR;
    return l->photometric == PHOTOMETRIC_PALETTE ||
           (rgb && (l->dtype == CSREC_U8 || l->dtype == CSREC_U16));
}

/* As GDAL compares: within two units of the last place. */
static bool is_nodata(const csrec_tiff_layout *l, double value) {
    const double unit = l->dtype == CSREC_F32   ? FLT_EPSILON
                        : l->dtype == CSREC_F64 ? DBL_EPSILON
                                                : 0.0;
    return value == l->unknown || (isnan(value) && isnan(l->unknown)) ||
           fabs(value - l->unknown) < 2.0 * unit * fabs(value + l->unknown);
}

/* Values of nodata are not known: each in its band, or, of colours, where all channels have it. */
static void drop_nodata(const csrec_tiff_layout *l, const csrec_image *signal) {
    const int64_t C = signal->by_channel ? 1 : l->channels;
    for (int64_t i = 0; i < signal->pixels.count / C; i++) {
        bool all = true;
        for (int64_t c = 0; c < C && all; c++)
            all = is_nodata(l, csrec_array_value(&signal->pixels, i * C + c));
        if (all) signal->alpha[i] = 0;
    }
}

/* Nodata is -3.4e38 in some files whose values are the least float, or the like: such values are
 * no data, and what they are must be said. */
static csrec_status check_nodata(const csrec_tiff *tiff, const csrec_tiff_layout *l,
                                 const csrec_image *signal, csrec_error *error) {
    static const double HUGE_NODATA = 1e30;
    const int64_t each = signal->by_channel ? 1 : l->channels;
    const bool loose = fabs(l->unknown) > HUGE_NODATA;
    for (int64_t i = 0; i < signal->pixels.count && loose && !tiff->input->unknown; i++) {
        const double value = csrec_array_value(&signal->pixels, i);
        if (signal->alpha[i / each] && isfinite(value) && fabs(value) > HUGE_NODATA)
            return csrec_fail(error, CSREC_DATA,
                              "%s: tag GDAL_NODATA is %.9g, but values are %.9g; correct the tag "
                              "(gdal_edit.py -a_nodata %.17g), or give the unknown value %.17g",
                              tiff->name, l->unknown, value, value, value);
    }
    return CSREC_OK;
}

csrec_status csrec_tiff_drop_nodata(const csrec_tiff *tiff, const csrec_tiff_layout *layout,
                                    csrec_image *signal, csrec_error *error) {
    drop_nodata(layout, signal);
    return check_nodata(tiff, layout, signal, error);
}
