#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""train.py - trains a prior of csrecover on synthetic pictures, on one GPU, several, or a CPU.

  python3 train.py -o prior.npz --minutes 25
  torchrun --nproc-per-node 4 train.py -o prior.npz --minutes 25 --checkpoint state.pt --stop-after 9

With --checkpoint the state is kept there, and a later call with the same file goes on from it:
--minutes (or --steps) is the length of the whole training, --stop-after of this call. Interrupted, it
writes checkpoint and weights, too. Needs PyTorch 2.1 or later and NumPy."""
import argparse
import math
import os
import pickle
import signal
import sys
import time

import torch
import torch.distributed as dist

import network
from beside import BesideData
from data import Ahead, Data, DenoiseData
from own import OwnData
from rays import RenderedData
from starts import Fault, made, started

BETA1, BETA2, DECAY, CLIP = 0.9, 0.98, 1e-4, 1.0
WARM, LIKELIHOOD, MOST_RATIO, LAST_RATE = 500, 0.02, 100.0, 0.003


# ---- the loss

def squares(batch, Y):
    """Mean squared error of each picture."""
    e, _, count = batch.errors(Y)
    return e.square().sum((1, 2, 3)) / count


def loss_of(batch, Y):
    """log(mse + 1e-4) + 0.02 mean(s + e^2 exp(-s)) / 2; in the second part e counts as given, so
    that s learns the logarithm of the error's variance and nothing else."""
    e, s, count = batch.errors(Y)
    mse, s = e.square().sum((1, 2, 3)) / count, s.clamp(-20, 20)
    ratio = (e.detach().square() * torch.exp(-s)).clamp_max(MOST_RATIO)
    likelihood = ((s + ratio) * batch.weight).sum((1, 2, 3)) / count
    return (torch.log(mse + batch.least) + 0.5 * LIKELIHOOD * likelihood).mean()


@torch.no_grad()
def validate(net, kept, sorts):
    """Decibels of each sort of pictures."""
    return kept.decibels(net(kept.X)).view(max(1, len(sorts)), -1).mean(1).tolist()


# ---- the state

