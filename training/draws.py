# SPDX-License-Identifier: BSD-3-Clause
"""draws.py - random numbers of one block of pictures or masks, on its device."""
import math
import random

import torch


class Draws:
    """All of a block's draws: a function of (seed, numbers), whatever was drawn before."""

    def __init__(self, device, *key):
        self.device = torch.device(device)
        self.generator = torch.Generator(self.device)
        word = 0
        for number in key:  # a walk of 64-bit hashes (splitmix64)
            word = (word + int(number) + 0x9E3779B97F4A7C15) % 2 ** 64
            word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2 ** 64
            word = (word ^ word >> 27) * 0x94D049BB133111EB % 2 ** 64
            word ^= word >> 31
        self.generator.manual_seed(word >> 1)
        self.host = random.Random(word)  # of choices that the program makes, not an array

    def uniform(self, *shape):
        return torch.rand(shape, generator=self.generator, device=self.device)

    def between(self, low, high, *shape):
        return low + (high - low) * self.uniform(*shape)

    def scale(self, low, high, *shape):
        """Log-uniform: as often between 1 and 2 as between 2 and 4."""
        return low * torch.exp(self.uniform(*shape) * math.log(high / low))

    def normal(self, *shape):
        return torch.randn(shape, generator=self.generator, device=self.device)

    def chance(self, probability, *shape):
        return self.uniform(*shape) < probability

    def below(self, n, *shape):
        return torch.randint(n, shape, generator=self.generator, device=self.device)

    def pick(self, shares, *shape):
        shares = torch.tensor(shares, device=self.device)
        count = math.prod(shape)
        return torch.multinomial(shares, count, True, generator=self.generator).view(shape)

    def one(self, values):
        return self.host.choice(values)

    def count(self, n, probability):
        """How many of n."""
        return sum(self.host.random() < probability for _ in range(n))

    def counts(self, n, shares):
        """Of n, how many of each name of shares, in their order."""
        names = self.host.choices(list(shares), list(shares.values()), k=n)
        return {name: names.count(name) for name in shares if name in names}
