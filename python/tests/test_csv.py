# SPDX-License-Identifier: BSD-3-Clause
"""Lists of coordinates and values: what is read lies where NumPy puts it, and what the tool writes
is the list that the input was, complete."""
import json
import subprocess

import numpy as np
import pytest

import csrecover


def recover(tool, source, target, *options):
    done = subprocess.run([tool, source, "-o", target, "--quality", "fast", "--backend", "cpu",
                           *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def scene(rng, height, width, *first_step):
    """(x, y, values) [height, width] of a smooth surface; half of it, with all corners, is known."""
    (x0, dx), (y0, dy) = first_step
    row, column = np.mgrid[:height, :width]
    known = rng.random((height, width)) < 0.5
    known[::height - 1, ::width - 1] = True
    known[np.arange(height), np.arange(height) % width] = True
    known[np.arange(width) % height, np.arange(width)] = True
    values = np.round(20 + 5 * np.sin(row / 7) * np.cos(column / 5), 4)
    return x0 + dx * column, y0 + dy * row, values, known


@pytest.mark.parametrize("x,y", [((4000, 10), (3000, 10)), ((4000.5, 10), (3000.5, 5)),
                                 ((12, 0.25), (-3.5, 0.5)), ((500000, 1), (4649776, 1))])
@pytest.mark.parametrize("head,down", [("", True), ("x,y,z\n", False), ("lat;lon;h\n", True)])
def test_lists_come_back_complete(rng, tool, tmp_path, x, y, head, down):
    at_x, at_y, values, known = scene(rng, 24, 31, x, y)
    order, comma = [1, 0, 2] if "lat" in head else [0, 1, 2], ";" in head
    rows = np.c_[at_x[known], at_y[known], values[known]][:: -1 if down else 1, order]
    lines = "\n".join(" ".join(f"{v:.12g}" for v in row) for row in rows)
    lines = lines.replace(".", ",").replace(" ", ";") if comma else lines.replace(" ", ",") if head else lines
    (tmp_path / "in.xyz").write_text(head + lines + "\n")
    assert "--grid" in recover(tool, tmp_path / "in.xyz", tmp_path / "out.csv")
    text = (tmp_path / "out.csv").read_text()
    assert text.startswith(head)
    text = text.replace(",", ".").replace(";", " ") if comma else text.replace(",", " ")
    found = np.loadtxt(text.splitlines()[bool(head):])[:, order]
    recover(tool, tmp_path / "in.xyz", tmp_path / "out.npy")
    array = np.load(tmp_path / "out.npy")
    assert array.shape == values.shape
    np.testing.assert_allclose(found[:, :2], np.c_[at_x.ravel(), at_y.ravel()], rtol=1e-11)
    np.testing.assert_allclose(found[:, 2], array.ravel(), rtol=1e-6)
    scan = csrecover.read(tmp_path / "in.xyz")
    np.testing.assert_array_equal(scan.y[np.argsort(scan.index)].ravel(), values[known])
    np.testing.assert_array_equal(np.sort(scan.index), np.flatnonzero(known))


def test_rasterio_reads_what_is_written(rng, tool, tmp_path):
    rasterio = pytest.importorskip("rasterio")
    at_x, at_y, values, known = scene(rng, 24, 31, (4000, 10), (3000, 10))
    np.savetxt(tmp_path / "in.xyz", np.c_[at_x[known], at_y[known], values[known]], fmt="%.12g")
    recover(tool, tmp_path / "in.xyz", tmp_path / "out.xyz.csv", "--no-sync")
    recover(tool, tmp_path / "in.xyz", tmp_path / "out.npy")
    with rasterio.open(tmp_path / "out.xyz.csv", driver="XYZ") as file:  # which reads no comments
        to = file.transform
        row, column = (at_y - to.f) / to.e, (at_x - to.c) / to.a
        found = file.read(1)[np.floor(row).astype(int), np.floor(column).astype(int)]
    np.testing.assert_allclose(found, np.load(tmp_path / "out.npy"), rtol=1e-5)
    recover(tool, tmp_path / "in.xyz", tmp_path / "out.tif")
    with rasterio.open(tmp_path / "out.tif") as file:
        np.testing.assert_allclose(file.xy(range(24), range(24)), [at_x[0, :24], at_y[:24, 0]])
        np.testing.assert_allclose(file.read(1), np.load(tmp_path / "out.npy"), rtol=1e-6)


def test_volumes_colours_and_chosen_columns(rng, tool, tmp_path):
    """What a matrix has no room for; columns that are not chosen are left out."""
    cells = np.argwhere(rng.random((5, 6, 7)) < 0.6)
    colours = np.round(rng.random((len(cells), 2)), 3)
    with open(tmp_path / "in.csv", "w") as file:
        file.write('species,"a, b",x,y,z,c\n')
        for (z, y, x), (a, c) in zip(cells, colours):
            file.write(f'"oak, red",{a},{x / 2 + 1},{y / 2 + 2},{z / 2},{c}\n')
    choice = ("--coordinates", "x,y,z", "--values", "2,c")
    recover(tool, tmp_path / "in.csv", tmp_path / "out.csv", *choice)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == 'x,y,z,"a, b",c' and len(lines) == 5 * 6 * 7 + 1
    scan = csrecover.read(tmp_path / "in.csv", coordinates="x,y,z", values="2,c")
    assert scan.shape == (5, 6, 7) and scan.placement.origin == (0, 2, 1)
    found = {tuple(row[:3]): row[3:] for row in np.loadtxt(lines[1:], delimiter=",")}
    for (z, y, x), values in zip(cells, colours):
        np.testing.assert_allclose(found[x / 2 + 1, y / 2 + 2, z / 2], values, atol=0.1)


def test_matrices_keep_their_decimal_commas(rng, tool, tmp_path):
    values = np.round(rng.random((12, 9)), 3)
    values[rng.random(values.shape) < 0.3] = np.nan
    text = "\n".join(";".join("" if np.isnan(v) else f"{v}".replace(".", ",") for v in row)
                     for row in values)
    (tmp_path / "in.csv").write_text(text + "\n")
    recover(tool, tmp_path / "in.csv", tmp_path / "out.csv")
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert "." not in lines[0]
    found = np.loadtxt([line.replace(",", ".") for line in lines], delimiter=";")
    np.testing.assert_allclose(found[~np.isnan(values)], values[~np.isnan(values)], atol=0.05)


def test_memory_names_the_grid(rng, tool, tmp_path):
    np.savetxt(tmp_path / "in.csv", rng.random((20, 3)), delimiter=",")
    done = subprocess.run([tool, tmp_path / "in.csv", "-o", tmp_path / "out.npy", "--memory", "50",
                           "--grid", "9000,9000"], capture_output=True, text=True)
    assert done.returncode == 1 and "--grid" in done.stderr.splitlines()[-1]


def test_values_that_one_column_lacks(rng, tmp_path):
    values = np.round(rng.random((30, 2)), 3)
    values[rng.random(values.shape) < 0.3] = np.nan
    cells = rng.permutation(48)[:30]
    lines = [f"{k // 8},{k % 8}," + ",".join("" if np.isnan(v) else "-1" if v < 0.1 else str(v)
                                             for v in row) for k, row in zip(cells, values)]
    (tmp_path / "in.csv").write_text("# shape: 6,8\nrow,col,a,b\n" + "\n".join(lines) + "\n")
    scan = csrecover.read(tmp_path / "in.csv", coordinates="row,col", values="a,b", unknown=-1)
    values[values < 0.1] = np.nan
    known = ~np.isnan(values).all(axis=1)
    np.testing.assert_array_equal(scan.index, cells[known])
    np.testing.assert_array_equal(scan.y, values[known])


@pytest.mark.parametrize("dims,n", [(1, 60), (2, 16), (3, 16)])
def test_points_are_moved_to_the_middles(rng, tmp_path, dims, n):
    """SciPy: lines, the thin plate of all points, and in three axes the kernel r."""
    interpolate = pytest.importorskip("scipy.interpolate")
    at, y = np.round(rng.random((n, dims)) * 9, 6), np.round(rng.normal(size=n), 6)
    if dims == 1:
        at = np.cumsum(rng.uniform(0.1, 1, n))[:, None].round(6)
    scan = csrecover.place(at, y, grid=[997] * dims)
    means = csrecover.place(at, y, grid=[997] * dims, cell_means=True)
    cells = np.stack(np.unravel_index(scan.index, scan.shape), -1)
    step = np.array(scan.placement.step)
    middles = scan.placement.origin + cells * step
    np.testing.assert_array_equal(np.sort(means.y), np.sort(y))     # none is shared
    assert means.placement.moved == 0 < scan.placement.moved
    if dims == 1:
        order = np.argsort(at[:, 0])
        expected = np.interp(middles[:, 0], at[order, 0], y[order])
    else:
        kernel = "thin_plate_spline" if dims == 2 else "linear"
        expected = interpolate.RBFInterpolator(at / step, y, kernel=kernel, degree=1)(middles / step)
    np.testing.assert_allclose(scan.y, np.clip(expected, y.min(), y.max()), atol=1e-7)
    np.savetxt(tmp_path / "p.csv", np.c_[at, y], delimiter=",", comments="", fmt="%.9f",
               header=",".join("zyx"[3 - dims:]) + ",value")
    read = csrecover.read(tmp_path / "p.csv", grid=[997] * dims)
    np.testing.assert_allclose(read.y, scan.y, atol=1e-7)


def test_points_of_a_slope_become_its_grid(rng):
    """Values at the middles are nearer than means of cells."""
    y, x = np.mgrid[:32, :32]
    surface = lambda y, x: 9 * np.sin(y / 5) + x * np.cos(x / 9)
    at = np.r_[[[0, 0], [31, 31]], rng.random((400, 2)) * 31]
    errors = []
    for cell_means in (True, False):
        scan = csrecover.place(at, surface(*at.T), grid=(32, 32), cell_means=cell_means)
        errors.append(np.std(scan.y - surface(y, x).ravel()[scan.index]))
    assert errors[1] < errors[0] / 5


def test_tables_with_a_header(rng, tool, tmp_path):
    """Columns without any value stay unknown, in Python, too; with --resume the result is found."""
    table = np.where(rng.random((40, 4)) < 0.7, np.sin(np.arange(160).reshape(40, 4) / 9), np.nan)
    table[:, 2] = np.nan
    np.savetxt(tmp_path / "in.csv", table, "%.17g", ",", header="temp,wind,none,rain", comments="")
    told = recover(tool, tmp_path / "in.csv", tmp_path / "out.csv")
    assert "without any value stay unknown: 3" in told and "40 left unknown" in told
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "temp,wind,none,rain" and len(lines) == 41
    found = np.array([line.split(",") for line in lines[1:]], float)
    known = np.isfinite(table)
    assert (found[known] == table[known]).all() and np.isnan(found[:, 2]).all()
    assert np.isfinite(found[:, [0, 1, 3]]).all()
    recover(tool, tmp_path / "in.csv", tmp_path / "out.csv", "--resume")
    again = recover(tool, tmp_path / "in.csv", tmp_path / "out.csv", "--resume", "--verbose")
    assert "already done" in again
    assert "# csrec-fingerprint" in (tmp_path / "out.csv").read_text()
    assert (csrecover.read(tmp_path / "out.csv").y == found[np.isfinite(found)]).all()
    with pytest.warns(csrecover.RecoveryWarning, match="any value stay unknown: 3"):
        own = csrecover.recover(tmp_path / "in.csv", quality="fast", backend="cpu")
    np.testing.assert_array_equal(own, found)


def test_guessed_columns_are_told(tool, tmp_path):
    (tmp_path / "in.csv").write_text("a,b\n1,1\n2,4\n5,3\n")
    told = recover(tool, tmp_path / "in.csv", tmp_path / "out.csv")
    assert "columns a,b the last is taken as values" in told and "--coordinates and --values" in told
    (tmp_path / "in.csv").write_text("station,lat,lon,t\nBern,46.9,7.4,1\nZug,47.1,8.5,2\n")
    done = subprocess.run([tool, tmp_path / "in.csv", "-o", tmp_path / "out.csv"],
                          capture_output=True, text=True)
    assert done.returncode == 1
    assert "line 2: coordinate 'Bern' in column 1, 'station'" in done.stderr
    assert "--coordinates, --values" in done.stderr


def test_quality_is_of_what_is_written(rng, tool, tmp_path):
    truth = np.cumsum(rng.normal(size=(40, 40)), 0)
    known = np.where(np.arange(40) < 8, truth, np.nan)
    known[::3, ::5] = truth[::3, ::5]
    np.save(tmp_path / "in.npy", known)
    np.save(tmp_path / "truth.npy", truth)
    done = subprocess.run([tool, tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--within", "1",
                           "--reference", tmp_path / "truth.npy", "--json", "--quality", "fast"],
                          capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    quality = found["quality"]
    signal = np.load(tmp_path / "out.npy")
    written = np.isfinite(signal)
    assert found["left_unknown"] == (~written).sum() > 0
    error = np.mean((signal[written] - truth[written]) ** 2)
    np.testing.assert_allclose(quality["psnr"], 10 * np.log10(np.ptp(truth) ** 2 / error), rtol=1e-9)
    assert quality["ssim"] is None
