# SPDX-License-Identifier: BSD-3-Clause
"""k-space as BART, fastMRI and ISMRMRD write it, beside these programs where they are installed."""
import shutil
import subprocess
import warnings

import numpy as np
import pytest

import csrecover as cs

AXES = (-2, -1)


def fft(x):
    return np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(x, AXES), norm="ortho"), AXES)


def head(side=96, coils=6, turn=0.3):
    """A head with a phase, and coils around it whose squares sum to 1."""
    v, u = np.mgrid[:side, :side] / side - 0.5
    light = 1.0 * (np.hypot(1.2 * u, v) < 0.42) + 0.6 * (np.hypot(u - 0.1, v - 0.1) < 0.12)
    light -= 0.5 * (np.hypot(u + 0.15, v) < 0.06)
    angle = 2 * np.pi * np.arange(coils)[:, None, None] / coils + turn
    maps = np.exp(1j * (angle + u)) / (0.15 + (u - 0.7 * np.cos(angle))**2 + (v - 0.7 * np.sin(angle))**2)
    return light * np.exp(1j * (v + 2 * u * u)), maps / np.sqrt((abs(maps)**2).sum(0))


def lines(side, every=3, middle=24):
    known = np.zeros((side, side), bool)
    known[::every] = known[(side - middle) // 2:(side + middle) // 2] = True
    return known


def db(found, truth):
    return cs.psnr(abs(found), abs(truth), peak=abs(truth).max())


def write_cfl(path, array):
    """[..., y, x] with x the first axis of BART."""
    array = np.asarray(array, np.complex64)
    extents = (*array.shape[::-1], *[1] * 16)[:16]
    path.with_suffix(".hdr").write_text("# Dimensions\n" + " ".join(map(str, extents)) + "\n")
    array.tofile(path)
    return path


def read_cfl(path):
    extents = path.with_suffix(".hdr").read_text().split("\n")[1].split()
    return np.fromfile(path, np.complex64).reshape([int(n) for n in extents[::-1]]).squeeze()


@pytest.fixture
def bart(tmp_path):
    if not shutil.which("bart"):
        pytest.skip("bart is not installed")

    def run(*words):
        subprocess.run(["bart", *map(str, words)], cwd=tmp_path, check=True, capture_output=True)
    return run


def run(tool, folder, *words):
    done = subprocess.run([tool, *map(str, words)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_estimated_coils_recover_as_true_ones(rng):
    image, maps = head()
    known = lines(96)
    kspace = fft(maps * image) * known
    kspace += known * 0.005 * (rng.standard_normal(kspace.shape) + 1j * rng.standard_normal(kspace.shape))
    found = cs.estimate_coils(kspace)
    inside = abs(image) > 0
    assert abs((found.conj() * maps).sum(0))[inside].min() > 0.998
    results = []
    for each in (maps, found):
        through = cs.Through("fourier", complex=True, coils=each, centred=True, norm="ortho")
        scan = cs.Measurement(kspace[:, known].T, np.flatnonzero(known), known.shape, sigma=0.005,
                              through=through)
        results.append(db(cs.recover(scan, quality="fast"), image))
    assert results[1] > results[0] - 0.3 and results[0] > 30


def test_a_file_of_bart_is_recovered(rng, tool, tmp_path):
    image, maps = head(64, 4)
    known = lines(64)
    kspace = fft(maps * image) * known
    noise = 0.01 * (rng.standard_normal(kspace.shape) + 1j * rng.standard_normal(kspace.shape))
    write_cfl(tmp_path / "k.cfl", (kspace + noise)[:, None])
    write_cfl(tmp_path / "pattern.cfl", known)
    write_cfl(tmp_path / "maps.cfl", maps[:, None])
    write_cfl(tmp_path / "truth.cfl", image)
    said = run(tool, tmp_path, "k.cfl", "--mask", "pattern.cfl", "-o", "out.cfl", "-Q", "fast")
    assert "4 coils are estimated" in said and "sigma 0.0" in said
    given = run(tool, tmp_path, "k.cfl", "--mask", "pattern.cfl", "--coils", "maps.cfl", "-o", "given.npy",
                "-Q", "fast", "--reference", "truth.cfl")
    assert "PSNR" in given and "estimated (ESPIRiT)" not in given
    out, known_maps = read_cfl(tmp_path / "out.cfl"), np.load(tmp_path / "given.npy")
    assert out.dtype == known_maps.dtype == np.complex64
    assert db(out, image) > db(known_maps, image) - 0.5 > 27
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scan = cs.read(tmp_path / "k.cfl", mask=tmp_path / "pattern.cfl", coils="none")
    np.testing.assert_array_equal(scan.y, (kspace + noise).astype(np.complex64)[:, known].T)


def test_noise_of_coils_in_a_file(rng, tmp_path):
    image, maps = head(32, 3)
    C = np.diag([1.0, 4.0, 9.0]).astype(complex)
    y = fft(maps * image).reshape(3, -1).T
    np.savez(tmp_path / "k.npz", operator="fourier", complex=True, centred=True, norm="ortho", coils=maps,
             shape=(32, 32), index=np.arange(1024), y=y, noise_covariance=C)
    scan = cs.read(tmp_path / "k.npz")
    np.testing.assert_allclose(scan.y, y / [1, 2, 3], atol=1e-14)
    np.testing.assert_allclose(scan.through.coils, maps / np.array([1, 2, 3])[:, None, None], atol=1e-14)
    np.save(tmp_path / "samples.npy", rng.standard_normal((3, 20)) + 1j * rng.standard_normal((3, 20)))
    again = cs.read(tmp_path / "k.npz", noise=tmp_path / "samples.npy")
    assert again.sigma == pytest.approx(0.5**0.5)
    for bad, words in ((np.ones((2, 3)), "is not square"), (-C, "3 coils")):
        np.savez(tmp_path / "bad.npz", operator="fourier", complex=True, coils=maps, shape=(32, 32),
                 index=np.arange(1024), y=y, centred=True, noise_covariance=bad)
        with pytest.raises(cs.DataError, match=words):
            cs.read(tmp_path / "bad.npz")


def test_beside_bart(bart, tool, tmp_path):
    """Its phantom, pattern and reconstruction: ours has the pixels that it has."""
    bart("phantom", "-x", 96, "-k", "-s", 8, "k")
    bart("upat", "-Y", 96, "-Z", 1, "-y", 2, "-z", 1, "-c", 24, "pattern")
    bart("fft", "-u", "-i", 3, "k", "coils")
    bart("rss", 8, "coils", "truth")
    bart("fmac", "k", "pattern", "under")
    bart("ecalib", "-m1", "under", "maps")
    bart("pics", "-S", "-l1", "-r", "0.001", "under", "maps", "theirs")
    truth, theirs = read_cfl(tmp_path / "truth.cfl"), read_cfl(tmp_path / "theirs.cfl")
    for words in ((), ("--coils", "maps.cfl")):
        run(tool, tmp_path, "under.cfl", *words, "-o", "ours.cfl", "-Q", "fast")
        assert db(read_cfl(tmp_path / "ours.cfl"), truth) > max(30, db(theirs, truth) - 1)
    bart("nrmse", "ours", "theirs")                          # reads what we write


def test_coils_that_cannot_be_estimated_are_told(tool, tmp_path):
    image, maps = head(48, 3)
    write_cfl(tmp_path / "k.cfl", (fft(maps * image) * lines(48, 3, 4))[:, None])
    done = subprocess.run([tool, "k.cfl", "-o", "x.npy"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "k.cfl: coils: 5 lines" in done.stderr and "--coils" in done.stderr
    with pytest.raises(cs.DataError, match="axis 0 are complete"):
        cs.estimate_coils(fft(maps * image), lines(48, 3, 4))
    for kspace, mask in ((np.ones(4), None), (np.ones((2, 8, 8)), np.ones((4, 4)))):
        with pytest.raises(cs.ArgumentError, match="has shape"):
            cs.estimate_coils(kspace, mask)
