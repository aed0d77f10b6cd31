# SPDX-License-Identifier: BSD-3-Clause
"""The macro in ImageJ itself, which needs a display (xvfb-run) even where it shows nothing."""
import os
import shutil
import subprocess

import numpy as np
import pytest
from conftest import HERE, picture

tifffile = pytest.importorskip("tifffile")
JAR = os.environ.get("IMAGEJ_JAR", "/usr/share/java/ij.jar")
MACRO = HERE / "imagej" / "csrecover_fill.ijm"


@pytest.fixture(scope="module")
def imagej():
    if not os.path.isfile(JAR) or not shutil.which("java"):
        pytest.skip("no ImageJ: apt-get install imagej, or IMAGEJ_JAR=/path/to/ij.jar")
    shown = [] if "DISPLAY" in os.environ else [shutil.which("xvfb-run") or "", "-a"]
    if shown and not shown[0]:
        pytest.skip("no display and no xvfb-run")

    def run(folder, *lines):
        script = folder / "run.ijm"
        script.write_text("\n".join([*lines, 'call("java.lang.System.exit", "0");']))
        temp = folder / "temp"
        temp.mkdir(exist_ok=True)
        done = subprocess.run([*shown, "java", f"-Djava.io.tmpdir={temp}", f"-Duser.home={folder}",
                               "-cp", JAR, "ij.ImageJ", "-batch", script], capture_output=True,
                              text=True, timeout=60)
        assert not [one for one in temp.iterdir() if one.name.startswith("csrecover")]
        return done.stdout
    return run


def pages(rng, count):
    return np.stack([picture(rng, (48, 64)) for _ in range(count)])


def test_images_of_all_types(rng, tmp_path, imagej, tool):
    hole = np.zeros((48, 64), bool)
    hole[10:16, 8:50] = True
    kinds = {"byte": pages(rng, 1)[0].astype("u1"), "short": (pages(rng, 1)[0] * 100).astype("u2"),
             "float": pages(rng, 1)[0].astype("f4"),
             "nan": np.where(hole, np.nan, pages(rng, 1)[0]).astype("f4"),
             "colours": np.moveaxis(pages(rng, 3), 0, -1).astype("u1"),
             "slices": pages(rng, 3).astype("u1"), "channels": pages(rng, 2).astype("u2"),
             "both": pages(rng, 6).astype("u2").reshape(3, 2, 48, 64)}
    axes = {"slices": "ZYX", "channels": "CYX", "colours": "YXS", "both": "ZCYX"}
    np.save(tmp_path / "known.npy", ~hole)
    np.save(tmp_path / "slices.npy", np.stack([~hole] * 3))
    lines = []
    for name, values in kinds.items():
        if name != "nan":  # what is there does not matter
            (values[10:16, 8:50] if name == "colours" else values[..., 10:16, 8:50])[...] = 255
        tifffile.imwrite(tmp_path / f"{name}.tif", values, imagej=True, resolution=(4, 4),
                         metadata={"unit": "um", "axes": axes.get(name, "YX")})
        select = "" if name == "nan" else "makeRectangle(8, 10, 42, 6);"
        lines += [f'open("{tmp_path}/{name}.tif"); {select}',
                  f'runMacro("{MACRO}", "program={tool} quality=fast");',
                  'getPixelSize(unit, across, down);',
                  'print(getTitle + "," + bitDepth + "," + nSlices + "," + unit + "," + across);',
                  f'saveAs("Tiff", "{tmp_path}/{name}-made.tif"); close("*");']
    said = imagej(tmp_path, *lines).splitlines()
    bits = {"byte": 8, "short": 16, "colours": 24, "slices": 8, "channels": 16, "both": 16}
    for line, (name, values) in zip(said, kinds.items()):
        planes = {"slices": 3, "channels": 2, "both": 6}.get(name, 1)
        assert line.startswith(f"{name}.tif filled,{bits.get(name, 32)},{planes},"), said
        assert line.endswith(("micron,0.25", "um,0.25", "\u00b5m,0.25")), line
        made = tifffile.imread(tmp_path / f"{name}-made.tif")
        mask = tmp_path / ("slices.npy" if name in ("slices", "both") else "known.npy")
        wanted = tmp_path / f"{name}-wanted.tif"
        subprocess.run([tool, tmp_path / f"{name}.tif", "-o", wanted, "-Q", "fast", "-q",
                        "-m", mask], check=True)
        np.testing.assert_array_equal(made, tifffile.imread(wanted))
        assert made.dtype == values.dtype and not np.array_equal(made, values), name
        np.testing.assert_array_equal(made.reshape(-1)[:8 * 64], values.reshape(-1)[:8 * 64])
    assert len(said) == len(kinds)
