# SPDX-License-Identifier: BSD-3-Clause
"""The C library: loading, statuses as exceptions, arrays as pointers."""
from __future__ import annotations

import functools
import inspect
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence, TypeVar, cast

import numpy as np

from ._arguments import as_tuple, scalar, shown, word
from ._csrec import ffi
from ._errors import BY_STATUS, ArgumentError, CsrecError, DataError, UnknownArgumentError

F = TypeVar("F", bound=Callable[..., Any])


@contextmanager
def _short_waits() -> Iterator[None]:
    """OpenMP's threads spin while they wait, which takes processors from others; how long, its
    library reads from the environment when it is loaded. As the tools have it (src/tools/common/wait.c),
    unless the user says otherwise; the environment is then as before."""
    ours = not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & set(os.environ)
    if ours:
        os.environ["GOMP_SPINCOUNT"] = "10000"
    try:
        yield
    finally:
        if ours:
            del os.environ["GOMP_SPINCOUNT"]


def _load() -> Any:
    folder = Path(__file__).resolve().parent
    for suffix in (".so", ".dylib"):
        if (folder / f"libcsrec{suffix}").exists():
            with _short_waits():
                return ffi.dlopen(str(folder / f"libcsrec{suffix}"))
    raise ImportError(f"no libcsrec beside {__file__}; install with: pip install ./python")


#: Functions of csrec.h; each call releases the GIL.
lib: Any = _load()
NULL = ffi.NULL
_STATUS: dict[int, str] = {number: name[len("CSREC_"):]
                           for number, name in ffi.typeof("csrec_status").elements.items()}


def text(pointer: Any) -> str:
    """A C string; '' for NULL."""
    return "" if pointer == NULL else ffi.string(pointer).decode("utf-8", "replace")


def path_bytes(path: str | os.PathLike[str]) -> Any:
    return ffi.new("char[]", os.fsencode(path))


def new_error() -> Any:
    return ffi.new("csrec_error *")


def check(status: int, error: Any = None) -> None:
    """Raises the exception that belongs to a status; ``error``: the csrec_error it came with."""
    if status == 0:
        return
    line = text(error.text) if error is not None else ""
    kind = BY_STATUS.get(_STATUS.get(status, ""), CsrecError)
    raise kind(line or text(lib.csrec_status_text(status)))


def hint(given: str, names: Sequence[str]) -> str:
    """'; did you mean NAME?', as the tools ask it, or ''."""
    kept = [ffi.new("char[]", name.encode()) for name in names]
    found = lib.csrec_name_near(given.encode(errors="replace"), len(kept),
                                ffi.new("const char *[]", kept))
    return "" if found == NULL else f"; did you mean {text(found)}?"


def unknown(what: str, name: str, choices: Sequence[str]) -> ArgumentError:
    """The error for a name that no table has."""
    return ArgumentError(f"{what} '{name}' is unknown; use one of {', '.join(choices)}"
                         f"{hint(name, choices)}")


def unknown_argument(key: str, names: Sequence[str], remedy: str) -> UnknownArgumentError:
    """The error for a keyword argument that is none of ``names``; remedy: where none is near."""
    return UnknownArgumentError(f"unknown argument '{shown(key)[1:-1]}'{hint(key, names) or remedy}")


def named(function: F) -> F:
    """The function, with an UnknownArgumentError for a keyword argument that it does not have, and
    a signature that is read at a glance: docstrings tell types."""
    kinds = inspect.signature(function).parameters.values()
    function.__signature__ = inspect.Signature([p.replace(annotation=p.empty) for p in kinds])  # type: ignore
    names = [p.name for p in kinds if p.kind is not p.POSITIONAL_ONLY]

    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        for key in given:
            if key not in names:
                own = [name for name in names if name != "self"]
                what, takes = function.__qualname__.removesuffix(".__init__"), ", ".join(own)
                raise unknown_argument(key, own, f"; see help(csrecover.{what})" if len(takes) > 80
                                       else f"; {what} takes {takes or 'no argument'}")
        return function(*args, **given)

    return function if any(p.kind is p.VAR_KEYWORD for p in kinds) else cast(F, call)


def name_all(module: dict[str, Any], public: Sequence[str]) -> None:
    """Makes the public functions and classes of a module ``named``, where they are defined, too."""
    for name in public:
        thing = module[name]
        if inspect.isfunction(thing):
            module[name] = named(thing)
            setattr(sys.modules[thing.__module__], name, module[name])
        elif inspect.isclass(thing) and inspect.isfunction(vars(thing).get("__init__")):
            thing.__init__ = named(thing.__init__)


def number(prefix: str, enum: str, name: str, choices: Sequence[str]) -> int:
    """The enumerator of a name as the tools spell it, 'two-sided' for CSREC_COLUMNS_TWO_SIDED."""
    word(name, prefix)
    if name not in choices:
        raise unknown(prefix, name, choices)
    relements = ffi.typeof(enum).relements
    return int(relements[f"CSREC_{prefix}_{name}".upper().replace("-", "_")])


# ---- arrays

def unmasked(array: Any, name: str, remedy: str = "") -> Any:
    """What is no masked array of numpy.ma, or hides nothing: what is under a mask is no number."""
    if not isinstance(array, np.ma.MaskedArray):
        return array
    hidden = int(np.ma.count_masked(array))
    if hidden:
        raise DataError(f"{name}: is masked in {hidden} of {array.size} entries; "
                        f"{remedy or 'leave them out'}")
    return array.data


def true_where(mask: Any, name: str) -> np.ndarray:
    """A mask as bool. NaN is neither true nor false."""
    values = np.asarray(unmasked(mask, name))
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise DataError(f"{name}: has NaN, which is neither true nor false; give {name} == 1")
    return values.astype(bool)


