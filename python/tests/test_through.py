# SPDX-License-Identifier: BSD-3-Clause
"""Measurements through an operator, beside NumPy and SciPy."""
import json
import subprocess
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import csrecover as cs

def picture(side=32):
    v, u = np.mgrid[:side, :side] / side
    return 60 + 100 * (np.hypot(u - .4, v - .5) < .3) + 40 * (u > .7)


def walsh(n):
    """Rows of Hadamard's matrix by their sign changes."""
    linalg = pytest.importorskip("scipy.linalg")
    rows = linalg.hadamard(n)
    return rows[np.argsort((np.diff(rows, axis=1) != 0).sum(1))]


def test_hadamard_is_scipys(rng):
    linalg = pytest.importorskip("scipy.linalg")
    x = rng.standard_normal((8, 16))
    scan = cs.measure(x, "hadamard", ordering="natural")
    np.testing.assert_allclose(scan.y, linalg.hadamard(128) @ x.ravel(), atol=1e-12)
    scan = cs.measure(x, "hadamard", ordering="sequency", count=20)
    np.testing.assert_array_equal(scan.index, np.arange(20))
    np.testing.assert_allclose(scan.y, walsh(128)[:20] @ x.ravel(), atol=1e-12)


@pytest.mark.parametrize("complex_signal", (False, True))
@pytest.mark.parametrize("coils", (0, 3))
def test_fourier_is_numpys(rng, complex_signal, coils):
    x = rng.standard_normal((6, 5, 7))
    if complex_signal:
        x = x + 1j * rng.standard_normal(x.shape)
    s = rng.standard_normal((coils, *x.shape)) * np.exp(1j * rng.random((coils, *x.shape)))
    try:
        scan = cs.measure(x, "fourier", rate=0.4, coils=s if coils else None, seed=int(rng.integers(99)))
    except cs.UnsupportedError as error:
        pytest.skip(str(error))
    known = np.array([np.fft.fftn(each * x).ravel()[scan.index] for each in (s if coils else [1])])
    np.testing.assert_allclose(scan.y, known.T if coils else known[0], atol=1e-11)


def centred(x, norm=None):
    """What fastMRI, BART and SigPy call k-space."""
    return np.fft.fftshift(np.fft.fftn(np.fft.ifftshift(x), norm=norm))


@pytest.fixture
def fourier():
    try:
        cs.measure(np.zeros(4), "fourier")
    except cs.UnsupportedError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("shape", ((9,), (8,), (6, 5), (5, 8), (4, 5, 6), (3, 1, 7)))
