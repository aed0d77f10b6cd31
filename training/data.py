# SPDX-License-Identifier: BSD-3-Clause
"""data.py - batches of synthetic pictures and samples, made on the device that trains.

Pictures cost more than samples, so each serves several times: a ring of blocks of pictures, of
which a new one replaces the oldest every few steps. Everything is a function of the seed, the
process and the numbers of steps and blocks, so that a training that was stopped goes on as if it
had not been."""
import threading

import torch

import network
import pictures
import sampling
import scenes
from draws import Draws

BANK, RANKS, BLOCK, SAMPLES, KEPT_ASIDE = range(5)  # purposes of draws
FIRST = 4  # blocks before the first step


class Batch:
    """Planes X, F and the picture in normal values, the weight of a pixel's error, the unit."""
    least = 1e-4  # mean squared errors far below this one count as it

    def __init__(self, picture, known, sigma, noise):
        shown = picture + sigma * noise
        self.X, self.filled, mean, self.unit = network.planes(shown, known, sigma)
        self.target = (picture - mean) / self.unit
        self.weight = torch.where(sigma > 0, 1.0, 1 - known)

    def errors(self, Y):
        """Errors in normal values at weighed pixels, logarithms of their variances, their count."""
        channels = self.target.shape[1]
        e = (self.filled + Y[:, :channels] - self.target) * self.weight
        return e, Y[:, channels:], (self.weight.sum((1, 2, 3)) * channels).clamp_min(1)

    def decibels(self, Y):
        e, _, count = self.errors(Y)
        mse = e.square().sum((1, 2, 3)) / count
        return 10 * torch.log10(255 ** 2 / (mse * self.unit.flatten() ** 2))

    def part(self, first, every):
        some = object.__new__(type(self))
        some.__dict__ = {name: of[first::every] for name, of in self.__dict__.items()}
        return some

    def copied(self):
        some = object.__new__(type(self))
        some.__dict__ = {name: of.clone() for name, of in self.__dict__.items()}
        return some

    def copy(self, of):
        for name, array in self.__dict__.items():
            array.copy_(getattr(of, name), non_blocking=True)


def turned(picture, k):
    """One of the 8 flips and turns."""
    picture = picture.transpose(2, 3) if k & 4 else picture
    return picture.flip([axis for axis, bit in ((2, 1), (3, 2)) if k & bit])


class Data:
    """steps: as many batches are made at once, as one costs nearly as many launches."""
    sorts = ()  # of pictures kept aside, each as many, one sort after another

    def __init__(self, device, seed=0, rank=0, channels=1, batch=64, size=128, steps=32, reuse=4,
                 slots=16, side=256):
        self.device, self.seed, self.rank, self.channels = device, seed, rank, channels
        self.batch, self.size, self.steps, self.slots = batch, size, steps, slots
        self.block = max(8, int(-(-batch * steps // reuse)))
        self.tables = scenes.noise_tables(Draws(device, seed, BANK))
        self.ranks = sampling.poisson_ranks(Draws(device, seed, RANKS), 16 if side > 64 else 2, side)
        self.ring = torch.zeros(slots * self.block, channels, size, size, dtype=torch.float16,
                                device=device)
        self.made = 0

    def extend(self, end):
        """Blocks up to number end - 1; those that would be replaced are left out."""
        for k in range(max(self.made, end - self.slots), end):
            d = Draws(self.device, self.seed, BLOCK, self.rank, k)
            first = k % self.slots * self.block
            self.ring[first:first + self.block] = self.pictures(d, self.block)
        self.made = end

    def pictures(self, d, count):
        return pictures.block(d, count, self.channels, self.size, self.tables)

    def samples(self, d, picture):
        known, sigma = sampling.block(d, len(picture), self.size, self.ranks)
        return Batch(picture, known, sigma, d.normal(*picture.shape))

    def make(self, number):
        """Batches of steps number * steps on."""
        self.extend(FIRST + number)
        d, n = Draws(self.device, self.seed, SAMPLES, self.rank, number), self.batch * self.steps
        there = min(self.slots, self.made) * self.block
        index = d.below(there, n)
        picture = torch.cat([turned(self.ring[part].float(), k)
                             for k, part in enumerate(index.chunk(8))])
        whole = self.samples(d, picture)
        return [whole.part(i, self.steps) for i in range(self.steps)]

    def kept_aside(self, count=64):
        """Pictures that no step has, at 10 and 25 % in turn, uniformly."""
        d = Draws(self.device, self.seed, KEPT_ASIDE)
        picture = self.pictures(d, count)
        share = 0.1 + 0.15 * (torch.arange(count, device=self.device) % 2)[:, None, None, None]
        return self.uniform(d, picture, share)

    def uniform(self, d, picture, share):
        known = (d.uniform(len(picture), 1, self.size, self.size) < share).float()
        known[:, :, 0, 0] = 1
        return Batch(picture, known, 0 * share, torch.zeros_like(picture))


class Ahead:
    """Makes the next batches on a stream of its own while a GPU trains; on a CPU, when asked."""

    def __init__(self, data, number):
        self.data, self.cuda = data, torch.device(data.device).type == "cuda"
        self.stream = torch.cuda.Stream(data.device) if self.cuda else None
        self.start(number)

    def start(self, number):
        self.number, self.thread, self.failure = number, None, None
        if self.cuda:
            self.thread = threading.Thread(target=self.run, daemon=True)
            self.thread.start()

    def run(self):
        try:
            with torch.cuda.device(self.data.device), torch.cuda.stream(self.stream), \
                    torch.no_grad():
                self.batches, self.done = self.data.make(self.number), torch.cuda.Event()
                self.done.record()
        except BaseException as failure:  # told to the training, which waits for it
            self.failure = failure

    def wait(self):
        if self.thread:
            self.thread.join()

    def take(self):
        if not self.cuda:
            with torch.no_grad():
                batches = self.data.make(self.number)
            self.number += 1
            return batches
        self.wait()
        if self.failure:
            raise self.failure
        now, current = self.batches, torch.cuda.current_stream()
        current.wait_event(self.done)
        for batch in now:
            for of in batch.__dict__.values():
                of.record_stream(current)
        self.start(self.number + 1)
        return now


class DenoiseData(Data):
    """Whole pictures with white noise: sigma uniform to 75, or, of one in five, log-uniform."""
    sorts = ("10", "25", "50")

    def samples(self, d, picture):
        n = len(picture)
        sigma = torch.where(d.chance(0.2, n), d.scale(0.5, 12, n), 75 * (1 - d.uniform(n)))
        return Batch(picture, torch.ones_like(picture[:, :1]), sigma[:, None, None, None],
                     d.normal(*picture.shape))

    def kept_aside(self, count=96):
        d = Draws(self.device, self.seed, KEPT_ASIDE)
        picture = self.pictures(d, count)
        sigma = torch.tensor([float(s) for s in self.sorts], device=self.device)
        sigma = sigma.repeat_interleave(count // 3)[:, None, None, None]
        return Batch(picture, torch.ones_like(picture[:, :1]), sigma, d.normal(*picture.shape))
