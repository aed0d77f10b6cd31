/* backend_cpu.c - the backend that is always there. */
#include "device/backend.h"

const csrec_backend csrec_backend_cpu = {.name = "cpu"};
