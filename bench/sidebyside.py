#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sidebyside.py - the same recovery with csrecover, scikit-learn and PyLops, in a few lines each: a
picture from 25 % of its pixels, PSNR and seconds, in one run, one thread each. The lines that are
measured are the lines that README shows. Needs NumPy, cffi and a built library; Pillow for the
pictures, and each peer where it is installed."""
import importlib
import inspect
import textwrap
import time
import warnings

import onethread  # noqa: F401, before NumPy
import numpy as np

import common
import pictures

RATE = 0.25


def with_csrecover(y, mask):
    import csrecover

    return csrecover.recover(y, mask=mask, quality="balanced")


def with_csrecover_best(y, mask):
    import csrecover

    return csrecover.recover(y, mask=mask, quality="best")


def with_scikit_learn(y, mask):
    from scipy.fft import idctn
    from sklearn.linear_model import orthogonal_mp

    u, v = np.mgrid[:8, :8]
    atoms = np.stack([idctn(np.eye(64)[k].reshape(8, 8), norm="ortho").ravel() for k in range(64)])
    D = (atoms / (1 + 0.5 * np.hypot(u, v).ravel())[:, None]).T  # low frequencies come first
    holes, total, count = np.zeros(mask.shape), np.zeros(mask.shape), np.zeros(mask.shape)
    holes[mask] = y
    for i in range(0, mask.shape[0] - 7, 2):
        for j in range(0, mask.shape[1] - 7, 2):
            at = np.s_[i:i + 8, j:j + 8]
            known = mask[at].ravel()
            if not known.any():
                continue
            x = orthogonal_mp(D[known], holes[at].ravel()[known], n_nonzero_coefs=5)
            total[at] += (D @ x).reshape(8, 8)
            count[at] += 1
    return np.where(mask, holes, total / np.maximum(count, 1))


def with_pylops(y, mask):
    import pylops

    S = pylops.Restriction(mask.size, np.flatnonzero(mask))
    D = [pylops.FirstDerivative(mask.shape, axis=a, edge=True, kind="forward") for a in (0, 1)]
    x = pylops.optimization.sparsity.splitbregman(
        S, y, D, mu=1.0, epsRL1s=[0.1, 0.1], niter_outer=30, niter_inner=2, iter_lim=20)[0]
    return x.reshape(mask.shape)


def with_pylops_wavelets(y, mask):
    import pylops

    S = pylops.Restriction(mask.size, np.flatnonzero(mask))
    W = pylops.signalprocessing.DWT2D(mask.shape, wavelet="bior4.4", level=4)
    x = pylops.optimization.sparsity.fista(S @ W.H, y, niter=200, eps=10.0)[0]
    return (W.H @ x).reshape(mask.shape)


METHODS = {"csrecover, quality balanced": (with_csrecover, ()),
           "csrecover, quality best": (with_csrecover_best, ()),
           "scikit-learn: OMP on 8 x 8 cosine patches": (with_scikit_learn, ("sklearn", "scipy")),
           "PyLops: total variation, split Bregman": (with_pylops, ("pylops",)),
           "PyLops: FISTA on wavelets": (with_pylops_wavelets, ("pylops", "pywt"))}


def code(function):
    """The body of a function, as a user would type it, and its number of lines."""
    lines = inspect.getsource(function).splitlines()[1:]
    body = textwrap.dedent("\n".join(lines)).strip().replace("return ", "picture = ")
    return body, sum(bool(line.strip()) for line in body.splitlines())


def measure(function, sampled):
    rows = []
    for name, truth, mask in sampled:
        start = time.perf_counter()
        picture = function(truth[mask], mask)
        rows.append({"picture": name, "seconds": time.perf_counter() - start,
                     "psnr": float(pictures.psnr(picture, truth))})
    return rows


def means(rows):
    return {key: float(np.mean([row[key] for row in rows])) for key in ("psnr", "seconds")}


def main():
    arguments = common.on_pictures(__doc__, "sidebyside.json")
    csrecover = common.load(arguments.build)
    found, source = pictures.load(arguments.images)
    sampled = [(name, truth, pictures.sample(truth, RATE))
               for name, truth in (found[:1] if arguments.quick else found)]
    csrecover.recover(sampled[0][1], sampled[0][2])  # loads what is loaded once
    warnings.simplefilter("ignore")  # of patches with fewer samples than atoms
    table, left_out = [], {}
    for name, (function, needs) in METHODS.items():
        try:
            for module in needs:
                importlib.import_module(module)
        except ImportError as error:
            left_out[name] = str(error)
            print(f"left out: {name}: {error}")
            continue
        rows = measure(function, sampled)
        body, lines = code(function)
        table.append({"method": name, "lines": lines, "code": body, "pictures": rows,
                      **means(rows)})
        print(f"{name:44s} {lines:3d} lines {table[-1]['psnr']:7.2f} dB "
              f"{table[-1]['seconds']:8.3f} s")
    common.save(arguments, source=source, rate=RATE, methods=table, left_out=left_out)


if __name__ == "__main__":
    main()
