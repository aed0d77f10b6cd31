# SPDX-License-Identifier: BSD-3-Clause
"""tables_benchmarks.py - tables of the pictures by which the literature compares, for tables.py."""
from common import means
from table_text import named, shown, table


def _rates(rows):
    return sorted({r["rate"] for r in rows})


def _percent(rate):
    return f"{100 * rate:g} %"


def _of(data, operator):
    """Rows of the operator, and their means by preset and rate."""
    rows = [r for r in data["rows"] if r["operator"] == operator]
    return rows, means(rows, ("preset", "rate"), [k for k, v in rows[0].items() if isinstance(v, float) and k != "rate"])


def _quality(data, operator):
    """The presets' means; and each picture by the last preset."""
    rows, mean = _of(data, operator)
    rates, presets = _rates(rows), list(dict.fromkeys(r["preset"] for r in rows))
    at = {(m["preset"], m["rate"]): m for m in mean}

    def cells(found):
        return (f"{found[rate]['psnr']:.2f} / {found[rate]['ssim']:.3f}" if rate in found else "-" for rate in rates)
    means_of = [(f"`{preset}`", *cells({rate: at[preset, rate] for rate in rates}),
                 f"{sum(at[preset, rate]['seconds'] for rate in rates) / len(rates):.1f}") for preset in presets]
    each = {}
    for r in rows:
        if r["preset"] == presets[-1]:
            each.setdefault(r["picture"], {})[r["rate"]] = r
    heads = [_percent(rate) for rate in rates]
    seconds = "by the clock" if data["backend"] == "cuda" else "on a core"
    return (table(("mean", *heads, "s"), means_of) + "\n\n"
            + table((f"`{presets[-1]}`", *heads), [(name, *cells(found)) for name, found in each.items()])
            + f"\n\nPSNR in dB / SSIM; seconds {seconds}, mean of all pictures. {named(data['machine'])}; ")


@shown("set11")
def set11(data):
    return _quality(data, "hadamard") + "bench/run.sh set11 --folder FOLDER."


@shown("set11")
def blocks(data):
    return _quality(data, "blocks") + "bench/run.sh set11 --folder FOLDER."


@shown("set11")
def blocking(data):
    rows, mean = _of(data, "blocks")
    rates = _rates(rows)
    at = {(m["preset"], m["rate"]): m for m in mean}
    return table(("", *map(_percent, rates)), [
        (f"`{preset}`", *(f"{at[preset, rate]['borders']:.2f} / {at[preset, rate]['beside']:.2f}" for rate in rates))
        for preset in dict.fromkeys(m["preset"] for m in mean)])


@shown("brains")
def brains(data):
    return _quality(data, "radial") + "bench/run.sh brains --folder FOLDER."
