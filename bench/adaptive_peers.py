#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""adaptive_peers.py - places chosen by expected errors (csrecover.adaptive) beside what others do:
uniform and Poisson-disc samples; contrast, as renderers; SLADS, as microscopes (adaptive_slads.py);
Gaussian processes (adaptive_gp.py). PSNR at the same numbers of samples, recovered as each would
and by csrecover, on the five pictures of pictures.py in one run: a process of one thread for each.
Needs NumPy, cffi, SciPy, Pillow, scikit-learn, scikit-image (SLADS learns from others of its
pictures) and a built library."""
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import onethread  # noqa: F401, before NumPy
import numpy as np

import adaptive
import adaptive_gp
import adaptive_slads
import common
import pictures
import presets

RATES = (0.05, *adaptive.RATES)
TARGET = 30.0       # dB: the samples that each needs for it
START = 0.01        # of the pixels, evenly, for SLADS (as its paper) and Gaussian processes
NEIGHBOURS = 3      # whose variance is taken
OURS = "csrecover.adaptive"
TODO = {}           # of ways, for the processes of the pictures


def counts_of(picture):
    return [round(rate * picture.size) for rate in RATES]


# ---- contrast, as renderers

def z_order(shape):
    """The pixels in an order in which followers are near each other."""
    row, column = np.indices(shape)
    key = sum((row >> b & 1) << 2 * b + 1 | (column >> b & 1) << 2 * b for b in range(16))
    return key.ravel().argsort()


def spread(weight, count, order, rng):
    """So many different positions, as dense as weight where that is possible, by systematic sampling
    along the order."""
    low, high = 0.0, count / weight[weight > 0].min()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = ((middle, high) if np.minimum(middle * weight, 1).sum() < count else
                     (low, middle))
    share = np.minimum(high * weight, 1)[order].cumsum()
    return order[np.searchsorted(share * (count / share[-1]), np.arange(count) + rng.random())]


def contrast(picture, index):
    """Of each pixel the variance of its nearest samples' values, divided by their density. Of 3 to 8
    neighbours, deviations, variances and Mitchell's contrast this was best on pictures of presets.py's
    others."""
    from scipy.spatial import cKDTree
    at = np.column_stack(np.unravel_index(index, picture.shape))
    away, near = cKDTree(at).query(np.indices(picture.shape).reshape(2, -1).T, NEIGHBOURS)
    weight = (picture.ravel()[index][near].var(1) + 0.25) * away[:, -1] ** 2  # levels are rounded
    weight[index] = 0
    return weight


def by_contrast(picture, start):
    """In as many rounds as ours: more samples where those that are there differ and are few (Mitchell
    1987; Rousselle et al. 2011; Zwicker et al. 2015 survey such ways)."""
    order, rng = z_order(picture.shape), np.random.default_rng(1)
    for count in counts_of(picture):
        began = time.process_time()
        first, *later = adaptive.ends(count)
        index = start(picture, first)
        for until in later:
            more = spread(contrast(picture, index), until - len(index), order, rng)
            index = np.concatenate([index, more])
        yield mask_of(picture, index), time.process_time() - began


# ---- all of them: name -> recovery of its own, function(picture) -> mask, seconds, at each count

def mask_of(picture, index):
    mask = np.zeros(picture.size, bool)
    mask[index] = True
    return mask.reshape(picture.shape)


def drawn(pattern):
    def sample(picture):
        for count in counts_of(picture):
            yield mask_of(picture, adaptive.drawn(picture, pattern, count)), 0.0
    return sample


def in_rounds(picture):
    import csrecover

    for count in counts_of(picture):
        began = time.process_time()
        scan = csrecover.adaptive(lambda at: picture[at[:, 0], at[:, 1]], picture.shape, count,
                                  scale=(0, 255), threads=1, backend="cpu")
        yield scan.mask, time.process_time() - began


def learned(first, quick):
    """SLADS with both regressions, which learn from other pictures than are measured, and the
    seconds of training."""
    began = time.process_time()
    truths = [truth for _, truth in presets.others()]
    kinds = {"SLADS": adaptive_slads.least_squares}
    if not quick:
        kinds["SLADS-Net"] = adaptive_slads.network
    trained = {name: adaptive_slads.train(truths, kind) for name, kind in kinds.items()}
    return {name: (("inverse distances", adaptive_slads.inverse_distances),
                   lambda picture, expect=expect: adaptive_slads.measure(
                       picture, first(picture), counts_of(picture), expect))
            for name, expect in trained.items()}, time.process_time() - began


def ways(quick):
    import csrecover

    def start(picture, count):
        return csrecover.where_next(np.zeros(picture.shape, bool), count)

    def first(picture):
        return start(picture, round(START * picture.size))

    linear = ("linear", pictures.delaunay)
    slads, training = learned(first, quick)
    print(f"SLADS: trained in {training:.0f} s", file=sys.stderr, flush=True)
    return {"uniform": (linear, drawn("uniform")),
            "Poisson-disc": (linear, drawn("poisson")),
            OURS: (linear, in_rounds),
            "contrast": (linear, lambda picture: by_contrast(picture, start)),
            **slads,
            "Gaussian processes": (None, lambda picture: adaptive_gp.measure(
                picture, first(picture), counts_of(picture))),
            }, training


def measure(name, own, sampled, picture):
    """Rows of one way on one picture."""
    import csrecover

    for rate, (mask, choosing, *its_own) in zip(RATES, sampled):
        recoveries = {p: lambda y, m, p=p: csrecover.recover(y, mask=m, quality=p, threads=1,
                                                             backend="cpu")
                      for p in (("balanced", "best") if name == OURS else ("balanced",))}
        own_name, own_method = own or ("processes' means", *its_own)
        for recovery, method in {own_name: own_method, **recoveries}.items():
            began = time.process_time()
            found = method(picture[mask], mask)
            yield {"places": name, "recovery": recovery, "rate": rate, "samples": int(mask.sum()),
                   "psnr": float(pictures.psnr(found, picture)), "choosing": choosing,
                   "seconds": time.process_time() - began}


def needed(psnr):
    """The share of samples for TARGET, between the rates by their logarithm; None: more than the
    most, 0: fewer than the least."""
    if psnr[-1] < TARGET:
        return None
    return 0.0 if psnr[0] > TARGET else float(np.exp(np.interp(TARGET, psnr, np.log(RATES))))


def means(rows):
    table = []
    for places, recovery in dict.fromkeys((r["places"], r["recovery"]) for r in rows):
        own = [r for r in rows if (r["places"], r["recovery"]) == (places, recovery)]
        at = [[r for r in own if r["rate"] == rate] for rate in RATES]
        psnr = [float(np.mean([r["psnr"] for r in each])) for each in at]
        table.append({"places": places, "recovery": recovery, "psnr": psnr, "needed": needed(psnr),
                      **{key: float(np.mean([r[key] for r in at[-1]]))
                         for key in ("choosing", "seconds")}})
    return table


def rows_of(picture, truth):
    rows = []
    for name, (own, sample) in TODO.items():
        rows += [{"picture": picture, **row} for row in measure(name, own, sample(truth), truth)]
        print(f"{picture}: {name}", file=sys.stderr, flush=True)
    return rows


def side_by_side(found):
    """Rows of all pictures, from a process for each, which inherits TODO."""
    with ProcessPoolExecutor(len(found), mp_context=get_context("fork")) as pool:
        return [row for rows in pool.map(rows_of, *zip(*found)) for row in rows]


def main():
    arguments = common.on_pictures(__doc__, "adaptive_peers.json", quick="one picture, no network")
    found, source = pictures.load(arguments.images)
    common.load(arguments.build)
    todo, training = ways(arguments.quick)
    TODO.update(todo)
    rows = side_by_side(found[:1] if arguments.quick else found)
    table = means(rows)
    for row in table:
        print(f"{row['places']:20s} {row['recovery']:18s} "
              f"{' '.join(f'{p:6.2f}' for p in row['psnr'])} {row['choosing']:8.2f} s "
              f"{row['seconds']:6.2f} s")
    common.save(arguments, source=source, rates=RATES, target=TARGET, training=training,
                 mean=table, pictures=rows)


if __name__ == "__main__":
    main()
