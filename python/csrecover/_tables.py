# SPDX-License-Identifier: BSD-3-Clause
"""What the library's tables offer: methods, solvers, bases, backends."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple

from ._library import NULL, ffi, lib, text


class Parameter(NamedTuple):
    """A number that a method, solver or basis takes as a keyword argument."""

    default: float
    least: float
    most: float
    help: str


class Solver(NamedTuple):
    brief: str
    source: str
    """Paper and equation."""
    parameters: dict[str, Parameter]


class Basis(NamedTuple):
    brief: str
    parameters: dict[str, Parameter]


def _parameters(param: Callable[[int, int], Any], row: int) -> dict[str, Parameter]:
    found, i = {}, 0
    while (p := param(row, i)) != NULL:
        found[text(p.name)] = Parameter(p.value, p.least, p.most, text(p.help))
        i += 1
    return found


class Method(NamedTuple):
    brief: str
    source: str
    """Paper and section, or a page of the handbook."""
    model: str
    """Kind of model that it rests on, or ''."""
    parameters: dict[str, Parameter]
    device: str
    """What of it a CUDA device computes, and where not all of it; '' for nothing."""


def methods() -> dict[str, Method]:
    """What :func:`recover` takes as ``method``, by name.

    Returns
    -------
    methods : dict of Method
        by name

    Examples
    --------
    >>> "grids" in csrecover.methods()
    True
    """
    row = ffi.new("csrec_method *")
    found: dict[str, Method] = {}
    while lib.csrec_method_info(len(found), row):
        found[text(row.name)] = Method(text(row.brief), text(row.source), text(row.model),
                                       _parameters(lib.csrec_method_param, len(found)),
                                       text(row.device))
    return found


def solvers() -> dict[str, Solver]:
    """Solvers, with their papers and parameters.

    Returns
    -------
    solvers : dict of Solver
        by name

    Examples
    --------
    >>> csrecover.solvers()["fista"].parameters["lambda"].least >= 0
    True
    """
    name, brief, source = (ffi.new("const char **") for _ in range(3))
    found: dict[str, Solver] = {}
    while lib.csrec_solver_info(len(found), name, brief, source):
        found[text(name[0])] = Solver(text(brief[0]), text(source[0]),
                                      _parameters(lib.csrec_solver_param, len(found)))
    return found


def bases() -> dict[str, Basis]:
    """What :func:`recover` takes as ``basis``, by name.

    Returns
    -------
    bases : dict of Basis
        by name

    Examples
    --------
    >>> "dct" in csrecover.bases()
    True
    """
    name, brief = ffi.new("const char **"), ffi.new("const char **")
    found, row = {}, 0
    while lib.csrec_operator_info(row, name, brief):
        if lib.csrec_operator_is_basis(row):
            found[text(name[0])] = Basis(text(brief[0]),
                                         _parameters(lib.csrec_operator_param, row))
        row += 1
    return found


def backends() -> list[tuple[str, str]]:
    """Where the library can compute.

    Returns
    -------
    backends : list of (str, str)
        name, and the device or why it cannot be used

    Examples
    --------
    >>> "cpu" in dict(csrecover.backends())
    True
    """
    name, line = ffi.new("const char **"), ffi.new("char[512]")
    found: list[tuple[str, str]] = []
    while lib.csrec_backend_info(len(found), name, line, 512):
        found.append((text(name[0]), text(line)))
    return found
