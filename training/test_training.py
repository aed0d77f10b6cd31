# SPDX-License-Identifier: BSD-3-Clause
"""The training project: its network is the library's, its pictures and samples keep what they
promise, and a tiny network learns, stops and goes on. Needs PyTorch, and csrecover for some."""
import re
import secrets
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import check  # noqa: E402
import data  # noqa: E402
import network  # noqa: E402
import own  # noqa: E402
import pictures  # noqa: E402
import sampling  # noqa: E402
import scenes  # noqa: E402
import things  # noqa: E402
import train  # noqa: E402
from draws import Draws  # noqa: E402
from tones import Palette  # noqa: E402

SEED = secrets.randbits(40)
TINY = ["--batch", "4", "--patch", "32", "--width", "4", "--blocks", "1", "--ahead", "4", "--slots",
        "3", "--device", "cpu", "--warm", "10", "--exact", "--seed", str(SEED)]


@pytest.fixture(autouse=True)
def seed():
    torch.set_num_threads(2)
    print(f"seed {SEED}")
    return SEED


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


def random_network(rng, channels, width=6):
    net = network.prior(channels, width, 1)
    return net.fill(0.2 * rng.standard_normal(net.flat().numel()))


# ---- the library's network

@pytest.mark.parametrize("channels, shape", [(1, (37, 51)), (3, (24, 31)), (1, (1, 9)),
                                             (3, (65, 8))])
def test_the_library_computes_the_same(rng, tmp_path, channels, shape):
    cs = pytest.importorskip("csrecover", reason="csrecover is not on the path")
    net = random_network(rng, channels)
    network.write(tmp_path / "prior.npz", net, channels, dtype=np.float32)
    picture = rng.uniform(0, 255, (*shape, channels))
    known = rng.random(shape) < 0.4
    known[0, 0] = known[-1, -1] = True
    picture[0, 0], picture[-1, -1] = 0, 255  # black and white, so that a tone is 1
    own, *_ = network.read(tmp_path / "prior.npz")
    want = network.recover(own, picture.transpose(2, 0, 1), known).numpy().transpose(1, 2, 0)
    got = cs.recover(picture[known].squeeze(), mask=known, method="net", together=int(channels > 1),
                     model=cs.read_model(tmp_path / "prior.npz"), backend="cpu")
    got = got.reshape(want.shape)
    unit = picture[known].std()
    assert np.abs(want - picture)[~known].max() > 10  # the network did something
    assert np.abs(got - want).max() < 1e-4 * max(unit, np.abs(want).max())
    if channels == 3:  # by check.py, too: its masks, its planes
        assert np.isfinite(check.psnr(own, channels, picture, 0.25))


def test_files_are_read_back(rng, tmp_path):
    for channels in (1, 3):
        net = random_network(rng, channels)
        network.write(tmp_path / "a.npz", net, channels, [(1.0, 20.0)], settings="none")
        again, found, beside = network.read(tmp_path / "a.npz")
        assert (found, beside) == (channels, (0, 0)) and again.layers == net.layers
        np.testing.assert_array_equal(again.flat(), net.flat().half().float())
        subprocess.run([sys.executable, Path(network.__file__).with_name("pack.py"),
                        tmp_path / "a.npz", tmp_path / "packed.npz"], check=True)
        near, *_ = network.read(tmp_path / "packed.npz")
        for a, b in zip(near.flat().split(64), again.flat().split(64)):  # half a step, and 16 bits
            assert (a - b).abs().max() <= (0.5 + 0.07) * b.abs().max() / 127 + 1e-7
        first = network.Network(2 * channels + 2, net.layers[:1]).flat().numel()
        np.testing.assert_array_equal(near.flat()[:first], again.flat()[:first])
        assert not np.array_equal(near.flat(), again.flat())
    np.savez(tmp_path / "b.npz", kind="net")
    with pytest.raises(ValueError, match="layers"):
        network.read(tmp_path / "b.npz")


def test_colours_begin_as_gray(rng):
    gray, X = random_network(rng, 1), torch.randn(2, 8, 16, 16)
    mean = torch.cat([X[:, :3].mean(1, keepdim=True), X[:, 3:6].mean(1, keepdim=True), X[:, 6:]], 1)
    with torch.no_grad():
        want, got = gray(mean), network.widened(gray, 3)(X)
    torch.testing.assert_close(got, want.repeat_interleave(3, 1), rtol=0,
                               atol=1e-5 * want.abs().max().item())


# ---- pictures

