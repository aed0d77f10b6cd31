# SPDX-License-Identifier: BSD-3-Clause
"""Options of a recovery, from keyword arguments to C."""
from __future__ import annotations

import inspect
from functools import lru_cache
from keyword import iskeyword
from typing import Any, Callable, Optional, Sequence

import numpy as np

from ._arguments import SEED, deviation, flag, scalar, seed_of, whole, word
from ._errors import ArgumentError, RecoveryWarning, warn
from ._library import NULL, doubles, ffi, lib, number, pointer, text, unknown, unknown_argument
from ._models import Model
from ._tables import bases, methods, solvers

ORDERS = ("morton", "hilbert", "raster")
COLUMNS = ("paper", "two-sided")
CURVES = ("auto", "none", "log")


def _bounds(given: Any) -> tuple[float, float]:
    """The ends of a range, of which one may be None."""
    try:
        low, high = (float("nan") if end is None else scalar(end, "range") for end in given)
    except (TypeError, ValueError):
        raise ArgumentError(f"range = {given!r}; give (low, high), None for an open end") from None
    if low >= high or (low != low and high != high):
        raise ArgumentError(f"range = {given!r}; give (low, high), the lower end first")
    return low, high


def _qualities() -> list[str]:
    names: list[str] = []
    while (name := lib.csrec_recover_preset(len(names), NULL, NULL)) != NULL:
        names.append(text(name))
    return names


def _method_solvers() -> list[str]:
    """What ``solver`` takes for a method of that name."""
    row, names = ffi.new("csrec_method *"), []
    while lib.csrec_method_info(len(names), row):
        names.append(text(row.solver))
    return names


def check_place(kind: str, name: Any) -> None:
    """Refuses what is no ``kind``, but a name that another argument of recover takes."""
    places = {"method": [*methods()], "solver": [*solvers(), *_method_solvers()],
              "basis": [*bases()], "quality": _qualities()}
    if kind not in places or not isinstance(name, str) or name in places[kind]:
        return
    for other, names in places.items():
        if other != kind and name and name.lower() in names:
            raise ArgumentError(f"{kind} {name!r} is unknown; a {other} of recover: "
                                f"{other}={name.lower()!r}")


def _start(made: Any, quality: Optional[str], labels: bool) -> Any:
    options = ffi.new("csrec_recover_options *")
    lib.csrec_recover_defaults(options)
    if quality is None:
        return options
    word(quality, "quality")
    names = _qualities()
    check_place("quality", quality)
    if quality not in names:
        raise unknown("quality", quality, names)
    preset = lib.csrec_labels_preset if labels else lib.csrec_recover_preset
    preset(names.index(quality), made, options)
    return options


@lru_cache(maxsize=None)
def _parameters() -> frozenset[str]:
    rows = [*methods().values(), *solvers().values(), *bases().values()]
    return frozenset(name for row in rows for name in row.parameters)


def _setting(key: str, calls: Sequence[Callable[..., Any]]) -> str:
    """The name of a parameter as the tools spell it: lambda of ``lambda_``, solver.k of
    ``solver__k``. ``calls``: functions that have the other keyword arguments."""
    name = key.rstrip("_").replace("__", ".")
    owner, _, own = name.rpartition(".")
    if own in _parameters() and owner in ("", "method", "solver", "basis"):
        return name
    if key == "unknown":
        raise unknown_argument(key, [], "; the value that stands for what is not known is nodata")
    arguments = [name for one in calls for name, kind in inspect.signature(one).parameters.items()
                 if kind.kind is kind.KEYWORD_ONLY]
    parameters = (name + "_" * iskeyword(name) for name in sorted(_parameters()))
    raise unknown_argument(key, [*arguments, *parameters],
                           "; see methods, solvers and bases for their parameters")


