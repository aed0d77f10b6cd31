# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions: one class a status of the C library, with its one line of text."""
from __future__ import annotations

import sys
import warnings


class CsrecError(Exception):
    """What libcsrec refuses or fails at. ``str(error)`` is one line that names the field and the
    remedy; every subclass is also the built-in exception that it is nearest to."""


Error = CsrecError
"""The same class, by the name that packages usually give it."""


class ArgumentError(CsrecError, ValueError):
    """An argument is out of range, or arguments do not fit each other."""


class UnknownArgumentError(ArgumentError, TypeError):
    """A keyword argument that nothing has, neither the function nor a method, solver or basis."""


class OutOfMemoryError(CsrecError, MemoryError):
    """There is no memory for what was asked."""


class FileError(CsrecError, OSError):
    """A file cannot be opened, read or written."""


class FormatError(CsrecError, ValueError):
    """A file is not in the expected format."""


class DataError(CsrecError, ValueError):
    """Data are not usable: not finite, repeated, out of range or inconsistent."""


class UnsupportedError(CsrecError, NotImplementedError):
    """This build, or this combination of solver, basis and shape, cannot do it."""


class DeviceError(CsrecError, RuntimeError):
    """The compute device failed or is missing."""


class Stopped(CsrecError):
    """The callback stopped work that has no result so far."""


class RecoveryWarning(UserWarning):
    """What lets the result of a recovery be worthless."""


def warn(message: str, kind: type[Warning]) -> None:
    """A warning at the line that called the package, however deep within it this is."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "csrecover":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)


#: By the name of csrec_status without its prefix.
BY_STATUS: dict[str, type[CsrecError]] = {
    "ARGUMENT": ArgumentError, "MEMORY": OutOfMemoryError, "FILE": FileError,
    "FORMAT": FormatError, "DATA": DataError, "UNSUPPORTED": UnsupportedError,
    "DEVICE": DeviceError, "STOPPED": Stopped,
}
