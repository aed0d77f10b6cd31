# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's tests of Orthogonal Matching Pursuit, and of the dictionary learning that codes by
it, on orthogonal_mp, orthogonal_mp_gram and OrthogonalMatchingPursuit of csrecover."""
from peers import installed, swap

NEEDS = ["scikit-learn>=1.6"]


def tests():
    return installed("sklearn", "linear_model/tests/test_omp.py",
                     "decomposition/tests/test_dict_learning.py")


def pytest_configure():
    import csrecover
    swap(csrecover.orthogonal_mp, "orthogonal_mp", "sklearn.linear_model", "sklearn.linear_model._omp")
    swap(csrecover.orthogonal_mp_gram, "orthogonal_mp_gram", "sklearn.linear_model",
         "sklearn.linear_model._omp", "sklearn.decomposition._dict_learning")
    swap(csrecover.OrthogonalMatchingPursuit, "OrthogonalMatchingPursuit", "sklearn.linear_model",
         "sklearn.linear_model._omp")
