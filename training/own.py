# SPDX-License-Identifier: BSD-3-Clause
"""own.py - parts of pictures of your own, in place of synthetic ones."""
import numpy as np
import torch

from data import Data
from starts import Fault


def read(path, channels, size):
    """[channels][height][width] of an .npy file, 0 to 255, reflected to at least this size. Black and
    white are the ends of an unsigned type, else the least and the largest value."""
    try:
        found = np.load(path)
    except (OSError, ValueError, EOFError) as error:
        raise Fault(f"{path}: {error}; --pictures takes .npy files, as np.save writes them")
    if found.ndim not in (2, 3) or found.shape[2:] not in ((), (3,)) or not found.size:
        raise Fault(f"{path}: has shape {found.shape}; --pictures takes [H, W] or [H, W, 3]")
    if found.dtype.kind not in "uif" or not np.isfinite(found).all():
        raise Fault(f"{path}: has entries that are no finite real numbers; put numbers there")
    if channels == 3 and found.ndim == 2:
        raise Fault(f"{path}: has 1 channel; omit --channels 3")
    ends = (0, np.iinfo(found.dtype).max) if found.dtype.kind == "u" else (found.min(), found.max())
    planes = np.atleast_3d(found).astype(np.float64).transpose(2, 0, 1)
    if channels == 1:
        planes = planes.mean(0, keepdims=True)
    planes = (planes - ends[0]) * (255 / max(ends[1] - ends[0], 1e-300))
    missing = [(0, max(0, size - extent)) for extent in planes.shape[1:]]
    return np.pad(planes, [(0, 0), *missing], "symmetric").astype(np.float32)


class OwnData(Data):
    def __init__(self, device, paths, channels=1, size=128, **settings):
        self.own = [torch.from_numpy(read(path, channels, size)).to(device) for path in paths]
        super().__init__(device, channels=channels, size=size, **settings)

    def pictures(self, d, count):
        """Each of them as often, whatever its size."""
        made = []
        for _ in range(count):
            whole = d.one(self.own)
            y, x = (d.host.randrange(extent - self.size + 1) for extent in whole.shape[1:])
            made.append(whole[:, y:y + self.size, x:x + self.size])
        return torch.stack(made)
