# SPDX-License-Identifier: BSD-3-Clause
"""A reconstructor for DeepInverse (https://deepinv.github.io): needs PyTorch, and takes any physics
that has a mask, as deepinv.physics.Inpainting.

>>> model = csrecover.deepinv.Reconstructor(quality="fast")     # doctest: +SKIP
>>> x = model(y, physics)                                       # doctest: +SKIP
"""
from __future__ import annotations

from typing import Any, Optional

import numpy as np

try:
    import torch
except ImportError as error:
    raise ImportError("csrecover.deepinv needs PyTorch; install it: pip install torch") from error

from ._errors import ArgumentError
from ._recover import recover

__all__ = ["Reconstructor"]


def _known(mask: torch.Tensor, shape: torch.Size) -> np.ndarray:
    """Which values of a batch [B, C, ...] are measured."""
    if mask.ndim == len(shape) - 1:
        mask = mask[None]
    if mask.ndim != len(shape) or any(m not in (1, n) for m, n in zip(mask.shape, shape)):
        raise ArgumentError(f"physics.mask has shape {tuple(mask.shape)}, which does not fit y of "
                            f"{tuple(shape)}; make the physics for that size")
    return (mask.detach().cpu() != 0).expand(shape).numpy()


def _sigma(physics: Any) -> Optional[float]:
    """The standard deviation of Gaussian noise that the physics adds."""
    sigma = getattr(getattr(physics, "noise_model", None), "sigma", None)
    if sigma is None or torch.as_tensor(sigma).numel() != 1:
        return None
    return float(sigma) or None


class Reconstructor(torch.nn.Module):
    """Recovers what physics with a mask measured, by :func:`csrecover.recover`.

    It has nothing to train, and gradients do not pass through it.

    Parameters
    ----------
    **options
        of :func:`csrecover.recover`, as quality, method, threads, seed or sigma; without sigma that
        of the physics' Gaussian noise is used

    Examples
    --------
    >>> import deepinv, torch                                   # doctest: +SKIP
    >>> mask = (torch.rand(1, 48, 48) < 0.3).float()            # doctest: +SKIP
    >>> physics = deepinv.physics.Inpainting(img_size=(1, 48, 48), mask=mask)   # doctest: +SKIP
    >>> model = csrecover.deepinv.Reconstructor(quality="fast")  # doctest: +SKIP
    >>> model(physics(x), physics).shape                        # doctest: +SKIP
    torch.Size([1, 1, 48, 48])
    """

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options

    def forward(self, y: torch.Tensor, physics: Any, **_: Any) -> torch.Tensor:
        """The recovered signals.

        Parameters
        ----------
        y : torch.Tensor
            [B, C, ...] measurements, of the signal's shape; what is not in the mask is not looked at
        physics : deepinv.physics.Physics
            whose attribute ``mask`` is not 0 where a value is measured

        Returns
        -------
        x : torch.Tensor
            as y in shape, type and device
        """
        mask = getattr(physics, "mask", None)
        if not isinstance(mask, torch.Tensor):
            raise ArgumentError(f"{type(physics).__name__} has no mask; csrecover recovers what "
                                "inpainting physics measure")
        if y.ndim < 3:
            raise ArgumentError(f"y has {y.ndim} axes; give [batch, channels, ...]")
        known = _known(mask, y.shape)
        values = np.where(known, y.detach().cpu().double().numpy(), np.nan)
        options = {"sigma": _sigma(physics), **self.options}
        made = np.stack([self._one(v, k, options) for v, k in zip(values, known)])
        return torch.from_numpy(made).to(y)

    @staticmethod
    def _one(values: np.ndarray, known: np.ndarray, options: dict[str, Any]) -> np.ndarray:
        """Channels with one mask are recovered together, as colours are."""
        if (known == known[:1]).all():
            return recover(values, channel_axis=0, **options)
        return np.stack([recover(v, channel_axis=None, **options) for v in values])