def front_by_definition(shapes, side):
    """The first shape that a pixel lies in, by the words of scenes.py, in double."""
    at, found = np.arange(side) + 0.5, np.full((side, side), len(shapes) - 1)
    for k, s in reversed(list(enumerate(shapes.double().numpy()))):
        dx, dy = at[None] - s[0], at[:, None] - s[1]
        u, v = dx * s[2] + dy * s[3], dy * s[2] - dx * s[3]
        hit = (s[4] > 0) & (np.hypot(dx, dy) < s[4]) & (u ** 2 * s[5] + v ** 2 * s[6] < 1)
        hit &= u ** 2 * s[7] + v ** 2 * s[8] > 1
        for p, q, d in s[9:].reshape(-1, 3):
            hit &= p * u + q * v < d
        found[hit] = k
    return found


def test_the_front_shape_is_seen(seed):
    d, side = Draws("cpu", seed, 5), 48
    tables = scenes.noise_tables(Draws("cpu", seed, 6), 64)
    for make, more in ((things.leaves, (tables,)), (things.motif, (tables,)),
                       (things.drawing, (tables,)), (things.text, ())):
        shapes, surfaces = make(d, Palette(d, 2, 1), side, 2, *more)
        assert all(of.shape[:2] == shapes.shape[:2] for of in surfaces.values())
        seen = scenes.front(shapes, side).numpy()
        for picture, list_ in zip(seen, shapes):
            want = front_by_definition(list_, side)
            assert (picture != want).mean() < 0.002  # float and double at an edge


def test_boxes_and_rings_have_their_areas(seed):
    d, side = Draws("cpu", seed, 7), 128
    a, c, angle = d.between(10, 40, 6), d.between(10, 40, 6), 6.28 * d.uniform(6)
    middle, far = torch.full((6,), 64.0), torch.full((6,), 64.0)
    box = scenes.shape(middle, middle, angle, far, planes=scenes.box_planes(a, c))
    ring = scenes.shape(middle, middle, angle, far, (a, c), (a / 2, c / 2))
    ground = scenes.everywhere(6, "cpu")
    for shapes, area in ((box, 4 * a * c), (ring, 0.75 * np.pi * a * c)):
        seen = scenes.front(torch.cat([shapes[:, None], ground], 1), side) == 0
        got, perimeter = seen.sum((1, 2)), 4 * (a + c) + 8
        assert ((got - area).abs() < perimeter).all()


def test_noise_has_its_spectrum(seed):
    tables = scenes.noise_tables(Draws("cpu", seed, 8), 128)
    f = np.hypot(np.fft.fftfreq(128)[:, None], np.fft.fftfreq(128)[None])
    low, high = (f > 0.03) & (f < 0.06), (f > 0.2) & (f < 0.4)
    for s in (0, 1, 3, 4, 6, 7, 9, 10):  # every third has grain
        power = sum(np.abs(np.fft.fft2(tables[2 * s + k])) ** 2 for k in range(2))
        fall = np.log(power[low].mean() / power[high].mean())
        exponent = 0.3 + 2 * s / 11
        want = np.log((f[low] ** (-2 * exponent)).mean() / (f[high] ** (-2 * exponent)).mean())
        assert abs(fall - want) < 0.5


@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_are_of_the_seed_and_in_range(seed, channels):
    tables = scenes.noise_tables(Draws("cpu", seed, 9), 64)
    kinds = {"noise": pictures.noise, "relief": pictures.relief, "spots": pictures.spots}
    for kind in pictures.KINDS:
        made = []
        for number in (0, 0, 1):
            d = Draws("cpu", seed, number)
            make = kinds.get(kind, pictures.shaped)
            made.append(pictures.finish(d, *make(d, kind, 2, channels, 32, tables)))
        assert made[0].shape == (2, channels, 32, 32)
        assert torch.isfinite(made[0]).all() and made[0].min() >= 0 and made[0].max() <= 255
        assert torch.equal(made[0], made[1]) and not torch.equal(made[0], made[2])


# ---- samples

def test_poisson_patterns_keep_their_distance(seed):
    side = 64
    ranks = sampling.poisson_ranks(Draws("cpu", seed, 10), 2, side)
    for rank in ranks.numpy():
        np.testing.assert_array_equal(np.sort(rank.ravel()) * side * side, np.arange(side * side))
        for share in (0.05, 0.1, 0.25):
            y, x = np.nonzero(rank < share)
            dy, dx = (np.abs(t[:, None] - t) for t in (y, x))
            dy, dx = np.minimum(dy, side - dy), np.minimum(dx, side - dx)
            away = dx ** 2 + dy ** 2
            np.fill_diagonal(away, side * side)
            # The densest packing has 1.1547 / share; darts end near half of it.
            assert away.min() >= 0.4 / share


