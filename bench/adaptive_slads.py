# SPDX-License-Identifier: BSD-3-Clause
"""adaptive_slads.py - adaptive scanning of microscopes for adaptive_peers.py: SLADS, written from
its paper, as no package of it can be installed (Godaliyadda et al. 2018, "A Framework for Dynamic
Image Sampling Based on Supervised Learning", IEEE Trans. Computational Imaging 4). One pixel after
the other, always where a regression expects the largest reduction of the absolute error. Of the
paper are the six descriptors of a pixel, their products of second degree, the reduction
approximated by a Gaussian window of width distance / c, and c chosen by the distortion left on
pictures that were in no training. Two regressions: least squares as there, and a network with five
layers of 50 as SLADS-Net (Zhang et al. 2018, Electronic Imaging), here of the six descriptors."""
import time

import numpy as np

NEAR = 10      # measured neighbours that describe a pixel
RADIUS = 8     # of the circle whose measured pixels are counted: 0.25 % of 256 x 256
SHARES = (0.02, 0.05, 0.10, 0.20, 0.40)  # measured in training
WIDTH = 1      # c: of 0.5, 1, 2 and 4 trained on five others of presets.py, the best on two more
EACH = 4000    # pixels to train with of a picture and share


class Neighbourhood:
    """Of each pixel its NEAR nearest measured ones, their mean weighted by the inverse squares of
    the distances (the picture), and how many are within RADIUS; kept up to date by add."""

    def __init__(self, shape, index, values):
        from scipy.spatial import cKDTree
        self.shape = shape
        self.number = np.arange(np.prod(shape)).reshape(shape)
        pixels = np.indices(shape).reshape(2, -1).T
        self.rows, self.columns = (np.arange(size) for size in shape)
        tree = cKDTree(pixels[index])
        away, which = tree.query(pixels, NEAR)
        self.away, self.value = np.rint(away ** 2), values[which]
        self.farthest = self.away[:, -1].reshape(shape).copy()
        self.within = tree.query_ball_point(pixels, RADIUS, return_length=True).astype(float)
        self.measured = np.zeros(self.number.size, bool)
        self.measured[index] = True
        padded = np.pad(self.number, 1, mode="edge")
        self.beside = [padded[1 + dy:, 1 + dx:][:shape[0], :shape[1]].ravel()
                       for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0))]
        self.picture = np.empty(self.number.size)
        self.interpolate(self.number.ravel())
        self.tighten()

    def tighten(self):
        """The farthest that a pixel which is added can matter, neighbours' gradients included."""
        self.reach = max(int(np.sqrt(self.farthest.max())), RADIUS) + 2

    def weights(self, at):
        weights = 1 / np.maximum(self.away[at], 1e-9)  # a measured pixel is its own nearest
        return weights / weights.sum(1, keepdims=True)

    def interpolate(self, at):
        self.picture[at] = (self.weights(at) * self.value[at]).sum(1)

    def add(self, position, value):
        """Returns the pixels whose descriptors change."""
        row, column = divmod(position, self.shape[1])
        box = np.s_[max(row - self.reach, 0):row + self.reach + 1,
                    max(column - self.reach, 0):column + self.reach + 1]
        away = (self.rows[box[0], None] - row) ** 2 + (self.columns[None, box[1]] - column) ** 2
        nearer, inside = away < self.farthest[box], away <= RADIUS ** 2
        at = self.number[box][nearer]
        self.insert(at, away[nearer], value)
        self.measured[position] = True
        self.within[self.number[box][inside]] += 1
        self.interpolate(at)
        changed = nearer | inside
        for a, b in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
            changed[a] |= nearer[b]
            changed[b] |= nearer[a]
        return self.number[box][changed]

    def insert(self, at, away, value):
        away = np.column_stack((self.away[at, :-1], away))
        values = np.column_stack((self.value[at, :-1], np.full(len(at), value)))
        order = away.argsort(1)
        self.away[at] = np.take_along_axis(away, order, 1)
        self.value[at] = np.take_along_axis(values, order, 1)
        self.farthest.ravel()[at] = self.away[at, -1]

    def descriptors(self, at):
        right, left, below, above = (self.picture[beside[at]] for beside in self.beside)
        apart = np.abs(self.value[at] - self.picture[at, None])
        area = np.pi * RADIUS ** 2
        return np.column_stack((
            np.abs(right - left), np.abs(below - above), np.sqrt((apart ** 2).mean(1)),
            (self.weights(at) * apart).sum(1), np.sqrt(self.away[at, 0]),
            (1 + area) / (1 + self.within[at])))


def inverse_distances(y, mask):
    return Neighbourhood(mask.shape, np.flatnonzero(mask), y).picture.reshape(mask.shape)


def reductions(hood, truth):
    """What measuring each pixel would take off the error: the errors about it in a Gaussian window
    whose deviation is the distance of the nearest measured pixel / WIDTH."""
    from scipy.ndimage import correlate1d
    error = np.abs(truth - hood.picture.reshape(hood.shape))
    nearest, found = hood.away[:, 0], np.zeros(error.size)
    for square in np.unique(nearest[nearest > 0]):
        sigma = np.sqrt(square) / WIDTH
        half = int(np.ceil(3 * sigma))
        window = np.exp(-np.arange(-half, half + 1) ** 2 / (2 * sigma ** 2))
        sums = correlate1d(correlate1d(error, window, 0, mode="constant"), window, 1,
                           mode="constant").ravel()
        found[nearest == square] = sums[nearest == square]
    return found


def examples(truths):
    """Descriptors and reductions of pixels that are not measured, when others at random are."""
    rng = np.random.default_rng(1)
    for truth in truths:
        for share in SHARES:
            index = rng.choice(truth.size, round(share * truth.size), replace=False)
            hood = Neighbourhood(truth.shape, index, truth.ravel()[index])
            at = rng.permutation(np.flatnonzero(~hood.measured))[:EACH]
            yield hood.descriptors(at), reductions(hood, truth)[at]


def products(z):
    i, j = np.triu_indices(z.shape[1])
    return np.hstack((np.ones((len(z), 1)), z, z[:, i] * z[:, j]))


def least_squares(z, reduction):
    theta = np.linalg.lstsq(products(z), reduction, rcond=None)[0]
    return lambda z: products(z) @ theta


def network(z, reduction):
    from sklearn.neural_network import MLPRegressor
    mean, deviation, unit = z.mean(0), z.std(0), reduction.std()
    net = MLPRegressor(hidden_layer_sizes=(50,) * 5, random_state=1, max_iter=30,
                       early_stopping=True)
    net.fit((z - mean) / deviation, reduction / unit)
    return lambda z: net.predict((z - mean) / deviation)


def train(truths, regression):
    """A function: descriptors -> expected reductions."""
    return regression(*(np.concatenate(parts) for parts in zip(*examples(truths))))


def measure(truth, start, counts, expect):
    """From the positions start on: the mask at each of the counts, and the seconds until then."""
    began, spent, values = time.process_time(), 0.0, truth.ravel()
    hood = Neighbourhood(truth.shape, start, values[start])
    expected = np.where(hood.measured, -np.inf, expect(hood.descriptors(hood.number.ravel())))
    for known in range(len(start) + 1, max(counts) + 1):
        position = int(expected.argmax())
        changed = hood.add(position, values[position])
        expected[changed] = np.where(hood.measured[changed], -np.inf,
                                     expect(hood.descriptors(changed)))
        if known % 256 == 0:
            hood.tighten()
        if known in counts:
            spent += time.process_time() - began
            yield hood.measured.reshape(truth.shape).copy(), spent
            began = time.process_time()
