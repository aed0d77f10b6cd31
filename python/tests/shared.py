# SPDX-License-Identifier: BSD-3-Clause
"""Run by test_comm.py under a launcher of MPI, one case a name."""
import sys

import numpy as np
from conftest import picture
from mpi4py import MPI

import csrecover as cs

comm = MPI.COMM_WORLD
case, seed = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(seed)


def scan(side=800):
    truth = picture(rng, side)
    return truth, rng.random(truth.shape) < 0.2


def same():
    """The bits of one process, on the first rank alone; other messages of the communicator stay."""
    truth, mask = scan()
    options = {"quality": "fast", "tile": 90000, "backend": "cpu"}
    mine = comm.isend("mine", (comm.rank + 1) % comm.size, 0)
    found, info = cs.recover(truth[mask], mask, comm=comm, return_info=True, **options)
    assert (found is None) == (info is None) == (comm.rank > 0)
    colours = np.stack((truth, 255 - truth, truth / 2), -1).astype(np.float32)
    coloured = cs.recover(colours[mask], mask, comm=comm, **options)
    assert (coloured is None) == (comm.rank > 0)
    if comm.rank == 0:
        wanted, alone = cs.recover(truth[mask], mask, return_info=True, **options)
        assert found.tobytes() == wanted.tobytes()
        assert info.iterations == alone.iterations and info.residual == alone.residual
        wanted = cs.recover(colours[mask], mask, **options)
        assert coloured.dtype == np.float32 and coloured.tobytes() == wanted.tobytes()
    mine.wait()
    assert comm.recv(source=(comm.rank - 1) % comm.size, tag=0) == "mine"
    half = comm.Split(comm.rank % 2)
    found = cs.recover(truth[mask], mask, comm=half, **options)
    assert (found is None) == (half.rank > 0)
    alone = cs.recover(truth[mask], mask, comm=MPI.COMM_SELF, **options)
    assert found is None or found.tobytes() == alone.tobytes()


def refused(kind, match, *arguments, **options):
    try:
        cs.recover(*arguments, **options)
    except kind as error:
        assert match in str(error), error
    else:
        raise AssertionError(f"not refused: {options}")


def wrong():
    """Every rank raises."""
    truth, mask = scan()
    refused(cs.ArgumentError, "intracommunicator", truth, mask, comm=3)
    refused(cs.ArgumentError, "intracommunicator", truth, mask, comm=MPI.COMM_NULL)
    refused(cs.CsrecError, "smaller tiles", truth, mask, comm=comm, quality="fast")
    refused(cs.CsrecError, "needs the whole", truth, mask, comm=comm, shifts=1)
    refused(cs.ArgumentError, "uncertainties", truth, mask, comm=comm, return_uncertainty=True)
    # One fails: the others hear of it, wherever they are.
    options = {"quality": "fast", "tile": 90000, "backend": "cpu"}
    if comm.rank == 1:
        options["steps"] = -3
    for _ in range(2):
        refused(cs.CsrecError if comm.rank == 1 else cs.Stopped,
                "steps" if comm.rank == 1 else "process 1: ", truth, mask, comm=comm, **options)

    def stop(_):
        raise RuntimeError("of the last rank's callback")
    options = {"quality": "fast", "tile": 90000, "backend": "cpu"}
    last = comm.rank == comm.size - 1
    refused(RuntimeError if last else cs.Stopped, "of the last rank's callback", truth, mask, comm=comm,
            callback=stop if last else None, **options)


def files():
    """A list shared by mpi4py's own pool."""
    from mpi4py.futures import MPICommExecutor
    truth, _ = scan(64)
    masks = [rng.random(truth.shape) < 0.3 for _ in range(7)]
    with MPICommExecutor(comm, root=0) as pool:
        if pool is not None:
            found = list(pool.map(one, [truth] * 7, masks))
            for mask, signal in zip(masks, found):
                assert signal.tobytes() == one(truth, mask).tobytes()


def one(truth, mask):
    return cs.recover(truth, mask, quality="fast", backend="cpu")


{"same": same, "wrong": wrong, "files": files}[case]()
comm.Barrier()
if comm.rank == 0:
    print(f"{case}: {comm.size} ranks, {MPI.Get_library_version().split(',')[0].split(':')[0]}")