def test_masks_have_their_patterns(seed):
    d, n, size = Draws("cpu", seed, 11), 40, 32
    ranks = sampling.poisson_ranks(Draws("cpu", seed, 12), 2, 32)
    share = torch.full((n, 1, 1), 0.25)
    count = sampling.uniform(d, n, size, share).sum().item()
    assert abs(count - n * size * size / 4) < 5.1 * (n * size * size * 3 / 16) ** 0.5
    grid = sampling.jittered(d, n, size, share)  # 16 x 16 cells of 2 x 2
    assert (grid.view(n, 16, 2, 16, 2).sum((2, 4)) == 1).all()
    gone = sampling.lines(d, n, size)
    rows, columns = gone.all(2, keepdim=True), gone.all(1, keepdim=True)
    assert torch.equal(gone, rows | columns) and gone.any(dim=2).any(dim=1).all()
    holes = sampling.holes(d, n, 64)
    assert holes.any(dim=2).any(dim=1).float().mean() > 0.9
    assert sampling.scratches(d, n, size).float().mean() < 0.5
    known, sigma = sampling.block(d, 400, 16, ranks)
    assert (known.sum((1, 2, 3)) >= 1).all() and ((known == 0) | (known == 1)).all()
    assert (sigma[known.flatten(1).all(1)] > 0).all() and sigma.max() <= 50
    quiet = (sigma == 0).float().mean().item()
    assert abs(quiet - 0.55) < 5.1 * (0.55 * 0.45 / 400) ** 0.5 + 0.03  # holes may miss a picture


def test_a_denoiser_sees_whole_pictures_with_white_noise(seed):
    made = data.DenoiseData("cpu", seed, batch=64, size=32, steps=1, side=64).make(0)[0]
    level = (made.X[:, 3] * made.unit[:, 0]).mean((1, 2))
    noise = ((made.filled - made.target) * made.unit)[:, 0]
    assert (made.X[:, 2] == 1).all() and (made.weight == 1).all()
    assert level.min() > 0 and level.max() <= 75
    # of 1024 numbers; neighbours, of which white noise has none in common
    assert ((noise.std((1, 2)) / level - 1).abs() < 6 / (2 * 1024) ** 0.5).all()
    beside = (noise[:, 1:] * noise[:, :-1]).mean((1, 2)) / level ** 2
    assert (beside.abs() < 6 / 992 ** 0.5).all()


def test_planes_spread_the_samples(seed):
    d = Draws("cpu", seed, 13)
    known = (d.uniform(2, 1, 19, 30) < 0.2).float()
    known[:, :, 0, 0] = 1
    slope = 3.0 * torch.arange(30.0).expand(2, 1, 19, 30)
    X, filled, mean, unit = network.planes(slope, known, torch.full((2, 1, 1, 1), 2.0))
    again = network.planes(slope * 4 + 9, known, torch.full((2, 1, 1, 1), 8.0), tone=4.0)[0]
    torch.testing.assert_close(X, again, rtol=1e-4, atol=1e-4)  # of any unit and offset
    np.testing.assert_allclose((filled * unit + mean)[known > 0], slope[known > 0], atol=1e-3)
    assert (filled * unit + mean - slope).abs().mean() < 6  # two pixels of the slope
    np.testing.assert_allclose(X[:, 3], (2 / unit).expand(-1, 1, 19, 30)[:, 0])


# ---- training

def weights(path):
    with np.load(path) as z:
        return z["weights"].copy()


def run(tmp_path, name, steps, *more):
    train.main(["-o", str(tmp_path / f"{name}.npz"), "--steps", str(steps), *TINY, *more])
    return weights(tmp_path / f"{name}.npz")


def test_the_gradient_is_that_of_the_loss(seed):
    d = Draws("cpu", seed, 14)
    batch = data.Batch(d.between(0, 255, 2, 1, 8, 8), (d.uniform(2, 1, 8, 8) < 0.5).float(),
                       torch.zeros(2, 1, 1, 1), torch.zeros(2, 1, 8, 8))
    Y = torch.randn(2, 2, 8, 8, requires_grad=True)
    train.loss_of(batch, Y).backward()
    e = (batch.filled + Y[:, :1] - batch.target).detach()[:, 0]
    for i in range(2):
        w = batch.weight[i, 0] > 0
        mse = e[i][w].square().mean()
        want = torch.where(w, 2 * e[i] / w.sum() / (mse + 1e-4) / 2, 0.0)
        torch.testing.assert_close(Y.grad[i, 0], want, rtol=1e-4, atol=1e-7)


