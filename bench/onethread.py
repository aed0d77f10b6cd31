# SPDX-License-Identifier: BSD-3-Clause
"""onethread.py - imported before NumPy loads its BLAS: a thread for each method."""
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"