class Training:
    """Weights, gradient, moments of Adam and the running mean of the weights are one array each, of
    which the network's weights are views: so a step updates, and processes add, one array."""

    def __init__(self, o, device, rank, ranks):
        self.o, self.device, self.rank, self.ranks = o, device, rank, ranks
        self.step, self.spent, self.history, self.held, self.graphs = 0, 0.0, [], None, []
        self.net = (started(o) if o.start else made(o)).to(device)
        self.arrays = {name: torch.zeros(sum(p.numel() for p in self.net.parameters()),
                                         device=device)
                       for name in ("weights", "mean", "first", "second")}
        self.gradient = torch.zeros_like(self.arrays["weights"])
        self.lay_out()
        self.arrays["mean"].copy_(self.arrays["weights"])
        self.scales = torch.zeros(4, device=device)
        self.loss, self.skipped = torch.zeros(2, device=device)
        self.restore()
        self.eager = 0  # steps of this call
        self.runs = torch.compile(self.net) if o.compile else self.net

    @torch.no_grad()
    def lay_out(self):
        """Kernels lie with their channels last, as the products of a GPU take them."""
        at = 0
        for p in self.net.parameters():
            shape = [p.shape[0], *p.shape[2:], p.shape[1]] if p.dim() == 4 else p.shape
            views = [of[at:at + p.numel()].view(shape) for of in
                     (self.arrays["weights"], self.gradient)]
            views = [v.permute(0, 3, 1, 2) if p.dim() == 4 else v for v in views]
            views[0].copy_(p)
            p.data, p.grad = views
            at += p.numel()

    def restore(self):
        path = self.o.checkpoint
        if not path or not os.path.exists(path):
            return
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
            for name, array in self.arrays.items():
                array.copy_(state[name])
            self.step, self.spent, self.history = (state[k] for k in ("step", "spent", "history"))
        except (OSError, RuntimeError, KeyError, ValueError, pickle.UnpicklingError) as error:
            raise Fault(f"{path}: not a checkpoint of this network ({str(error).splitlines()[0]}); "
                        "give its --channels, --width and --blocks, or another --checkpoint")
        self.tell(f"{path}: goes on from step {self.step}, {self.spent / 60:.2f} minutes")

    def save(self):
        if self.rank:
            return
        if self.o.checkpoint:
            torch.save({**self.arrays, "step": self.step, "spent": self.spent,
                        "history": self.history}, self.o.checkpoint + ".part")
            os.replace(self.o.checkpoint + ".part", self.o.checkpoint)
        with Averaged(self):
            network.write(self.o.output, self.net, self.o.channels, self.history,
                          beside=self.o.beside if any(self.o.beside) else None,
                          kind="rendered" if self.o.renderings else "net",
                          settings=f"training/train.py: step {self.step}, {self.ranks} processes of "
                          f"{self.o.batch} pictures a step, seed {self.o.seed}",
                          backend=self.device.type)

    def tell(self, line):
        if self.rank == 0:
            print(line, flush=True)

    # -- a step

    def share(self):
        """How much of the training is over."""
        if self.o.steps:
            return min(1.0, self.step / self.o.steps)
        return min(1.0, self.spent / (60 * self.o.minutes))

    def rate(self):
        """A cosine to a small rest (Loshchilov and Hutter 2017), after a warm-up."""
        warm = min(1.0, (self.step + 1) / self.o.warm)
        return self.o.rate * warm * (0.5 * (1 + math.cos(math.pi * self.share())) + LAST_RATE)

    def find_gradient(self, batch):
        self.gradient.zero_()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=not self.o.exact):
            Y = self.runs(batch.X)
        loss = loss_of(batch, Y.float())
        loss.backward()
        self.loss += loss.detach().nan_to_num(0.0, 0.0, 0.0)

    @torch.no_grad()
    def update(self):
        """Adam (Kingma and Ba 2015) with decay; scales: set_scales."""
        w, mean, first, second = self.arrays.values()
        size = self.gradient.norm()
        g = torch.where(size.isfinite(), self.gradient * (CLIP / size.clamp_min(1e-30)).clamp_max(1),
                        0.0)
        self.skipped += ~size.isfinite()
        first.lerp_(g, 1 - BETA1)
        second.mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
        w.sub_(w * self.scales[2])
        w.sub_(first / (second.sqrt() * self.scales[1] + 1e-8) * self.scales[0])
        mean.lerp_(w, self.scales[3])

    def set_scales(self):
        rate, t = self.rate(), self.step + 1
        keep = min(self.o.average, 1 - 1 / (t + 1))
        self.scales.copy_(torch.tensor([rate / (1 - BETA1 ** t), (1 - BETA2 ** t) ** -0.5,
                                        rate * DECAY, 1 - keep]), non_blocking=True)

    def add_gradients(self):
        """The mean over the processes. One array is one message; the library's own wrapper adds
        layer by layer, and does not go with recorded steps."""
        if self.ranks > 1:
            dist.all_reduce(self.gradient)
            self.gradient /= self.ranks

    def take_step(self, batch):
        self.set_scales()
        if self.held is None:
            self.held = batch.copied()
        self.held.copy(batch)
        if self.graphs:
            self.graphs[0].replay()
            self.add_gradients()
            self.graphs[1].replay()
        else:
            self.find_gradient(self.held)
            self.add_gradients()
            self.update()
        self.step, self.eager = self.step + 1, self.eager + 1

    def record(self):
        """On a GPU the two halves of a step are recorded once, and replayed: launching 900 small
        products takes the host longer than the GPU takes to run them."""
        if self.graphs or self.device.type != "cuda" or self.eager < 4:
            return
        self.graphs = []
        torch.cuda.synchronize()
        for part in (lambda: self.find_gradient(self.held), self.update):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=torch.cuda.current_stream(),
                                  capture_error_mode="thread_local"):
                part()
            self.graphs.append(graph)


class Averaged:
    """The network with the running mean of its weights, for a while."""

    def __init__(self, training):
        self.weights, self.mean = (training.arrays[name] for name in ("weights", "mean"))

    @torch.no_grad()
    def swap(self, *_):
        held = self.weights.clone()
        self.weights.copy_(self.mean)
        self.mean.copy_(held)

    __enter__ = __exit__ = swap


# ---- the loop

