# SPDX-License-Identifier: BSD-3-Clause
"""Rasters for the tests, written by rasterio; without it those that import this are skipped."""
import numpy as np
import pytest

rasterio = pytest.importorskip("rasterio")
PLACE = {"crs": "EPSG:32633", "transform": rasterio.Affine(10, 0, 500000, 0, -10, 5000000)}


def write(path, bands, **profile):
    bands = np.asarray(bands)
    bands = bands.reshape(-1, *bands.shape[-2:])
    with rasterio.open(path, "w", count=len(bands), height=bands.shape[1], width=bands.shape[2],
                       dtype=bands.dtype, **{"driver": "GTiff", **PLACE, **profile}) as file:
        file.write(bands)
    return path
