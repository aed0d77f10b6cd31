# SPDX-License-Identifier: BSD-3-Clause
"""Processes of MPI that recover together. An mpi4py communicator carries the library's messages, so
any MPI that mpi4py works with will do."""
from __future__ import annotations

import ctypes
import os
import sys
import time
from typing import Any, Optional

from ._arguments import shown
from ._errors import ArgumentError
from ._library import NULL, check, ffi, lib, new_error
from ._tables import backends

_malloc = ctypes.CDLL(None).malloc  # the library frees what it receives
_malloc.restype, _malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]


class _Messages:
    """csrec_comm_calls by mpi4py, on a duplicate of the communicator."""

    def __init__(self, comm: Any, MPI: Any, local: tuple[int, int]) -> None:
        self._comm, self._mpi = comm.Dup(), MPI
        self._sent: list[tuple[Any, bytes]] = []  # what is not known to have left
        self.error: Optional[BaseException] = None
        failed = int(lib.CSREC_DEVICE)
        kinds = {name: field.type for name, field in ffi.typeof("csrec_comm_calls").fields}
        self._kept = {
            "send": ffi.callback(kinds["send"], self._send, failed, self._failed),
            "receive": ffi.callback(kinds["receive"], self._receive, failed, self._failed),
            "close": ffi.callback(kinds["close"], self._close, onerror=self._failed)}
        self.calls = ffi.new("csrec_comm_calls *", {
            "rank": comm.Get_rank(), "size": comm.Get_size(), "local_rank": local[0],
            "local_size": local[1], **self._kept})

    def _failed(self, _kind: Any, error: BaseException, _traceback: Any) -> None:
        self.error = self.error or error

    def _send(self, _context: Any, to: int, data: Any, size: int, _error: Any) -> int:
        self._sent = [one for one in self._sent if not one[0].Test()]
        copy = ffi.buffer(ffi.cast("const char *", data), size)[:]
        self._sent.append((self._comm.Isend([copy, self._mpi.BYTE], to, 0), copy))
        return 0

    def _receive(self, _context: Any, sender: Any, data: Any, size: Any, _error: Any) -> int:
        status = self._mpi.Status()
        message = self._comm.Improbe(self._mpi.ANY_SOURCE, 0, status)
        data[0] = NULL
        if message is None:
            return 0
        count = status.Get_count(self._mpi.BYTE)
        address = _malloc(count + 1)
        if not address:
            raise MemoryError(f"no memory for a message of {count} bytes")
        room = ffi.cast("char *", address)
        message.Recv([ffi.buffer(room, count), self._mpi.BYTE])
        sender[0], size[0], data[0] = status.Get_source(), count, room
        return 0

    def _close(self, _context: Any) -> None:
        for request, _ in self._sent:
            request.Wait()
        self._comm.Free()


def _is_communicator(comm: Any) -> bool:
    """mpi4py is never imported here: who gives a communicator has it."""
    MPI = sys.modules.get("mpi4py.MPI")
    return MPI is not None and isinstance(comm, MPI.Intracomm) and comm != MPI.COMM_NULL


class Ranks:
    """The processes of an mpi4py communicator; None: this one. In a ``with`` block, which all of
    them enter, ``handle`` is their csrec_comm. An exception there ends the block of the others,
    too."""

    def __init__(self, comm: Any) -> None:
        if comm is not None and not _is_communicator(comm):
            raise ArgumentError(f"comm = {shown(comm)}; give an intracommunicator of mpi4py, as "
                                "MPI.COMM_WORLD after: from mpi4py import MPI")
        self.several = comm is not None and comm.Get_size() > 1
        self.root = not self.several or comm.Get_rank() == 0
        self.handle = NULL
        self._comm, self._polled = comm, 0.0
        self._messages: Optional[_Messages] = None
        self._local = 0, 1
        if self.several:
            MPI = sys.modules["mpi4py.MPI"]
            local = comm.Split_type(MPI.COMM_TYPE_SHARED)
            self._local = local.Get_rank(), local.Get_size()
            local.Free()

    def threads(self, given: int) -> int:
        """This process's share of the cores, unless it is told or the launcher binds it."""
        cores = os.cpu_count() or 1
        bound = hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) < cores
        if given or self._local[1] == 1 or bound or "OMP_NUM_THREADS" in os.environ:
            return given
        return max(1, cores // self._local[1])

    def backend(self, given: str) -> str:
        """Of several GPUs one for each process on a machine, where 'cuda' is asked for."""
        gpus = [name for name, _ in backends()].count(given) if self.several and given == "cuda" else 0
        return f"cuda:{self._local[0] % gpus}" if gpus > 1 else given

    def poll(self) -> bool:
        """Answers the others; whether one of them has failed."""
        now = time.monotonic()
        if self.handle == NULL or now - self._polled < 0.1:
            return False
        self._polled = now
        return bool(lib.csrec_comm_poll(self.handle, 0.0, ffi.new("double *"), NULL))

    def __enter__(self) -> Ranks:
        if self.several:
            room, error = ffi.new("csrec_comm **"), new_error()
            self._messages = _Messages(self._comm, sys.modules["mpi4py.MPI"], self._local)
            status = lib.csrec_comm_create(self._messages.calls, room, error)
            self._raise()
            check(status, error)
            self.handle = room[0]
        return self

    def __exit__(self, _kind: Any, error: Optional[BaseException], _traceback: Any) -> None:
        if self.handle == NULL:
            return
        if error is not None:
            line = (str(error).splitlines() or [""])[0] or type(error).__name__
            lib.csrec_comm_fail(self.handle, line.encode("utf-8", "replace"))
        handle, self.handle = self.handle, NULL
        lib.csrec_comm_destroy(handle)
        self._raise()

    def _raise(self) -> None:
        """What went wrong in a message."""
        if self._messages is not None and self._messages.error is not None:
            raise self._messages.error
