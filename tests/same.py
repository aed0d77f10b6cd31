# SPDX-License-Identifier: BSD-3-Clause
"""same.py - helper of same.sh: makes its inputs, and hashes what counts in its outputs. Only the
standard library is used, and only integer arithmetic makes inputs: they are the same everywhere."""
import ast
import hashlib
import io
import itertools
import math
import os
import struct
import sys
import zipfile
import zlib

# Texts in .npz files that say where a file comes from.
ORIGIN = {"fingerprint", "source", "settings", "backend", "version", "note"}
PNG_SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def shade(y, x, c=0):
    """A picture by its formula, 0 to 255: a slope, a disc, a board, and a little texture."""
    value = 40 + x + y // 2 + 20 * c
    if (x - 30) ** 2 + (y - 26) ** 2 < 350:
        value = 210 - 30 * c - (x - 30) * (y - 26) // 8
    elif x > 50 and (x // 8 + y // 8) % 2:
        value += 45
    value += (x * 7919 + y * 104729 + c * 1299709 ^ x * y) % 7
    return max(0, min(255, value))


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def write_png(name, height, width, pixel, kind=0, bits=8):
    """pixel(y, x) gives its samples; kind is PNG's: 0 gray, 2 RGB, 4 and 6 those with opacity."""
    rows = b"".join(
        b"\0" + b"".join(struct.pack(">B" if bits == 8 else ">H", v)
                         for x in range(width) for v in pixel(y, x)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0)
    with open(name, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def npy(code, shape, values):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %r, }" % (code, tuple(shape))
    head += " " * (-(len(head) + 11) % 64) + "\n"
    letter = {"<f4": "f", "<f8": "d", "<i2": "h", "<i8": "q", "|u1": "B", "|b1": "?"}[code]
    values = list(values)
    return (b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() +
            struct.pack("<%d%s" % (len(values), letter), *values))


def write_npy(name, code, shape, values):
    with open(name, "wb") as file:
        file.write(npy(code, shape, values))


def write_npz(name, **arrays):
    with zipfile.ZipFile(name, "w") as archive:
        for key, array in arrays.items():
            archive.writestr(zipfile.ZipInfo(key + ".npy"), npy(*array))


def spread(*at):
    """A whole number, as if at random, from whole numbers."""
    text = " ".join(map(str, at)).encode()
    return struct.unpack("<I", hashlib.sha256(text).digest()[:4])[0]


def solid(*at):
    """An array of any axes by its formula: a slope, and a ball that is brighter."""
    inside = sum((2 * a - 15) ** 2 for a in at) < 160
    return (sum((k + 2) * a for k, a in enumerate(at)) + 60 * inside + spread(*at) % 4) / 4


def each(shape):
    return itertools.product(*map(range, shape))


def make_pictures():
    def known(y, x, share=40):
        return spread(y, x) % 100 < share
    write_png("gray.png", 72, 88, lambda y, x: [shade(y, x)])
    write_png("large.png", 560, 530, lambda y, x: [shade(y // 8, x // 6)])  # for tiles
    write_png("rgb.png", 56, 64, lambda y, x: [shade(y, x, c) for c in range(3)], kind=2)
    write_png("deep.png", 40, 48, lambda y, x: [257 * shade(y, x) + y], bits=16)
    write_png("mask.png", 72, 88, lambda y, x: [255 * known(y, x)])
    write_png("holes.png", 40, 48, lambda y, x: [shade(y, x), 255 * known(y, x)], kind=4)
    write_png("tones.png", 40, 48, lambda y, x: [*(shade(y, x, c) for c in range(3)),
                                                 255 * known(y, x)], kind=6)
    os.mkdir("family")
    for k in range(24):  # aligned pictures of one size, for principal components
        write_png("family/%02d.png" % k, 20, 24,
                  lambda y, x: [shade(2 * y + k % 5, 2 * x + k % 7) * (20 + k % 3) // 24])


def make_arrays():
    for name, code, shape in (("line", "<f8", (700,)), ("plane", "<f4", (45, 52)),
                              ("volume", "<f4", (18, 20, 22)), ("four", "<f8", (9, 8, 7, 10))):
        write_npy(name + ".npy", code, shape, (solid(*at) for at in each(shape)))
    write_npy("long.npy", "<f4", (200, 20, 18), (solid(a // 9, b, c) for a, b, c in
                                                 each((200, 20, 18))))  # for tiles
    write_npy("whole.npy", "<i2", (40, 44), (shade(*at) - 100 for at in each((40, 44))))
    write_npy("last.npy", "<f4", (40, 44, 2), (shade(*at) / 4 for at in each((40, 44, 2))))
    write_npy("mask.npy", "|b1", (72, 88), (spread(*at) % 3 == 0 for at in each((72, 88))))
    write_npy("rows.npy", "<f4", (60, 30), (solid(*at) for at in each((60, 30))))


def make_scans():
    places = [at for at in each((48, 40)) if spread(*at, 5) % 10 < 3]
    y = [shade(*at) for at in places]
    index = [a * 40 + b for a, b in places]
    shape = ("<i8", [2], [48, 40])
    write_npz("index.npz", y=("<f8", [len(y)], y), shape=shape, index=("<i8", [len(y)], index))
    write_npz("noisy.npz", y=("<f4", [len(y)], [v + spread(v, k) % 7 - 3 for k, v in enumerate(y)]),
              shape=shape, index=("<i8", [len(y)], index), sigma=("<f8", [], [2.5]),
              scale=("<f8", [2], [0, 255]))
    write_npz("masked.npz", y=("|u1", [len(y)], y),
              mask=("|b1", [48, 40], (at in set(places) for at in each((48, 40)))))
    write_npz("drawn.npz", y=("<f4", [len(y)], [256 - v for v in y]), shape=shape,
              index=("<i8", [len(y)], index))  # the places of index.npz, for batches
    five = [(k, solid(*at)) for k, at in enumerate(each((5, 4, 6, 3, 5))) if spread(k) % 10 < 4]
    write_npz("five.npz", y=("<f8", [len(five)], [v for _, v in five]),
              shape=("<i8", [5], [5, 4, 6, 3, 5]), index=("<i8", [len(five)], [k for k, _ in five]))
    with open("points.csv", "w") as file:
        file.write("# shape: 48,40\nrow,col,value\n")
        file.writelines("%d,%d,%d\n" % (*at, v) for at, v in zip(places, y))


def unfilter(kind, row, before, step):
    for i in range(len(row)):
        a = row[i - step] if i >= step else 0
        b, c = before[i], before[i - step] if i >= step else 0
        p = a + b - c
        paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
        row[i] = row[i] + (0, a, b, (a + b) // 2, paeth)[kind] & 255


def png_contents(data):
    at, parts = 8, {}
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        parts[name] = parts.get(name, b"") + data[at + 8:at + 8 + size]
        at += size + 12
    width, height, bits, kind = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    pixels, length = PNG_SAMPLES[kind] * bits, -(-width * PNG_SAMPLES[kind] * bits // 8)
    raw, before, out = zlib.decompress(parts[b"IDAT"]), bytes(length), []
    for y in range(height):
        row = bytearray(raw[y * (length + 1) + 1:(y + 1) * (length + 1)])
        unfilter(raw[y * (length + 1)], row, before, max(1, pixels // 8))
        out.append(bytes(row))
        before = row
    return [parts[b"IHDR"], parts.get(b"PLTE", b""), parts.get(b"tRNS", b""), *out]


def npy_contents(file):
    """Shape, type and entries of the first array; a fingerprint behind it is left out. The entries
    count in little-endian order, whatever the machine that wrote them."""
    major = file.read(8)[6]
    size = struct.unpack("<H" if major == 1 else "<I", file.read(2 if major == 1 else 4))[0]
    head = ast.literal_eval(file.read(size).decode())
    order, kind, length = head["descr"][0], head["descr"][1], int(head["descr"][2:])
    unit = 4 if kind == "U" else length
    entries = file.read(math.prod(head["shape"]) * length * (4 if kind == "U" else 1))
    if order == ">":
        head["descr"] = "<" + head["descr"][1:]
        swapped = bytearray(len(entries))
        for i in range(unit):
            swapped[i::unit] = entries[unit - 1 - i::unit]
        entries = bytes(swapped)
    return [repr(sorted(head.items())).encode(), entries]


def npz_contents(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in sorted(archive.namelist()):
            if name[:-4] not in ORIGIN:
                yield from [name.encode(), *npy_contents(io.BytesIO(archive.read(name)))]


def contents(data):
    if data.startswith(b"\x89PNG"):
        return png_contents(data)
    if data.startswith(b"\x93NUMPY"):
        return npy_contents(io.BytesIO(data))
    if data.startswith(b"PK"):
        return npz_contents(data)
    return [data]


def digest(path):
    total = hashlib.sha256()
    with open(path, "rb") as file:
        for part in contents(file.read()):
            total.update(struct.pack("<Q", len(part)) + part)
    return total.hexdigest()


def print_results():
    """A line for each output of the commands that same.sh has run, the n-th in folder made/n."""
    with open("commands") as file:
        lines = [line.rstrip("\n").split(" ", 1) for line in file]
    for n, (code, command) in enumerate(lines, 1):
        folder = "made/%d" % n
        names = sorted(os.listdir(folder))
        for name in names:
            print(digest(os.path.join(folder, name)), code, "o/%s: %s" % (name, command))
        if not names:
            print("-", code, "none:", command)


if sys.argv[1] == "inputs":
    make_pictures()
    make_arrays()
    make_scans()
else:
    print_results()
