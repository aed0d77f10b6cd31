# SPDX-License-Identifier: BSD-3-Clause
"""csrecover_blender.py - an add-on for Blender 4.2 or later: menu Render has "Render few samples
and recover". Cycles renders a few samples a pixel with its denoising passes and the number of
samples of each pixel into an OpenEXR file; csrecover recovers the picture, then image "Recovered".
Without a window: blender -b scene.blend -P csrecover_blender.py -- OUT.exr 4 /path/to/csrecover"""
import contextlib
import os
import subprocess
import sys
import tempfile

import bpy
import numpy as np

bl_info = {"name": "csrecover", "version": (0, 2, 0), "blender": (4, 2, 0),
           "category": "Render"}


@contextlib.contextmanager
def changed(*values):
    """Attributes (owner, name, value) while it lasts; of a format before its depth."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in values]
    try:
        for change in values:
            setattr(*change)
        yield
    finally:
        for change in before:
            setattr(*change)


def render(path, samples):
    """Few samples, with all that Cycles knows beside them, as layers of one file."""
    scene, layer = bpy.context.scene, bpy.context.view_layer
    file, cycles, passes = scene.render.image_settings, scene.cycles, layer.cycles
    kind = [(file, "media_type", "MULTI_LAYER_IMAGE")] if hasattr(file, "media_type") else []
    plain = [(scene.render, name, False) for name in (
        "film_transparent", "use_border", "use_compositing", "use_sequencer", "use_multiview")]
    with changed((scene.render, "engine", "CYCLES"), (scene.render, "filepath", path), *plain,
                 *kind, (file, "file_format", "OPEN_EXR_MULTILAYER"), (file, "color_depth", "32"),
                 (cycles, "samples", samples), (cycles, "use_denoising", False),
                 (cycles, "pixel_filter_type", "BOX"), (passes, "denoising_store_passes", True),
                 (passes, "pass_debug_sample_count", True)):
        bpy.ops.render.render(write_still=True)


def run(samples, program):
    """Renders, recovers, and returns the image."""
    with tempfile.TemporaryDirectory() as folder:
        rendered, output = (os.path.join(folder, name) for name in ("few.exr", "recovered.npy"))
        render(rendered, samples)
        done = subprocess.run([program, rendered, "-o", output, "--quiet"], capture_output=True)
        if done.returncode:
            raise RuntimeError(done.stderr.decode().strip())
        light = np.load(output)
    height, width = light.shape[:2]
    image = bpy.data.images.new("Recovered", width, height, alpha=False, float_buffer=True)
    pixels = np.concatenate([light[::-1], np.ones((height, width, 1))], 2)  # from the lowest row
    image.pixels.foreach_set(pixels.astype(np.float32).ravel())
    image.update()
    return image


class CSRECOVER_OT_render(bpy.types.Operator):
    """Render few samples and recover the picture"""
    bl_idname, bl_label = "render.csrecover", "Render few samples and recover"
    samples: bpy.props.IntProperty(name="Samples", default=4, min=1)
    program: bpy.props.StringProperty(name="Program", default="csrecover", subtype="FILE_PATH")

    def item(self, context):  # of the menu, which is self
        self.layout.operator(CSRECOVER_OT_render.bl_idname)

    def invoke(self, context, event):
        return context.window_manager.invoke_props_dialog(self)

    def execute(self, context):
        try:
            run(self.samples, self.program).pack()
        except (RuntimeError, OSError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"FINISHED"}


def register():
    bpy.utils.register_class(CSRECOVER_OT_render)
    bpy.types.TOPBAR_MT_render.append(CSRECOVER_OT_render.item)


def unregister():
    bpy.types.TOPBAR_MT_render.remove(CSRECOVER_OT_render.item)
    bpy.utils.unregister_class(CSRECOVER_OT_render)


if __name__ == "__main__" and "--" in sys.argv:
    out, *more = sys.argv[sys.argv.index("--") + 1:]
    samples, program = more + ["4", "csrecover"][len(more):]
    made = run(int(samples), program)
    made.filepath_raw, made.file_format = os.path.abspath(out), "OPEN_EXR"
    made.save()
elif __name__ == "__main__":
    register()
