# SPDX-License-Identifier: BSD-3-Clause
"""Operators A, m x n: what a solver sees of a matrix."""
from __future__ import annotations

import threading
import weakref
from contextlib import nullcontext
from typing import Any, Callable, Optional, Sequence

import numpy as np

from ._arguments import as_tuple, flag, shown, whole, word
from ._errors import ArgumentError
from ._library import (check, doubles, ffi, lib, new_error, new_shape, numbers, pairs, pointer,
                       positions, real, single, unknown_argument, unmasked)


try:
    from scipy.sparse.linalg import LinearOperator as _Linear, aslinearoperator
except ImportError:
    class _Linear:  # type: ignore[no-redef]
        """Without SciPy: products alone, no algebra."""

        ndim = 2

        def dot(self, x: Any) -> Any:
            raise TypeError(f"no product with {type(x).__name__}; sums, multiples and powers of "
                            "operators need SciPy")

        def __matmul__(self, x: Any) -> Any:
            return self.dot(x)

        __mul__ = __add__ = __pow__ = _rdot = dot

    def aslinearoperator(A: Any) -> Any:
        raise TypeError(f"no algebra with {type(A).__name__}; it needs SciPy")


def _remade(kind: type[Operator], args: tuple[Any, ...], named: dict[str, Any]) -> Operator:
    return kind(*args, **named)


#: Names of operators that know complex numbers, and of those that are made of others. All others
#: are real, and take complex vectors by their parts.
_COMPLEX, _OF_FACTORS = ("dense", "sparse", "callback"), ("chain", "pairs")


def _created(name: str, backend: str, **spec: Any) -> Any:
    made, error = ffi.new("csrec_operator **"), new_error()
    fields = [field for field, _ in ffi.typeof("csrec_operator_spec").fields]
    for key in spec:
        if key not in fields:
            raise unknown_argument(key, fields, "; see the classes of operators")
    names = [ffi.new("char[]", word(*each)) for each in ((name, "name"), (backend, "backend"))]
    whole_spec = ffi.new("csrec_operator_spec *", {"name": names[0], "backend": names[1], **spec})
    check(lib.csrec_operator_create(whole_spec, made, error), error)
    return ffi.gc(made[0], lib.csrec_operator_destroy)


def _known(x: Any) -> Any:
    """Operators of others, such as PyLops', as SciPy's; sparse matrices as arrays."""
    if isinstance(x, _Linear) or not hasattr(x, "shape"):
        return x
    if hasattr(x, "toarray") and hasattr(x, "tocsc"):
        return x.toarray()
    return aslinearoperator(x) if hasattr(x, "matvec") else x


def _closed(found: Any) -> Any:
    """What SciPy's algebra gave, with ours."""
    plain = isinstance(found, _Linear) and not isinstance(found, _Algebra)
    return _Made(found) if plain else found


class _Algebra(_Linear):
    """SciPy's algebra, with operators of others and sparse matrices from both sides."""

    def dot(self, x: Any) -> Any:
        """A x of an array; of an operator of csrecover :class:`Chain`, of others SciPy's product;
        of a number, SciPy's multiple."""
        x = _known(x)
        if isinstance(x, _Linear):
            return _closed(super().dot(x))
        if not np.ndim(x):
            if np.asarray(x).dtype.kind not in "biufc":
                raise TypeError(f"no product of {self!r} with {shown(x)}")
            return _closed(super().dot(np.asarray(x)[()]))
        return self.matvec(x) if np.ndim(x) == 1 else self.matmat(x)

    def _rdot(self, x: Any) -> Any:
        return _closed(super()._rdot(_known(x)))

    def __rmul__(self, x: Any) -> Any:
        return self._rdot(x) if np.ndim(x) else self.dot(x)

    def __neg__(self) -> Any:
        return self.dot(-1)

    def __truediv__(self, x: Any) -> Any:
        return self.dot(1.0 / x)

    def __pow__(self, p: Any) -> Any:
        return _closed(super().__pow__(p))

    def __add__(self, x: Any) -> Any:
        return _closed(super().__add__(_known(x)))

    def __sub__(self, x: Any) -> Any:
        return self + -_known(x)

    def __radd__(self, x: Any) -> Any:
        x = _known(x)
        return _closed(x + self) if isinstance(x, _Linear) else NotImplemented

    def __rsub__(self, x: Any) -> Any:
        return self.__neg__().__radd__(x)


