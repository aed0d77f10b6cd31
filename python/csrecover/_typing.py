# SPDX-License-Identifier: BSD-3-Clause
"""What type checkers know of the arguments of :func:`csrecover.recover`."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Hashable, Mapping, Protocol, Sequence, TypedDict, TypeVar, Union

import numpy as np

from ._measurement import Measurement

if TYPE_CHECKING:
    import os
    from typing import Literal, Optional

    from ._models import Model
    from ._progress import Callback
    from ._whole import ChannelAxis



class SupportsArray(Protocol):
    """What NumPy takes for an array, as tensors and tables."""

    def __array__(self) -> np.ndarray[Any, Any]: ...


class Labelled(Protocol):
    """An array with named axes, as ``xarray.DataArray``: what comes back is one, too."""

    @property
    def dims(self) -> tuple[Hashable, ...]: ...

    @property
    def coords(self) -> Mapping[Any, Any]: ...

    @property
    def attrs(self) -> dict[Any, Any]: ...

    @property
    def name(self) -> Any: ...


Array = Union["np.ndarray[Any, Any]", SupportsArray, Sequence[float], Sequence[Sequence[float]]]
Picture = Union[Array, str, "os.PathLike[str]"]
Samples = Union[Picture, Measurement]
Mask = Union[Picture, Labelled]
L = TypeVar("L", bound=Labelled)


class CommonOptions(TypedDict, total=False):
    """Keyword arguments of both :func:`csrecover.recover` and :func:`csrecover.inpaint`."""

    dtype: Any
    quality: Optional[Literal["fast", "balanced", "best", "max"]]
    method: Optional[str]
    solver: Optional[str]
    basis: Optional[str]
    sigma: Union[float, Array, str, None]
    rays: Union[float, Array, None]
    robust: bool
    guide: Any
    labels: bool
    scale: Optional[tuple[float, float]]
    shifts: Optional[int]
    seed: int
    rng: Union[int, np.random.Generator, np.random.RandomState, None]
    order: Optional[Literal["morton", "hilbert", "raster"]]
    columns: Optional[Literal["paper", "two-sided"]]
    reference_pursuit: bool
    atoms: Optional[int]
    epsilon: Optional[float]
    min_coefficient: Optional[float]
    range: Optional[tuple[Optional[float], Optional[float]]]
    curve: Optional[Literal["auto", "none", "log"]]
    callback: Optional[Callback]
    progress: Any
    threads: int
    memory: int
    tile: int
    time_axis: Union[int, str, None]
    times: Any
    interval: Optional[float]
    minutes: float
    backend: Literal["auto", "cpu", "cuda"]
    devices: Sequence[int]
    comm: Any
    coefficients: bool
    model: Optional[Model]
    reference: Any
    peak: Optional[float]
    within: Optional[float]
    fill: Any
    nodata: Optional[float]
    depth: Union[int, Sequence[int], None]
    # The parameters of methods, solvers and bases; a test compares them with the tables.
    apart: float
    blend: float
    block: float
    copies: float
    debias: float
    joint: float
    network: float
    nonnegative: float
    tau: float
    digits: float
    effort: float
    first: float
    groups: float
    iterations: float
    k: float
    kind: float
    lambda_: float
    last: float
    levels: float
    motion: float
    planes: float
    range: float
    relax: float
    rounds: float
    soft: float
    splitting: float
    step: float
    steps: float
    together: float
    turns: float
    vote: float
    ways: float


class InpaintOptions(CommonOptions, total=False):
    """Keyword arguments of :func:`csrecover.inpaint`."""

    channel_axis: Union[int, str, None]


class RecoverOptions(CommonOptions, total=False):
    """Keyword arguments of :func:`csrecover.recover`."""

    index: Optional[Array]
    shape: Union[int, Sequence[int], None]
    channel_axis: Union[ChannelAxis, str]
