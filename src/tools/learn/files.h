/* files.h - the files that learners read pictures from. */
#ifndef CSREC_TOOLS_LEARN_FILES_H
#define CSREC_TOOLS_LEARN_FILES_H

#include "data.h"

typedef struct cli_data_file {
    char *path;
    csrec_shape shape;     /* of a picture or row, without channels */
    int64_t height, width; /* of a picture, where it is cut into patches */
    int64_t channels;      /* that rows have */
    int64_t stored;        /* channels in the file */
    int64_t entries;       /* of a picture as stored, with channels */
    int64_t pictures;      /* in the file */
    double scale[2];
    csrec_rows *rows_file; /* .npy; NULL: a PNG */
    csrec_data rows_data;
    int64_t rows_each; /* rows of the .npy that make a picture */
    int64_t patches, across, rows, first_row, first_picture; /* by data.c */
} cli_data_file;

/* The inputs, with folders replaced by their .png and .npy files, sorted by name. */
csrec_status cli_data_files_list(const cli_data_options *options, cli_data_file **files, int *count,
                                 csrec_error *error);

csrec_status cli_data_file_open(cli_data_file *file, const cli_data_options *options,
                                csrec_error *error);
void cli_data_file_close(cli_data_file *file);

/* Reads picture `number` of the file, channels fastest, into to [file->entries]. */
csrec_status cli_data_file_picture(const cli_data_file *file, int64_t number, bool gray, float *to,
                                   csrec_error *error);

#endif
