/* backend_cpu.c - the backend that is always there. */
#include "device/backend.h"
#include "recover/recover.h"

const csrec_backend csrec_backend_cpu = {.name = "cpu", .recover_grids = csrec_recover_grids};
