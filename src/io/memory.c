/* memory.c - memory that is free now, from the kernel's own estimate where there is one. */
#include "io/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "core/error.h"

/* MemAvailable counts reclaimable caches, which the free pages of sysconf leave out. */
static uint64_t meminfo_available(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    if (!file) return 0;
    char line[128];
    uint64_t kib = 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1) break;
    fclose(file);
    return kib * 1024;
}

uint64_t csrec_memory_available(void) {
    uint64_t bytes = meminfo_available();
    if (bytes) return bytes;
#ifdef _SC_PHYS_PAGES
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0) return (uint64_t)pages * (uint64_t)size;
#endif
    return UINT64_MAX;
}

csrec_status csrec_memory_check(uint64_t bytes, unsigned divisor, const char *name,
                                csrec_error *error) {
    if (bytes <= UINT64_C(1) << 20) return CSREC_OK; /* not worth a system call */
    uint64_t limit = csrec_memory_available() / divisor;
    if (bytes <= limit && bytes <= SIZE_MAX) return CSREC_OK;
    return csrec_fail(error, CSREC_MEMORY,
                      "%s: needs %.1f MiB where %.1f MiB of memory may be used; use a smaller file "
                      "or a larger machine",
                      name, (double)bytes / 1048576, (double)limit / 1048576);
}
