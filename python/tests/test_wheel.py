# SPDX-License-Identifier: BSD-3-Clause
"""Which CUDA kernels a wheel is built with, by python/cuda.cmake under a made nvidia-smi, and what an
sdist holds."""
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "python" / "cuda.cmake"


def choice(folder, answer, *defines):
    """What the script decides where nvidia-smi prints `answer`; None: there is none."""
    tool = folder / "nvidia-smi"
    if answer:
        tool.write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
        tool.chmod(0o755)
    run = subprocess.run([shutil.which("cmake"), f"-DCSREC_NVIDIA_SMI={tool}", *defines, "-P",
                          SCRIPT], capture_output=True, text=True, check=True)
    return re.search(r"CUDA of the wheel: (.*)", run.stdout + run.stderr).group(1).strip()


@pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake")
@pytest.mark.parametrize("answer,defines,wanted", (
    (None, (), "OFF"),
    ("exit 9", (), "OFF"),                                        # a tool without a driver
    ("echo No devices were found", (), "OFF"),
    ("echo 7.5", (), "OFF"),                                      # the kernels need 8.0
    ("echo 9.0", (), "AUTO 90-real"),
    ("echo 8.6; echo 8.6; echo 9.0", (), "AUTO 86-real;90-real"),
    ("echo 12.0", (), "AUTO 90"),
    ("echo 9.0", ("-DCSREC_CUDA=OFF",), "OFF"),
    (None, ("-DCSREC_CUDA=ON",), "ON"),
    ("echo 9.0", ("-DCMAKE_CUDA_ARCHITECTURES=80",), "AUTO 80")))
def test_kernels_are_for_the_device(tmp_path, answer, defines, wanted):
    assert choice(tmp_path, answer, *defines) == wanted


def test_sdist_holds_the_sources(tmp_path, monkeypatch):
    backend = pytest.importorskip("scikit_build_core.build", exc_type=ImportError)
    if not (ROOT / "python" / "pyproject.toml").exists():
        pytest.skip("not in a clone")
    monkeypatch.chdir(ROOT / "python")
    try:
        name = backend.build_sdist(str(tmp_path))
    except SystemExit:
        pytest.skip("scikit-build-core is older than the build needs")
    with tarfile.open(tmp_path / name) as archive:
        held = {Path(*Path(member).parts[2:]) for member in archive.getnames()
                if Path(member).parts[1] == "csrec"}
    wanted = {file.relative_to(ROOT) for folder in ("cmake", "include", "kernels", "share", "shim", "src")
              for file in (ROOT / folder).rglob("*") if file.is_file()}
    assert held == wanted | {Path("CMakeLists.txt"), Path("LICENSE")}