def test_a_tiny_network_learns(seed, tmp_path):
    """On one batch the mean squared error falls by more than half."""
    o = train.parsed(["-o", str(tmp_path / "a.npz"), "--steps", "300", *TINY, "--rate", "1e-2"])
    t = train.Training(o, torch.device("cpu"), 0, 1)
    d = Draws("cpu", seed, 15)
    stripes = 60 + 120.0 * (torch.arange(32) // 4 % 2).expand(4, 1, 32, 32)
    batch = data.Batch(stripes, (d.uniform(4, 1, 32, 32) < 0.4).float(), torch.zeros(4, 1, 1, 1),
                       torch.zeros(4, 1, 32, 32))
    mse = [train.squares(batch, t.net(batch.X)).mean().item()]
    for _ in range(150):
        t.take_step(batch)
    mse.append(train.squares(batch, t.net(batch.X)).mean().item())
    assert mse[1] < 0.5 * mse[0]


def test_own_pictures_are_cut_and_reflected(seed, tmp_path):
    """Each part is one of a picture's, in the order of its pixels; units do not matter."""
    ramp = np.add.outer(64 * np.arange(40), np.arange(33)).astype(np.uint16)
    np.save(tmp_path / "ramp.npy", ramp)
    np.save(tmp_path / "low.npy", np.arange(12.0).reshape(3, 4) - 5)
    both = own.OwnData("cpu", [tmp_path / "ramp.npy", tmp_path / "low.npy"], size=32, slots=3, side=64)
    of_ramp, of_low = [], []
    for part in both.pictures(Draws("cpu", seed), 64)[:, 0].numpy():
        values = np.rint(part * (65535 / 255)).astype(int)
        (of_ramp if values[1, 0] - values[0, 0] == 64 else of_low).append((part, values))
    assert of_ramp and of_low
    for _, values in of_ramp:
        y, x = divmod(values[0, 0], 64)
        np.testing.assert_array_equal(values, ramp[y:y + 32, x:x + 32])
    wanted = np.pad(np.arange(12.0).reshape(3, 4) * 255 / 11, ((0, 29), (0, 28)), "symmetric")
    for part, _ in of_low:
        np.testing.assert_allclose(part, wanted, rtol=1e-6)
    train.main(["-o", str(tmp_path / "own.npz"), "--steps", "2", *TINY, "--pictures",
                str(tmp_path / "ramp.npy")])
    assert network.read(tmp_path / "own.npz")[1] == 1


def test_it_goes_on_from_a_checkpoint(tmp_path, capsys):
    whole = run(tmp_path, "whole", 14)
    state = ["--checkpoint", str(tmp_path / "state.pt")]
    # Stopped in the middle of batches that are made at once, and where new ones begin.
    train.main(["-o", str(tmp_path / "part.npz"), "--steps", "14", "--end-step", "6", *TINY, *state])
    assert not np.array_equal(weights(tmp_path / "part.npz"), whole)
    train.main(["-o", str(tmp_path / "part.npz"), "--steps", "14", "--end-step", "8", *TINY, *state])
    part = run(tmp_path, "part", 14, *state)
    np.testing.assert_array_equal(part, whole)
    assert re.search(r"goes on from step 8\b", capsys.readouterr().out)
    assert not np.array_equal(run(tmp_path, "other", 14, "--rate", "1e-3"), whole)


def test_what_is_trained_recovers_a_picture(tmp_path):
    cs = pytest.importorskip("csrecover", reason="csrecover is not on the path")
    run(tmp_path, "prior", 4)
    v, u = np.mgrid[:48, :48] / 48.0
    truth = 255 * (0.5 + 0.5 * np.sin(6 * u + 4 * v * v))
    known = np.random.default_rng(SEED).random(truth.shape) < 0.3
    made = cs.recover(truth[known], mask=known, model=cs.read_model(tmp_path / "prior.npz"))
    assert cs.psnr(truth, made, peak=255) > 20 and cs.read_model(tmp_path / "prior.npz").kind == "net"


def test_wrong_input_is_one_line(tmp_path):
    (tmp_path / "state.pt").write_bytes(b"nothing")
    np.save(tmp_path / "line.npy", np.zeros(5))
    for more, words in ((["--patch", "20"], "--patch 20: must be a multiple of 8"),
                        (["--batch", "0"], "--batch 0: must be at least 1"),
                        (["--rate", "2"], "--rate"),
                        (["--from", str(tmp_path / "no.npz")], "no.npz"),
                        (["--pictures", str(tmp_path / "state.pt")], "takes .npy files"),
                        (["--pictures", str(tmp_path / "line.npy")], "has shape (5,)"),
                        (["--pictures", "a.npy", "--denoise"], "omit"),
                        (["--checkpoint", str(tmp_path / "state.pt")], "not a checkpoint")):
        with pytest.raises(train.Fault) as found:
            run(tmp_path, "bad", 1, *more)
        assert words in str(found.value) and "\n" not in str(found.value)
