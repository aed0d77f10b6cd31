# SPDX-License-Identifier: BSD-3-Clause
"""Calls that type checkers judge, never run: lines that end in "wrong" must be errors, no others."""
import numpy as np
from typing_extensions import assert_type

import csrecover
from csrecover import Model, RecoverInfo, inpaint, recover


class Labels:
    """As an array of xarray looks to a type checker."""

    @property
    def dims(self) -> tuple[str, ...]: return ()

    @property
    def coords(self) -> dict[str, int]: return {}

    @property
    def attrs(self) -> dict[object, object]: return {}

    @property
    def name(self) -> str: return ""

    def __array__(self) -> np.ndarray: return np.zeros(3)


def right(y: np.ndarray, mask: np.ndarray, labels: Labels, model: Model, yes: bool) -> None:
    assert_type(recover(y, mask), np.ndarray)
    assert_type(recover(y, mask=mask, return_info=False), np.ndarray)
    assert_type(recover(y, mask, return_info=True), tuple[np.ndarray, RecoverInfo])
    assert_type(recover(y, mask, return_uncertainty=True), tuple[np.ndarray, np.ndarray])
    assert_type(recover(y, mask, return_uncertainty=True, return_info=True),
                tuple[np.ndarray, np.ndarray, RecoverInfo])
    assert_type(recover(labels), Labels)
    assert_type(recover(labels, return_info=True), tuple[Labels, RecoverInfo])
    assert_type(recover(labels, return_uncertainty=True, channel_axis="band"), tuple[Labels, Labels])
    assert_type(recover(csrecover.sample(y, 0.5), quality="best", sigma="auto"), np.ndarray)
    assert_type(recover([1.0, 2.0], index=[0, 3], shape=(4,)), np.ndarray)
    recover(y, mask, return_info=yes)
    recover(y, mask, seed=3, rng=np.random.default_rng(1), scale=(0, 1), shifts=4, lambda_=0.1)
    recover(np.ma.masked_invalid(y), model=model, callback=lambda told: told.done > 4)
    assert_type(inpaint(y, mask, channel_axis=-1), np.ndarray)
    assert_type(inpaint(labels, mask, return_info=True), tuple[Labels, RecoverInfo])
    assert_type(csrecover.datasets.picture("head", 64), np.ndarray)
    assert_type(csrecover.read("a.csv", grid=(4, 4)).rate, float)


def wrong(y: np.ndarray, mask: np.ndarray, labels: Labels) -> None:
    recover()  # wrong
    recover("scan.npz")  # wrong
    recover(y, mask, mask)  # wrong
    recover(y, mask, quality="splendid")  # wrong
    recover(y, mask, qualty="best")  # wrong
    recover(y, mask, lambada=0.1)  # wrong
    recover(y, mask, lambda_="much")  # wrong
    recover(y, mask, sigma="guess")  # wrong
    recover(y, mask, backend="gpu")  # wrong
    recover(y, mask, shifts=0.5)  # wrong
    recover(y, mask, seed=None)  # wrong
    recover(y, mask, threads="4")  # wrong
    recover(y, mask, scale=255)  # wrong
    recover(y, mask, order="zigzag")  # wrong
    recover(y, mask, model="net.npz")  # wrong
    recover(y, mask, callback=3)  # wrong
    recover(y, mask).residual  # wrong
    recover(y, mask, return_info=True).shape  # wrong
    picture, info = recover(y, mask, return_uncertainty=True, return_info=True)  # wrong
    recover(labels, return_info=True)[1].dims  # wrong
    inpaint(y)  # wrong
    inpaint(y, mask, index=[1])  # wrong
    csrecover.recovr(y, mask)  # wrong
    csrecover.solve(y, y, atoms="3")  # wrong
