/* SPDX-License-Identifier: BSD-3-Clause */
/* tiff_tags.h - tags of GeoTIFF and GDAL, which libtiff must be told. */
#include "io_signal.h"

#include <tiffio.h>

enum { PIXEL_SCALE = 33550, GEO_KEYS = 34735, GEO_TEXT = 34737, NODATA = 42113 };

static void declare(TIFF *file) {
    static const TIFFFieldInfo fields[] = {
        {PIXEL_SCALE, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1,
         (char *)(uintptr_t) "ModelPixelScale"},
        {GEO_KEYS, -1, -1, TIFF_SHORT, FIELD_CUSTOM, 1, 1, (char *)(uintptr_t) "GeoKeyDirectory"},
        {GEO_TEXT, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, (char *)(uintptr_t) "GeoASCIIParams"},
        {NODATA, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, (char *)(uintptr_t) "GDALNoData"}};
    TIFFMergeFieldInfo(file, fields, 4);
}
