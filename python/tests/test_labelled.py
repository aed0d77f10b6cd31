# SPDX-License-Identifier: BSD-3-Clause
"""Arrays with labels and units, of pandas and astropy: the values of plain arrays, as such arrays."""
import numpy as np
import pytest

import csrecover

METHOD = {"method": "smooth"}


def _field(rng):
    y, x = np.mgrid[:20, :17]
    return 280 + np.sin(x / 3) * y, rng.random(x.shape) < 0.5


def test_pandas(rng):
    pandas = pytest.importorskip("pandas")
    line = np.where(rng.random(90) < 0.6, np.sin(np.arange(90) / 9), np.nan)
    series = pandas.Series(line, index=pandas.date_range("2026-01-01", periods=90), name="level")
    found = csrecover.recover(series, **METHOD)
    assert found.index.equals(series.index) and found.name == "level"
    np.testing.assert_array_equal(found.to_numpy(), csrecover.recover(line, **METHOD))
    known = np.isfinite(line)
    samples = csrecover.recover(series[known], known, **METHOD)
    np.testing.assert_array_equal(samples, found.to_numpy())
    field, known = _field(rng)
    frame = pandas.DataFrame(np.where(known, field, np.nan), columns=[f"c{k}" for k in range(17)])
    found = csrecover.recover(frame, **METHOD)
    assert list(found.columns) == list(frame.columns)
    np.testing.assert_array_equal(found.to_numpy(), csrecover.recover(frame.to_numpy(), **METHOD))


def test_astropy(rng):
    units = pytest.importorskip("astropy.units")
    nddata = pytest.importorskip("astropy.nddata")
    field, known = _field(rng)
    wanted = csrecover.recover(field, known, **METHOD)
    found = csrecover.recover(np.where(known, field, np.nan) * units.K, **METHOD)
    assert found.unit == units.K
    np.testing.assert_array_equal(found.value, wanted)
    frame = nddata.CCDData(field, mask=~known, unit="adu", meta={"EXPTIME": 30.0})
    found, error = csrecover.recover(frame, return_uncertainty=True, **METHOD)
    assert found.unit == frame.unit and found.meta["EXPTIME"] == 30.0 and found.mask is None
    np.testing.assert_array_equal(found.data, wanted)
    assert error.unit == frame.unit and (error.data[known] == 0).all()
    filled = csrecover.inpaint(frame, np.zeros(field.shape, bool), **METHOD)
    np.testing.assert_array_equal(filled.data, wanted)


def test_tables_of_pandas(rng):
    """An index that goes up and down is refused; a column without any value stays unknown."""
    pandas = pytest.importorskip("pandas")
    line = np.sin(np.arange(60) / 7)
    line[10:14] = np.nan
    series = pandas.Series(line, index=pandas.date_range("2026-01-01", periods=60))
    order = rng.permutation(60)
    for y in (series.iloc[order], series.iloc[order].to_frame(), series.reset_index(drop=True)[order]):
        with pytest.raises(csrecover.DataError, match="index goes up and down; give y.sort_index"):
            csrecover.recover(y)
    np.testing.assert_allclose(csrecover.recover(series[::-1])[::-1], csrecover.recover(series), rtol=0, atol=1e-6)
    frame = series.to_frame("a").assign(none=np.nan, b=np.roll(line, 5))
    with pytest.warns(csrecover.RecoveryWarning, match="without any value stay unknown: none"):
        full = csrecover.recover(frame)
    assert full["none"].isna().all() and full[["a", "b"]].notna().all().all()
    with pytest.raises(csrecover.DataError, match="when: dates or texts, no numbers"):
        csrecover.recover(frame.rename_axis("when").reset_index())
    known = frame.notna()
    with pytest.raises(csrecover.DataError, match="reindex_like"):
        csrecover.recover(frame.fillna(0), known[::-1])


def test_what_is_meant_is_named():
    xarray = pytest.importorskip("xarray")
    both = xarray.Dataset({"depth": (("y", "x"), np.full((4, 4), np.nan))})
    for call in (csrecover.recover, lambda y: csrecover.inpaint(y, np.ones((4, 4))), csrecover.tiles,
                 csrecover.Sequence().push):
        with pytest.raises(csrecover.ArgumentError, match=r"several arrays; give one, ds\['depth'\]"):
            call(both)
    with pytest.raises(TypeError, match="'unknown'; the value that stands for.*nodata"):
        csrecover.recover(np.eye(4), np.eye(4), unknown=0)
