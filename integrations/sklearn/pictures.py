# SPDX-License-Identifier: BSD-3-Clause
"""pictures.py [SHARE] - 64 x 64 pixels cut out of pictures, of which that share is known (default 0.25):
the errors at the others of csrecover.PictureImputer and of scikit-learn's imputers, and of digits what
a classifier behind them makes."""
import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import csrecover


def cuts():
    for name in ("discs", "grains", "head", "surface", "waves"):
        whole = csrecover.datasets.picture(name, 256)
        for v, u in np.ndindex(4, 4):
            yield whole[64 * v:64 * v + 64, 64 * u:64 * u + 64].ravel()


def imputers(shape):
    yield "PictureImputer", csrecover.PictureImputer(shape, quality="fast")
    yield "KNNImputer", KNNImputer(keep_empty_features=True)
    yield "SimpleImputer", SimpleImputer(keep_empty_features=True)


def main(share):
    rng = np.random.default_rng(1)
    truth = np.array(list(cuts()), float)
    X, y = load_digits(return_X_y=True)
    hidden, digits = rng.random(truth.shape) >= share, np.where(rng.random(X.shape) < share, X, np.nan)
    for (name, imputer), (_, small) in zip(imputers((64, 64)), imputers((8, 8))):
        made = imputer.fit_transform(np.where(hidden, np.nan, truth))
        error = np.sqrt(np.mean((made - truth)[hidden] ** 2))
        scores = cross_val_score(make_pipeline(small, SVC()), digits, y, cv=3)
        print(f"{name:16} root mean square error {error:5.1f}; accuracy of digits {scores.mean():.3f}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.25)
