# SPDX-License-Identifier: BSD-3-Clause
"""The sampled Haar matrix of Park (2015)."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ._arguments import as_tuple, whole, word
from ._errors import ArgumentError
from ._library import (NULL, check, copied, doubles, ffi, indices, lib, new_error, new_shape,
                       number, pointer, real)
from ._operators import Operator
from ._options import COLUMNS, ORDERS


class Haar(Operator):
    """The sampled Haar matrix (Park 2015): its distinct columns of unit length, never stored.

    Parameters
    ----------
    rows : array_like of int
        [m] ascending distinct rows, see :func:`haar_rows`
    levels : int, optional
        L, the matrix has 2^L rows; default: the fewest that hold the rows
    columns : str, optional
        'two-sided' or 'paper'
    dtype, backend
        as of :class:`Operator`

    Notes
    -----
    ``toarray()`` is that matrix: in column j, which stands for a block of 2^l rows, the samples of
    the block's first half are 1 / sqrt(count), those of the second -1 / sqrt(count), ``count`` being
    the samples in the block; column 0 is 1 / sqrt(m) everywhere.

    Examples
    --------
    >>> csrecover.Haar([0, 1, 3]).shape
    (3, 3)
    """

    def __init__(self, rows: Any, levels: Optional[int] = None, columns: str = "two-sided",
                 dtype: Any = np.float64, backend: str = "auto") -> None:
        rows = indices(rows, "rows", dtype=np.uint64)
        if rows.ndim != 1 or rows.size == 0:
            raise ArgumentError(f"rows have shape {rows.shape}; give at least one, as 1-D array")
        self.levels = int(rows[-1]).bit_length() if levels is None else whole(levels, "levels")
        self.rows, self.columns = rows, columns
        super().__init__("haar", dtype, m=rows.size, levels=self.levels,
                         rows=pointer(rows, "uint64_t"),
                         columns=number("columns", "csrec_columns", columns, COLUMNS),
                         backend=backend)
        self._column_numbers: Optional[np.ndarray] = None

    @property
    def column_numbers(self) -> np.ndarray:
        """[n] uint64: which column of the full Haar matrix each column of A is: 0, or
        2^(L - l) + g for block g of 2^l rows."""
        if self._column_numbers is None:
            self._column_numbers = self._number_columns()
        return self._column_numbers

    def _number_columns(self) -> np.ndarray:
        zeros = np.zeros(self.rows.size)
        numbers = haar_transform(self.rows, zeros, self.levels)["column"].copy()
        return numbers if self.columns == "paper" else numbers[self._two_sided(numbers)]

    def _two_sided(self, numbers: np.ndarray) -> np.ndarray:
        """Which columns have samples in both halves of their block, or are column 0."""
        one = np.uint64(1)
        high = np.frexp(np.maximum(numbers, one).astype(np.float64))[1].astype(np.uint64) - one
        high -= (one << high) > np.maximum(numbers, one)  # rounded up to the next power of 2
        half = np.uint64(max(self.levels, 1)) - high - one  # log2 of half the block's span
        group = numbers - (one << high)
        edge = [np.searchsorted(self.rows, (group * np.uint64(2) + np.uint64(k)) << half)
                for k in range(3)]
        return (numbers == 0) | ((edge[0] < edge[1]) & (edge[1] < edge[2]))


def haar_transform(rows: Any, r: Any, levels: Optional[int] = None, method: str = "distinct",
                   backend: str = "auto") -> np.ndarray:
    """All inner products with the non-zero columns of the sampled Haar matrix (Park 2015, section 2.4).

    Parameters
    ----------
    rows : array_like of int
        [N] ascending distinct rows, see :func:`haar_rows`
    r : array_like
        [N]
    levels : int, optional
        L, as of :class:`Haar`
    method : str, optional
        'levels', the paper's L steps over the samples, and 'tree', the row tree, list every column;
        'distinct' lists one of those that are equal up to sign
    backend : str, optional
        'auto' or 'cpu'; on a device ``Haar(rows, backend="cuda").rmatvec(r)`` has the products

    Returns
    -------
    products : ndarray
        in ascending column order, with the fields 'column', 'value' and 'count', the samples in the
        column's block

    Examples
    --------
    >>> csrecover.haar_transform([0, 1, 3], [1.0, 2.0, 3.0])["column"]
    array([0, 1, 2, 3], dtype=uint64)
    """
    rows, values = indices(rows, "rows", dtype=np.uint64), doubles(real(r, "r"))
    if rows.ndim != 1 or rows.size == 0 or values.shape != rows.shape:
        raise ArgumentError(f"rows have shape {rows.shape} and r {values.shape}; give [N] of both")
    if levels is None:
        levels = int(rows[-1]).bit_length()
    device = ffi.new("char[]", word(backend, "backend"))
    found, error = ffi.new("int64_t *"), new_error()
    arguments = (device, whole(levels, "levels"), rows.size, pointer(rows, "uint64_t"),
                 pointer(values), number("transform", "csrec_transform_method", method,
                        ("levels", "tree", "distinct")))
    check(lib.csrec_haar_transform(*arguments, 0, NULL, found, error), error)
    products = ffi.new("csrec_product[]", int(found[0]))
    check(lib.csrec_haar_transform(*arguments, found[0], products, found, error), error)
    record = np.dtype([("column", "u8"), ("value", "f8"), ("count", "i8")])
    return copied(products, int(found[0]), "csrec_product", record)


def haar_rows(index: Any, shape: Any, order: str = "morton") -> tuple[np.ndarray, int]:
    """Rows of the Haar matrix along a curve through the signal.

    Parameters
    ----------
    index : array_like of int
        flat C-order positions
    shape : int or sequence of int
        of the signal
    order : str, optional
        'morton', 'hilbert' or 'raster'

    Returns
    -------
    rows, levels : ndarray of uint64, int
        the row of each position, and L: the matrix has 2^L rows

    Notes
    -----
    For :class:`Haar` sort them, and the samples with them.

    Examples
    --------
    >>> csrecover.haar_rows([0, 1, 4, 5], (4, 4))
    (array([0, 1, 2, 3], dtype=uint64), 4)
    """
    shape = as_tuple(shape)
    index = indices(index, "index", np.prod(shape, dtype=np.float64))
    which = number("order", "csrec_order", order, ORDERS)
    levels, made = ffi.new("int *"), new_shape(shape)
    check(lib.csrec_rows_levels(made, which, levels))
    rows = np.empty(index.size, np.uint64)
    check(lib.csrec_rows_from_index(made, which, index.size, pointer(index, "int64_t"),
                                    pointer(rows, "uint64_t")))
    return rows, int(levels[0])