@pytest.mark.parametrize("norm", (None, "backward", "ortho", "forward"))
def test_centred_frequencies_are_numpys(rng, fourier, shape, norm):
    for coils in (0, 2):
        for x in (rng.standard_normal(shape), rng.standard_normal(shape) + 1j * rng.standard_normal(shape)):
            s = rng.standard_normal((coils or 1, *shape)) * np.exp(1j * rng.random((coils or 1, *shape)))
            scan = cs.measure(x, "fourier", rate=0.6, centred=True, norm=norm, coils=s if coils else None,
                              rows="uniform", seed=int(rng.integers(99)))
            known = np.stack([centred(each * x, norm).ravel()[scan.index] for each in (s if coils else [1])], -1)
            np.testing.assert_allclose(scan.y, known if coils else known[:, 0], atol=1e-11)
            assert np.ravel_multi_index([n // 2 for n in shape], shape) in scan.index
            plain = cs.measure(x, "fourier", norm=norm, coils=s if coils else None).y.reshape(*shape, -1)
            again = np.fft.fftn(s[0] * x if coils else x, norm=norm)
            np.testing.assert_allclose(plain[..., 0], again, atol=1e-11)


def test_arrays_of_others(rng, fourier):
    """[coils, ky, kx] with a mask of lines, noise in its own units: the picture itself comes out."""
    v, u = np.mgrid[:48, :45] / 48
    truth = picture(48)[:, :45] * np.exp(1j * (u + v))
    maps = np.stack([1 + u, 1.5 - v, 1j + u * v])
    kspace = np.stack([centred(each * truth, "ortho") for each in maps])
    mask = np.zeros(truth.shape, bool)
    mask[::2] = mask[20:28] = True
    noise = rng.standard_normal((2, *kspace.shape))
    kspace += 0.1 * (noise[0] + 1j * noise[1])
    through = cs.Through("fourier", complex=True, coils=maps, centred=True, norm="ortho")
    scan = cs.Measurement(kspace[:, mask].T, np.flatnonzero(mask), mask.shape, sigma=0.1, through=through)
    found = cs.recover(scan, quality="fast")
    assert np.sqrt(np.mean(np.abs(found - truth) ** 2)) < 0.5 and np.array_equal(scan.mask, mask)
    with pytest.raises(cs.ArgumentError, match="y has shape .* give .N, 3.") as caught:
        cs.recover(cs.Measurement(scan.y[:, :2], scan.index, scan.shape, through=through))
    through.norm = "orto"
    with pytest.raises(cs.CsrecError, match="'orto' is unknown") as caught:
        cs.recover(scan)
    assert "\n" not in str(caught.value)


@contextmanager
def silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def masks_of(rng, shape):
    lines = rng.random(shape[0]) < 0.25
    lines[shape[0] // 2 - 8:shape[0] // 2 + 8] = True
    yield np.repeat(lines[:, None], shape[1], 1)
    v, u = np.indices(shape)
    away = np.hypot(v - shape[0] // 2, u - shape[1] // 2)
    yield (rng.random(shape) < 0.2) | (away < 2)
    yield away < 30


def test_what_is_not_said_is_seen(rng, fourier, tool, tmp_path):
    """With and without a phase that varies, real pictures and noise: centred frequencies are seen as
    such, those of fftn never are, and white ones are neither."""
    data = pytest.importorskip("skimage.data")
    ramp = np.exp(1j * np.indices((128, 127)).sum(0) / 100)
    for name in ("camera", "moon", "brick"):
        x = getattr(data, name)()[:512:4, :508:4] * ramp
        for mask in masks_of(rng, x.shape):
            for given, at, sees in ((centred(x), mask, True), (np.fft.fftn(x), np.fft.ifftshift(mask), False)):
                spec = cs.Through("fourier", complex=True)
                scan = cs.Measurement(given[at], np.flatnonzero(at), at.shape, through=spec)
                np.savez(tmp_path / "a.npz", operator="fourier", complex=True, mask=at, y=scan.y)
                for seen in (lambda: cs.read(tmp_path / "a.npz"), lambda: cs.write(tmp_path / "b.npz", scan)):
                    with pytest.warns(cs.RecoveryWarning, match="taken as .*give centred") if sees else silent():
                        found = seen()
                    with silent():  # what is written says it
                        assert (found or cs.read(tmp_path / "b.npz")).through.centred is sees
                assert spec.centred is None
    white = rng.standard_normal(x.shape) + 1j * rng.standard_normal(x.shape)
    for given, words in ((white, None), (centred(x + 200 * white), "More energy|taken as centred")):
        np.savez(tmp_path / "scan.npz", operator="fourier", complex=True, mask=mask, y=given[mask])
        said = json.loads(subprocess.run([tool, tmp_path / "scan.npz", "-o", tmp_path / "out.npy", "--quality",
                                          "fast", "--json"], check=True, capture_output=True).stdout)["warnings"]
        assert len(said) == 0 if words is None else any(part in said[0] for part in words.split("|"))

def test_complex_files_without_an_operator(rng, tmp_path):
    """A note, but where the file says points: as those that are written do."""
    x = picture() * np.exp(1j * picture() / 99)
    mask = rng.random(x.shape) < 0.5
    np.savez(tmp_path / "a.npz", y=x[mask], mask=mask)
    with pytest.warns(cs.RecoveryWarning, match="entries of a complex signal; give operator fourier"):
        scan = cs.read(tmp_path / "a.npz")
    cs.write(tmp_path / "b.npz", scan)
    assert str(np.load(tmp_path / "b.npz")["operator"]) == "points"
    np.save(tmp_path / "c.npy", np.where(mask, x, np.nan))
    with silent():
        np.testing.assert_array_equal(cs.read(tmp_path / "b.npz").y, x[mask])
        cs.read(tmp_path / "c.npy")
    mask[15:18, 15:18] = True  # the middle
    np.save(tmp_path / "c.npy", np.where(mask, centred(x), np.nan))
    with pytest.warns(cs.RecoveryWarning, match="give operator fourier"):
        cs.read(tmp_path / "c.npy")


def test_hadamards_rows_are_scrambled_unless_told(tool, tmp_path):
    """The default of both front ends."""
    x = picture()
    np.save(tmp_path / "x.npy", x)
    for words, given in (([], {}), (["--ordering", "natural"], {"ordering": "natural"}),
                         (["--ordering", "zig-zag", "--scramble"], {"ordering": "zig-zag", "scramble": 2**64 - 1})):
        subprocess.run([Path(tool).parent / "cssample", tmp_path / "x.npy", "-o", tmp_path / "x.npz", "--operator",
                        "hadamard", "--rate", "0.5", "--seed", str(2**64 - 1), *words], check=True)
        ours, theirs = cs.read(tmp_path / "x.npz"), cs.measure(x, "hadamard", rate=0.5, seed=2**64 - 1, **given)
        assert ours.through.scramble == theirs.through.scramble == (None if given == {"ordering": "natural"}
                                                                   else 2**64 - 1)
        np.testing.assert_array_equal(ours.y, theirs.y)
    assert cs.measure(x, "hadamard", scramble=None).through.scramble is None


def test_convolution_is_scipys(rng):
    ndimage = pytest.importorskip("scipy.ndimage")
    x, h = rng.standard_normal((9, 11)), rng.standard_normal((3, 5))
    np.testing.assert_allclose(cs.measure(x, "blur", kernel=h).y.reshape(x.shape),
                               ndimage.convolve(x, h, mode="constant"), atol=1e-12)
    means = cs.measure(x[:8, :10], "downsample", factor=(4, 5)).y
    np.testing.assert_allclose(means, x[:8, :10].reshape(2, 4, 2, 5).mean((1, 3)).ravel(), atol=1e-12)


def scans(rng):
    x = picture(16)
    yield cs.measure(x, "hadamard", rate=0.5, scramble=3, sigma=0.1)
    yield cs.measure(np.stack([x, 2 * x], -1), "hadamard", rate=0.5, ordering="zig-zag",
                     channel_axis=-1)
    yield cs.measure(x, "matrix", matrix=rng.standard_normal((5, 16)), block=4)
    yield cs.measure(x, "matrix", matrix=rng.standard_normal((5, 35)), block=(5, 7))
    yield cs.measure(x, "blur", kernel=np.full((3, 3), 1 / 9))
    yield cs.measure(x.astype(np.uint8), "downsample", factor=2)
    try:
        yield cs.measure(x, "fourier", rate=0.5)
        yield cs.measure(x, "fourier", rate=0.5, centred=True, norm="ortho")
        yield cs.measure(x * np.exp(1j * x / 99), "fourier", rate=0.5, coils=np.ones((2, 16, 16)))
    except cs.UnsupportedError:
        return


@pytest.mark.parametrize("border", ("pad", "cut"))
def test_blocks_at_the_border(rng, border, tool, tmp_path):
    """As the literature cuts pictures into columns; here, and by the tool."""
    x, phi = picture(40)[:, :37].astype(np.uint8), rng.standard_normal((9, 12 * 11))
    whole = np.pad(x, ((0, 8), (0, 7))) if border == "pad" else x[:36, :33]
    blocks = whole.reshape(len(whole) // 12, 12, -1, 11).transpose(0, 2, 1, 3).reshape(-1, 132)
    scan = cs.measure(x, "matrix", matrix=phi, block=(12, 11), border=border)
    np.testing.assert_allclose(scan.y.reshape(len(blocks), 9), blocks @ phi.T, rtol=1e-5)
    assert scan.shape == (x.shape if border == "pad" else whole.shape)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "phi.npy", phi)
    subprocess.run([Path(tool).parent / "cssample", "x.npy", "-o", "y.npz", "--operator", "matrix", "--matrix",
                    "phi.npy", "--block", "12x11", "--border", border], check=True, cwd=tmp_path)
    found = cs.read(tmp_path / "y.npz")
    assert found.shape == scan.shape and found.through.block == (12, 11)
    np.testing.assert_allclose(found.y, scan.y, rtol=1e-6)
    colours = cs.measure(np.stack([x, x + 1], -1), "matrix", matrix=phi, block=(12, 11),
                         border=border, channel_axis=-1)
    np.testing.assert_array_equal(colours.y[:, 0], scan.y)


def test_rows_of_any_length_are_as_good(rng):
    """Orthogonal rows of blocks, and others that span the same: the same signals fit, and the result is
    the same where steps are exact. With noise no signal is worse than the noise says."""
    x = picture(48)[:, :44].astype(np.uint8)
    orthogonal = np.linalg.qr(rng.standard_normal((144, 50)))[0].T
    mixed = rng.standard_normal((50, 50)) @ orthogonal * 10.0 ** rng.uniform(-1, 1, (50, 1))
    for method in ("tv", "pnp"):
        found = [cs.recover(cs.measure(x, "matrix", matrix=m, block=12), method=method, dtype=float)
                 for m in (orthogonal, mixed)]
        assert cs.psnr(found[0], x) > 22 and np.abs(found[0] - found[1]).max() < 3.0
    scan = cs.measure(x, "matrix", matrix=mixed, block=12, sigma=20.0)
    _, info = cs.recover(scan, method="pnp", return_info=True)
    assert info.residual * np.linalg.norm(scan.y) <= 20.0 * np.sqrt(scan.y.size) * (1 + 1e-6)


def test_files_and_numpy(rng, tmp_path):
    with pytest.raises(cs.ArgumentError, match=r"scan.png: .*\.npz"):
        cs.write(tmp_path / "scan.png", next(iter(scans(rng))))
    for scan in scans(rng):
        path = tmp_path / "scan.npz"
        cs.write(path, scan)
        found = cs.read(path)
        np.testing.assert_array_equal(found.y, scan.y)
        np.testing.assert_array_equal(found.index, scan.index)
        assert found.y.dtype == scan.y.dtype and found.shape == scan.shape
        assert found.sigma == scan.sigma and found.scale == scan.scale
        for field in ("name", "scramble", "complex", "centred", "norm"):
            assert getattr(found.through, field) == getattr(scan.through, field)
        for field in ("coils", "matrix", "kernel"):
            a, b = getattr(found.through, field), getattr(scan.through, field)
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_array_equal(a, b)
        assert str(np.load(path)["operator"]) == scan.through.name


def test_recoveries_have_the_signals_shape(rng):
    for scan in scans(rng):
        signal = cs.recover(scan, method="tv")
        channels = (2,) if scan.y.ndim == 2 and scan.through.coils is None else ()
        assert signal.shape == (16, 16, *channels)
        assert (signal.dtype.kind == "c") == scan.through.complex
        assert np.isfinite(signal).all()


def test_complex_samples_of_entries(rng):
    x = picture() * np.exp(1j * picture() / 99)
    mask = rng.random(x.shape) < 0.5
    scan = cs.Measurement(x[mask], np.flatnonzero(mask), x.shape)
    signal = cs.recover(scan, method="frames")
    assert signal.dtype == np.complex128
    parts = cs.recover(np.stack([x.real, x.imag], -1)[mask], mask, method="frames")
    np.testing.assert_array_equal(signal, parts[..., 0] + 1j * parts[..., 1])
    np.testing.assert_allclose(signal[mask], x[mask])


def test_the_minimum_is_scikit_images(rng):
    """min TV with ||x - y|| <= eps is min ||x - y||^2 / 2 + w TV for the w that gives that eps."""
    restoration = pytest.importorskip("skimage.restoration")
    y = picture(16) + 10 * rng.standard_normal((16, 16))
    # it converges slowly: after 30,000 steps it is off by 3e-3
    peer = restoration.denoise_tv_chambolle(y, weight=12.0, eps=0.0, max_num_iter=120000)
    eps = np.linalg.norm(peer - y)
    scan = cs.Measurement(y.ravel(), np.arange(y.size), y.shape, sigma=eps / np.sqrt(y.size))
    ours = cs.recover(scan, method="tv", iterations=30000, digits=9)
    np.testing.assert_allclose(np.linalg.norm(ours - y), eps, rtol=1e-6)
    np.testing.assert_allclose(ours, peer, rtol=0, atol=1e-2)


@pytest.mark.parametrize("words, parameters", (
    ("unknown|measures no signals", dict(operator="wavelet")),
    ("ordering", dict(operator="hadamard", ordering="walsh")),
    ("coils", dict(operator="fourier", coils=np.ones((2, 3, 3)))),
    ("matrix", dict(operator="matrix", matrix=np.ones((2, 7)))),
    ("matrix.*element 0 is not finite", dict(operator="matrix", matrix=np.full((2, 4), np.nan), block=2)),
    (r"block = \(17, 2\); give 1 to", dict(operator="matrix", matrix=np.ones((2, 34)), block=(17, 2))),
    (r"block = \(0, 33\); give 1 to", dict(operator="matrix", matrix=np.ones((2, 4)), block=(0, 33))),
    ("border = 'edge'. must be", dict(operator="matrix", matrix=np.ones((2, 4)), block=2, border="edge")),
    ("border is for operator matrix", dict(operator="hadamard", border="cut")),
    ("kernel", dict(operator="blur", kernel=np.ones(3))),
    ("factor", dict(operator="downsample", factor=0)),
    ("lines", dict(operator="hadamard", rate=0.5, rows="lines")),
    ("sigma = -1", dict(operator="hadamard", sigma=-1)),
    ("sigma = nan", dict(operator="hadamard", sigma=np.nan)),
    ("sigma = inf", dict(operator="hadamard", sigma=np.inf)),
    ("does not take scramble", dict(operator="fourier", scramble=1)),
    ("does not take ordering", dict(operator="blur", kernel=np.ones((3, 3)), ordering="sequency")),
    ("does not take block", dict(operator="hadamard", block=2)),
    ("does not take matrix", dict(operator="hadamard", matrix=np.ones((5, 256)))),
    ("does not take kernel", dict(operator="matrix", matrix=np.ones((5, 256)), kernel=np.ones((3, 3)))),
    ("does not take complex", dict(operator="hadamard", complex=True)),
    ("complex = 'no'", dict(operator="fourier", complex="no")),
    ("scramble = 'no'", dict(operator="hadamard", scramble="no")),
    ("scramble = False", dict(operator="hadamard", scramble=False)),
    ("scramble = 2.5", dict(operator="hadamard", scramble=2.5)),
    ("'scrambl'; did you mean scramble", dict(operator="hadamard", scrambl=1)),
    ("'sigm'; did you mean sigma", dict(operator="hadamard", sigm=1)),
    ("unknown argument 'foo'; see Through", dict(operator="hadamard", foo=1)),
    ("scramble: a Through", dict(operator=cs.Through("hadamard"), scramble=1)),
    ("rate", dict(operator="hadamard", rate=1.5))))
def test_wrong_input(words, parameters):
    with pytest.raises(cs.CsrecError, match=words) as caught:
        cs.measure(picture(16), **parameters)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 200
    assert isinstance(caught.value, cs.UnknownArgumentError) == ("'; " in words)


@pytest.mark.parametrize("value", (np.nan, np.inf, -np.inf))
def test_signals_that_are_not_finite_are_not_measured(rng, value):
    for image in (picture(16) + 0.0, picture(16) + 0j, picture(16).astype(np.float32)):
        image.flat[rng.integers(256)] = value
        for operator in ("hadamard", "fourier"):
            with pytest.raises(cs.DataError, match="image: is not finite in 1 of 256"):
                cs.measure(image, operator)


def test_a_through_is_not_changed():
    """A real picture may be measured as a complex signal."""
    given = cs.Through("fourier")
    assert cs.measure(picture(16) + 1j, given).through.complex and not given.complex
    scan = cs.measure(picture(16), "fourier", complex=True)
    assert scan.through.complex
    np.testing.assert_allclose(cs.recover(scan, method="tv"), picture(16), atol=1e-2)


@pytest.mark.parametrize("operator", ("hadamard", "fourier", "blur"))
def test_the_tool_solves_the_lasso_in_a_basis(rng, tool, tmp_path, operator):
    """The conditions of min ||A W x - y||^2 / 2 + lambda ||x||_1, with matrices by their columns."""
    image = rng.standard_normal((8, 8))
    parameters = {"kernel": np.ones((1, 3)) / 3} if operator == "blur" else {}
    try:
        scan = cs.measure(image, operator, rate=0.5, rows="uniform", seed=int(rng.integers(99)),
                          **parameters)
    except cs.UnsupportedError as error:
        pytest.skip(str(error))
    cs.write(tmp_path / "scan.npz", scan)
    subprocess.run([tool, tmp_path / "scan.npz", "-o", tmp_path / "found.npy", "--solver", "fista",
                    "--basis", "wavelet", "--set", "lambda=0.1", "--atoms", "100000",
                    "--epsilon", "0"], check=True)
    found = np.load(tmp_path / "found.npy")
    W = cs.Wavelet(shape=(8, 8)).toarray()
    units = np.eye(64).reshape(64, 8, 8)
    if operator == "fourier":
        A = np.stack([np.fft.fftn(unit).ravel()[scan.index] for unit in units], axis=1)
        A, y = np.concatenate((A.real, A.imag)), np.concatenate((scan.y.real, scan.y.imag))
    else:
        A = np.stack([cs.measure(unit, scan.through).y[scan.index] for unit in units], axis=1)
        y = scan.y
    x = np.linalg.solve(W, found.ravel())
    c = (A @ W).T @ (y - A @ found.ravel())
    weight = 0.1 * np.abs((A @ W).T @ y).max()
    used = np.abs(x) > 1e-9
    assert used.any() and not used.all()
    # x moves in 13 digits no more.
    np.testing.assert_allclose(c[used], weight * np.sign(x[used]), rtol=0, atol=1e-5 * weight)
    assert np.abs(c).max() <= weight * (1 + 1e-5)


def test_what_cannot_be_met_is_told(rng, tool, tmp_path):
    """Every row twice, each with noise of its own: the same sentence here and by the tool."""
    A = rng.standard_normal((60, 256))
    scan = cs.measure(picture(16), "matrix", matrix=np.concatenate([A, A]))
    scan.y = scan.y + 0.1 * np.abs(scan.y).mean() * rng.standard_normal(scan.y.shape)
    for method in ("tv", "pnp"):
        with pytest.warns(cs.RecoveryWarning, match="misses its measurements") as caught:
            _, info = cs.recover(scan, method=method, return_info=True)
        assert info.outcome == "bound cannot be met" and info.residual > 0.01
        np.savez(tmp_path / "scan.npz", operator="matrix", matrix=np.concatenate([A, A]), shape=(16, 16), y=scan.y)
        said = json.loads(subprocess.run([tool, tmp_path / "scan.npz", "-o", tmp_path / "out.npy", "--method",
                                          method, "--json"], check=True, capture_output=True).stdout)
        assert said["warnings"] == [str(w.message) for w in caught] and said["outcome"] == "bound cannot be met"


def spikes(rng, shape, count, complex_=False):
    x = np.zeros(shape, complex if complex_ else float)
    x.flat[rng.choice(x.size, count, replace=False)] = rng.choice((-1, 1), count) * (1 + rng.random(count))
    return x * np.exp(1j) if complex_ else x


@pytest.mark.parametrize("solver, options", (("omp", {}), ("bpdn", {}), ("htp", {"k": 5}), ("iht", {"k": 5}),
                                             ("cosamp", {"k": 5}), ("romp", {"k": 5}), ("mp", {}),
                                             ("fista", {"lambda_": 1e-3, "debias": 1})))
def test_a_signal_that_is_sparse_itself(rng, solver, options):
    """Five spikes of 256 entries from 128 rows, through every kind of operator and each solver."""
    x = spikes(rng, (16, 16), 5)
    scans = [cs.measure(x, "hadamard", rate=0.5, scramble=int(rng.integers(1, 99))),
             cs.measure(x, "matrix", matrix=rng.standard_normal((128, 256)))]
    try:
        scans += [cs.measure(each, "fourier", rate=0.5, rows="uniform", seed=int(rng.integers(99)))
                  for each in (x, spikes(rng, (16, 16), 5, True))]
    except cs.UnsupportedError as error:
        print(error)
    for scan in scans:
        want = x if scan is not scans[-1] or len(scans) < 4 else None
        found = cs.recover(scan, solver=solver, basis="identity", epsilon=1e-9, **options)
        if want is None:
            assert found.dtype.kind == "c" and np.count_nonzero(np.abs(found) > 0.5) == 5
            again = np.fft.fftn(found).ravel()[scan.index]
            np.testing.assert_allclose(again, scan.y, atol=1e-5)
        else:
            np.testing.assert_allclose(found, want, atol=1e-5 if solver in ("iht", "mp") else 1e-6)
    with pytest.warns(cs.RecoveryWarning, match="No basis is given.*identity"):
        cs.recover(scans[0], solver="fista")


def test_identity_keeps_samples(rng):
    x = spikes(rng, (9, 8), 20)
    mask = rng.random(x.shape) < 0.5
    found = cs.recover(x[mask], mask, solver="omp", basis="identity")
    np.testing.assert_allclose(found, np.where(mask, x, 0), atol=1e-12)


def test_rows_of_what_is_measured_whole_are_refused():
    with pytest.raises(cs.ArgumentError, match="rows = 'first' chooses some of the rows; give rate"):
        cs.measure(np.zeros((8, 8)), "downsample", factor=2, rows="first")
