/* SPDX-License-Identifier: BSD-3-Clause */
/* output.c - files of the tools: PNG pictures and .npy arrays that are read as signals with
 * channels, and outputs. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

/* Entries of which all channels are known count. */
static void keep_whole(cli_signal *signal) {
    for (int64_t i = 0; i < signal->entries; i++) {
        const uint8_t *own = signal->alpha + i * signal->channels;
        signal->alpha[i] = !memchr(own, 0, (size_t)signal->channels);
    }
}

csrec_status cli_signal_read(const char *path, const csrec_read_options *axes, cli_signal *signal,
                             csrec_error *error) {
    csrec_image image = {0};
    CLI_TRY(csrec_signal_read(path, &image, error));
    csrec_status status = csrec_image_arrange(&image, axes, path, NULL, error);
    cli_signal read = {.values = image.pixels,
                       .alpha = image.alpha,
                       .bits = image.bits,
                       .palette = image.palette,
                       .is_complex = image.is_complex,
                       .partial = image.partial};
    if (!status)
        status = csrec_image_split(&image, axes->channels_last, path, &read.shape, &read.channels,
                                   error);
    if (!status) read.entries = read.values.count / read.channels;
    if (!status) read.time = csrec_image_time(&image, axes, &read.shape);
    if (!status && image.by_channel) keep_whole(&read);
    if (!status && read.shape.dims > 4)
        status = cli_fail(error, CSREC_UNSUPPORTED,
                          "%s: signals have 1 to 4 axes; reshape, or use --channels-last", path);
    if (status)
        cli_signal_clear(&read);
    else
        *signal = read;
    return status;
}

void cli_signal_clear(cli_signal *signal) {
    csrec_array_clear(&signal->values);
    free(signal->alpha);
    *signal = (cli_signal){0};
}

const char *cli_shape_text(const csrec_shape *shape, char text[192]) {
    size_t used = 0;
    text[0] = '\0';
    for (int d = 0; d < shape->dims; d++)
        used += (size_t)snprintf(text + used, 192 - used, "%s%lld", d ? " x " : "",
                                 (long long)shape->dim[d]);
    return text;
}

const char *cli_place_text(const csrec_shape *shape, int64_t position, char text[192]) {
    int64_t at[CSREC_DIMS_MAX];
    size_t used = 0;
    for (int d = shape->dims - 1; d >= 0; position /= shape->dim[d--])
        at[d] = position % shape->dim[d];
    for (int d = 0; d < shape->dims; d++)
        used += (size_t)snprintf(text + used, 192 - used, "%s%lld", d ? "," : "", (long long)at[d]);
    return text;
}

bool cli_format_has(const csrec_format *format, int use) {
    return format && (format->uses & use) != 0;
}

const csrec_format *cli_format_with(int use, int i) {
    const csrec_format *format;
    for (int k = 0; (format = csrec_format_info(k)); k++)
        if (cli_format_has(format, use) && i-- == 0) return format;
    return NULL;
}

cli_ending cli_ending_of(const csrec_format *format) {
    cli_ending ending;
    int length = (int)strcspn(format->endings, " ");
    snprintf(ending.text, sizeof ending.text, "%.*s", length, format->endings);
    return ending;
}

int cli_ending_refuse(const cli_tool *tool, const char *option, const char *path, int use,
                      const char *also) {
    char list[128];
    const csrec_format *format = csrec_format_of(path);
    csrec_format_list(use, false, "or", list, sizeof list);
    if (format && format->needs && format->uses == 0)
        return cli_usage(tool,
                         "%s %s: %s needs %s, without which this was built; build again with "
                         "that library, or name a %s%s",
                         option, path, format->title, format->needs, list, also);
    return cli_usage(tool, "%s %s: name a %s%s", option, path, list, also);
}

bool cli_is_dash(const char *path) {
    return path && strcmp(path, "-") == 0;
}

