# SPDX-License-Identifier: BSD-3-Clause
"""npy.py - arrays in files as NumPy stores them, written and read without it."""

import math
import re
import struct
import zipfile

CODES = {"f4": "f", "f8": "d", "c4": "f", "c8": "d", "b1": "B", "u1": "B", "i1": "b", "u2": "H", "i2": "h",
         "u4": "I", "i4": "i", "u8": "Q", "i8": "q"}


def npy(values, shape, descr="<f8"):
    """The bytes of an array of <f4, <f8, <i8, |u1, |b1 or <c16."""
    if descr == "<c16":
        values = [part for v in values for part in (complex(v).real, complex(v).imag)]
    extents = "(" + "".join(f"{n}," for n in shape) + ")"
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {extents}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    code = "d" if descr == "<c16" else CODES[descr[1:]]
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
            + struct.pack(f"<{len(values)}{code}", *values))


def read_npy(path):
    """(shape, dtype, values), pairs for complex ones."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<H", data[8:10])[0]
    head = data[10:10 + size].decode()
    shape = tuple(int(n) for n in re.search(r"'shape': \(([^)]*)\)", head)[1].split(",") if n.strip())
    kind, width = re.search(r"'descr': '[<|=]([a-z])(\d+)'", head).groups()
    count = math.prod(shape) * (2 if kind == "c" else 1)
    width = int(width) // (2 if kind == "c" else 1)
    code = CODES[kind + str(width)]
    return shape, kind + str(width), struct.unpack_from(f"<{count}{code}", data, 10 + size)


def npz(path, **arrays):
    """Of the bytes of arrays."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in arrays.items():
            archive.writestr(f"{name}.npy", data)
