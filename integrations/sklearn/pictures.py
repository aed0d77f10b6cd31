# SPDX-License-Identifier: BSD-3-Clause
"""pictures.py [SHARE] - 64 x 64 pixels cut out of pictures, of which a share is known (default
0.25): the errors at the others of csrecover.PictureImputer and of scikit-learn's imputers."""
import sys

import numpy as np
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import csrecover


def cuts():
    for name in csrecover.datasets.kinds():
        whole = csrecover.datasets.picture(name, 256)
        for v, u in np.ndindex(4, 4):
            yield whole[64 * v:64 * v + 64, 64 * u:64 * u + 64].ravel()


def main(share):
    truth = np.array(list(cuts()), float)
    hidden = np.random.default_rng(1).random(truth.shape) >= share
    for imputer in (csrecover.PictureImputer((64, 64), quality="fast"),
                    KNNImputer(keep_empty_features=True), SimpleImputer(keep_empty_features=True)):
        pipeline = make_pipeline(imputer, StandardScaler())
        pipeline.fit(np.where(hidden, np.nan, truth))
        made = pipeline[0].transform(np.where(hidden, np.nan, truth))
        error = np.sqrt(np.mean((made - truth)[hidden] ** 2))
        print(f"{type(imputer).__name__}: root mean square error {error:.1f}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.25)
