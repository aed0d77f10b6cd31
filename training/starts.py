# SPDX-License-Identifier: BSD-3-Clause
"""starts.py - the network that a training begins with: new, or of a file."""
import network


class Fault(Exception):
    """One line that says what is wrong and what to do."""


def made(o):
    width = 32 if o.width is None else o.width
    if o.renderings:
        return network.rendered(width, o.blocks, o.seed)
    if any(o.beside):
        return network.beside(*o.beside, width, o.blocks, o.seed)
    return network.prior(o.channels, width, o.blocks, o.seed)


def started(o):
    """A network that begins with the weights of --from."""
    try:
        net, channels, beside = network.read(o.start)
    except (OSError, ValueError) as error:
        raise Fault(f"{o.start}: {error}")
    if (net.kind == "rendered") != o.renderings:
        raise Fault(f"{o.start}: a model of kind {net.kind}; with --renderings, and only then, "
                    "one of kind rendered")
    if (channels, beside) == (o.channels, o.beside):
        wide = made(o)
        at_least = all(b[1] >= a[1] for a, b in zip(net.layers, wide.layers))
        if o.width is None or net.layers == wide.layers:
            return net
        if len(net.layers) != len(wide.layers) or not at_least:
            raise Fault(f"{o.start}: has other layers, or more channels than --width {o.width}")
        return network.broadened(net, wide)
    if channels == 1 and not any(beside):
        return network.begun(net, *o.beside) if any(o.beside) else network.widened(net, o.channels)
    raise Fault(f"{o.start}: a model for {channels} channels, {beside[0]} frames and {beside[1]} "
                "guides; --channels, --frames and --guides must be the same")