def agreed(device, ranks, *values):
    """The most of each value over all processes."""
    if ranks == 1:
        return values
    tensor = torch.tensor(values, dtype=torch.float64, device=device)
    dist.all_reduce(tensor, dist.ReduceOp.MAX)
    return tensor.tolist()


class Record:
    """One line an interval: step, rate, loss, PSNR of pictures kept aside, pictures a second."""

    def __init__(self, training, data):
        self.t, self.kept, self.sorts = training, data.kept_aside(), data.sorts
        self.at, self.step = time.monotonic(), training.step

    def line(self):
        t, steps = self.t, self.t.step - self.step
        if steps == 0:
            return
        skipped = int(t.skipped.item())
        loss = t.loss.item() / max(1, steps - skipped)
        if skipped > 0.1 * steps or not math.isfinite(loss):
            raise Fault(f"--rate {t.o.rate}: the training diverged before step {t.step}; take a "
                        "lower rate, and a checkpoint from before")
        speed = steps * t.o.batch * t.ranks / (time.monotonic() - self.at)
        with Averaged(t):
            each = validate(t.net, self.kept, self.sorts)
        psnr = sum(each) / len(each)
        t.history.append((loss, psnr))
        t.tell(f"step {t.step}  {t.spent / 60:.2f} min  rate {t.rate():.2e}  loss {loss:.4f}  "
               f"{psnr:.3f} dB  {speed:.0f} pictures/s"
               + "".join(f"  {sort} {value:.2f}" for sort, value in zip(self.sorts, each))
               + (f"  {skipped} steps without a gradient" if skipped else ""))
        t.loss.zero_()
        t.skipped.zero_()
        self.at, self.step = time.monotonic(), t.step


