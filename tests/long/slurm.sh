#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# slurm.sh BUILD - the tests of ranks with Slurm's srun as the launcher, for Open MPI (pmix) and MPICH
# (pmi2); two minutes each. Skips without a Slurm that has an idle machine; one of a single machine
# will do (slurmctld, slurmd and munged beside each other).
command -v srun >/dev/null && sinfo -h -t idle,mixed -o %n 2>/dev/null | grep -q . || {
    echo "skipped: no Slurm"
    exit 77
}
export CSREC_TEST_SLURM=1
failed=0
for mpi in openmpi mpich; do
    for name in ranks pursuit trouble; do
        echo "== $name, $mpi"
        "${PYTHON:-python3}" "$(dirname "$0")/../mpi/$name.py" "$1" "$mpi" || failed=1
    done
done
exit "$failed"
