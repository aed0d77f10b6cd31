/* output.c - output files of the tools. */
#include "output.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

cli_format cli_format_of(const char *path) {
    const char *dot = strrchr(path, '.');
    if (!dot) return CLI_NO_FORMAT;
    if (strcasecmp(dot, ".png") == 0) return CLI_PNG;
    if (strcasecmp(dot, ".npy") == 0) return CLI_NPY;
    return strcasecmp(dot, ".npz") == 0 ? CLI_NPZ : CLI_NO_FORMAT;
}

bool cli_is_dash(const char *path) {
    return path && strcmp(path, "-") == 0;
}

bool cli_is_folder(const char *path) {
    struct stat info;
    size_t length = strlen(path);
    return path[length - 1] == '/' || (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

int cli_output_check(const cli_tool *tool, const char *path) {
    struct stat info;
    if (cli_is_dash(path)) return CLI_CONTINUE;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return cli_failure(tool, "%s: is a folder; name a file in it", path);
    const char *slash = strrchr(path, '/');
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return CLI_CONTINUE; /* a device, a pipe */
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!folder) return cli_failure(tool, "%s: out of memory", path);
    int code = CLI_CONTINUE;
    if (access(folder, W_OK | X_OK) != 0)
        code = cli_failure(tool, "%s: its folder cannot be written: %s; choose another", path,
                           strerror(errno));
    free(folder);
    if (code == CLI_CONTINUE) csrec_files_sweep(path);
    return code;
}

/* Largest value of an integer type that pictures use; 0: no picture type. */
static double type_white(csrec_dtype dtype) {
    return dtype == CSREC_U8 ? 255.0 : dtype == CSREC_U16 ? 65535.0 : dtype == CSREC_BOOL ? 1.0 : 0;
}

cli_tones cli_tones_of(const csrec_measurement *measurement) {
    cli_tones tones = {{measurement->scale[0], measurement->scale[1]}, 8};
    if (tones.scale[0] == tones.scale[1]) tones.scale[1] = type_white(measurement->dtype);
    bool fine = fabs(tones.scale[1] - tones.scale[0]) > 255.0;
    if (fine || measurement->dtype == CSREC_U16) tones.bits = 16;
    return tones;
}

const char *cli_picture_refusal(const csrec_measurement *measurement, const cli_tones *tones) {
    if (measurement->shape.dims != 2) return "only a 2-D signal fits in a PNG; write .npy";
    if (measurement->channels != 1 && measurement->channels != 3)
        return "a PNG has 1 or 3 channels; write .npy";
    if (tones->scale[0] == tones->scale[1])
        return "no array 'scale' tells which values are black and white; give --scale LOW,HIGH or "
               "write .npy";
    return NULL;
}

const char *cli_array_refusal(const csrec_measurement *measurement) {
    bool fits = measurement->channels == 1 || measurement->shape.dims < CSREC_DIMS_MAX;
    return fits ? NULL
                : "a .npy has at most 8 axes, and channels would be one more; recover each channel "
                  "by itself";
}

static csrec_status fail_memory(const char *path, csrec_error *error) {
    snprintf(error->text, sizeof error->text, "%s: no memory to write it", path);
    return CSREC_MEMORY;
}

static double tone(const cli_tones *tones, double value) {
    double white = tones->bits == 16 ? 65535.0 : 255.0;
    double share = (value - tones->scale[0]) / (tones->scale[1] - tones->scale[0]);
    return round(fmin(fmax(share, 0.0), 1.0) * white);
}

static csrec_status write_png(csrec_files *files, const char *path, const cli_tones *tones,
                              const csrec_measurement *measurement, const double *signal,
                              csrec_error *error) {
    csrec_image image = {.bits = tones->bits};
    csrec_shape shape = measurement->shape;
    shape.dim[shape.dims++] = measurement->channels;
    if (csrec_array_create(tones->bits == 16 ? CSREC_U16 : CSREC_U8, &shape, &image.pixels))
        return fail_memory(path, error);
    for (int64_t i = 0; i < image.pixels.count; i++) {
        double value = tone(tones, signal[i]);
        if (tones->bits == 16)
            ((uint16_t *)image.pixels.data)[i] = (uint16_t)value;
        else
            ((uint8_t *)image.pixels.data)[i] = (uint8_t)value;
    }
    csrec_status status = csrec_files_add_image(files, path, &image, error);
    csrec_image_clear(&image);
    return status;
}

/* 24 bits of significand are enough for values that come from 16-bit or float32 samples, but a
 * float32 cannot hold what overshoots its range. */
static csrec_dtype array_type(csrec_dtype samples, int64_t n, const double *signal) {
    if (csrec_dtype_size(samples) > 2 && samples != CSREC_F32) return CSREC_F64;
    for (int64_t i = 0; i < n; i++)
        if (fabs(signal[i]) > FLT_MAX) return CSREC_F64;
    return CSREC_F32;
}

static csrec_status write_npy(csrec_files *files, const char *path,
                              const csrec_measurement *measurement, const double *signal,
                              csrec_error *error) {
    csrec_array array = {0};
    csrec_shape shape = measurement->shape;
    int64_t entries = 0;
    csrec_shape_count(&shape, &entries);
    csrec_dtype type = array_type(measurement->dtype, entries * measurement->channels, signal);
    if (measurement->channels > 1) shape.dim[shape.dims++] = measurement->channels;
    if (csrec_array_create(type, &shape, &array)) return fail_memory(path, error);
    for (int64_t i = 0; i < array.count; i++) {
        if (array.dtype == CSREC_F32)
            ((float *)array.data)[i] = (float)signal[i];
        else
            ((double *)array.data)[i] = signal[i];
    }
    csrec_status status = csrec_files_add_array(files, path, &array, error);
    csrec_array_clear(&array);
    return status;
}

csrec_status cli_signal_write(csrec_files *files, const char *path, cli_format format,
                              const cli_tones *tones, const csrec_measurement *measurement,
                              const double *signal, csrec_error *error) {
    return format == CLI_PNG ? write_png(files, path, tones, measurement, signal, error)
                             : write_npy(files, path, measurement, signal, error);
}
