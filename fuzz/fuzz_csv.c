/* fuzz_csv.c - any bytes as a CSV text. */
#include <stdlib.h>

#include "io/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csrec_error error;
    csrec_measurement measurement;
    if (csrec_csv_parse((const char *)data, size, "fuzz", &measurement, &error) == CSREC_OK) {
        if (csrec_measurement_check(&measurement, "fuzz", &error) != CSREC_OK) abort();
        csrec_measurement_clear(&measurement);
    }
    return 0;
}
