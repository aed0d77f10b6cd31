/* SPDX-License-Identifier: BSD-3-Clause */
/* join.c - finds the launcher that started this process, and the plug-in for its MPI. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "csrec/comm.h"

/* What launchers set: the number of processes, and perhaps another variable; and the plug-in that
 * suits, before libcsrec_mpi, which is for the MPI that is the system's own. srun speaks PMIx, of
 * Open MPI, or PMI-2, of MPICH, and sets PMI_SIZE then as mpiexec does. Of mpiexec under Slurm,
 * srun starts a process a machine, so its number counts only without PMI_SIZE. */
typedef struct launcher {
    const char *name, *size, *also, *plugin, *remedy;
} launcher;

static const launcher launchers[] = {
    {"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", NULL, "libcsrec_mpi_openmpi.so", ""},
    {"mpiexec or srun --mpi=pmi2", "PMI_SIZE", NULL, "libcsrec_mpi_mpich.so", ""},
    {"srun --mpi=pmix", "SLURM_STEP_NUM_TASKS", "PMIX_RANK", "libcsrec_mpi_openmpi.so", ""},
    {"srun", "SLURM_STEP_NUM_TASKS", NULL, NULL,
     ", and start it by srun --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH)"}};

typedef csrec_status (*join_fn)(csrec_comm **comm, csrec_error *error);

static int size_of(const launcher *l) {
    const char *text = getenv(l->size);
    return text ? atoi(text) : 0;
}

static const launcher *find_launcher(void) {
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (size_of(&launchers[i]) > 0 && (!launchers[i].also || getenv(launchers[i].also)))
            return &launchers[i];
    return NULL;
}

/* Beside this library, or where the loader looks. MPI's own plug-ins need its names. The library
 * stays, as MPI does. */
static void *open_plugin(const char *name) {
    Dl_info own;
    char path[4096];
    void *file = NULL;
    const char *slash = NULL;
    if (!name) return NULL;
    if (dladdr((const void *)launchers, &own)) slash = strrchr(own.dli_fname, '/');
    if (slash) {
        snprintf(path, sizeof path, "%.*s/%s", (int)(slash - own.dli_fname), own.dli_fname, name);
        file = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    }
    return file ? file : dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
}

static csrec_status join_by(const launcher *l, csrec_comm **comm, csrec_error *error) {
    join_fn join = NULL;
    void *file = open_plugin(l->plugin);
    if (!file) file = open_plugin("libcsrec_mpi.so");
    if (!file)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s started %d processes, but csrecover's part for MPI is missing (%s); "
                          "install or build it with MPI, or start one process",
                          l->name, size_of(l), dlerror());
    *(void **)&join = dlsym(file, "csrec_mpi_join");
    if (!join) return csrec_fail(error, CSREC_UNSUPPORTED, "libcsrec_mpi: %s", dlerror());
    csrec_status status = join(comm, error);
    if (status || csrec_comm_size(*comm) == size_of(l)) return status;
    int size = csrec_comm_size(*comm);
    csrec_comm_destroy(*comm);
    *comm = NULL;
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "%s started %d processes, but MPI knows of %d; build csrecover with that "
                      "MPI%s",
                      l->name, size_of(l), size, l->remedy);
}

csrec_status csrec_comm_join(csrec_comm **comm, csrec_error *error) {
    const launcher *l = find_launcher();
    *comm = NULL;
    return !l || size_of(l) == 1 ? CSREC_OK : join_by(l, comm, error);
}
