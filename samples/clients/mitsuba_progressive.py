#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mitsuba_progressive.py - renders a scene of Mitsuba 3 from fewer rays than pixels: some pixels
are traced evenly, the picture is recovered from them by albedo, normals and depth, which cost few
short rays, and the next are traced where it is expected to err most. Writes each round's picture.

  python3 mitsuba_progressive.py OUT [--scene scene.xml] [--side 128] [--rays 0.5] [--rounds 4]

OUT-1.png ... are what a display shows, OUT.npy is the radiance. --reference N prints PSNR against
N rays a pixel. Without --scene: Mitsuba's Cornell box. Needs mitsuba, numpy, csrecover."""
import argparse
import inspect

import csrecover
import mitsuba as mi
import numpy as np

TOLD = "rays" in inspect.signature(csrecover.recover).parameters


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT")
    parser.add_argument("--scene", metavar="FILE.xml")
    parser.add_argument("--side", type=int, default=128, help="of the Cornell box")
    parser.add_argument("--rays", type=float, default=0.5, help="of all rounds together, a pixel")
    parser.add_argument("--each", type=int, default=2, help="rays of a pixel that is traced")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--reference", type=int, default=0, metavar="N")
    o = parser.parse_args()
    return o if o.rays <= o.each else parser.error("--rays is at most --each")


def load(o):
    if o.scene:
        return mi.load_file(o.scene)
    scene = mi.cornell_box()
    scene["sensor"]["film"].update(width=o.side, height=o.side)
    return mi.load_dict(scene)


class Tracer:
    """Single rays of single pixels; mi.render has them all."""

    def __init__(self, scene):
        self.scene, self.sensor, self.integrator = scene, scene.sensors()[0], scene.integrator()
        width, height = self.sensor.film().size()
        self.shape, self.sampler = (int(height), int(width)), self.sensor.sampler().clone()
        self.sampler.seed(1)

    def ray(self, row, column):
        place = self.sampler.next_2d()
        at = mi.Point2f((column + place[0]) / self.shape[1], (row + place[1]) / self.shape[0])
        ray, weight = self.sensor.sample_ray_differential(0, self.sampler.next_1d(), at,
                                                          self.sampler.next_2d())
        return np.array(weight * self.integrator.sample(self.scene, self.sampler, ray)[0])

    def trace(self, index, each):
        """Mean and standard deviation of the mean of each pixel, [n][3]."""
        places = [divmod(int(k), self.shape[1]) for k in index]
        rays = np.array([[self.ray(*place) for _ in range(each)] for place in places])
        error = rays.std(1, ddof=1) / each ** 0.5 if each > 1 else np.full(rays[:, 0].shape, np.nan)
        return rays.mean(1), np.where(error > 0, error, np.nan)

    def beside(self, rays=4):
        tracer = mi.load_dict({"type": "aov", "aovs": "a:albedo,n:sh_normal,d:depth"})
        planes = np.array(mi.render(self.scene, integrator=tracer, spp=rays))[..., -7:]
        return {"albedo": planes[..., :3], "normal": planes[..., 3:6], "depth": planes[..., 6]}


def main():
    o = arguments()
    mi.set_variant("scalar_rgb")  # which traces ray by ray
    tracer = Tracer(load(o))
    guide, shape = tracer.beside(), tracer.shape
    count = max(1, round(o.rays * shape[0] * shape[1] / o.each / o.rounds))
    y, error = np.full((*shape, 3), np.nan), np.full((*shape, 3), np.nan)
    index = csrecover.positions_of(shape, count, "poisson")
    for turn in range(1, o.rounds + 1):
        y.reshape(-1, 3)[index], error.reshape(-1, 3)[index] = tracer.trace(index, o.each)
        mask = ~np.isnan(y[..., 0])
        more = {"rays": o.each * mask, "sigma": error} if TOLD else {}
        light, expected = csrecover.recover(y, mask, channel_axis=-1, guide=guide,
                                            return_uncertainty=True, **more)
        mi.util.write_bitmap(f"{o.out}-{turn}.png", light.astype(np.float32))
        print(f"round {turn}: {o.each * mask.sum() / mask.size:.3f} rays a pixel", flush=True)
        if turn < o.rounds:  # an error of dark parts is seen more
            seen = np.nan_to_num(expected / (0.05 + light.clip(0))).mean(-1)
            index = csrecover.where_next(mask, count, seen)
    np.save(f"{o.out}.npy", light)
    if o.reference:
        truth = np.array(mi.render(tracer.scene, spp=o.reference))[..., :3]
        shown = [np.clip(a, 0, 1) ** (1 / 2.2) for a in (light, truth)]
        print(f"PSNR {csrecover.psnr(*shown, peak=1):.2f} dB")


if __name__ == "__main__":
    main()
