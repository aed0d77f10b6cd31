"""Options of a recovery, from keyword arguments to C."""
from __future__ import annotations

from typing import Any, Optional

from ._arguments import SEED, scalar, seed_of, whole, word
from ._errors import ArgumentError
from ._library import NULL, ffi, lib, number, settings, text
from ._models import Model

ORDERS = ("morton", "hilbert", "raster")
COLUMNS = ("paper", "two-sided")


def _start(made: Any, quality: Optional[str]) -> Any:
    options = ffi.new("csrec_recover_options *")
    lib.csrec_recover_defaults(options)
    if quality is None:
        return options
    names: list[str] = []
    while (name := lib.csrec_recover_preset(len(names), NULL, NULL)) != NULL:
        if text(name) == quality:
            lib.csrec_recover_preset(len(names), made, options)
            return options
        names.append(text(name))
    raise ArgumentError(f"quality '{quality}' is unknown; use {', '.join(names)}")


def _add_settings(options: Any, params: dict[str, float]) -> list[Any]:
    """Parameters of the caller behind those of the preset."""
    solve = options.solve
    before = {text(solve.settings[i].name): solve.settings[i].value
              for i in range(solve.n_settings)}
    made, keep = settings({**before, **params})
    solve.settings, solve.n_settings = made, len({**before, **params})
    return [made, *keep]


def options_of(made: Any, keep: list[Any], *, quality: Optional[str] = None,
               method: Optional[str] = None, solver: Optional[str] = None,
               basis: Optional[str] = None, shifts: Optional[int] = None, seed: int = SEED,
               rng: Any = None, order: Optional[str] = None, columns: Optional[str] = None,
               reference_pursuit: bool = False, atoms: Optional[int] = None,
               epsilon: Optional[float] = None, min_coefficient: Optional[float] = None,
               threads: int = 0, memory: int = 0, tile: int = 0, minutes: float = 0.0,
               backend: str = "auto", model: Optional[Model] = None, **params: float) -> Any:
    """csrec_recover_options * for the measurement ``made``; what they point to is added to
    ``keep``."""
    options = _start(made, quality)
    solve, stop = options.solve, options.solve.stop
    for name, part, field in ((method, options, "method"), (solver, solve, "solver"),
                              (basis, options, "basis"), (backend, options, "backend")):
        if name is not None:
            keep.append(ffi.new("char[]", word(name, field)))
            setattr(part, field, keep[-1])
    if params:
        keep += _add_settings(options, params)
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
    solve.reference = bool(reference_pursuit)
    options.seed, options.threads = seed_of(seed, rng), whole(threads, "threads")
    options.memory = whole(memory, "memory")
    options.tile = whole(tile, "tile")
    options.seconds = 60.0 * scalar(minutes, "minutes")
    if model is not None:
        if not isinstance(model, Model):
            raise ArgumentError(f"model = {model!r}; give a Model, as of read_model")
        options.model = model._handle
        keep.append(model)
    return options