def settings(given: dict[str, float], *calls: Callable[..., Any]) -> tuple[Any, list[Any]]:
    """csrec_setting[] of the keyword arguments that ``calls`` do not name, and what it points to."""
    names = [ffi.new("char[]", _setting(name, calls).encode()) for name in given]
    made = ffi.new("csrec_setting[]", max(len(given), 1))
    for setting, name, (key, value) in zip(made, names, given.items()):
        if isinstance(value, (bool, np.bool_)):
            raise ArgumentError(f"{key} = {value}; give a number, {int(value)}")
        setting.name, setting.value = name, scalar(value, key)
    return made, names


def _add_settings(options: Any, params: dict[str, float], call: Callable[..., Any]) -> list[Any]:
    """Parameters of the caller behind those of the preset."""
    solve = options.solve
    before = {text(solve.settings[i].name): solve.settings[i].value
              for i in range(solve.n_settings)}
    made, keep = settings({**before, **params}, call, options_of)
    solve.settings, solve.n_settings = made, len({**before, **params})
    return [made, *keep]


def options_of(made: Any, keep: list[Any], call: Callable[..., Any], *, quality: Optional[str] = None,
               method: Optional[str] = None, solver: Optional[str] = None,
               basis: Optional[str] = None, shifts: Optional[int] = None, seed: int = SEED,
               rng: Any = None, order: Optional[str] = None, columns: Optional[str] = None,
               reference_pursuit: bool = False, atoms: Optional[int] = None,
               epsilon: Optional[float] = None, min_coefficient: Optional[float] = None,
               threads: int = 0, memory: int = 0, tile: int = 0, minutes: float = 0.0,
               backend: str = "auto", model: Optional[Model] = None, labels: bool = False,
               range: Any = None, curve: Optional[str] = None, times: Any = None,
               interval: Optional[float] = None, **params: float) -> Any:
    """csrec_recover_options * for the measurement ``made``, given to the function ``call``;
    what they point to is added to ``keep``."""
    options = _start(made, quality, labels)
    options.labels = labels
    solve, stop = options.solve, options.solve.stop
    for name, part, field in ((method, options, "method"), (solver, solve, "solver"),
                              (basis, options, "basis"), (backend, options, "backend")):
        if name is not None:
            check_place(field, name)
            keep.append(ffi.new("char[]", word(name, field)))
            setattr(part, field, keep[-1])
    if params:
        keep += _add_settings(options, params, call)
    if order is not None:
        options.order = number("order", "csrec_order", order, ORDERS)
    if columns is not None:
        options.columns = number("columns", "csrec_columns", columns, COLUMNS)
    if epsilon is not None:
        stop.epsilon = scalar(epsilon, "epsilon")
    if min_coefficient is not None:
        stop.min_coefficient = scalar(min_coefficient, "min_coefficient")
    if atoms is not None:
        stop.atoms = whole(atoms, "atoms")
    if shifts is not None:
        options.shifts = whole(shifts, "shifts")
    solve.reference = flag(reference_pursuit, "reference_pursuit")
    options.seed, options.threads = seed_of(seed, rng), whole(threads, "threads")
    options.memory = whole(memory, "memory")
    options.tile = whole(tile, "tile")
    options.seconds = 60.0 * deviation(minutes, "minutes")
    if times is not None:
        times = doubles(times)
        if times.shape != tuple(made.shape.dim[0:made.shape.dims]):
            raise ArgumentError(f"times has shape {times.shape}; give one for each entry of a signal of "
                                f"one axis")
        options.times = pointer(times)
        keep.append(times)
    if range is not None:
        options.range = _bounds(range)
    if curve is not None:
        options.curve = number("curve", "csrec_curve", curve, CURVES)
    if interval is not None:
        options.interval = scalar(interval, "interval")
        if not 0 < options.interval < 100:
            raise ArgumentError(f"interval = {interval}; give a percentage above 0 and below 100, as 90")
    if model is not None:
        if not isinstance(model, Model):
            raise ArgumentError(f"model = {model!r}; give a Model, as of read_model")
        options.model = model._handle
        keep.append(model)
    sentence = ffi.new("char[]", int(lib.CSREC_DOUBT_SIZE))
    if lib.csrec_doubt_prior(made, options, sentence):
        warn(text(sentence), RecoveryWarning)
    return options
