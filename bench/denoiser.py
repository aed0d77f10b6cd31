# SPDX-License-Identifier: BSD-3-Clause
"""denoiser.py - Open Image Denoise by the package oidn of PyPI, for beside.py and renderer.py."""
import ctypes
import importlib.util
from pathlib import Path

import numpy as np


def package():
    """oidn. Its wheel may have TBB under a name that the library does not ask for: it is loaded
    before."""
    for tbb in Path(importlib.util.find_spec("oidn").origin).parent.glob("lib.*/libtbb.so.*"):
        ctypes.CDLL(str(tbb))
    import oidn
    return oidn


def _switch(oidn, way, name):
    """Sets a switch of a filter, which the package has no function for."""
    folder = Path(oidn.__file__).parent
    library = ctypes.CDLL(str(next(folder.glob("lib.*/*OpenImageDenoise.*"))))
    library.oidnSetFilter1b.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_bool
    library.oidnSetFilter1b.restype = None
    library.oidnSetFilter1b(way, name, True)


def denoise(light, albedo, normal, hdr=False, clean=False):
    """[H][W][3] of the same; hdr: of any brightness; clean: albedo and normal have no noise."""
    oidn = package()
    planes = {"color": light, "albedo": albedo, "normal": normal, "output": np.zeros(light.shape)}
    planes = {name: np.ascontiguousarray(plane, np.float32) for name, plane in planes.items()}
    device = oidn.NewDevice()
    oidn.CommitDevice(device)
    way = oidn.NewFilter(device, "RT")
    for name, plane in planes.items():
        oidn.SetSharedFilterImage(way, name, plane, oidn.FORMAT_FLOAT3, light.shape[1],
                                  light.shape[0])
    for name, wanted in ((b"hdr", hdr), (b"cleanAux", clean)):
        if wanted:
            _switch(oidn, way, name)
    oidn.CommitFilter(way)
    oidn.ExecuteFilter(way)
    error = oidn.GetDeviceError(device)
    oidn.ReleaseFilter(way)
    oidn.ReleaseDevice(device)
    if error:
        raise RuntimeError(f"oidn: error {error}")
    return planes["output"].astype(float)
