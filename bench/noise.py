#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""noise.py - errors of the noise that csrec_noise_estimate finds, how often csrec_noise_likely says
that there is some, and which outliers csrec_outliers_find finds, by picture, pattern, rate and noise:
on the five pictures of pictures.py, on others of scikit-image, on drawings, text and others of
net_kinds.py that have no noise of their own, and on 20 that pictures.py makes. Needs NumPy, cffi,
Pillow and scikit-image."""
import onethread  # noqa: F401, before NumPy
import numpy as np

import common
import net_kinds
import pictures
import presets

CASES = tuple(("uniform", rate) for rate in (0.05, 0.10, 0.25, 0.50, 1.0)) + (
    ("poisson", 0.10), ("poisson", 0.25))
SIGMAS = (0.0, 5.0, 10.0, 20.0, 50.0)
SEEDS = 2
SHARE, FAR = 0.01, 80.0  # outliers: their share, and how far from the truth at least
KINDS = ("ridges", "relief", "phantom", "letters", "sign", "contours", "plan", "spheres", "water")


def estimated(m):
    """None where one sigma is refused, as that of noise that is not the same in dark and bright
    places: so are thin lines of few samples."""
    import csrecover
    try:
        return csrecover.estimate_noise(m)
    except csrecover.DataError as error:
        if "dark and bright" not in str(error):
            raise
        return None


def likely(m):
    """Whether csrec_noise_likely says that there is some."""
    from csrecover._library import check, ffi, lib, new_error
    from csrecover._measurement import to_c
    made, _keep = to_c(m)
    found, error = ffi.new("double *"), new_error()
    check(lib.csrec_noise_likely(made, found, error), error)
    return found[0] > 0


def planted(rng, truth):
    """Values of which SHARE are anything far from the truth, and which these are."""
    y, bad = truth.copy(), np.zeros(len(truth), bool)
    bad[rng.choice(len(y), round(SHARE * len(y)), replace=False)] = True
    while (left := bad & (abs(y - truth) <= FAR)).any():
        y[left] = rng.uniform(0, 255, left.sum())
    return y, bad


def measure(picture, pattern, rate):
    import csrecover

    def samples(y):
        return csrecover.Measurement(y, index, picture.shape)
    for seed in range(1, SEEDS + 1):
        rng = np.random.default_rng(seed)
        index = (np.flatnonzero(pictures.sample(picture, rate, seed)) if pattern == "uniform" else
                 np.flatnonzero(csrecover.sample(picture, rate, pattern, 1).mask))
        truth = picture.ravel()[index]
        for sigma in SIGMAS:
            m = samples(truth + sigma * rng.standard_normal(len(truth)))
            yield {"sigma": sigma, "found": estimated(m), "likely": likely(m)}
        y, bad = planted(rng, truth)
        marks = csrecover.find_outliers(samples(y))
        yield {"outliers": float(SHARE), "found": float(np.mean(marks[bad])),
               "dropped": float(np.mean(marks[~bad]))}
        yield {"outliers": 0.0, "dropped": float(np.mean(csrecover.find_outliers(samples(truth))))}


def summary(rows):
    """Of one set, pattern and rate."""
    noise = [r for r in rows if "sigma" in r]
    clean = [r for r in rows if r.get("outliers") == 0.0]
    planted_ones = [r for r in rows if r.get("outliers")]
    at = {sigma: [r for r in noise if r["sigma"] == sigma] for sigma in SIGMAS}
    error = {sigma: [abs(r["found"] / sigma - 1) for r in at[sigma] if r["found"] is not None]
             for sigma in SIGMAS if sigma}
    asked = sum(len(at[sigma]) for sigma in error)
    return {"error": {f"{s:.0f}": float(np.sqrt(np.mean(np.square(e)))) if e else None
                      for s, e in error.items()},
            "within": sum(e < 0.15 for s in error.values() for e in s) / asked,
            "refused": 1.0 - sum(map(len, error.values())) / asked,
            "clean": float(np.median([r["found"] for r in at[0.0] if r["found"] is not None])),
            "likely": {f"{s:.0f}": float(np.mean([r["likely"] for r in rs])) for s, rs in at.items()},
            "outliers": float(np.mean([r["found"] for r in planted_ones])),
            "dropped": float(np.mean([r["dropped"] for r in planted_ones])),
            "dropped_clean": float(np.max([r["dropped"] for r in clean]))}


def sets(images):
    five, source = pictures.load(images)
    made = [(f"made {seed}", pictures.synthetic(seed)) for seed in range(20)]
    kinds = [(name, np.asarray(net_kinds.KINDS[name][1](), float)) for name in KINDS]
    return source, {"five": five, "others": presets.others(), "kinds": kinds, "made": made}


def main():
    arguments = common.arguments(__doc__, "noise.json", images=None)
    common.load(arguments.build)
    table, single = [], []
    source, groups = sets(arguments.images)
    for pattern, rate in CASES:
        for group, found in groups.items():
            rows = []
            for name, picture in found:
                own = list(measure(picture, pattern, rate))
                rows += own
                single.append({"set": group, "picture": name, "pattern": pattern, "rate": rate,
                               **summary(own)})
            table.append({"set": group, "pattern": pattern, "rate": rate, **summary(rows)})
            print(table[-1], flush=True)
    common.save(arguments, source=source, seeds=SEEDS, mean=table, pictures=single)


if __name__ == "__main__":
    main()
