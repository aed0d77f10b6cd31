#!/usr/bin/env python3
"""net_drunet.py - a DRUNet-style peer: a denoiser trained on the pictures that our prior is trained
on (made-up patches; a comparison of methods, not of data), then used for missing pixels by the
iteration of net_plug.py.

  net_drunet.py train --patches FILE --minutes 18 --weights drunet.pt [--size large]
  net_drunet.py measure --weights drunet.pt [--images DIR] [--json FILE]

FILE: .npy or .npz, [number][height][width], 0 to 255, at least --patch pixels wide; of an .npz the
array "patches", else its first. net_peers.py --drunet WEIGHTS measures it beside others. Needs
PyTorch, NumPy, SciPy and Pillow.

The network is that of Zhang et al. 2021 ("Plug-and-play image restoration with deep denoiser
prior", section 3): a U-Net of four scales without bias or normalisation, residual blocks, strided
and transposed 2 x 2 convolutions, skips added, sigma as a second input plane. Training as our
prior's, so that the same minutes are well spent: AdamW, 6e-4 falling as a cosine, gradients clipped
at 1, mean of weights (0.999), batch 64, bfloat16 on CUDA, flips and turns; the loss is L1, sigma
uniform 0 to 50."""
import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import machine
import net_kinds
import net_peers
import net_plug
import pictures

SIZES = {"tiny": ((8, 16, 32, 64), 1), "small": ((32, 64, 128, 256), 2),
         "medium": ((64, 128, 256, 512), 2), "large": ((64, 128, 256, 512), 4)}
SIGMA = 50.0
SIGMAS = (50.0, 2.0)  # the first and the last of the recovery
RATE, DECAY = 6e-4, 0.999


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        nn.init.zeros_(self.second.weight)

    def forward(self, x):
        return x + self.second(F.relu(self.first(x)))


class Denoiser(nn.Module):
    """Planes: the noisy picture and sigma, both over 255. Without bias it scales with its input.
    Unlike the original it begins as the identity: the picture is added to the result, and last
    layers start at 0, as those of our prior. That saves the first minutes of training."""

    def __init__(self, size):
        super().__init__()
        self.size = size
        channels, blocks = SIZES[size]

        def row(c):
            return nn.Sequential(*(Block(c) for _ in range(blocks)))

        pairs = list(zip(channels, channels[1:]))
        self.head = nn.Conv2d(2, channels[0], 3, padding=1, bias=False)
        self.encode = nn.ModuleList(row(a) for a, _ in pairs)
        self.down = nn.ModuleList(nn.Conv2d(a, b, 2, 2, bias=False) for a, b in pairs)
        self.middle = row(channels[-1])
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2, bias=False) for a, b in pairs)
        self.decode = nn.ModuleList(row(a) for a, _ in pairs)
        self.tail = nn.Conv2d(channels[0], 1, 3, padding=1, bias=False)
        nn.init.zeros_(self.tail.weight)

    def forward(self, planes):
        x = self.head(planes)
        skips = [x]
        for encode, down in zip(self.encode, self.down):
            x = down(encode(x))
            skips.append(x)
        x = self.middle(x)
        for up, decode in zip(reversed(self.up), reversed(self.decode)):
            x = decode(up(x + skips.pop()))
        return planes[:, :1] + self.tail(x + skips.pop())


# ---- training

def read_patches(path):
    found = np.load(path, mmap_mode="r")
    if isinstance(found, np.lib.npyio.NpzFile):
        found = found["patches" if "patches" in found.files else found.files[0]]
    found = found.reshape(-1, *found.shape[-2:])
    if not len(found):
        raise SystemExit(f"net_drunet.py: {path}: no patches")
    return found


def batch(patches, count, side, rng):
    """Parts of patches, flipped and turned at random, over 255."""
    if min(patches.shape[1:]) < side:
        raise SystemExit(f"net_drunet.py: patches of {patches.shape[1:]} are smaller than {side}")
    parts = np.empty((count, 1, side, side), np.float32)
    for part in parts:
        patch = patches[rng.integers(len(patches))]
        top, left = (rng.integers(size - side + 1) for size in patch.shape)
        patch = np.rot90(patch[top:top + side, left:left + side], rng.integers(4))
        part[0] = patch[:, ::-1] if rng.random() < 0.5 else patch
    return torch.from_numpy(parts) / 255


def noisy(clean, generator):
    """The picture with noise and its sigma as planes, sigma uniform from 0 to SIGMA."""
    count, _, *side = clean.shape
    device = clean.device
    sigma = torch.rand(count, 1, 1, 1, device=device, generator=generator) * (SIGMA / 255)
    noise = torch.randn(clean.shape, device=device, generator=generator) * sigma
    return torch.cat((clean + noise, sigma.expand(count, 1, *side)), 1)


def learning_rate(done, step):
    """Rises in 500 steps, or in a twentieth of the time if there are few."""
    cosine = 0.5 * (1 + math.cos(math.pi * min(1, done)))
    return RATE * min(1, max(step / 500, 20 * done)) * (cosine + 0.003)


def step_once(network, optimiser, clean, generator, device):
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        made = network(noisy(clean, generator))
    loss = (made.float() - clean).abs().mean()
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimiser.step()
    return loss.item()


