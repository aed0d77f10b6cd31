# SPDX-License-Identifier: BSD-3-Clause
"""rio csrecover - a plug-in of rasterio's command line: fills the gaps of a raster and keeps its
driver, type, nodata value, place, tiles, compression, tags, descriptions, scales and colours."""
import os
import tempfile
import warnings
from itertools import product

import click
import numpy as np
import rasterio
from rasterio._err import CPLE_BaseError
from rasterio.drivers import driver_from_extension
from rasterio.enums import ColorInterp
from rasterio.rio import options
from rasterio.windows import Window

import csrecover as package

UNNAMED = "some values stay unknown, for which integers need a number; give --nodata"
NOISE = click.types.FuncParamType(lambda text: text if text == "auto" else float(text))
MARGIN = 64  # pixels around a window that it is recovered from, too


def windows(source, size):
    """(window to write, window to read) that cover the raster."""
    whole, wide = Window(0, 0, source.width, source.height), size + 2 * MARGIN
    for y, x in product(range(0, source.height, size), range(0, source.width, size)):
        yield (Window(x, y, size, size).intersection(whole),
               Window(x - MARGIN, y - MARGIN, wide, wide).intersection(whole))


def fill(values, known, alone, nodata, given):
    """[bands, H, W] without gaps, and where there still are some."""
    empty = nodata if nodata is not None else np.nan if values.dtype.kind == "f" else 0
    made, left = np.where(known, values, values.dtype.type(empty)), ~known
    for group in np.split(np.arange(len(values)), len(values)) if alone else [np.s_[:]]:
        if known[group].any() and left[group].any():
            made[group] = package.recover(values[group], known[group], channel_axis=0,
                                          dtype=values.dtype, nodata=nodata, **given)
            left[group] &= np.isnan(made[group]) if nodata is None else made[group] == nodata
    return made, left


def describe(source, target):
    """All that is no pixel, but statistics, which are of other values."""
    for space in {None, *source.tag_namespaces()} - {"IMAGE_STRUCTURE", "DERIVED_SUBDATASETS", ""}:
        target.update_tags(ns=space, **source.tags(ns=space))
    for band, kind in zip(source.indexes, source.colorinterp):
        tags = source.tags(band).items()
        target.update_tags(band, **{k: v for k, v in tags if not k.startswith("STATISTICS_")})
        if kind == ColorInterp.palette:
            target.write_colormap(band, source.colormap(band))
    points = ["gcps"] * bool(source.gcps[0])
    for name in ("descriptions", "units", "scales", "offsets", "rpcs", *points):
        if getattr(source, name):
            setattr(target, name, getattr(source, name))
    if ColorInterp.palette not in source.colorinterp:
        target.colorinterp = source.colorinterp


def check(source, mask):
    if not source.count:
        raise ValueError(f"has no bands; give one of {', '.join(source.subdatasets[:4])}")
    if len(set(source.dtypes)) > 1 or np.dtype(source.dtypes[0]).kind not in "iuf":
        raise ValueError(f"has bands of {', '.join(set(source.dtypes))}; give reals of one type")
    if mask and (mask.shape != source.shape or mask.count not in (1, source.count)):
        raise ValueError(f"has shape {source.shape}, {mask.name} {mask.shape}; they must agree")


def profile_of(source, output, nodata, creation):
    """What the new file is made with; of another driver than the input's only what all have."""
    profile = dict(source.profile, nodata=source.nodata if nodata is None else nodata)
    driver = driver_from_extension(output) if os.path.splitext(output)[1] else source.driver
    if driver != source.driver:
        common = ("dtype", "nodata", "width", "height", "count", "crs", "transform")
        profile = {"driver": driver, **{name: profile[name] for name in common}}
    predictor = driver == "GTiff" and source.tags(ns="IMAGE_STRUCTURE").get("PREDICTOR")
    return {**({"predictor": predictor} if predictor else {}), **profile, **creation}


