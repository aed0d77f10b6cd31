#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""colours.py - colour pictures of which 30 % of the pixels are known, one mask for all channels, as
papers about inpainting measure it: csrecover beside scikit-image, OpenCV and DeepInverse, in the same
run, one thread each. The pictures are photographs that scikit-image ships (the middle 256 x 256
pixels) and csrecover.datasets.colours. Needs cffi and scikit-image; OpenCV
and DeepInverse with bm3d and ptwt are used when installed. Models whose weights have to be downloaded
are named with the reason where that fails."""
import re
import time
from pathlib import Path

import onethread  # noqa: F401, before NumPy
import numpy as np

import common
import pictures
from net_kinds import shipped

RATE, SIDE = 0.30, 256
PHOTOGRAPHS = ("astronaut.png", "chelsea.png", "coffee.png")


def middle(picture):
    top, left = ((extent - SIDE) // 2 for extent in picture.shape[:2])
    return picture[top:top + SIDE, left:left + SIDE].astype(float)


def load():
    from PIL import Image
    found = {}
    for name in PHOTOGRAPHS:
        found[Path(name).stem] = middle(np.asarray(Image.open(shipped("skimage", f"data/{name}"))))
    import csrecover
    found["synthetic"] = csrecover.datasets.colours(SIDE).astype(float)
    return found


# ---- peers: method(picture, mask) -> picture; what is not in the mask is not looked at

def biharmonic(picture, mask):
    from skimage.restoration import inpaint_biharmonic
    return inpaint_biharmonic(np.where(mask[..., None], picture, 0), ~mask, channel_axis=-1)


def delaunay(picture, mask):
    return np.stack([pictures.delaunay(picture[mask, c], mask) for c in range(3)], axis=-1)


def opencv(name):
    def method(picture, mask):
        import cv2
        holes = np.where(mask[..., None], picture, 0).astype(np.uint8)
        if name.startswith("FSR"):
            out = np.zeros_like(holes)
            cv2.xphoto.inpaint(holes, mask.astype(np.uint8) * 255, out,
                               getattr(cv2.xphoto, f"INPAINT_{name}"))
            return out.astype(float)
        return cv2.inpaint(holes, (~mask).astype(np.uint8), 3,
                           getattr(cv2, f"INPAINT_{name}")).astype(float)
    return method


def plug_and_play(make):
    """DeepInverse's DPIR (Zhang et al. 2021) with one of its denoisers, from Delaunay's
    triangulation, for samples of a noise of 0.01."""
    def method(picture, mask):
        import deepinv
        import torch
        torch.set_num_threads(1)

        def tensor(a):
            return torch.from_numpy(np.ascontiguousarray(a.transpose(2, 0, 1))[None]).float() / 255
        known = torch.from_numpy(mask)[None, None].float().expand(1, 3, -1, -1)
        physics = deepinv.physics.Inpainting(img_size=(3, SIDE, SIDE), mask=known[0])
        model = deepinv.optim.DPIR(sigma=0.01, denoiser=make(deepinv.models))
        with torch.no_grad():
            x = model(physics(tensor(picture)), physics, init=tensor(delaunay(picture, mask)))
        out = 255 * x[0].numpy().transpose(1, 2, 0).astype(float)
        out[mask] = picture[mask]
        return out
    return method


def pretrained(make):
    """A DeepInverse model that reconstructs by itself."""
    def method(picture, mask):
        import deepinv
        import torch
        torch.set_num_threads(1)
        y = torch.from_numpy(np.where(mask[..., None], picture, 0).transpose(2, 0, 1)[None] / 255)
        known = torch.from_numpy(mask)[None].float().expand(3, -1, -1)
        physics = deepinv.physics.Inpainting(img_size=(3, SIDE, SIDE), mask=known)
        with torch.no_grad():
            x = make(deepinv.models)(y.float(), physics)
        return 255 * x[0].numpy().transpose(1, 2, 0).astype(float)
    return method


PEERS = {
    "Delaunay linear (SciPy)": delaunay,
    "biharmonic (scikit-image)": biharmonic,
    "Telea (OpenCV)": opencv("TELEA"),
    "Navier-Stokes (OpenCV)": opencv("NS"),
    "FSR, fast (OpenCV)": opencv("FSR_FAST"),
    "FSR, best (OpenCV)": opencv("FSR_BEST"),
    "DPIR with TV (DeepInverse)": plug_and_play(lambda m: m.TVDenoiser()),
    "DPIR with wavelets (DeepInverse)": plug_and_play(lambda m: m.WaveletDictDenoiser()),
    "DPIR with BM3D (DeepInverse)": plug_and_play(lambda m: m.BM3D()),
    "DPIR with DRUNet (DeepInverse)": plug_and_play(lambda m: m.DRUNet(pretrained="download")),
    "RAM (DeepInverse)": pretrained(lambda m: m.RAM(pretrained=True))}


def timed(name, method):
    def measured(truth, mask):
        start = time.perf_counter()
        out = method(truth, mask)
        return {"method": name, "psnr": pictures.psnr(out, truth),
                "seconds": time.perf_counter() - start}
    return measured


def reason(text):
    """The first line, without addresses."""
    return re.sub(r"\S*/\S*", "...", text.partition("\n")[0])[:120]


def main():
    arguments = common.arguments(
        __doc__, "colours.json", without=([], "leave out methods whose name has one of these words"),
        slow=(False, "OpenCV's INPAINT_FSR_BEST, too"))
    tool = str(Path(arguments.build) / "csrecover")
    peers = {name: m for name, m in PEERS.items() if arguments.slow or "best" not in name}
    todo = {**peers, **{f"csrecover --quality {q}": lambda truth, mask, q=q: pictures.recover(
        tool, ["--quality", q], truth[mask], mask)[0] for q in ("fast", "balanced", "best")}}
    todo = {name: m for name, m in todo.items() if not any(w in name for w in arguments.without)}
    common.load(arguments.build)
    found = load()
    cases = [({"picture": name}, truth, pictures.sample(truth[..., 0], RATE))
             for name, truth in found.items()]
    measured, left_out = common.by_method({name: timed(name, m) for name, m in todo.items()}, cases,
                                        Exception)  # of any library: it is named in the results
    left_out = {name: reason(told) for name, told in left_out.items()}
    table = common.means(measured, ("method",), ("psnr", "seconds"))
    for row in table:
        print(f"{row['method']:40s} {row['psnr']:6.2f} dB {row['seconds']:8.2f} s")
    common.save(arguments, rate=RATE, mean=table, pictures=measured, left_out=left_out,
                 versions=common.versions("opencv-contrib-python-headless", "deepinv", "torch", "bm3d",
                                        "ptwt"))


if __name__ == "__main__":
    main()
