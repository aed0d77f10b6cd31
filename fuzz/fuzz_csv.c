/* fuzz_csv.c - any bytes as a CSV text. */
#include "fuzz.h"
#include "io/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csrec_error error = {""};
    csrec_measurement measurement;
    csrec_status status = csrec_csv_parse((const char *)data, size, "fuzz", &measurement, &error);
    if (status) {
        fuzz_check_refusal(status, &error);
        return 0;
    }
    if (csrec_measurement_check(&measurement, "fuzz", &error) != CSREC_OK) abort();
    csrec_measurement_clear(&measurement);
    return 0;
}