def _array(array: Any, name: str, remedy: str) -> np.ndarray:
    array = unmasked(array, name, remedy)
    try:
        return np.asarray(array)
    except ValueError as error:
        raise DataError(f"{name}: is no array of numbers: {error}") from None


def real(array: Any, name: str, remedy: str = "") -> np.ndarray:
    """Any array of real numbers. Complex and other ones are refused, not cut; masked ones too."""
    found = _array(array, name, remedy)
    if found.dtype.kind not in "biuf":
        raise DataError(f"{name}: has dtype {found.dtype}; give real numbers")
    return found


def numbers(array: Any, name: str, remedy: str = "") -> np.ndarray:
    """Any array of real or complex numbers."""
    found = _array(array, name, remedy)
    return found if found.dtype.kind == "c" else real(found, name)


def indices(given: Any, name: str, entries: float = 2.0**63,
            dtype: Any = np.int64) -> np.ndarray:
    """[N] whole numbers, 0 to entries - 1. NumPy counts negative ones from the end, and cuts
    fractions off: both are refused."""
    found = np.asarray(unmasked(given, name))
    if found.shape == (0,):
        return np.empty(0, dtype)
    if found.dtype.kind not in "iu" or found.ndim != 1:
        raise DataError(f"{name}: has dtype {found.dtype} and {found.ndim} axes; give flat C-order "
                        "positions, a 1-D array of integers")
    wrong = (found < 0) | (found >= entries)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise DataError(f"{name}: element {first} is {found[first]}; must be "
                        f"{'0 to ' + str(int(entries) - 1) if entries < 2**63 else 'at least 0'}")
    return np.ascontiguousarray(found, dtype=dtype)


def doubles(array: np.ndarray) -> np.ndarray:
    """As the library takes it: float64, C order. The array itself where it is that already."""
    return np.ascontiguousarray(array, dtype=np.float64)


def pairs(array: np.ndarray) -> np.ndarray:
    """Complex values as doubles [..., 2]."""
    return np.ascontiguousarray(array, np.complex128).view(np.float64)


def kept(*arrays: np.ndarray) -> np.dtype[Any]:
    """dtype of results: float32 where all inputs are, else float64."""
    if all(array.dtype.kind == "f" and array.dtype.itemsize <= 4 for array in arrays):
        return np.dtype(np.float32)
    return np.dtype(np.float64)


def single(dtype: np.dtype[Any]) -> bool:
    """float32 and shorter, or complex64."""
    return dtype.kind in "fc" and dtype.itemsize <= (4 if dtype.kind == "f" else 8)


def pointer(array: np.ndarray, ctype: str = "double") -> Any:
    """The memory of a C-ordered array, not copied; the array must outlive what uses it."""
    if array.size == 0:
        return ffi.new(f"{ctype}[1]")
    return ffi.from_buffer(f"{ctype}[]", array)


def copied(address: Any, count: int, ctype: str, dtype: Any) -> np.ndarray:
    """A NumPy array of its own with count elements at a C address."""
    if count == 0:
        return np.empty(0, dtype)
    return np.frombuffer(ffi.buffer(address, count * ffi.sizeof(ctype)), dtype).copy()


def new_shape(shape: Sequence[int]) -> Any:
    """csrec_shape of a tuple; its range is checked by whoever gets it."""
    most = int(lib.CSREC_DIMS_MAX)
    if not 1 <= len(shape) <= most:
        raise ArgumentError(f"shape {tuple(shape)}: needs 1 to {most} axes")
    made = ffi.new("csrec_shape *", {"dims": len(shape)})
    for axis, extent in enumerate(shape):
        made.dim[axis] = int(extent)
    return made


def positions(mask: Any, index: Any, shape: Any) -> tuple[np.ndarray, tuple[int, ...]]:
    """Sampled positions, flat in C order, from a mask or from index and shape."""
    if mask is not None:
        if index is not None:
            raise ArgumentError("mask and index both say what was sampled; give one of them")
        mask = np.asarray(unmasked(mask, "mask"))
        if shape is not None and as_tuple(shape) != mask.shape:
            raise ArgumentError(f"mask has shape {mask.shape}, but shape is {as_tuple(shape)}")
        return np.flatnonzero(mask).astype(np.int64, copy=False), mask.shape
    if index is None or shape is None:
        raise ArgumentError("what was sampled? give mask, or index and shape")
    return indices(index, "index"), as_tuple(shape)


# ---- what solvers and recoveries have in common

@dataclass(frozen=True, eq=False)
class Atoms:
    """A sparse solution, each column once, ascending."""

    column: np.ndarray
    """[n] uint64"""
    coefficient: np.ndarray
    """[n] float64, or complex128"""
    count: np.ndarray
    """[n] int64: samples in the block of a Haar column, else 0"""


def new_atoms(count: int) -> Any:
    """csrec_atoms[count], freed with what the library allocates in it even where Ctrl-C comes
    between."""
    made = ffi.new("csrec_atoms[]", count)

    def clear(atoms: Any) -> None:
        for k in range(count):
            lib.csrec_atoms_clear(atoms + k)
    return ffi.gc(ffi.cast("csrec_atoms *", made), lambda atoms, _owner=made: clear(atoms))


def take_atoms(atoms: Any) -> Atoms:
    """Copies csrec_atoms and frees what the library allocated."""
    taken = Atoms(copied(atoms.column, atoms.n, "uint64_t", np.uint64),
                  copied(atoms.coefficient, atoms.n, "double", np.float64),
                  copied(atoms.count, atoms.n, "int64_t", np.int64))
    lib.csrec_atoms_clear(ffi.addressof(atoms))
    return taken
