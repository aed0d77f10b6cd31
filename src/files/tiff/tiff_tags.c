/* tiff_tags.c - what describes a picture, from a page of one TIFF to that of another. */
#include <string.h>

#include "files/tiff/tiff.h"

/* Of the tags that libtiff knows by itself, those with one float. */
static const uint32_t floats[] = {TIFFTAG_XRESOLUTION, TIFFTAG_YRESOLUTION, TIFFTAG_XPOSITION,
                                  TIFFTAG_YPOSITION};
static const uint32_t shorts[] = {TIFFTAG_RESOLUTIONUNIT, TIFFTAG_ORIENTATION};

/* Tags of how a picture is stored, or that point into their own file. */
static bool is_storage(uint32_t tag) {
    static const uint32_t tags[] = {TIFFTAG_PREDICTOR,
                                    TIFFTAG_JPEGTABLES,
                                    TIFFTAG_JPEGQUALITY,
                                    TIFFTAG_SUBIFD,
                                    TIFFTAG_EXIFIFD,
                                    TIFFTAG_GPSIFD,
                                    TIFFTAG_INTEROPERABILITYIFD,
                                    TIFFTAG_TRANSFERFUNCTION,
                                    TIFFTAG_REFERENCEBLACKWHITE,
                                    TIFFTAG_YCBCRSUBSAMPLING,
                                    TIFFTAG_PAGENUMBER,
                                    CSREC_TIFF_NODATA};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (tags[i] == tag) return true;
    return tag >= 0x10000; /* libtiff's own, in no file */
}

/* A description as tifffile writes it, which is of the arrangement in that file. */
static bool is_layout(uint32_t tag, const char *text) {
    return tag == TIFFTAG_IMAGEDESCRIPTION && strncmp(text, "{\"shape\":", 9) == 0;
}

/* Makes the tag known to the other file, as it is in this one. */
static void declare(const TIFFField *field, TIFF *to) {
    if (TIFFFindField(to, TIFFFieldTag(field), TIFF_ANY)) return;
    TIFFFieldInfo info = {TIFFFieldTag(field),
                          (short)TIFFFieldReadCount(field),
                          (short)TIFFFieldWriteCount(field),
                          TIFFFieldDataType(field),
                          FIELD_CUSTOM,
                          1,
                          (unsigned char)TIFFFieldPassCount(field),
                          (char *)(uintptr_t)TIFFFieldName(field)};
    TIFFMergeFieldInfo(to, &info, 1);
}

/* Lists come with their length, of 16 or 32 bits; texts end by themselves. */
static void copy_custom(TIFF *from, TIFF *to, uint32_t tag) {
    const TIFFField *field = TIFFFieldWithTag(from, tag);
    void *data = NULL;
    uint32_t count = 0;
    uint16_t short_count = 0;
    if (!field || is_storage(tag)) return;
    if (TIFFFieldPassCount(field) && TIFFFieldReadCount(field) == TIFF_VARIABLE2) {
        if (!TIFFGetField(from, tag, &count, &data) || !data) return;
        declare(field, to);
        TIFFSetField(to, tag, count, data);
    } else if (TIFFFieldPassCount(field)) {
        if (!TIFFGetField(from, tag, &short_count, &data) || !data) return;
        declare(field, to);
        TIFFSetField(to, tag, (int)short_count, data);
    } else if (TIFFFieldDataType(field) == TIFF_ASCII) {
        if (!TIFFGetField(from, tag, &data) || !data || is_layout(tag, data)) return;
        TIFFSetField(to, tag, data);
    }
}

void csrec_tiff_copy_tags(TIFF *from, TIFF *to) {
    float value;
    uint16_t number;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        if (TIFFGetField(from, floats[i], &value)) TIFFSetField(to, floats[i], (double)value);
    for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++)
        if (TIFFGetField(from, shorts[i], &number)) TIFFSetField(to, shorts[i], (int)number);
    int count = TIFFGetTagListCount(from);
    for (int i = 0; i < count; i++) copy_custom(from, to, TIFFGetTagListEntry(from, i));
}
