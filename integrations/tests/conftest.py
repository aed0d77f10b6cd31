# SPDX-License-Identifier: BSD-3-Clause
"""Pictures, plug-ins as if they were installed, the tool, and the blocks of the page."""
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent.parent
SEED = int(os.environ.get("CSRECOVER_TEST_SEED", "0")) or int.from_bytes(os.urandom(4), "little")


def pytest_report_header():
    return f"CSRECOVER_TEST_SEED={SEED} repeats this run"


@pytest.fixture
def rng(request):
    print(f"CSRECOVER_TEST_SEED={SEED}")
    return np.random.default_rng([SEED, *request.node.name.encode()])


@pytest.fixture(scope="session")
def tool():
    """The command-line tool csrecover of the build under test."""
    found = os.path.join(os.environ.get("CSRECOVER_TOOLS", ""), "csrecover")
    found = found if os.path.isfile(found) else shutil.which("csrecover")
    return found or pytest.skip("no tool csrecover")


@pytest.fixture(scope="session")
def package():
    pytest.importorskip("cffi")
    return pytest.importorskip("csrecover")


def place(folder, target, modules):
    """The modules of integrations/folder and the entry points of its pyproject.toml in the folder
    target, as pip leaves them."""
    found, group = "", None
    for line in (HERE / folder / "pyproject.toml").read_text().splitlines():
        if line.startswith("["):
            group = line.split('"')[1] if line.startswith("[project.entry-points.") else None
            found += f"[{group}]\n" if group else ""
        elif group and line:
            found += line.replace('"', "") + "\n"
    for name in modules:
        copy = shutil.copytree if (HERE / folder / name).is_dir() else shutil.copy
        copy(HERE / folder / name, target / name)
    info = target / f"csrecover_{folder}-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: csrecover-{folder}\nVersion: 0\n")
    (info / "entry_points.txt").write_text(found)
    (info / "RECORD").write_text("")


def environment(*folders):
    """Variables of a process that finds modules there, and all that this one finds."""
    path = os.pathsep.join([*map(str, folders), *filter(None, sys.path)])
    return {**os.environ, "PYTHONPATH": path, "QT_QPA_PLATFORM": "offscreen"}


def picture(rng, shape=(96, 96)):
    """Discs on a slope, 1 to 250."""
    v, u = np.mgrid[:shape[0], :shape[1]] / max(shape)
    made = 60 + 100 * u + 20 * np.sin(9 * v)
    for cu, cv, radius, level in rng.random((4, 4)):
        made[(u - cu) ** 2 + (v - cv) ** 2 < (0.1 + 0.2 * radius) ** 2] = 249 * level
    return np.clip(made, 1, 250)


def page_block(word, rng):
    """Runs the block of Python of integrations/README.md that has the word; its names."""
    blocks = (HERE / "README.md").read_text(encoding="utf-8").split("```python\n")[1:]
    code, = (block for block in (one.split("\n```")[0] for one in blocks) if word in block)
    image = picture(rng, (48, 48))
    names = {"image": image, "mask": rng.random(image.shape) < 0.4}
    exec(compile(code, word, "exec"), names)
    return names
