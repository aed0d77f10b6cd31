/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_csv.c - any bytes as a CSV text. */
#include "fuzz.h"
#include "files/csv/csv.h"

static int check_matrix(const char *text, size_t size) {
    csrec_error error = {""};
    csrec_image signal;
    csrec_status status = csrec_csv_matrix_parse(text, size, "fuzz", &signal, &error);
    if (status) fuzz_check_refusal(status, &error);
    if (!status && (signal.pixels.count < 1 || !signal.pixels.data)) abort();
    if (!status) csrec_image_clear(&signal);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csrec_error error = {""};
    csrec_measurement measurement;
    const char *text = (const char *)data;
    if (csrec_csv_is_matrix(text, size)) return check_matrix(text, size);
    csrec_status status = csrec_csv_parse(text, size, "fuzz", NULL, &measurement, &error);
    if (status) {
        fuzz_check_refusal(status, &error);
        return 0;
    }
    if (csrec_measurement_check(&measurement, "fuzz", &error) != CSREC_OK) abort();
    csrec_measurement_clear(&measurement);
    return 0;
}