class _Made(_Algebra):
    """A sum, product, multiple or power of SciPy's."""

    def __new__(cls, of: Any) -> Any:
        return super().__new__(cls)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Made, (self._of,)

    def __init__(self, of: Any) -> None:
        self._of = of
        super().__init__(of.dtype, of.shape)

    def _matvec(self, x: Any) -> np.ndarray:
        return self._of.matvec(x)

    def _rmatvec(self, y: Any) -> np.ndarray:
        return self._of.rmatvec(y)

    def _matmat(self, X: Any) -> np.ndarray:
        return self._of.matmat(X)

    def _rmatmat(self, Y: Any) -> np.ndarray:
        return self._of.rmatmat(Y)

    def _adjoint(self) -> Any:
        return _Made(self._of.H)

    def _transpose(self) -> Any:
        return _Made(self._of.T)


class Operator(_Algebra):
    """A linear map from x [n] to y [m]: where SciPy is installed, one of its ``LinearOperator``, so
    that sums, multiples, powers and products with other operators (PyLops' too) are operators again.
    It can be copied and pickled, by what it was made from.

    Arithmetic is in double; a result has the dtype of its argument if that is float32 or float64,
    else :attr:`dtype`. An operator of complex vectors, by a complex ``dtype`` or matrix, gives
    complex64 or complex128, and its adjoint is A^H. A real operator maps real and imaginary part of
    a complex vector, as a real matrix does. Operators do not change once made: threads may share
    them. ``backend``: 'auto', 'cpu' or 'cuda', where products are computed; with 'cuda' the operator
    stays on the device, and a chain's factors must be there too.
    """

    name: str
    """of the library's table"""
    shape: tuple[int, int]
    """(m, n)"""
    dtype: np.dtype[Any]

    def __new__(cls, *args: Any, **named: Any) -> Any:
        made = super().__new__(cls)
        made._made = args, named
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), *self._made)

    def __init__(self, name: str, dtype: Any = np.float64, keep: Sequence[Any] = (),
                 backend: str = "auto", **spec: Any) -> None:
        try:
            self.dtype = np.dtype(dtype)
        except TypeError:
            raise ArgumentError(f"dtype = {shown(dtype)}; must be float32, float64, complex64 or "
                                "complex128") from None
        if self.dtype not in (np.float32, np.float64, np.complex64, np.complex128):
            raise ArgumentError(f"dtype {self.dtype}: must be float32, float64, complex64 or "
                                "complex128")
        self._keep = tuple(keep)
        self._handle = _created(name, backend, complex_signal=self._complex and name in _COMPLEX,
                                **spec)
        if self._complex and name not in (*_COMPLEX, *_OF_FACTORS):
            self._keep += (self._handle,)
            self._handle = _created("pairs", backend, first=self._handle)
        m, n = ffi.new("int64_t *"), ffi.new("int64_t *")
        lib.csrec_operator_size(self._handle, m, n)
        self.name, self.shape = name, (int(m[0]) // self._parts, int(n[0]) // self._parts)

    @property
    def _complex(self) -> bool:
        return self.dtype.kind == "c"

    @property
    def _parts(self) -> int:
        """Doubles of an entry."""
        return 2 if self._complex else 1

    def _given(self, x: Any, name: str) -> np.ndarray:
        return numbers(x, name) if self._complex else real(x, name)

    def _doubles(self, x: np.ndarray) -> np.ndarray:
        return pairs(x) if self._complex else doubles(x)

    def _back(self, values: np.ndarray) -> np.ndarray:
        """Doubles of the library as numbers of the operator."""
        return values.view(np.complex128) if self._complex else values

    def _apply(self, function: Any, x: Any, size: int, out_size: int, name: str) -> np.ndarray:
        given = numbers(x, name)
        if given.shape not in ((size,), (size, 1)):
            raise ArgumentError(f"{name} has shape {given.shape}; {self!r} needs ({size},)")
        result = np.empty((out_size, *given.shape[1:]), self._dtype_for(given))
        for source, target in self._by_parts(given, result):
            values, out = self._doubles(source), np.empty(self._parts * out_size)
            check(function(self._handle, pointer(values), pointer(out)))
            target[:] = self._back(out).reshape(result.shape)
        return result

    def _by_parts(self, given: np.ndarray, result: np.ndarray) -> list[tuple[np.ndarray, ...]]:
        """A real operator maps the parts of complex vectors."""
        if self._complex or given.dtype.kind != "c":
            return [(given, result)]
        return [(given.real, result.real), (given.imag, result.imag)]

    def _dtype_for(self, given: np.ndarray) -> np.dtype[Any]:
        if given.dtype.kind not in "fc" or given.dtype.itemsize < 4:
            return self.dtype
        if self._complex or given.dtype.kind == "c":
            return np.dtype(np.complex64 if single(given.dtype) else np.complex128)
        return given.dtype if given.dtype in (np.float32, np.float64) else self.dtype

    def matvec(self, x: Any) -> np.ndarray:
        """y = A x. x: [n] or [n, 1]; y: [m] or [m, 1]."""
        return self._apply(lib.csrec_operator_forward, x, self.shape[1], self.shape[0], "x")

    def rmatvec(self, y: Any) -> np.ndarray:
        """x = A^T y, complex: A^H y. y: [m] or [m, 1]; x: [n] or [n, 1]."""
        return self._apply(lib.csrec_operator_adjoint, y, self.shape[0], self.shape[1], "y")

    def _columns(self, function: Any, X: Any, size: int, out_size: int) -> np.ndarray:
        given = numbers(X, "X")
        if given.ndim != 2 or given.shape[0] != size:
            raise ArgumentError(f"X has shape {given.shape}; {self!r} needs ({size}, k)")
        out = np.empty((out_size, given.shape[1]), self._dtype_for(given))
        for k in range(given.shape[1]):
            out[:, k] = function(given[:, k])
        return out

    def matmat(self, X: Any) -> np.ndarray:
        """Y = A X. X: [n, k]; Y: [m, k]."""
        return self._columns(self.matvec, X, self.shape[1], self.shape[0])

    def rmatmat(self, Y: Any) -> np.ndarray:
        """X = A^T Y, complex: A^H Y. Y: [m, k]; X: [n, k]."""
        return self._columns(self.rmatvec, Y, self.shape[0], self.shape[1])

    # The names that SciPy and PyLops call.
    def _matvec(self, x: Any) -> np.ndarray:
        return self.matvec(x)

    def _rmatvec(self, y: Any) -> np.ndarray:
        return self.rmatvec(y)

    def _matmat(self, X: Any) -> np.ndarray:
        return self.matmat(X)

    def _rmatmat(self, Y: Any) -> np.ndarray:
        return self.rmatmat(Y)

    def column_norms(self) -> np.ndarray:
        """[n] ||a_j||."""
        norms = np.empty(self._parts * self.shape[1])
        check(lib.csrec_operator_column_norms(self._handle, pointer(norms)))
        return norms[::self._parts].astype(np.zeros(0, self.dtype).real.dtype, copy=False)

    def correlate(self, r: Any) -> np.ndarray:
        """[n] <a_j, r> / ||a_j||, 0 for a column of zeros. r: [m]."""
        return self._apply(lib.csrec_operator_correlate, r, self.shape[0], self.shape[1], "r")

    def column(self, j: int) -> np.ndarray:
        """[m] column j of A, 0 <= j < n."""
        if not 0 <= whole(j, "j") < self.shape[1]:
            raise ArgumentError(f"j = {j}; {self!r} has columns 0 to {self.shape[1] - 1}")
        a = np.empty(self._parts * self.shape[0])
        check(lib.csrec_operator_column(self._handle, self._parts * j, pointer(a)))
        return self._back(a).astype(self.dtype, copy=False)

    def toarray(self) -> np.ndarray:
        """[m, n] the matrix, column by column: for small ones."""
        return self.matmat(np.eye(self.shape[1], dtype=self.dtype))

    def adjoint(self) -> Transposed:
        """A^T, complex: A^H."""
        return Transposed(self)

    H = property(adjoint)

    def transpose(self) -> Any:
        """A^T. Of a complex operator it needs SciPy."""
        return _closed(self._transpose()) if self._complex else Transposed(self)

    T = property(transpose)

    def dot(self, x: Any) -> Any:
        return Chain(self, x) if isinstance(x, Operator) else super().dot(x)

    dot.__doc__ = _Algebra.dot.__doc__

    def __repr__(self) -> str:
        return f"<{self.name} operator {self.shape[0]} x {self.shape[1]}>"


class Transposed(_Algebra):
    """A^T of an operator, complex: A^H."""

    def __new__(cls, operator: Operator) -> Any:
        return super().__new__(cls)

    def __reduce__(self) -> tuple[Any, ...]:
        return Transposed, (self._of,)

    def __init__(self, operator: Operator) -> None:
        self._of = operator
        self.shape, self.dtype = operator.shape[::-1], operator.dtype
        self.matvec, self.rmatvec = operator.rmatvec, operator.matvec
        self.matmat, self.rmatmat = operator.rmatmat, operator.matmat

    def _matvec(self, y: Any) -> np.ndarray:
        return self._of.rmatvec(y)

    def _rmatvec(self, x: Any) -> np.ndarray:
        return self._of.matvec(x)

    def adjoint(self) -> Operator:
        return self._of

    H = property(adjoint)

    def transpose(self) -> Any:
        return _closed(self._transpose()) if self._of._complex else self._of

    T = property(transpose)

    def __repr__(self) -> str:
        return f"<transposed {self._of!r}>"


class Dense(Operator):
    """A real or complex matrix with columns of any length.

    It is copied, in double and in the forms that OMP searches fast, so make it once for many solves.

    Parameters
    ----------
    matrix : array_like
        [m, n]
    backend : str, optional
        as of :class:`Operator`

    Examples
    --------
    >>> csrecover.Dense(np.eye(3)[:2]) @ [1.0, 2.0, 3.0]
    array([1., 2.])
    """

    def __init__(self, matrix: Any, backend: str = "auto") -> None:
        given = numbers(matrix, "matrix", "give numbers there, or leave those rows out of it "
                        "and of y")
        if given.ndim != 2 or 0 in given.shape:
            raise ArgumentError(f"matrix has shape {given.shape}; give [m, n]")
        kinds = (np.complex64, np.complex128) if given.dtype.kind == "c" else (np.float32,
                                                                               np.float64)
        self._matrix = np.ascontiguousarray(given, kinds[1])
        super().__init__("dense", kinds[0] if given.dtype == kinds[0] else kinds[1],
                         m=given.shape[0], n=given.shape[1],
                         matrix=pointer(self._matrix.view(np.float64)), backend=backend)

    def matmat(self, X: Any) -> np.ndarray:
        return self._columns_at_once(self._matrix, X)

    def rmatmat(self, Y: Any) -> np.ndarray:
        return self._columns_at_once(self._matrix.conj().T if self._complex else self._matrix.T, Y)

    def _columns_at_once(self, matrix: np.ndarray, X: Any) -> np.ndarray:
        given = numbers(X, "X")
        if given.ndim != 2 or given.shape[0] != matrix.shape[1]:
            raise ArgumentError(f"X has shape {given.shape}; {self!r} needs ({matrix.shape[1]}, k)")
        return (matrix @ given).astype(self._dtype_for(given), copy=False)


class Sparse(Operator):
    """A real or complex matrix of which only the entries that are not 0 are stored.

    They are copied, by columns, which may have any length.

    Parameters
    ----------
    matrix
        [m, n] sparse matrix or array of SciPy, of any format
    backend : str, optional
        as of :class:`Operator`; 'cuda' is refused

    Examples
    --------
    >>> import scipy.sparse  # doctest: +SKIP
    >>> csrecover.Sparse(scipy.sparse.csr_array([[0.0, 2.0], [1.0, 0.0]])) @ [3, 4]  # doctest: +SKIP
    array([8., 3.])
    """

    def __init__(self, matrix: Any, backend: str = "auto") -> None:
        if not hasattr(matrix, "tocsc") or matrix.ndim != 2:
            raise ArgumentError(f"matrix: is {shown(matrix)}; give a sparse matrix of SciPy, [m, n]")
        columns = matrix.tocsc()
        if not columns.has_canonical_format:
            columns = columns.copy()
            columns.sum_duplicates()  # sorts, too
        given = numbers(columns.data, "matrix")
        complex_ = given.dtype.kind == "c"
        values = pairs(given) if complex_ else doubles(given)
        index, offset = (np.ascontiguousarray(each, np.int64)
                         for each in (columns.indices, columns.indptr))
        kinds = (np.complex64, np.complex128) if complex_ else (np.float32, np.float64)
        super().__init__("sparse", kinds[0] if given.dtype == kinds[0] else kinds[1],
                         m=matrix.shape[0], n=matrix.shape[1], matrix=pointer(values),
                         index=pointer(index, "int64_t"), offset=pointer(offset, "int64_t"),
                         backend=backend)


class _Sampled(Operator):
    """Operators of a signal of which the entries `index`, or those where `mask` is true, are
    samples; all of them where neither is given."""

    def __init__(self, name: str, shape: Any, index: Any, mask: Any, dtype: Any,
                 keep: Sequence[Any] = (), **spec: Any) -> None:
        if shape is None and mask is None:
            raise ArgumentError(f"{name}: give shape, or mask")
        pointers: dict[str, Any] = {}
        if mask is not None or index is not None:
            at, extents = positions(mask, index, shape)
            pointers = {"m": at.size, "index": pointer(at, "int64_t")}
        else:
            extents = as_tuple(shape)
            pointers = {"m": int(np.prod(extents, dtype=np.int64))}
        made = new_shape(extents)
        self.signal_shape = extents
        super().__init__(name, dtype, keep, shape=made, **pointers, **spec)


class Dct(_Sampled):
    """Overlapping block cosine frame of a sampled signal with 1 to 3 axes.

    x are the coefficients of all blocks, A x the samples.

    Parameters
    ----------
    shape, index, mask
        of the signal, and what of it is sampled: by positions or by a mask; default: all
    block : int, optional
        edge, 4 to 32
    step : int, optional
        distance of blocks, at most block; default: half a block
    dtype, backend
        as of :class:`Operator`

    Examples
    --------
    >>> csrecover.Dct(mask=np.arange(64).reshape(8, 8) % 2 == 0).shape[0]
    32
    """

    def __init__(self, shape: Any = None, index: Any = None, mask: Any = None, block: int = 8,
                 step: Optional[int] = None, dtype: Any = np.float64,
                 backend: str = "auto") -> None:
        super().__init__("dct", shape, index, mask, dtype, backend=backend, block=whole(block, "block"),
                         step=(block + 1) // 2 if step is None else whole(step, "step"))


class Wavelet(_Sampled):
    """Lifted wavelets of a sampled signal with 1 to 3 axes.

    Parameters
    ----------
    shape, index, mask
        as of :class:`Dct`
    kind : str, optional
        'haar', 'cdf53' or 'cdf97'
    levels : int, optional
        0: as many as fit
    dtype, backend
        as of :class:`Operator`

    Examples
    --------
    >>> csrecover.Wavelet(shape=(16, 16)).shape
    (256, 256)
    """

    def __init__(self, shape: Any = None, index: Any = None, mask: Any = None,
                 kind: str = "cdf97", levels: int = 0, dtype: Any = np.float64,
                 backend: str = "auto") -> None:
        own = ffi.new("char[]", word(kind, "kind"))
        super().__init__("wavelet", shape, index, mask, dtype, [own], kind=own,
                         levels=whole(levels, "levels"), backend=backend)


class Mask(_Sampled):
    """Takes the samples out of a signal: x [entries], y [m].

    Parameters
    ----------
    shape, index, mask
        as of :class:`Dct`
    dtype, backend
        as of :class:`Operator`

    Examples
    --------
    >>> csrecover.Mask(shape=4, index=[2, 0]) @ [1.0, 2.0, 3.0, 4.0]
    array([3., 1.])
    """

    def __init__(self, shape: Any = None, index: Any = None, mask: Any = None,
                 dtype: Any = np.float64, backend: str = "auto") -> None:
        super().__init__("mask", shape, index, mask, dtype, backend=backend)


class Pairs(Operator):
    """A real operator on complex vectors: on their real and imaginary parts.

    Parameters
    ----------
    first
        an operator of real vectors
    backend : str, optional
        as of :class:`Operator`

    Examples
    --------
    >>> csrecover.Pairs(csrecover.Mask(shape=3, index=[1])) @ [1.0, 2.0 + 1.0j, 3.0]
    array([2.+1.j])
    """

    def __init__(self, first: Operator, backend: str = "auto") -> None:
        self._first = first
        super().__init__("pairs", np.result_type(first.dtype, np.complex64), (first,),
                         first=first._handle, backend=backend)

    @property
    def failure(self) -> Optional[BaseException]:
        return getattr(self._first, "failure", None)


def as_complex(A: Operator, backend: str = "auto") -> Operator:
    """A itself if it takes complex vectors, else :class:`Pairs` of it."""
    return A if A._complex else Pairs(A, backend)


class Chain(Operator):
    """``second @ first``: A x = second(first(x)). Where one of them is complex, the other becomes
    :class:`Pairs`.

    Parameters
    ----------
    second, first
        operators; the rows of first are the columns of second
    backend : str, optional
        as of :class:`Operator`

    Examples
    --------
    >>> (csrecover.Mask(shape=4, index=[2]) @ csrecover.Wavelet(shape=4)).shape
    (1, 4)
    """

    def __init__(self, second: Operator, first: Operator, backend: str = "auto") -> None:
        if first.shape[0] != second.shape[1]:
            raise ArgumentError(f"{second!r} cannot follow {first!r}: {second.shape[1]} columns, "
                                f"{first.shape[0]} rows")
        if first._complex or second._complex:
            first, second = as_complex(first, backend), as_complex(second, backend)
        super().__init__("chain", np.result_type(first.dtype, second.dtype), (first, second),
                         first=first._handle, second=second._handle, backend=backend)


def _product_of(A: Any, name: str, x: np.ndarray, size: int) -> np.ndarray:
    """A.matvec(x) or A.rmatvec(x): [size] numbers of the kind that x has."""
    try:
        found = np.asarray(unmasked(getattr(A, name)(x), f"A.{name}", "return numbers"))
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        raise ArgumentError(f"A.{name}: {error}") from error  # as of SciPy, where the size is wrong
    if found.size != size:
        raise ArgumentError(f"A.{name} returned shape {found.shape}; of x with shape {x.shape} it "
                            f"must return ({size},)")
    if found.dtype.kind == "c" and x.dtype.kind != "c":
        if np.abs(found.imag).max() > 1e-6 * np.abs(found.real).max():
            raise ArgumentError(f"A.{name} returned complex numbers, but A has dtype {A.dtype}; "
                                "make it with dtype=complex")
        found = found.real
    return found.reshape(size)


#: Of each operator of a user, however many solves in however many threads call it.
_LOCKS: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
_LOCKS_LOCK = threading.Lock()


def _lock_of(A: Any) -> Any:
    """What is held while a function of A runs, so that calls are one at a time; of two functions that
    of the first, or of the object whose method it is. What has no weak references has its own."""
    key = getattr(A.matvec, "__self__", A.matvec) if isinstance(A, _Functions) else A
    try:
        with _LOCKS_LOCK:
            return _LOCKS.setdefault(key, threading.RLock())
    except TypeError:
        return threading.RLock()


class _Given(Operator):
    """The products of any ``LinearOperator``. An exception of theirs is kept in ``failure``."""

    def __init__(self, A: Any, parallel: bool = False, check: bool = True) -> None:
        given = np.dtype(A.dtype or np.float64)
        kind = np.dtype(np.complex128 if given.kind == "c" else np.float64)
        m, n = (int(extent) for extent in A.shape)
        self.failure: Optional[BaseException] = None
        alone = nullcontext() if flag(parallel, "parallel") else _lock_of(A)

        def product(name: str, size: int, out_size: int) -> Any:
            def run(source: Any, target: Any, _context: Any) -> int:
                if self.failure:
                    return int(lib.CSREC_STOPPED)
                x = np.frombuffer(ffi.buffer(source, kind.itemsize * size), kind).copy()
                out = np.frombuffer(ffi.buffer(target, kind.itemsize * out_size), kind)
                with alone:
                    out[:] = _product_of(A, name, x, out_size)
                return int(lib.CSREC_OK)
            return ffi.callback("csrec_product_fn", run, error=int(lib.CSREC_STOPPED),
                                onerror=self._failed)

        forward, adjoint = product("matvec", n, m), product("rmatvec", m, n)
        super().__init__("callback", kind, (forward, adjoint, A), m=m, n=n, forward=forward,
                         adjoint=adjoint, parallel=flag(parallel, "parallel"),
                         unchecked=not flag(check, "check"))

    def _failed(self, _kind: Any, error: BaseException, _traceback: Any) -> None:
        self.failure = self.failure or error


class _Functions:
    """A pair of functions with the shape that y and what the adjoint makes of it have."""

    def __init__(self, functions: Any, y: np.ndarray) -> None:
        self.matvec, self.rmatvec = functions
        column = (y if y.ndim == 1 else y[:, 0]).copy()  # the function may write there
        with _lock_of(self):
            back = np.asarray(unmasked(self.rmatvec(column), "A.rmatvec", "return numbers"))
        self.shape = (y.shape[0], back.size)
        self.dtype = np.result_type(y.dtype, back.dtype, np.float32)


def _of_functions(A: Any, y: np.ndarray) -> Any:
    """A LinearOperator's like of (forward, adjoint); anything else as it is."""
    pair = isinstance(A, (tuple, list)) and len(A) == 2 and all(map(callable, A))
    if pair and y.ndim in (1, 2) and y.size:
        return _Functions(A, y)
    if pair or (callable(A) and not hasattr(A, "matvec")):
        raise ArgumentError("A: functions without a shape are no operator; give (forward, adjoint), "
                            "or scipy.sparse.linalg.LinearOperator((m, n), matvec=forward, "
                            "rmatvec=adjoint)")
    return A


def as_operator(A: Any, y: np.ndarray, parallel: bool = False, check: bool = True) -> Operator:
    """A itself, :class:`Dense` or :class:`Sparse` of a matrix, or the products of a
    ``LinearOperator``."""
    if isinstance(A, Operator):
        return A
    A = _of_functions(A, y)
    if hasattr(A, "tocsc") and A.ndim == 2:
        few = 4 * A.nnz < A.shape[0] * A.shape[1]  # else a product is faster with all entries
        return Sparse(A) if few else Dense(A.toarray())
    if not hasattr(A, "matvec"):
        return Dense(A)
    return _Given(A, parallel, check)