@torch.no_grad()
def follow(mean, network, step):
    share = 1 - min(DECAY, 1 - 1 / (step + 1))
    for m, p in zip(mean.parameters(), network.parameters()):
        m.lerp_(p, share)


def train(arguments):
    device = torch.device(arguments.device)
    torch.manual_seed(arguments.seed)
    rng = np.random.default_rng(arguments.seed)
    generator = torch.Generator(device).manual_seed(arguments.seed)
    patches = read_patches(arguments.patches)
    network, mean = (Denoiser(arguments.size).to(device, memory_format=torch.channels_last)
                     for _ in range(2))
    mean.load_state_dict(network.state_dict())
    optimiser = torch.optim.AdamW(network.parameters(), RATE, betas=(0.9, 0.98), weight_decay=1e-4)
    weights = sum(p.numel() for p in network.parameters())
    print(f"{arguments.size}: {1e-6 * weights:.2f} M weights, {len(patches)} patches, {device}")
    start, step, losses = time.perf_counter(), 0, []
    while (done := (time.perf_counter() - start) / (60 * arguments.minutes)) < 1:
        step += 1
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(done, step)
        clean = batch(patches, arguments.batch, arguments.patch, rng).to(device)
        losses.append(step_once(network, optimiser, clean, generator, device))
        follow(mean, network, step)
        if step % 100 == 0:
            print(f"{100 * done:3.0f} %, step {step}: L1 {255 * np.mean(losses[-100:]):.3f}",
                  flush=True)
    part = Path(f"{arguments.weights}.part")
    torch.save({"size": arguments.size, "steps": step, "minutes": arguments.minutes,
                "weights": {k: v.cpu() for k, v in mean.state_dict().items()}}, part)
    part.replace(arguments.weights)
    print(f"{step} steps, L1 {255 * np.mean(losses[-100:]):.3f} of 255; "
          f"written: {arguments.weights}")


# ---- use

def load(path, device="cpu"):
    found = torch.load(path, map_location=device, weights_only=True)
    network = Denoiser(found["size"])
    network.load_state_dict(found["weights"])
    return network.to(device).eval()


@torch.no_grad()
def denoise(network, picture, sigma):
    """Levels 0 to 255; mirrored to whole 8 x 8 cells, as the coarsest scale needs."""
    device = next(network.parameters()).device
    h, w = picture.shape
    padded = np.pad(picture, ((0, -h % 8), (0, -w % 8)), "symmetric").astype(np.float32) / 255
    planes = np.stack((padded, np.full_like(padded, sigma / 255)))[None]
    made = network(torch.from_numpy(planes).to(device))[0, 0].cpu().numpy()
    return made[:h, :w].astype(np.float64) * 255


def turned(network, picture, sigma, step):
    """Another of the eight flips and turns at each step, so that the network's favourite directions
    cancel."""
    turns, flip = step % 4, step // 4 % 2
    there = np.rot90(picture[:, ::-1] if flip else picture, turns)
    back = np.rot90(denoise(network, np.ascontiguousarray(there), sigma), -turns)
    return back[:, ::-1] if flip else back


def recover(network, y, mask, steps, sigmas=SIGMAS, sigma=0.0):
    return net_plug.recover(y, mask, lambda x, s, k: turned(network, x, s, k), steps, sigmas, sigma)


def measure(arguments):
    """The rows of net_peers.py, of this method alone."""
    torch.set_num_threads(1)  # on the CPU: as the others
    network = load(arguments.weights, arguments.device)
    found, source = pictures.load(arguments.images, arguments.pictures
                                  or [*pictures.FIVE, *net_kinds.ALL])
    name = f"DRUNet {network.size}, {arguments.steps} steps, {arguments.device}"
    todo = {name: lambda y, m, t: pictures.measure(
        name, lambda y, m: recover(network, y, m, arguments.steps, arguments.sigmas), y, m, t)}
    rows, left_out = net_peers.run(todo, found)
    table = net_peers.means(rows)
    net_peers.show(table)
    machine.write(arguments.json, {"machine": machine.describe(pictures.ROOT / "build"),
                                   "source": source, "mean": table, "pictures": rows,
                                   "left_out": left_out})


def parsed():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    commands = parser.add_subparsers(dest="command", required=True)
    learn = commands.add_parser("train", help="from patches to weights")
    learn.add_argument("--patches", required=True)
    learn.add_argument("--minutes", type=float, default=18)
    learn.add_argument("--size", choices=SIZES, default="large")
    learn.add_argument("--batch", type=int, default=64)
    learn.add_argument("--patch", type=int, default=128, help="side of the parts trained on")
    learn.add_argument("--seed", type=int, default=1)
    use = commands.add_parser("measure", help="recovers pictures")
    use.add_argument("--images")
    use.add_argument("--pictures", nargs="+")
    use.add_argument("--steps", type=int, default=net_plug.STEPS)
    use.add_argument("--sigmas", type=float, nargs=2, default=SIGMAS, help="the first, the last")
    use.add_argument("--json", default="net_drunet.json")
    for command in (learn, use):
        command.add_argument("--weights", default="drunet.pt")
    return parser.parse_args()


def main():
    arguments = parsed()
    {"train": train, "measure": measure}[arguments.command](arguments)


if __name__ == "__main__":
    main()
