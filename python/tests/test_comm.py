# SPDX-License-Identifier: BSD-3-Clause
"""Several processes of mpi4py recover what one does: shared.py under each launcher that is here."""
import os
import shutil
import subprocess
import sys
import sysconfig
from ctypes.util import find_library
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import csrecover

SHARED = Path(__file__).with_name("shared.py")
# What mpi4py loads where it is built for any MPI.
LIBRARIES = {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}
LIBFOLDER = f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}"
ASKED = "from mpi4py import MPI; print(MPI.COMM_WORLD.size, end=' ', flush=True)"


def run(mpi, folder, ranks, *words):
    launcher = shutil.which(f"mpirun.{mpi}")
    if find_spec("mpi4py") is None:
        pytest.skip("no mpi4py: pip install mpi4py")
    if launcher is None:
        pytest.skip(f"no mpirun.{mpi}")
    more = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
            "PYTHONPATH": ":".join(filter(None, sys.path)), "MPI4PY_LIBMPI": LIBRARIES[mpi],
            "LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    return subprocess.run([launcher, "-n", str(ranks), sys.executable, *words], timeout=280,
                          capture_output=True, text=True, env={**os.environ, **more}, check=False)


@pytest.fixture(scope="module", params=sorted(LIBRARIES))
def launched(request, tmp_path_factory):
    """Runs words of Python by a number of ranks."""
    folder = tmp_path_factory.mktemp("lib")
    if request.param == "mpich" and (debian := find_library("mpich")):
        (folder / LIBRARIES["mpich"]).symlink_to(f"{LIBFOLDER}/{debian}")  # its name elsewhere

    def by(ranks, *words):
        return run(request.param, folder, ranks, *words)
    asked = by(2, "-c", ASKED)
    if asked.returncode or set(asked.stdout.split()) != {"2"}:
        pytest.skip(f"mpi4py does not work with {request.param}: {(asked.stderr or '')[-200:]}")
    return by


@pytest.mark.parametrize("case, ranks", (("same", 1), ("same", 3), ("wrong", 3), ("files", 3)))
def test_ranks(launched, case, ranks, rng):
    seed = str(rng.integers(1 << 30))
    done = launched(ranks, "-m", "mpi4py", str(SHARED), case, seed)
    assert done.returncode == 0 and f"{case}: {ranks} ranks" in done.stdout, \
        f"seed {seed}\n{done.stdout}{done.stderr}"


def test_what_is_no_communicator_is_refused(rng):
    image = rng.random((20, 20))
    mask = rng.random(image.shape) < 0.5
    for comm in (3, "COMM_WORLD", object()):
        with pytest.raises(csrecover.ArgumentError, match="give an intracommunicator of mpi4py"):
            csrecover.recover(image, mask, comm=comm)
    found = csrecover.recover(image, mask, comm=None)
    assert np.isfinite(found).all()
