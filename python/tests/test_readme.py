# SPDX-License-Identifier: BSD-3-Clause
"""Every Python block of README.md, docs/*.md and python/README.md runs, page by page in one session
each, on the arrays that the pages speak of. A block that needs a package which is not installed is
left out, and the test says so."""
import ast
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

import csrecover
from conftest import picture, problem

ROOT = Path(__file__).resolve().parents[2]
PAGES = [page for page in (ROOT / "README.md", ROOT / "python" / "README.md",
                           *sorted(ROOT.glob("docs/*.md")))
         if "```python" in page.read_text(encoding="utf-8")]
NEEDS = ("dask", "scipy", "sklearn", "pylops")
PEERS = re.compile(r"<!-- bench:sidebyside -->.*?<!-- /bench -->", re.S)


def blocks(text):
    return re.findall(r"^```python\n(.*?)^```$", text, re.S | re.M)


def given(rng):
    """What the blocks take as given: a picture and its samples, and a sparse problem."""
    image = picture(rng, 48)
    A, _, y = problem(rng, 50, 120, 3)
    return {"np": np, "image": image, "img": image, "mask": rng.random(image.shape) < 0.4,
            "A": A, "y": y}


def run(page, found, names):
    """Runs blocks in order; why some of them did not."""
    left_out = []
    for block in found:
        try:
            for name in NEEDS:
                if re.search(rf"\b{name}\b", block):
                    __import__(name)
        except ImportError as error:
            left_out.append(str(error))
            continue
        names.pop("picture", None)
        try:
            exec(compile(block, str(page), "exec"), names)
        except csrecover.UnsupportedError as error:  # by this build
            left_out.append(str(error))
            continue
        if "picture" in names:
            assert names["picture"].shape == names["image"].shape, block
            assert np.isfinite(names["picture"]).all(), block
    return left_out


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_examples(page, tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    names = given(rng)
    left_out = run(page, blocks(PEERS.sub("", text)), names)
    names["y"] = names["image"][names["mask"]]  # as the page says above the lines side by side
    for block in blocks("".join(PEERS.findall(text))):
        left_out += run(page, [block], names)
    if Path("scan.npz").exists():  # what the page calls a valid measurement file
        scan = csrecover.read("scan.npz")
        np.testing.assert_array_equal(scan.y, names["image"].ravel()[scan.index])
    if left_out:
        pytest.skip(f"the rest ran; left out: {left_out}")


def test_side_by_side_is_what_was_measured():
    """The lines that README shows beside other packages' are those that bench/sidebyside.py runs."""
    source = (ROOT / "bench" / "sidebyside.py").read_text(encoding="utf-8")
    bodies = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("with_"):
            body = "\n".join(source.splitlines()[node.lineno:node.end_lineno])
            bodies.add(textwrap.dedent(body).strip().replace("return ", "picture = "))
    for page in PAGES:
        for block in blocks("".join(PEERS.findall(page.read_text(encoding="utf-8")))):
            assert block.strip() in bodies, f"{page.name}: write it with bench/tables.py:\n{block}"
