# SPDX-License-Identifier: BSD-3-Clause
"""The add-on in Blender as a module, bpy, of this Python or of BLENDER_PYTHON: what few samples
give is nearer to many samples than they are."""
import json
import os
import subprocess
import sys

import pytest
from conftest import HERE

ADDON = HERE / "blender" / "csrecover_blender.py"
START = f"""
import sys, os, json, tempfile
sys.path.insert(0, {str(ADDON.parent)!r})
import bpy, numpy as np
import csrecover_blender as addon
scene = bpy.context.scene
scene.render.resolution_x, scene.render.resolution_y = 96, 64
scene.render.resolution_percentage = 100
scene.cycles.device, scene.cycles.use_denoising = "CPU", False
bpy.ops.mesh.primitive_plane_add(size=20, location=(0, 0, -1))
scene.world.use_nodes = True
scene.world.node_tree.nodes["Background"].inputs[1].default_value = 5.0
scene.render.film_transparent = scene.render.use_border = True
before = [scene.render.engine, scene.render.filepath, scene.render.image_settings.file_format,
          scene.cycles.samples, scene.render.film_transparent]
"""


@pytest.fixture(scope="module")
def blender():
    python = os.environ.get("BLENDER_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import bpy, numpy"], capture_output=True).returncode:
        pytest.skip("no Blender: pip install bpy, or BLENDER_PYTHON of a Python that has it")

    def run(code, *words):
        own = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run([python, "-c", START + code, *map(str, words)], capture_output=True,
                              text=True, env={**own, "PYTHONDONTWRITEBYTECODE": "1"})
    return run


def test_few_samples(tmp_path, blender, tool):
    done = blender("""
def plain(samples):
    path = os.path.join(tempfile.mkdtemp(), "plain.exr")
    scene.render.engine, scene.render.filepath, scene.cycles.samples = "CYCLES", path, samples
    scene.render.film_transparent = scene.render.use_border = False
    scene.render.image_settings.file_format = "OPEN_EXR"
    scene.cycles.pixel_filter_type = "BOX"
    bpy.ops.render.render(write_still=True)
    return pixels(bpy.data.images.load(path))

def pixels(image):
    found = np.empty(len(image.pixels), np.float32)
    image.pixels.foreach_get(found)
    return np.clip(found.reshape(64, 96, 4)[..., :3], 0, 1) ** (1 / 2.2)

addon.register()
assert bpy.ops.render.csrecover(samples=2, program=sys.argv[1]) == {"FINISHED"}
after = [scene.render.engine, scene.render.filepath, scene.render.image_settings.file_format,
         scene.cycles.samples, scene.render.film_transparent]
assert after == before, (before, after)
made = pixels(bpy.data.images["Recovered"])
addon.unregister()
few, many = plain(2), plain(512)
print("ERRORS", json.dumps([float(np.sqrt(np.mean((one - many) ** 2))) for one in (made, few)]))
""", tool)
    assert done.returncode == 0, done.stderr + done.stdout
    ours, theirs = json.loads(done.stdout.split("ERRORS")[1].splitlines()[0])
    assert ours < 0.6 * theirs, (ours, theirs)


def test_without_a_window(tmp_path, blender, tool):
    out = tmp_path / "out.exr"
    done = blender("import runpy; sys.argv = [sys.argv[0], *sys.argv[2:]]\n"
                   f"runpy.run_path({str(ADDON)!r}, run_name='__main__')", "", "--", out, 1, tool)
    assert done.returncode == 0, done.stderr
    said = subprocess.run([tool, f"{out}", "--info"], capture_output=True, text=True)
    assert "64 x 96" in said.stdout + said.stderr, said


def test_a_program_that_is_not_there(blender):
    done = blender("""
addon.register()
try:
    bpy.ops.render.csrecover(samples=1, program="/none/csrecover")
except RuntimeError as error:
    print("SAID", error)
assert "Recovered" not in bpy.data.images
""")
    assert done.returncode == 0, done.stderr
    assert "SAID Error: " in done.stdout and "/none/csrecover" in done.stdout
