#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pack.py FROM.npz TO.npz - a prior with most weights in 8 bits, as those that are installed.

    weights[i] = code[i] * scale[i // 64], rounded to 16 bits;   code in -127 ... 127

A block of 64 has the scale, of 16 bits, that its largest weight needs. Where the scale is 0, the
block is the next of array weights_rest, in 16 bits: those of the layers at the picture's own size,
2 % of all, whose errors would be seen most. The file has half of the size. cslearn and train.py go
on from either form, and write weights of 16 bits.
"""
import argparse
import sys

import numpy as np

BLOCK = 64
NAMES = "weights", "weights_scale", "weights_rest"


def blocks_of(values):
    filled = np.zeros(-(-len(values) // BLOCK) * BLOCK, values.dtype)
    filled[:len(values)] = values
    return filled.reshape(-1, BLOCK)


def precise(layers, count):
    """Whether each of the weights is of a layer with no more channels than the first one."""
    taken, products = np.zeros(count, bool), [9, 4, 4]  # of kinds CONV, DOWN, UP
    end, channels = count, [int(row[1]) for row in layers]
    for i in range(len(layers) - 1, -1, -1):
        size = channels[i] + channels[i] * channels[i - 1] * products[layers[i][0]]
        start = end - size if i > 0 else 0
        taken[start:end] = channels[i] <= channels[0]
        end = start
    return taken


def packed(weights, layers):
    """Codes, the scale of each block, and the blocks that are kept."""
    blocks = blocks_of(weights.astype(np.float32))
    kept = blocks_of(precise(layers, len(weights))).any(1)
    least = np.abs(blocks).max(1) / 127
    scale = least.astype(np.float16)
    scale = np.where(scale < least, np.nextafter(scale, np.float16(np.inf)), scale)
    scale = np.where(kept, 0, np.maximum(scale, np.finfo(np.float16).smallest_subnormal))
    codes = np.rint(blocks / np.where(kept, np.inf, scale.astype(np.float32))[:, None])
    return (codes.astype(np.int8).ravel()[:len(weights)], scale.astype(np.float16),
            blocks[kept].astype(np.float16).ravel())


def unpacked(codes, scale, rest):
    values = blocks_of(codes) * scale.astype(np.float32)[:, None]
    values[scale == 0] = rest.reshape(-1, BLOCK)
    return values.astype(np.float16).ravel()[:len(codes)]


def main():
    about = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(description=about[0], epilog=about[2],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", metavar="FROM.npz")
    parser.add_argument("output", metavar="TO.npz")
    o = parser.parse_args()
    with np.load(o.source, allow_pickle=False) as z:
        arrays = dict(z)
    if "weights" not in arrays or "layers" not in arrays:
        sys.exit(f"{o.source}: is not a prior: it has no layers and weights")
    if "weights_scale" in arrays:
        sys.exit(f"{o.source}: its weights are packed already")
    arrays.update(zip(NAMES, packed(arrays["weights"], arrays["layers"])))
    np.savez(o.output, **arrays)


if __name__ == "__main__":
    main()