def run(source, mask, target, size, alone, given):
    """Fills the windows one by one; returns the numbers of values filled and left."""
    alphas = [b for b in source.indexes[1:] if source.colorinterp[b - 1] == ColorInterp.alpha]
    bands = [b for b in source.indexes if b not in alphas]
    size = size or max(256, int((2 ** 24 / len(bands)) ** 0.5) // 256 * 256)
    gaps = rest = 0
    if given["within"] and target.nodata is None and np.dtype(source.dtypes[0]).kind != "f":
        raise ValueError(UNNAMED)
    for core, around in windows(source, size):
        values = source.read(bands, window=around, masked=True)
        known = ~np.ma.getmaskarray(values) & np.isfinite(values.data)
        if target.nodata is not None:
            known &= values.data != target.nodata
        if mask:
            each = bands if mask.count > 1 else [1]
            known &= mask.read(each, window=around, masked=True).filled(0) != 0
        made, left = fill(values.data, known, alone, target.nodata, given)
        part = (slice(None), *Window(core.col_off - around.col_off, core.row_off - around.row_off,
                                     core.width, core.height).toslices())
        target.write(made[part], bands, window=core)
        gaps, rest = gaps + (~known[part]).sum(), rest + left[part].sum()
        for band in alphas:  # what is filled is opaque
            old, new = source.read(band, window=core), (~known[part]).any(0) & ~left[part].any(0)
            opaque = np.iinfo(old.dtype).max if old.dtype.kind in "iu" else 1
            target.write(np.where(new, old.dtype.type(opaque), old), band, window=core)
    if rest == len(bands) * source.height * source.width:
        raise ValueError("no value is known; see --nodata and --mask")
    if rest and target.nodata is None and made.dtype.kind != "f" and not alphas:
        raise ValueError(UNNAMED)
    return gaps - rest, rest


@click.command("csrecover", short_help="Fill the gaps of a raster.")
@options.file_in_arg
@options.file_out_arg
@click.option("--mask", type=click.Path(exists=True), help="Raster that is 0 where to fill.")
@click.option("--nodata", type=float, help="Number that is unknown [default: of INPUT].")
@click.option("--quality", type=click.Choice(["fast", "balanced", "best", "max"]))
@click.option("--within", type=click.FloatRange(1), help="Fill only so near to known pixels.")
@click.option("--sigma", type=NOISE, metavar="NUMBER|auto", help="Deviation of the noise.")
@click.option("--labels", is_flag=True, help="Values are classes; so they are with a palette.")
@click.option("--alone", is_flag=True, help="Recover each band by itself.")
@click.option("--window", type=click.IntRange(64), help="Recover windows of so many pixels a side.")
@options.overwrite_opt
@options.creation_options
def csrecover(input, output, mask, nodata, quality, within, sigma, labels, alone, window, overwrite,
              creation_options):
    """Fill the gaps of a raster: nodata, NaN, masked or transparent pixels, those of --mask."""
    itself = os.path.realpath(output) in [os.path.realpath(name) for name in (input, mask or "")]
    if itself or os.path.exists(output) and not overwrite:
        raise click.UsageError(f"{output} exists; give --overwrite, or a name that no input has")
    folder, name = os.path.split(os.path.abspath(output))
    try:
        with warnings.catch_warnings(), rasterio.open(input) as source, \
                tempfile.TemporaryDirectory(dir=folder, prefix=".csrec-") as work:
            warnings.simplefilter("always", package.RecoveryWarning)
            warnings.showwarning = lambda message, *rest: click.echo(f"note: {message}", err=True)
            other = rasterio.open(mask) if mask else None
            check(source, other)
            given = {"quality": quality, "within": within, "sigma": sigma,
                     "labels": labels or ColorInterp.palette in source.colorinterp}
            profile = profile_of(source, output, nodata, creation_options)
            with rasterio.open(os.path.join(work, name), "w", **profile) as target:
                describe(source, target)
                done, rest = run(source, other, target, window, alone, given)
            for file in os.listdir(work):  # with what the driver writes beside it
                os.replace(os.path.join(work, file), os.path.join(folder, file))
    except CPLE_BaseError as error:  # of a driver, as of one that has no such type
        raise click.ClickException(f"{output}: {' '.join(str(error).split())}") from None
    except (package.CsrecError, rasterio.errors.RasterioError, OSError, ValueError) as error:
        raise click.ClickException(f"{input}: {' '.join(str(error).split())}") from None
    click.echo(f"{output}: {done} values filled, {rest} stay unknown", err=True)
