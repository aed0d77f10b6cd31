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
    np.save(tmp_path / "C.npy", np.diag([-1.0, 1, 1, 1]))  # Hermitian, and no covariance
    with pytest.raises(cs.DataError, match="eigenvalue is not above 0"):
        cs.read(tmp_path / "k.cfl", noise=tmp_path / "C.npy", coils="none")
    for plain, doubted in ((kspace, True), (kspace[0], True), (image * maps[0], False), (maps, False)):
        np.save(tmp_path / "plain.npy", plain)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            cs.read(tmp_path / "plain.npy")
        assert ("operator fourier" in str([w.message for w in told])) == doubted


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


XML = """<?xml version="1.0"?>
<ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD">
<encoding>
<encodedSpace><matrixSize><x>{ex}</x><y>{ey}</y><z>1</z></matrixSize>
<fieldOfView_mm><x>500</x><y>250</y><z>5</z></fieldOfView_mm></encodedSpace>
<reconSpace><matrixSize><x>{rx}</x><y>{ey}</y><z>1</z></matrixSize></reconSpace>
<encodingLimits><kspace_encoding_step_0><center>1</center></kspace_encoding_step_0>
<kspace_encoding_step_1><minimum>0</minimum><maximum>{ey}</maximum><center>{middle}</center></kspace_encoding_step_1>
</encodingLimits><trajectory>{kind}</trajectory></encoding></ismrmrdHeader>"""


def padded(image, axis, n):
    """In the middle of a field of view of n entries along an axis."""
    before = n // 2 - image.shape[axis] // 2
    pads = [(0, 0)] * image.ndim
    pads[axis] = (before, n - image.shape[axis] - before)
    return np.pad(image, pads)


