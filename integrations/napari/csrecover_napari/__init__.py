# SPDX-License-Identifier: BSD-3-Clause
"""A widget of napari that fills an image layer where it is NaN or transparent, or where a layer of
labels or shapes is painted over it, into a new layer at the same place."""
from typing import Annotated, Literal, Optional, Union

import numpy as np
from napari.layers import Image, Labels, Shapes
from napari.qt.threading import FunctionWorker, thread_worker
from napari.types import LayerDataTuple

import csrecover

Quality = Literal["fast", "balanced", "best", "max"]
Distance = Annotated[int, {"min": 0, "tooltip": "fill only so near to known pixels; 0: all"}]
Noise = Annotated[float, {"min": 0, "tooltip": "standard deviation of the noise; 0: none"}]


def painted(mask, image, shape):
    """True where to fill, in the image's pixels: labels as they are, shapes where they lie."""
    if isinstance(mask, Shapes):
        corners = [np.array([image.world_to_data(mask.data_to_world(corner)) for corner in one])
                   for one in mask.data]
        corners = [one[:, -2:] for one in corners]
        flat = Shapes(corners, shape_type=mask.shape_type) if corners else Shapes()
        return flat.to_labels(labels_shape=shape[-2:]) > 0
    return np.asarray(mask.data) > 0


def filled(image: Image, mask: Union[Labels, Shapes, None] = None, quality: Quality = "balanced",
           within: int = 0, noise: float = 0.0, volume: bool = False) -> LayerDataTuple:
    """The new layer: all of the image's, but for the data and the name."""
    if image.multiscale:
        raise ValueError(f"layer {image.name!r} has several scales; give its finest as a layer")
    values = np.asarray(image.data)
    shape = values.shape[:-1] if image.rgb else values.shape
    hidden = None if mask is None else painted(mask, image, shape)
    colours = values
    if image.rgb and values.shape[-1] == 4:  # transparent pixels are unknown
        clear = values[..., 3] == 0
        hidden = clear if hidden is None else clear | hidden
        colours = values[..., :3]
    if within and image.rgb:
        raise ValueError("within: colours have no value for pixels that stay unknown; give 0")
    if within and colours.dtype.kind != "f":
        colours = colours.astype(np.float32)  # what stays unknown is NaN
    made = csrecover.inpaint_each(colours, hidden, axes=min(3 if volume else 2, len(shape)),
                                  channels=image.rgb, quality=quality, within=within or None,
                                  sigma=noise or None)
    if made.shape != values.shape:
        alpha = np.where(hidden, values[..., 3].max(), values[..., 3])
        made = np.concatenate([made, alpha[..., None]], -1)
    state = image.as_layer_data_tuple()[1]
    return made, {**state, "name": f"{image.name} filled"}, "image"


def fill(image: Image, mask: Optional[Labels] = None, shapes: Optional[Shapes] = None,
         quality: Quality = "balanced", within: Distance = 0, noise: Noise = 0.0,
         volume: bool = False) -> FunctionWorker[LayerDataTuple]:
    """The widget: works in a thread, so that the viewer stays alive."""
    if image is None:
        raise ValueError("there is no image layer; open a picture")
    work = thread_worker(filled, start_thread=True)
    return work(image, shapes if mask is None else mask, quality, within, noise, volume)


def sample():
    picture = csrecover.datasets.picture("grains", 256).astype(np.float32)
    known = np.random.default_rng(1).random(picture.shape) < 0.25
    return [(np.where(known, picture, np.nan), {"name": "gaps"}, "image")]
