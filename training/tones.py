# SPDX-License-Identifier: BSD-3-Clause
"""tones.py - tones and colours of synthetic pictures, and the surfaces that have them."""
import math

import torch

import scenes

TEXTURES = (0.30, 0.18, 0.09, 0.06, 0.19, 0.05, 0.04, 0.04, 0.03, 0.02)  # shares, in their order


def colour_axes(channels, device):
    """Beside grey: warm against cold, green against magenta, [2][channels]. In natural pictures
    the principal axes of colour are nearly those of the cosine transform over the channels."""
    c = (torch.arange(channels, device=device) + 0.5) / channels
    axes = torch.stack([torch.cos(math.pi * c), 0.6 * torch.cos(2 * math.pi * c)]) * 2 ** 0.5
    axes[max(0, channels - 1):] = 0
    return axes


class Palette:
    """The tones of each picture of a batch; entries [B][1]."""

    def __init__(self, d, count, channels):
        self.channels, self.axes = channels, colour_axes(channels, d.device)
        self.contrast, self.mean = d.between(15, 80, count, 1), d.between(70, 180, count, 1)
        self.chroma = self.contrast * d.scale(0.04, 0.5, count, 1) * ~d.chance(0.1, count, 1)
        self.cast = 0.6 * self.chroma[..., None] * d.normal(count, 1, 2)
        self.saturated = d.between(0, 0.3, count, 1) * d.chance(0.3, count, 1)
        self.grain = 0.18 * self.contrast * d.uniform(count, 1) * d.chance(0.6, count, 1)

    def tone(self, d, brightness):
        """Of this brightness [B][S], with drawn colours: [B][S][channels]."""
        tone = brightness[..., None].repeat(1, 1, self.channels)
        if self.channels == 1:
            return tone
        own = self.cast + self.chroma[..., None] * d.normal(*brightness.shape, 2)
        pure = d.chance(1.0, *brightness.shape) & (d.uniform(*brightness.shape) < self.saturated)
        return torch.where(pure[..., None], d.between(0, 255, *tone.shape), tone + own @ self.axes)

    def gain(self, d, tone):
        """Of textures: a change of light in half of all, the same in every channel, of the share of
        light that is reflected in most others, and of colour alone in a few."""
        gain = torch.ones_like(tone)
        if self.channels == 1:
            return gain
        sort, total = d.uniform(*tone.shape[:2], 1), tone.sum(-1, keepdim=True) + 1
        share = (tone * self.channels / total.clamp_min(1)).clamp(0, 2)
        gain = torch.where((sort < 0.4) & (total > 40), share, gain)
        return torch.where(sort > 0.9, 0.5 * d.normal(*tone.shape[:2], 2) @ self.axes, gain)


def flat(d, palette, brightness):
    """Surfaces of one tone; brightness [B][S]."""
    zero, tone = torch.zeros_like(brightness), palette.tone(d, brightness)
    return {**dict.fromkeys(scenes.FIELDS, zero), "tone": tone, "gain": torch.ones_like(tone)}


def surfaces(d, palette, count, scale, tables, texture=None):
    """Textured ones, [B][count]; a pixel of the picture has scale x scale of the canvas."""
    n = (palette.mean.shape[0], count)
    contrast = palette.contrast
    brightness = palette.mean + contrast * d.normal(*n) * torch.where(d.chance(0.6, *n), 1.0, 0.3)
    f = flat(d, palette, brightness)
    f["texture"] = d.pick(TEXTURES, *n) if texture is None else texture.expand(*n)
    f["amplitude"] = contrast * (0.05 + 0.8 * d.uniform(*n) ** 2)
    f["grain"] = palette.grain.expand(*n)
    f["gain"] = palette.gain(d, f["tone"])
    f["table"] = d.below(tables.shape[0], *n)
    f["noise_scale"] = d.scale(0.22, 1.8, *n) / scale
    frequency, angle = d.scale(1 / 80, 1 / 3, *n) / scale, 6.2831853 * d.uniform(*n)
    f["warp"] = d.between(0, 0.32, *n) * d.chance(0.5, *n)
    f["second"], f["phase"] = d.between(0.3, 1, *n), d.uniform(*n)
    f["threshold"], f["salt"] = d.between(-0.7, 0.7, *n), d.between(0, 6, *n)
    walls = (f["texture"] == scenes.BRICKS) | (f["texture"] == scenes.DOTS)
    f["second"] = torch.where(walls, d.between(0.8, 2.5, *n), f["second"])  # bricks lie
    f["warp"] = torch.where(walls, 0.2 * f["warp"], f["warp"])
    frequency = torch.where(walls, 0.5 * frequency, frequency)
    f["fu"], f["fv"] = frequency * torch.cos(angle), frequency * torch.sin(angle)
    ramp = f["texture"] == scenes.RAMP
    f["amplitude"] = torch.where(ramp, d.between(-1, 1, *n), 1.0) * f["amplitude"]
    return f
