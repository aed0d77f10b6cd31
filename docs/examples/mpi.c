/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi.c - one picture recovered in tiles by all processes of MPI_COMM_WORLD; the first one compares
 * it with what it recovers alone. */
#include <csrec_mpi.h>

#include <csrec.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 640, ENTRIES = SIDE * SIDE, TILE = 90000 };

static double value(int64_t position) {
    double u = (double)(position % SIDE) / SIDE, v = (double)(position / SIDE) / SIDE;
    return 128 + 60 * sin(26 * u) * cos(14 * v) + (u + v > 1.2 ? 40 : 0);
}

/* The same samples in every process. */
static csrec_status take_samples(csrec_measurement *scan, csrec_error *error) {
    csrec_sampling where;
    csrec_status status =
        csrec_sampling_create(&scan->shape, CSREC_PATTERN_UNIFORM, ENTRIES / 5, 1, &where, error);
    if (status) return status;
    scan->n = where.n;
    scan->index = where.index; /* freed by csrec_measurement_clear */
    scan->y = malloc((size_t)scan->n * sizeof *scan->y);
    for (int64_t k = 0; scan->y && k < scan->n; k++) scan->y[k] = value(scan->index[k]);
    return scan->y ? CSREC_OK : CSREC_MEMORY;
}

/* signal NULL: of a process that is not the first. */
static csrec_status recover(const csrec_measurement *scan, csrec_comm *comm, double *signal,
                            csrec_recover_report *report, csrec_error *error) {
    csrec_recover_options options;
    csrec_recover_preset(0, scan, &options); /* fast */
    options.tile = TILE;
    options.backend = "cpu"; /* as machines may differ */
    options.comm = comm;
    return csrec_recover(scan, &options, signal, NULL, report, error);
}

static csrec_status share(const csrec_measurement *scan, csrec_comm *comm, csrec_error *error) {
    static double all[ENTRIES], alone[ENTRIES];
    csrec_recover_report report;
    bool first = csrec_comm_rank(comm) == 0;
    csrec_status status = recover(scan, comm, first ? all : NULL, &report, error);
    if (status) csrec_comm_fail(comm, error->text); /* so that others do not wait for this one */
    if (status || !first) return status;
    status = recover(scan, NULL, alone, NULL, error);
    if (status) return status;
    bool same = memcmp(all, alone, sizeof all) == 0;
    printf("%lld tiles by %d processes: %s bits\n", (long long)report.estimate.tiles,
           csrec_comm_size(comm), same ? "the same" : "OTHER");
    return same ? CSREC_OK : CSREC_DATA;
}

int main(int argc, char **argv) {
    csrec_measurement scan = {.shape = {2, {SIDE, SIDE}}, .channels = 1, .dtype = CSREC_F64};
    csrec_error error = {""};
    csrec_comm *comm = NULL;
    MPI_Init(&argc, &argv);
    csrec_status status = csrec_mpi_comm_create(MPI_COMM_WORLD, &comm, &error);
    if (!status) status = take_samples(&scan, &error);
    if (!status) status = share(&scan, comm, &error);
    if (status) fprintf(stderr, "%s\n", error.text);
    csrec_measurement_clear(&scan);
    csrec_comm_destroy(comm); /* before MPI_Finalize */
    MPI_Finalize();
    return status != CSREC_OK;
}
