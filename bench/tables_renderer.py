# SPDX-License-Identifier: BSD-3-Clause
"""tables_renderer.py - the tables of renderer.py, for tables.py."""
from table_text import named, seconds, shown, table

OURS = ("fast", "balanced", "best")


def told(way):
    return f"csrecover `{way}`" if way in OURS else way


def name_of(budget):
    return f"{budget:g}" if budget >= 1 else f"1/{1 / budget:g}"


def mean_of(rows, key, **where):
    own = [r[key] for r in rows if all(r[name] == value for name, value in where.items())]
    return sum(own) / len(own) if own else None


def cell(value, form):
    return "" if value is None else form.format(value)


def by_budget(rows, aovs, header):
    """Mean PSNR over the scenes, a column a budget."""
    budgets, ways = (sorted({r["budget"] for r in rows}), dict.fromkeys(r["way"] for r in rows))
    return table((header, *map(name_of, budgets)), [
        (told(way), *(cell(mean_of(rows, "psnr", way=way, budget=b, aovs=aovs), "{:.2f}")
                      for b in budgets)) for way in ways])


def by_scene(rows, scenes, budget):
    ways = dict.fromkeys(r["way"] for r in rows if r["budget"] == budget)
    return table((f"{name_of(budget)} a pixel", *scenes), [
        (told(way), *(cell(mean_of(rows, "psnr", way=way, budget=budget, aovs="clean", scene=scene),
                           "{:.2f}") for scene in scenes)) for way in ways])


def by_error(rows, budget):
    ways = dict.fromkeys(r["way"] for r in rows if r["budget"] == budget)
    of = lambda key, way: mean_of(rows, key, way=way, budget=budget, aovs="clean")  # noqa: E731
    return table((f"{name_of(budget)} a pixel", "PSNR", "SSIM", "relMSE", "SMAPE", "s"), [
        (told(way), f"{of('psnr', way):.2f}", f"{of('ssim', way):.3f}", f"{of('relmse', way):.3f}",
         f"{of('smape', way):.3f}", seconds(of("seconds", way))) for way in ways])


def by_seconds(found):
    """PSNR in the seconds that OIDN takes of one and of four rays, where all scenes have it."""
    of = sorted({r["of"] for r in found})
    ways = dict.fromkeys(r["way"] for r in found)
    rows = []
    for way in ways:
        values = [[r["psnr"] for r in found if r["way"] == way and r["of"] == b] for b in of]
        rows.append((told(way), *("" if None in v or not v else f"{sum(v) / len(v):.2f}"
                                  for v in values)))
    return table(("at most the seconds of OIDN with", *(f"{name_of(b)} a pixel" for b in of)), rows)


def way_of(way):
    """A preset in the first word."""
    first, *rest = way.split(", ")
    return ", ".join((told(first), *rest))


@shown("renderer_film")
def renderer_film(data):
    rows = data["rows"]
    budgets, ways = sorted({r["budget"] for r in rows}), dict.fromkeys(r["way"] for r in rows)
    of = lambda key, way, b: f"{mean_of(rows, key, way=way, budget=b):.2f}"  # noqa: E731
    body = table(("rays a pixel and frame", *(f"{name_of(b)}{what}" for what in ("", ", temporal")
                                              for b in budgets), "s a frame"), [
        (way_of(way), *(of(key, way, b) for key in ("psnr", "temporal") for b in budgets),
         seconds(mean_of(rows, "seconds", way=way))) for way in ways])
    scenes = dict.fromkeys(r["scene"] for r in rows)
    versions = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    return body + (
        f"\n\nMeans over {data['frames']} frames of {data['side']} x {data['side']} of each of the scenes "
        f"{' and '.join(scenes)}, in which the camera and one thing move, with clean albedo, normals and "
        f"depth; PSNR in dB after a gamma of 2.2, and, temporal, that of the change from each frame to the "
        f"next; seconds of the processor. References of {data['rays']} rays a pixel. "
        f"{named(data['machine'])}; {versions}; bench/run.sh renderer_film.")


def by_placing(found):
    """PSNR of even rays and of placed ones, in the mean, and what placing gains in each scene."""
    budgets, scenes = sorted({r["budget"] for r in found}), dict.fromkeys(r["scene"] for r in found)
    mean = lambda key: [f"{mean_of(found, key, budget=b):.2f}" for b in budgets]  # noqa: E731
    gain = {(r["scene"], r["budget"]): f"{r['placed'] - r['even']:.2f}" for r in found}
    return table(("rays a pixel, `balanced`", *map(name_of, budgets)), [
        ("even", *mean("even")), ("placed", *mean("placed")),
        *((f"gain, {scene}", *(gain[scene, b] for b in budgets)) for scene in scenes)])


@shown("renderer")
def renderer(data):
    rows, scenes = data["rows"], list(data["scenes"])
    budgets = {r["budget"] for r in rows}
    blocks = [by_budget(rows, "clean", "rays a pixel"),
              by_budget(rows, "noisy", "rays a pixel, noisy AOVs")]
    blocks += [by_scene(rows, scenes, b) for b in (1 / 4, 1) if b in budgets]
    blocks += [by_error(rows, b) for b in (1 / 4, 1, 4) if b in budgets]
    blocks.append(by_placing(data["placed"]))
    blocks.append(by_seconds(data["equal_seconds"]))
    limits = ", ".join(f"{name} {s['limit']:.0f}" for name, s in data["scenes"].items())
    each = ", ".join(f"{name} {s['seconds']:.3f}" for name, s in data["scenes"].items())
    versions = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    without = "" if data["told"] else (" This csrecover was not told of rays: where every pixel "
                                       "has a sample it copies.")
    return "\n\n".join(blocks) + (
        f"\n\nMeans over {len(scenes)} scenes of {data['side']} x {data['side']}; PSNR in dB and "
        f"SSIM after a gamma of 2.2 in [0, 1], relMSE and SMAPE of radiance; seconds of the "
        f"processor. References of {max(s['rays'] for s in data['scenes'].values())} rays a pixel "
        f"have a PSNR of their own, in dB: {limits}. Seconds for a ray in each pixel: "
        f"{each}.{without} {named(data['machine'])}; {versions}; bench/run.sh renderer.")
