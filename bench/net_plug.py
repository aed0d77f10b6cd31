"""net_plug.py - recovery with any denoiser of white noise in place of a prior ("plug and play"), by
half-quadratic splitting, as net_peers.py (BM3D) and net_drunet.py (a network) share it:

    z = denoise(x, sigma_k)
    x = argmin |M x - y|^2 / (2 sigma^2) + strength |x - z|^2 / (2 sigma_k^2)

with sigma_k falling geometrically (Zhang et al. 2021, "Plug-and-play image restoration with deep
denoiser prior", equations 6 and 7; for missing pixels the second step is a mean pixel by pixel)."""
import numpy as np

import pictures

STEPS = 30
STRENGTH = 0.23


def anchored(z, y, mask, sigma, sigma_k):
    """The second step; without noise, sigma = 0, the known pixels are as measured."""
    x = z.copy()
    weight = STRENGTH * (sigma / sigma_k) ** 2
    x[mask] = (y + weight * z[mask]) / (1 + weight)
    return x


def recover(y, mask, denoise, steps, sigmas, sigma=0.0):
    """From the Delaunay triangulation; denoise(picture, sigma_k, step) -> picture, levels 0 to 255.
    sigmas: the first and the last sigma_k, which is never below the samples' own sigma."""
    x = pictures.delaunay(y, mask)
    for step, sigma_k in enumerate(np.geomspace(sigmas[0], max(sigmas[1], sigma), steps)):
        x = anchored(denoise(x, sigma_k, step), y, mask, sigma, sigma_k)
    return x
