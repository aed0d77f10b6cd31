# SPDX-License-Identifier: BSD-3-Clause
"""adaptive_gp.py - active learning with Gaussian processes for adaptive_peers.py: scikit-learn's
GaussianProcessRegressor, next where the predicted deviation is largest. A fit takes the cube of the
samples, and thousands are too many: so there is a process for each window of SIDE x SIDE pixels,
fitted to the samples there and MARGIN around, with a kernel of its own. A process's deviation
depends on the values through its kernel alone: with one kernel for the whole picture the places
would be spread evenly."""
import time
import warnings

import numpy as np

SIDE, MARGIN = 32, 8
BATCHES = 2       # from one of the counts to the next
REFIT, MOST = 2, 160  # a kernel is fitted again with twice the samples, up to so many
NUGGET = 1e-4     # of the variance of the samples, for the factorisation


class Window:
    def __init__(self, row, column):
        self.row, self.column, self.kernel, self.fitted = row, column, None, 0
        self.pixels = np.indices((SIDE, SIDE)).reshape(2, -1).T + (row, column)

    def fit(self, picture, mask):
        """The process of the samples in and around the window."""
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern
        top, left = max(self.row - MARGIN, 0), max(self.column - MARGIN, 0)
        around = np.s_[top:self.row + SIDE + MARGIN, left:self.column + SIDE + MARGIN]
        at = np.argwhere(mask[around]) + (top, left)
        again = self.kernel is None or REFIT * self.fitted <= len(at) <= MOST
        start = ConstantKernel(1, (1e-2, 1e2)) * Matern(5, (0.5, 100), nu=1.5)
        process = GaussianProcessRegressor(start if again else self.kernel, alpha=NUGGET,
                                           optimizer="fmin_l_bfgs_b" if again else None,
                                           normalize_y=True)
        process.fit(at, picture[around][mask[around]])
        if again:
            self.kernel, self.fitted = process.kernel_, len(at)
        return process

    def next(self, process, mask, most):
        """Up to so many places, each where the deviation is largest given those before, and the
        deviations: rows of the Cholesky factor of the predicted covariance, by pivoting."""
        _, covariance = process.predict(self.pixels, return_cov=True)
        left = np.where(mask[tuple(self.pixels.T)], 0.0, covariance.diagonal())
        factor, places, deviations = np.zeros((most, len(left))), [], []
        for k in range(min(most, int((left > 0).sum()))):
            at = int(left.argmax())
            if left[at] <= 0:
                break
            places.append(at)
            deviations.append(np.sqrt(left[at]))
            factor[k] = (covariance[at] - factor[:k, at] @ factor[:k]) / deviations[-1]
            left = np.maximum(left - factor[k] ** 2, 0)
            left[at] = 0
        return self.pixels[places], np.array(deviations)


def windows(shape):
    return [Window(row, column) for row in range(0, shape[0], SIDE)
            for column in range(0, shape[1], SIDE)]


def batch(tiles, picture, mask, count):
    """Measures so many pixels more: of all windows' places those of the largest deviations."""
    found = [tile.next(tile.fit(picture, mask), mask, min(count, 4 * count // len(tiles) + 8))
             for tile in tiles]
    places, deviations = (np.concatenate(part) for part in zip(*found))
    mask[tuple(places[(-deviations).argsort()[:count]].T)] = True


def measure(picture, start, counts):
    """From the positions start on: the mask at each of the counts, the seconds until then, and a
    function that recovers the picture by the means of the processes as they are then."""
    warnings.simplefilter("ignore")  # of kernels at their bounds
    tiles, mask, spent = windows(picture.shape), np.zeros(picture.shape, bool), 0.0
    mask.ravel()[start] = True
    for until in counts:
        began, before = time.process_time(), int(mask.sum())
        for k in range(1, BATCHES + 1):
            batch(tiles, picture, mask, before + k * (until - before) // BATCHES - int(mask.sum()))
        spent += time.process_time() - began
        yield mask.copy(), spent, lambda y, known: recover(tiles, picture, known)


def recover(tiles, picture, mask):
    found = np.empty(picture.shape)
    for tile in tiles:
        found[tuple(tile.pixels.T)] = tile.fit(picture, mask).predict(tile.pixels)
    return np.where(mask, picture, found)