def train(t, stop):
    o = t.o
    settings = {"seed": o.seed, "rank": t.rank, "batch": o.batch, "size": o.patch, "steps": o.ahead,
                "reuse": o.reuse, "slots": o.slots, "side": 256 if o.patch > 64 else 64}
    data = (RenderedData(t.device, **settings) if o.renderings else
            BesideData(t.device, *o.beside, **settings) if any(o.beside) else
            OwnData(t.device, o.pictures, channels=o.channels, **settings) if o.pictures else
            (DenoiseData if o.denoise else Data)(t.device, channels=o.channels, **settings))
    with torch.no_grad():
        record = Record(t, data)
    source = Ahead(data, t.step // o.ahead)
    began, before = time.monotonic(), t.spent
    told = saved = began
    while True:
        t.spent, stopping = agreed(t.device, t.ranks, before + time.monotonic() - began,
                                   float(bool(stop)))
        now = time.monotonic()
        over = ((o.stop_after and t.spent - before >= 60 * o.stop_after)
                or (o.end_step and t.step >= o.end_step))
        if t.share() >= 1 or over or stopping:
            break
        if t.rank == 0 and now - told >= o.every:
            record.line()
            told = now
        if now - saved >= 60 * o.save_every:
            t.save()
            saved = now
        batches = source.take()[t.step % o.ahead:]
        if t.eager >= 4 and not t.graphs:
            source.wait()
            t.record()
        last = min((n for n in (o.steps, o.end_step) if n), default=None)
        for batch in batches[:last - t.step if last else None]:
            t.take_step(batch)
    if t.rank == 0:
        record.line()
    t.save()
    t.tell(f"{o.output}: written after step {t.step}" + (", interrupted" if stopping else ""))


def parsed(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-o", "--output", required=True, metavar="MODEL.npz", help="where the weights go")
    add("--minutes", type=float, default=25, help="of the whole training; default: 25")
    add("--steps", type=int, default=0, help="of the whole training, instead of --minutes")
    add("--end-step", type=int, default=0, help="of this call; 0: none")
    add("--stop-after", type=float, default=0, metavar="MINUTES", help="of this call; 0: to the end")
    add("--checkpoint", metavar="FILE", help="the state; goes on from it where it is there")
    add("--from", dest="start", metavar="MODEL.npz",
        help="weights to begin with; gray ones serve colours, frames and guides, too")
    add("--channels", type=int, default=1, choices=(1, 3))
    add("--frames", type=int, default=0, help="odd number of frames that it takes, of which the middle "
        "one is recovered; 0: a single picture")
    add("--guides", type=int, default=0, help="planes of guides that it takes")
    add("--renderings", action="store_true", help="for radiance of few rays, noisy and sparse, "
        "with albedo, normals and depth")
    add("--denoise", action="store_true", help="whole pictures with white noise alone")
    add("--pictures", nargs="+", metavar="FILE.npy", help="parts of these, [H, W] or [H, W, 3], in place "
        "of synthetic ones; with --from a prior is adapted to them")
    add("--width", help="channels of the largest size, 32, with twice as many at each smaller one; or of "
        "each, such as 48,80,144,256. Weights of --from are widened to it")
    add("--blocks", type=int, default=2, help="at each size; default: 2")
    add("--batch", type=int, default=64, help="pictures a step and process; default: 64")
    add("--patch", type=int, default=128, help="pixels a side of a picture; default: 128")
    add("--rate", type=float, default=6e-4, help="of Adam, at most; default: 6e-4")
    add("--warm", type=int, default=WARM, help="steps to this rate; default: 500")
    add("--average", type=float, default=0.999, help="of the running mean of weights; 0.999")
    add("--reuse", type=float, default=4, help="samples of a picture, on average; default: 4")
    add("--slots", type=int, default=16, help="blocks of pictures that are held; default: 16")
    add("--ahead", type=int, default=32, help="steps whose samples are made at once; default: 32")
    add("--seed", type=int, default=0)
    add("--every", type=float, default=10, metavar="SECONDS", help="between lines; default: 10")
    add("--save-every", type=float, default=5, metavar="MINUTES", help="default: 5")
    add("--exact", action="store_true", help="float32 instead of bfloat16")
    add("--compile", action="store_true", help="by torch.compile")
    add("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    o = parser.parse_args(arguments)
    try:
        width = None if o.width is None else [int(n) for n in o.width.split(",")]
    except ValueError:
        raise Fault(f"--width {o.width}: give a number, or four")
    if width is not None and (len(width) not in (1, 4) or min(width) < 1):
        raise Fault(f"--width {o.width}: give a number from 1 on, or four")
    o.width = width[0] if width and len(width) == 1 else width
    for name, low in (("blocks", 1), ("batch", 1), ("patch", 16), ("warm", 1),
                      ("ahead", 1), ("slots", 1), ("reuse", 1)):
        if getattr(o, name) < low:
            raise Fault(f"--{name} {getattr(o, name)}: must be at least {low}")
    o.beside = (max(1, o.frames), o.guides) if o.frames or o.guides else (0, 0)
    if o.frames < 0 or o.guides < 0 or (o.frames and o.frames % 2 == 0):
        raise Fault(f"--frames {o.frames} --guides {o.guides}: an odd number, and none below 0")
    if o.renderings:
        if any(o.beside) or o.channels > 1:
            raise Fault("--renderings: has channels and guides of its own")
        o.channels = 3
    if any(o.beside) and o.channels > 1:
        raise Fault(f"--channels {o.channels}: frames and guides are for one channel")
    if o.pictures and (any(o.beside) or o.renderings or o.denoise):
        raise Fault("--pictures: for a single picture's samples alone; omit --frames, --guides, "
                    "--renderings and --denoise")
    if o.patch % 8:
        raise Fault(f"--patch {o.patch}: must be a multiple of 8")
    if not 0 < o.rate <= 1 or not 0 <= o.average < 1 or (not o.steps and not o.minutes > 0):
        raise Fault("--rate must be above 0 to 1, --average from 0 to below 1, --minutes above 0")
    return o


def main(arguments=None):
    o = parsed(arguments)
    rank, ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    device = torch.device(o.device)
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", device.index or 0)))
        torch.cuda.set_device(device)
        torch.cuda.set_stream(torch.cuda.Stream())  # the default one cannot be recorded
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = not o.exact
        torch.backends.cudnn.benchmark = True
    if ranks > 1:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo",
                                **({"device_id": device} if device.type == "cuda" else {}))
    stop = []
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, lambda *_: stop.append(True))
    train(Training(o, device, rank, ranks), stop)
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        sys.exit(f"train.py: {fault}")