def quiet(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cs.read(path, **options)


@pytest.mark.parametrize("side", (48, 45))
def test_fastmri_slices(rng, tool, tmp_path, side):
    """Readout is the axis before the last and sampled twice as finely; columns are measured."""
    h5py = pytest.importorskip("h5py")
    image, maps = head(side, 4)
    known = lines(side).T
    kspace = fft(padded(maps * image, 1, 2 * side))[None] * np.arange(1, 4)[:, None, None, None]
    columns = known[0]
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["kspace"] = (kspace * columns).astype(np.complex64)
        file["mask"] = columns
        file["ismrmrd_header"] = XML.format(ex=2 * side, ey=side, rx=side, middle=side // 2, kind="cartesian")
        file["reconstruction_rss"] = np.zeros((3, side, side), np.float32)
    for which, factor in ((None, 2), (0, 1), (2, 3)):
        scan = quiet(tmp_path / "f.h5", slice=which, coils="none")
        assert scan.shape == (side, side) and scan.through.centred and scan.through.norm == "ortho"
        wanted = factor * fft(maps * image)[:, known].T
        np.testing.assert_allclose(scan.y, wanted, atol=1e-5 * abs(wanted).max())
        np.testing.assert_array_equal(scan.index, np.flatnonzero(known))
    said = run(tool, tmp_path, "f.h5", "-o", "out.npy", "-Q", "fast", "--slice", 1)
    assert db(np.load(tmp_path / "out.npy"), 2 * image) > 27 and "4 coils" in said
    with h5py.File(tmp_path / "one.h5", "w") as file:        # of one coil, without header and mask
        file["kspace"] = (kspace[:, 0] * columns).astype(np.complex64)
    assert quiet(tmp_path / "one.h5").shape == (2 * side, side)
    with pytest.raises(cs.ArgumentError, match="slices 0 to 2, and not slice 3"):
        cs.read(tmp_path / "f.h5", slice=3)
    with h5py.File(tmp_path / "bad.h5", "w") as file:
        file["kspace"] = kspace[0, 0].astype(np.complex64)
    with pytest.raises(cs.DataError, match="has 2 axes"):
        cs.read(tmp_path / "bad.h5")
    heads = np.zeros(2, [("head", "i4"), ("data", "f4")])
    for name, values, refused in (("kspace", kspace.real, "real.h5: /kspace is no array of complex .*FILE:/kspace"),
                                  ("dataset/xml", b"<x/>", "real.h5: has /dataset/xml .* no /dataset/data"),
                                  ("dataset/data", heads, "real.h5: has /dataset/data .* no /dataset/xml")):
        with h5py.File(tmp_path / "real.h5", "w") as file:
            file[name] = values
        with pytest.raises(cs.DataError, match=refused):
            cs.read(tmp_path / "real.h5")
    with h5py.File(tmp_path / "real.h5", "w") as file:
        file["kspace"] = kspace.real
        file["dataset/data"] = columns
    assert cs.read(f"{tmp_path}/real.h5:/kspace").shape == kspace.shape


def test_ismrmrd_lines_in_any_order(rng, tmp_path):
    ismrmrd = pytest.importorskip("ismrmrd")
    side, coils, factor = 40, 3, 1e-3
    image, maps = head(side, coils)
    known = lines(side)
    kspace = fft(padded(maps * image, 2, 2 * side)) * factor
    mixing = rng.standard_normal((coils, coils)) + 1j * rng.standard_normal((coils, coils))
    noise = mixing @ (rng.standard_normal((coils, 4000)) + 1j * rng.standard_normal((coils, 4000))) * 1e-6

    def make(name, kind="cartesian", cut=0):
        data = ismrmrd.Dataset(str(tmp_path / name), "dataset", True)
        data.write_xml_header(XML.format(ex=2 * side, ey=side, rx=side, middle=7, kind=kind).encode())

        def add(values, step, flag=0, slice=0, repetition=0, reverse=False, dwell=1.0):
            line = ismrmrd.Acquisition()
            line.resize(values.shape[1] - cut, coils, 0)
            line.data[:] = (values[:, ::-1] if reverse else values)[:, cut:]
            line.idx.kspace_encode_step_1, line.idx.slice, line.idx.repetition = step, slice, repetition
            line.center_sample, line.sample_time_us = side - cut - reverse, dwell
            for each in filter(None, (flag, reverse and ismrmrd.ACQ_IS_REVERSE)):
                line.set_flag(each)
            data.append_acquisition(line)
        add(noise, 0, ismrmrd.ACQ_IS_NOISE_MEASUREMENT, dwell=2.0)
        for y in rng.permutation(np.flatnonzero(known[:, 0])):
            step = (y - side // 2 + 7) % 65536
            if 0 <= step < 4096:
                error = rng.standard_normal(kspace[:, y].shape) * factor
                add(kspace[:, y] + error, step)
                add(kspace[:, y] - error, step, reverse=bool(y % 2))
                add(kspace[:, y] * 5, step, slice=1)
                add(kspace[:, y] * 7, step, repetition=1)
                add(kspace[:, y] * 9, step, ismrmrd.ACQ_IS_NAVIGATION_DATA)
        data.close()
    make("m.h5")
    scan = quiet(tmp_path / "m.h5", slice=0, coils="none")
    rows = known & (np.arange(side)[:, None] >= side // 2 - 7)
    np.testing.assert_array_equal(scan.index, np.flatnonzero(rows))
    # The mean of two lines has half of the variance; noise was sampled at half of the bandwidth.
    C = noise @ noise.conj().T / noise.shape[1] * 2.0 / 2
    y = np.linalg.solve(np.linalg.cholesky(C), (fft(maps * image) * factor)[:, rows]).T
    np.testing.assert_allclose(scan.y, y, atol=2e-4 * abs(y).max())
    assert scan.sigma == pytest.approx(0.5**0.5)
    assert quiet(tmp_path / "m.h5", slice=1, coils="none").y.shape == scan.y.shape
    make("radial.h5", "radial")
    with pytest.raises(cs.DataError, match="trajectory for"):
        cs.read(tmp_path / "radial.h5", slice=0)
    make("partial.h5", cut=10)                               # an echo that begins late is not cut
    assert quiet(tmp_path / "partial.h5", slice=0, coils="none").shape == (side, 2 * side)


def star(side, spokes, turn=0.0):
    """Spokes through the middle [points, y x], in cycles per field of view, two samples a cycle."""
    angle = turn + np.pi * np.arange(spokes)[:, None] / spokes
    radius = (np.arange(2 * side) - side + 0.5) / 2
    return np.stack([np.sin(angle) * radius, np.cos(angle) * radius], -1).reshape(-1, 2)


@pytest.fixture
def radial():
    """measure along a trajectory, where there is FINUFFT."""
    try:
        cs.measure(np.ones((2, 2)), "nufft", trajectory=np.zeros((1, 2)))
    except cs.UnsupportedError as error:
        pytest.skip(str(error))

    def measure(x, k, **fields):
        return cs.measure(x, "nufft", trajectory=k, norm="ortho", **fields)
    return measure


def direct(x, k):
    """The sums themselves [points, coils]."""
    along = [np.exp(-2j * np.pi * np.outer(k[:, a], np.arange(n) - n // 2) / n)
             for a, n in enumerate(x.shape[-2:])]
    return np.einsum("ky,kx,cyx->kc", *along, x) / np.sqrt(x[0].size)


def test_any_frequencies(rng, radial, tmp_path):
    image, maps = head(36, 4)
    image, maps = image[:31], maps[:, :31]                   # an odd and an even side
    k = star(31, 40, rng.random())
    scan = radial(image, k, coils=maps)
    wanted = direct(maps * image, k)
    np.testing.assert_allclose(scan.y, wanted, atol=1e-8 * abs(wanted).max())
    found = cs.recover(scan, quality="fast")
    assert db(found, image) > 30 and np.array_equal(found, cs.recover(scan, quality="fast", threads=1))
    sigma = 0.002
    noisy = scan.y + sigma * (rng.standard_normal((len(k), 4)) + 1j * rng.standard_normal((len(k), 4)))
    maps_found = cs.estimate_coils(noisy.T, trajectory=k, shape=image.shape)
    assert abs((maps_found.conj() * maps).sum(0))[abs(image) > 0].min() > 0.95
    through = cs.Through("nufft", complex=True, trajectory=k, norm="ortho")
    cs.write(tmp_path / "k.npz", cs.Measurement(noisy, np.arange(len(k)), image.shape, through=through))
    again = quiet(tmp_path / "k.npz", coils="estimate")
    np.testing.assert_array_equal(again.through.trajectory, k)
    np.testing.assert_allclose(again.through.coils, maps_found, atol=1e-12)
    for wrong, words in ((k * 3, "cycles per field of view"), (k * np.nan, "trajectory"), (k[:, :1], "points, 2")):
        with pytest.raises(cs.Error, match=words):
            radial(image, wrong)


def test_trajectories_of_bart(bart, radial, rng, tool, tmp_path):
    """The same sums as `bart nufft`, and a recovery that tells its noise by itself."""
    side, coils, sigma = 48, 4, 0.004
    bart("traj", "-r", "-x", 48, "-y", 30, "-o", 2, "t")
    image, maps = head(side, coils)
    write_cfl(tmp_path / "x.cfl", (maps * image)[:, None])
    bart("nufft", "t", "x", "k")
    k = read_cfl(tmp_path / "t.cfl").real.reshape(-1, 3)[:, 1::-1].astype(float)
    y = read_cfl(tmp_path / "k.cfl").reshape(coils, -1)
    wanted = direct(maps * image, k).T
    inner = abs(k).max(1) < 0.45 * side                      # BART's sums are worse at the edge
    np.testing.assert_allclose(y[:, inner], wanted[:, inner], atol=2e-3 * abs(wanted).max())
    noisy = wanted + sigma * (rng.standard_normal(y.shape) + 1j * rng.standard_normal(y.shape))
    write_cfl(tmp_path / "n.cfl", noisy.reshape(coils, 30, 96, 1))
    scan = quiet(tmp_path / "n.cfl", trajectory=tmp_path / "t.cfl")
    assert scan.shape == (side, side) and scan.sigma == pytest.approx(sigma, rel=0.1)
    run(tool, tmp_path, "n.cfl", "--trajectory", "t.cfl", "-o", "x.npy", "-Q", "fast")
    assert db(np.load(tmp_path / "x.npy"), image) > 28
    for words, refused in (("t.cfl --trajectory t.cfl", "3 x N x M for 1 x N x M"),
                           ("n.cfl --trajectory n.cfl", "3 x N x M for 1 x N x M"),
                           ("n.cfl --trajectory t.cfl --mask x.npy", "leave the mask out")):
        done = subprocess.run([tool, *words.split(), "-o", "no.npy"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 1 and refused in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "no.npy").exists()


def test_trajectories_of_ismrmrd(radial, tmp_path):
    ismrmrd = pytest.importorskip("ismrmrd")
    image, maps = head(32, 3)
    k = star(32, 24).reshape(24, 64, 2)
    y = direct(maps * image, k.reshape(-1, 2)).T.reshape(3, 24, 64)
    for name, factor in (("shares", 1 / 32), ("cycles", 1.0)):
        data = ismrmrd.Dataset(str(tmp_path / name), "dataset", True)
        data.write_xml_header(XML.format(ex=32, ey=32, rx=32, middle=16, kind="radial").encode())
        for spoke in range(24):
            line = ismrmrd.Acquisition()
            line.resize(64, 3, 2)
            line.data[:], line.traj[:] = y[:, spoke], k[spoke, :, ::-1] * factor
            line.discard_pre = spoke % 2
            data.append_acquisition(line)
        data.close()
        scan = quiet(tmp_path / name, coils="none")
        kept = np.concatenate([np.arange(spoke % 2, 64) + 64 * spoke for spoke in range(24)])
        np.testing.assert_allclose(scan.through.trajectory, k.reshape(-1, 2)[kept], atol=1e-5)
        np.testing.assert_allclose(scan.y, y.reshape(3, -1).T[kept], atol=1e-6)


def test_slices_become_a_stack(rng, tool, tmp_path):
    h5py = pytest.importorskip("h5py")
    image, maps = head(40, 2)
    known = lines(40, 2, 20)
    stack = np.stack([factor * fft(maps * image) * known for factor in (1, 2, 3)]).astype(np.complex64)
    write_cfl(tmp_path / "s.cfl", stack.reshape(3, *[1] * 9, 2, 1, 40, 40))
    with h5py.File(tmp_path / "s.h5", "w") as file:
        file["kspace"] = stack
    with h5py.File(tmp_path / "bad.h5", "w") as file:
        file["kspace"] = stack * np.array([1, 0, 1])[:, None, None, None]
    write_cfl(tmp_path / "echoes.cfl", stack.reshape(3, 1, 2, 40, 1, 40))
    for name, axis, coils in (("s.cfl", 13, "estimate"), ("s.h5", 13, "estimate"), ("echoes.cfl", 5, "none")):
        def recover(*words):
            run(tool, tmp_path, name, "--coils", coils, "-Q", "fast", *words)
        recover("--slices", "-o", "all.npy")
        recover("--slices", "-o", "all.cfl")
        recover("--slice", "2", "-o", "one.npy")
        found = np.load(tmp_path / "all.npy")
        each = (40, 40, 2)[:2 + (coils == "none")]
        assert found.shape == (3, *each) and np.array_equal(found[2], np.load(tmp_path / "one.npy"))
        np.testing.assert_array_equal(read_cfl(tmp_path / "all.cfl"), found if each == (40, 40) else
                                      np.moveaxis(found, -1, 1))
        assert (tmp_path / "all.hdr").read_text().split()[2 + axis] == "3"
    write_cfl(tmp_path / "single.cfl", stack[2, :, None])
    with h5py.File(tmp_path / "single.h5", "w") as file:
        file["kspace"] = stack[2:]
    for name in ("single.cfl", "single.h5"):  # one slice is a stack of one
        run(tool, tmp_path, name, "--slices", "-Q", "fast", "-o", "all.npy")
        run(tool, tmp_path, name, "--slice", "0", "-Q", "fast", "-o", "one.npy")
        assert np.load(tmp_path / "all.npy").shape == (1, 40, 40)
        np.testing.assert_array_equal(np.load(tmp_path / "all.npy")[0], np.load(tmp_path / "one.npy"))
    for words, refused in (("bad.h5", "csrecover: bad.h5: slice 1: nothing"), ("s.h5 --slice 1", "--slice"),
                           ("s.h5 --report r.html", "--report")):
        done = subprocess.run([tool, *words.split(), "--slices", "-Q", "fast", "-o", "no.npy"], cwd=tmp_path,
                              capture_output=True, text=True)
        assert done.returncode == 1 and refused in done.stderr and not (tmp_path / "no.npy").exists()


def test_whitened_noise(rng):
    image, maps = head(24, 3)
    scan = cs.measure(image, "fourier", coils=maps, centred=True, norm="ortho")
    noise = rng.standard_normal((3, 50)) + 1j * rng.standard_normal((3, 50))
    inverse = np.linalg.inv(np.linalg.cholesky(noise @ noise.conj().T / 50))
    for given in (noise, noise @ noise.conj().T / 50):
        white = cs.whiten(scan, given)
        np.testing.assert_allclose(white.y, scan.y @ inverse.T, atol=1e-6)
        np.testing.assert_allclose(white.through.coils, np.einsum("cd,dyx->cyx", inverse, maps), atol=1e-12)
        assert white.sigma == pytest.approx(0.5**0.5)
    skew = np.eye(3, dtype=complex) + 1j * np.eye(3, k=1)
    for given, refused in ((noise[:2], "3 coils; .*3, N"), (np.eye(2), r"\(2, 2\), and .* 3 coils"),
                           (skew, "not Hermitian"), (noise[:, :2], "eigenvalue .*more samples")):
        with pytest.raises(cs.CsrecError, match=refused):
            cs.whiten(scan, given)
    maps[1, 2, 3] = complex(0, np.nan)
    with pytest.raises(cs.DataError, match=f"'coils': element {24 * 24 + 2 * 24 + 3} is not"):
        cs.measure(image, "fourier", coils=maps)
    with pytest.raises(cs.ArgumentError, match=r"trajectory has shape .* \[50, axes\]"):
        cs.estimate_coils(noise, trajectory=np.ones((49, 2)), shape=(8, 8))