bool cli_is_folder(const char *path) {
    struct stat info;
    size_t length = strlen(path);
    return path[length - 1] == '/' || (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

bool cli_stat(const char *path, struct stat *info) {
    char file[CSREC_PATH_ROOM];
    return stat(csrec_path_file(path, file), info) == 0;
}

static int check_file(const cli_tool *tool, const char *path) {
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return cli_failure(tool, "%s: is a folder; name a file in it", path);
    const char *slash = strrchr(path, '/');
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return CLI_CONTINUE; /* a device, a pipe */
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!folder) return cli_failure(tool, "%s: out of memory", path);
    int code = CLI_CONTINUE;
    if (access(folder, W_OK | X_OK) != 0 && errno == ENOENT)
        code = cli_failure(tool,
                           "%s: the folder of this output does not exist; make it first, or "
                           "choose another",
                           path);
    else if (access(folder, W_OK | X_OK) != 0)
        code = cli_failure(tool, "%s: its folder is not writable (%s); %s", path, strerror(errno),
                           csrec_errno_remedy(errno, "choose another"));
    free(folder);
    if (code == CLI_CONTINUE) csrec_files_sweep(path);
    return code;
}

int cli_output_check(const cli_tool *tool, const char *path) {
    char file[CSREC_PATH_ROOM];
    return cli_is_dash(path) ? CLI_CONTINUE : check_file(tool, csrec_path_file(path, file));
}

int cli_stdout_check(const cli_tool *tool) {
    if (!isatty(STDOUT_FILENO)) return CLI_CONTINUE;
    if (getenv("PMIX_RANK") || getenv("OMPI_COMM_WORLD_RANK"))
        return cli_usage(tool, "-o -: this launcher gives every process a terminal as its stdout, "
                               "which changes binary data; write to a file, -o FILE");
    return cli_usage(tool, "-o - would write binary data to the terminal; use a pipe");
}

/* Largest value of an integer type that pictures use; 0: no picture type. */
static double type_white(csrec_dtype dtype) {
    return dtype == CSREC_U8 ? 255.0 : dtype == CSREC_U16 ? 65535.0 : dtype == CSREC_BOOL ? 1.0 : 0;
}

cli_tones cli_tones_of(const csrec_measurement *measurement) {
    cli_tones tones = {.scale = {measurement->scale[0], measurement->scale[1]}, .bits = 8};
    if (tones.scale[0] == tones.scale[1]) tones.scale[1] = type_white(measurement->dtype);
    bool fine = fabs(tones.scale[1] - tones.scale[0]) > 255.0;
    if (fine || measurement->dtype == CSREC_U16) tones.bits = 16;
    return tones;
}

const char *cli_signal_refusal(const csrec_format *format, const csrec_measurement *measurement,
                               const cli_tones *tones) {
    const char *reason = csrec_format_refusal(format, &measurement->shape, measurement->channels);
    if (reason) return reason;
    if (cli_format_has(format, CSREC_USE_PICTURE) && tones->scale[0] == tones->scale[1])
        return "the file has no array 'scale' with the values of black and white; give --scale "
               "LOW,HIGH or write .npy";
    return NULL;
}

static double share_of(const cli_tones *tones, double value) {
    double share = (value - tones->scale[0]) / (tones->scale[1] - tones->scale[0]);
    return fmin(fmax(share, 0.0), 1.0);
}

double cli_srgb(double light) {
    return light <= 0.0031308 ? 12.92 * light : 1.055 * pow(light, 1.0 / 2.4) - 0.055;
}

static double tone(const cli_tones *tones, double value) {
    double share = share_of(tones, value);
    if (tones->light) share = cli_srgb(share);
    return round(share * (tones->bits == 16 ? 65535.0 : 255.0));
}

/* Of what is not asked for: the type of the samples where the format keeps it; else float32, whose
 * 24 bits are enough for values from 16-bit or float32 samples. Where all values are beyond the
 * range of float32, or below it, they are float64 whatever is asked for. */
csrec_dtype cli_array_type(const csrec_format *format, const cli_form *form, csrec_dtype samples,
                           int64_t n, const double *values) {
    csrec_dtype type =
        csrec_dtype_size(samples) > 2 && samples != CSREC_F32 ? CSREC_F64 : CSREC_F32;
    if (cli_format_has(format, CSREC_USE_TYPES)) type = samples;
    if (form->dtype >= 0) type = (csrec_dtype)form->dtype;
    double largest = 0.0;
    for (int64_t i = 0; i < n && type == CSREC_F32; i++)
        if (fabs(values[i]) > largest) largest = fabs(values[i]);
    return largest > FLT_MAX || (largest > 0.0 && largest < FLT_MIN) ? CSREC_F64 : type;
}

/* The shape and type of what is written. */
static csrec_image image_of(const csrec_format *format, const cli_form *form,
                            const csrec_measurement *measurement, const double *signal) {
    const bool picture = cli_format_has(format, CSREC_USE_PICTURE);
    const bool eight = form->colors || cli_format_has(format, CSREC_USE_LOSSY);
    csrec_image image = {.bits = !picture ? 0
                                 : eight  ? 8
                                          : form->tones.bits,
                         .has_channels = !picture && measurement->channels > 1,
                         .is_complex = !picture && form->is_complex,
                         .stack = form->stack,
                         .placement = form->placement};
    csrec_shape *shape = &image.pixels.shape;
    *shape = measurement->shape;
    csrec_shape_count(shape, &image.pixels.count);
    if (picture || image.has_channels)
        shape->dim[shape->dims++] = picture && form->colors ? 3 : measurement->channels;
    if (image.is_complex) shape->dim[shape->dims++] = 2;
    const int64_t values = image.pixels.count * measurement->channels * (image.is_complex ? 2 : 1);
    image.pixels.dtype = !picture ? cli_array_type(format, form, measurement->dtype, values, signal)
                         : image.bits == 16 ? CSREC_U16
                                            : CSREC_U8;
    if (image.pixels.dtype == CSREC_U8 && measurement->channels == 1) image.colors = form->palette;
    return image;
}

static bool is_real(const csrec_array *values) {
    return values->dtype == CSREC_F32 || values->dtype == CSREC_F64;
}

/* Sets a number that is not `unknown`: a depth is at least 1 where 0 means none. */
void cli_array_set_known(csrec_array *values, int64_t i, double value, double unknown) {
    const double step = is_real(values) ? fmax(fabs(unknown) * 0x1p-20, 0x1p-60) : 1.0;
    const double beside = value < unknown ? -step : step;
    csrec_array_set(values, i, value);
    if (csrec_array_value(values, i) == unknown) csrec_array_set(values, i, unknown + beside);
    if (csrec_array_value(values, i) == unknown) csrec_array_set(values, i, unknown - beside);
}

/* A value that is NaN is transparent, else the number for unknown ones, else NaN. */
static csrec_status set_value(csrec_image *image, int64_t i, const cli_form *form, double value,
                              const char *path, csrec_error *error) {
    csrec_array *to = &image->pixels;
    const bool real = is_real(to), lost = isnan(value);
    if (lost && image->alpha)
        image->alpha[form->colors ? i : i / to->shape.dim[to->shape.dims - 1]] = 0;
    else if (image->bits && form->colors)
        cli_colormap_color(form->colors, share_of(&form->tones, value),
                           (uint8_t *)to->data + 3 * i);
    else if (lost && !real && isnan(form->unknown))
        return cli_fail(error, CSREC_DATA,
                        "%s: a channel, or a frame of a sequence, is known nowhere, and integers "
                        "have no number for that; give "
                        "--unknown, write a .npy of --dtype float32, or leave the channel out",
                        path);
    else if (lost)
        csrec_array_set(to, i, real && !image->has_nodata ? NAN : image->nodata);
    else if (real ? image->has_nodata : form->avoids)
        cli_array_set_known(to, i, image->bits ? tone(&form->tones, value) : value, image->nodata);
    else
        csrec_array_set(to, i, image->bits ? tone(&form->tones, value) : value);
    if (form->exact && !lost && csrec_array_value(to, i) != value)
        return cli_fail(error, CSREC_DATA,
                        "%s: class %.17g is not among its values; choose another --dtype, --bits "
                        "or format",
                        path, value);
    return CSREC_OK;
}

/* What says which of n values are unknown: a number, or transparency. */
static csrec_status name_unknown(csrec_image *image, const csrec_format *format,
                                 const cli_form *form, int64_t n, const double *signal) {
    const int use = is_real(&image->pixels) ? CSREC_USE_NODATA : CSREC_USE_TYPES;
    image->nodata = image->bits ? tone(&form->tones, form->unknown) : form->unknown;
    while (n > 0 && !isnan(signal[n - 1])) n--;
    image->has_nodata = n > 0 && !image->bits && cli_format_has(format, use);
    if (n == 0 || !image->bits || !form->leaves || image->colors) return CSREC_OK;
    image->alpha = malloc((size_t)image->pixels.count);
    if (image->alpha) memset(image->alpha, 1, (size_t)image->pixels.count);
    return image->alpha ? CSREC_OK : CSREC_MEMORY;
}

csrec_status cli_signal_write(csrec_files *files, const char *path, const csrec_format *format,
                              const cli_form *form, const csrec_measurement *measurement,
                              const double *signal, csrec_error *error) {
    cli_form own = *form;
    csrec_image image = image_of(format, form, measurement, signal);
    if (image.bits) own.tones.bits = image.bits;
    const csrec_shape shape = image.pixels.shape;
    csrec_status status = csrec_array_create(image.pixels.dtype, &shape, &image.pixels);
    const int64_t n = image.pixels.count / (image.bits && form->colors ? 3 : 1);
    if (!status) status = name_unknown(&image, format, &own, n, signal);
    if (status) cli_fail(error, status, "%s: out of memory", path);
    for (int64_t i = 0; i < n && !status; i++)
        status = set_value(&image, i, &own, signal[i], path, error);
    const int says = CSREC_USE_CHANNELS | CSREC_USE_PICTURE | CSREC_USE_TEXT;
    if (!status && form->channels_first && image.has_channels && !cli_format_has(format, says))
        status = csrec_image_turn(&image, true, path, error);
    if (!status) status = csrec_files_add_signal(files, path, format, &image, form->like, error);
    csrec_image_clear(&image);
    return status;
}

enum { PRODUCTS_MOST = 8 };

/* ", A, B" of those that are written, or are not, but for `except`. */
static void list_products(int n, const cli_product *products, bool written, int except,
                          const char *head, csrec_error *error) {
    for (int i = 0; i < n; i++) {
        const cli_product *p = &products[i];
        if (!p->path || p->written != written || i == except) continue;
        size_t used = strlen(error->text);
        snprintf(error->text + used, sizeof error->text - used, "%s%.80s", head,
                 cli_is_dash(p->path) ? "standard output" : p->path);
        head = ", ";
    }
}

/* An error in a part of a file does not name the file. */
static void name_product(const cli_product *product, csrec_error *error) {
    const csrec_error told = *error;
    if (!cli_is_dash(product->path) && !strstr(told.text, product->path))
        cli_fail(error, CSREC_FILE, "%.200s: %.250s", product->path, told.text);
}

/* Each has its own csrec_files, so that one that fails leaves the others. The result is added last:
 * it may go to a pipe, which cannot be undone. */
static csrec_status add_products(const csrec_files_options *options, int64_t date, int n,
                                 cli_product *products, void *context, csrec_files **files,
                                 int *failed, csrec_error *error) {
    csrec_files_options own = *options;
    csrec_status first = CSREC_OK;
    for (int k = 1; k <= n; k++) {
        int i = k % n;
        csrec_error why;
        if (!products[i].path) continue;
        if (i == 0 && first && date) {
            own.dated = true;
            own.date = date;
        }
        csrec_status status = csrec_files_create(i == 0 ? &own : options, &files[i], &why);
        if (!status) status = products[i].add(context, files[i], &why);
        if (!status) continue;
        csrec_files_destroy(files[i]);
        files[i] = NULL;
        if (first && i > 0) continue;
        if (i > 0) name_product(&products[i], &why);
        first = status;
        *failed = i;
        *error = why;
    }
    return first;
}

csrec_status cli_products_write(const csrec_files_options *options, int64_t date, int n,
                                cli_product *products, void *context, csrec_error *error) {
    csrec_files *files[PRODUCTS_MOST] = {NULL};
    int failed = -1;
    csrec_status status = add_products(options, date, n, products, context, files, &failed, error);
    for (int k = 1; k <= n && failed != 0; k++) {
        int i = k % n;
        csrec_error why;
        csrec_status own = files[i] ? csrec_files_commit(files[i], &why) : CSREC_OK;
        products[i].written = files[i] && (!own || strstr(why.text, ": is written, but"));
        if (!own || (status && i > 0)) continue;
        status = own;
        failed = i;
        *error = why;
    }
    for (int i = 0; i < n; i++) csrec_files_destroy(files[i]);
    bool any = false;
    for (int i = 0; i < n; i++) any = any || products[i].written;
    if (status && any) {
        list_products(n, products, false, failed, "; not written either: ", error);
        list_products(n, products, true, failed, "; written: ", error);
    }
    return status;
}
