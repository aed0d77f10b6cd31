# SPDX-License-Identifier: BSD-3-Clause
"""tables_benchmarks.py - tables of the pictures by which the literature compares, for tables.py."""
from common import means
from table_text import named, shown, table

MOST = 12  # pictures that have a row each


def _of(data, operator):
    """Rows of the operator; presets, rates; means by both."""
    rows = [r for r in data["rows"] if r["operator"] == operator]
    keys = [key for key in rows[0] if key not in ("picture", "operator", "rate", "preset", "backend")]
    mean = {(m["preset"], m["rate"]): m for m in means(rows, ("preset", "rate"), keys)}
    return rows, list(dict.fromkeys(p for p, _ in mean)), sorted({r for _, r in mean}), mean


def _quality(data, operator, run):
    """The presets' means; and each picture by the last preset."""
    rows, presets, rates, mean = _of(data, operator)
    heads = [f"{100 * rate:g} %" for rate in rates]

    def cells(found):
        return [f"{r['psnr']:.2f} / {r['ssim']:.3f}" if r else "-" for r in map(found.get, rates)]
    tables = [table(("mean", *heads, "s"), [
        (f"`{preset}`", *cells({rate: mean.get((preset, rate)) for rate in rates}),
         f"{max(m['seconds'] for (p, _), m in mean.items() if p == preset):.1f}")
        for preset in presets])]
    each = {}
    for r in rows:
        if r["preset"] == presets[-1]:
            each.setdefault(r["picture"], {})[r["rate"]] = r
    if len(each) <= MOST:
        tables.append(table((f"`{presets[-1]}`", *heads),
                            [(name, *cells(found)) for name, found in each.items()]))
    on_gpu = list(dict.fromkeys(f"`{r['preset']}`" for r in rows if r["backend"] == "cuda"))
    told = f"; of {', '.join(on_gpu)} by the clock on a GPU that other pictures share" if on_gpu else ""
    return "\n\n".join(tables) + (
        f"\n\nPSNR in dB / SSIM (Gaussian window); seconds a picture on a core{told}, at the costliest "
        f"rate. {named(data['machine'])}; bench/run.sh {run} --folder FOLDER.")


@shown("set11")
def set11(data):
    return _quality(data, "hadamard", "set11")


@shown("set11")
def blocks(data):
    return _quality(data, "blocks", "set11")


@shown("brains")
def brains(data):
    return _quality(data, "radial", "brains")


@shown("set11")
def blocking(data):
    _, presets, rates, mean = _of(data, "blocks")
    return table(("", *(f"{100 * rate:g} %" for rate in rates)), [
        (f"`{preset}`", *("{borders:.2f} / {beside:.2f}".format(**mean[preset, rate])
                          for rate in rates)) for preset in presets])
