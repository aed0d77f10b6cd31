# SPDX-License-Identifier: BSD-3-Clause
"""tables_pictures.py - tables of pictures recovered from some of their pixels, and noise, for tables.py."""
from table_text import named, number, seconds, shown, table


@shown("pictures")
def quality(data):
    rates = sorted({r["rate"] for r in data["mean"]})
    at = {(r["method"], r["rate"]): r for r in data["mean"]}
    rows = []
    for method in dict.fromkeys(r["method"] for r in data["mean"]):
        high = at[method, rates[-1]]
        rows.append((f"`{method}`" if method.startswith("csrecover --") else method,
                     *(f"{at[method, rate]['psnr']:.2f}" for rate in rates),
                     f"{high['seconds']:.3f}", number(high.get("psnr_over_delaunay"), "{:+.2f}"),
                     number(high.get("times_faster_than_delaunay"), "{:.2f}")))
    header = ("method", *(f"dB at {100 * rate:.0f} %" for rate in rates),
              f"s at {100 * rates[-1]:.0f} %", "dB over Delaunay", "times faster than Delaunay")
    pictures = dict.fromkeys(r["picture"].removesuffix("-256") for r in data["pictures"])
    return table(header, rows) + (f"\n\nMean PSNR over {len(pictures)} pictures of 256 x 256 "
                                  f"({', '.join(pictures)}), one thread. {named(data['machine'])}; "
                                  "bench/run.sh pictures --images FOLDER (without a folder: "
                                  "pictures made by code, with other figures).")


@shown("sidebyside")
def sidebyside(data):
    rows = [(r["method"], r["lines"], f"{r['psnr']:.2f}", seconds(r["seconds"]))
            for r in data["methods"]]
    first = {}
    for r in data["methods"]:  # of each package
        first.setdefault(r["method"].split(",")[0].split(":")[0], r)
    blocks = "\n\n".join(f"{package}:\n\n```python\n{r['code']}\n```"
                         for package, r in first.items())
    return table(("", "lines", "dB", "seconds"), rows) + (
        f"\n\nMean over {len(data['methods'][0]['pictures'])} pictures of 256 x 256 of which "
        f"{100 * data['rate']:.0f} % are known, one thread. These are the lines that were measured, "
        f"with `y = image[mask]`:\n\n{blocks}\n\n{named(data['machine'])}; "
        f"bench/run.sh sidebyside.")


@shown("presets")
def presets(data):
    """Mean PSNR of each preset; below it the pictures that a costlier preset recovers worse."""
    ways = ("fast", "balanced", "best", "gaussian")
    rows = [(m["set"], m["pattern"], f"{100 * m['rate']:.0f} %", f"{m['sigma']:.0f}",
             *(number(m[k], "{:.2f}") for k in ways)) for m in data["mean"]]
    worst = max(data["misordered"], key=lambda row: row["lost"], default=None)
    most = (f", by {worst['lost']:.1f} dB at most ({worst['picture'].replace('-256', '')}, "
            f"{worst['pattern']}, {100 * worst['rate']:.0f} %)" if worst else "")
    others = dict.fromkeys(r["picture"] for r in data["pictures"] if r["set"] == "others")
    return table(("pictures", "pattern", "sampled", "sigma", *ways), rows) + (
        f"\n\nMean PSNR in dB, 256 x 256, gray: the five pictures of the first table, and others of "
        f"scikit-image ({', '.join(others)}). Of single pictures "
        f"{len(data['misordered'])} of the cases are in another order{most}. gaussian: `--method gaussian`, without learned weights. "
        f"{named(data['machine'])}; bench/presets.py.")


@shown("uncertainty")
def uncertainty(data):
    quality = ("fast", "balanced", "best", "max")
    rows = [(m["preset"] if m["preset"] in quality else f"`--method {m['preset']}`",
             f"{100 * m['rate']:.0f} %", f"{m['sigma']:.0f}", str(m["pictures"]),
             f"{100 * m['within_1_db']:.0f} %",
             f"{100 * m['within_1']:.0f}, {100 * m['within_2']:.0f} %",
             f"{m['area']:.2f} ({m['area_ideal']:.2f})") for m in data["summary"]]
    return table(("preset", "sampled", "sigma", "pictures", "within 1 dB", "1, 2 sigma",
                  "area (true order)"), rows) + (
        f"\n\nPictures of 256 x 256, uniform samples. {named(data['machine'])}.")


@shown("intervals")
def intervals(data):
    rows = [(m["preset"], m["pattern"], f"{100 * m['rate']:.0f} %", f"{m['sigma']:.0f}",
             str(m["pictures"]), f"{100 * m['covered']:.1f} %",
             f"{100 * m['covered_least']:.1f} to {100 * m['covered_most']:.1f} %",
             f"{100 * m['within']:.0f} %", f"{100 * m['unpromised']:.1f} %",
             f"{m['true']} of {m['bounds']}" if m["bounds"] else "",
             f"{m['below']:.2f}" if m["bounds"] else "", str(m["size"])) for m in data["summary"]]
    even = [m for m in data["summary"] if m["pattern"] == "uniform"]
    told, true, close = (sum(m[key] for m in even) for key in ("bounds", "true", "close"))
    return table(("preset", "pattern", "sampled", "sigma", "pictures", "covered", "single pictures",
                  "88 to 92 %", "unpromised", "PSNR at least: true", "below, dB", "size"), rows) + (
        f"\n\nOf {told} uniform cases the PSNR at least is true in {true}, and "
        f"in {close} true and within 1.5 dB. {named(data['machine'])}.")


@shown("adaptive")
def rounds(data):
    mean = {(m["preset"], m["rate"], m["pattern"]): m["psnr"] for m in data["mean"]}
    patterns = ("uniform", "poisson", "rounds")
    rows = [(f"`{preset}`", f"{100 * rate:g} %",
             *(number(mean[preset, rate, pattern], "{:.2f}") for pattern in patterns))
            for preset, rate in dict.fromkeys((p, r) for p, r, _ in mean)]
    slowest = max(r["seconds"] for r in data["pictures"] if r["seconds"])
    return table(("preset", "samples", "uniform", "Poisson-disc", "in rounds"), rows) + (
        f"\n\nMean PSNR in dB over the five pictures, 256 x 256; a round takes {slowest:.2f} s at "
        f"most, the start of the program included. {named(data['machine'])}; bench/adaptive.py.")


NOISE_SETS = {"five": "five", "others": "others", "kinds": "drawings and others",
              "made": "synthetic"}


@shown("noise")
def noise(data):
    """Errors of the estimated noise, and how often it is thought likely."""
    rows = [(NOISE_SETS[m["set"]], m["pattern"], f"{100 * m['rate']:.0f} %",
             *(f"{100 * e:.0f} %" for e in m["error"].values()), f"{100 * m['within']:.0f} %",
             number(m["clean"], "{:.1f}"),
             *(f"{100 * m['likely'][s]:.0f} %" for s in ("0", "5", "10", "20")))
            for m in data["mean"]]
    header = ("pictures", "pattern", "sampled", "error at sigma 5", "10", "20", "50", "within 15 %",
              "found of none", "said to be noisy, of none", "5", "10", "20")
    hinted = sorted({r["picture"] for r in data["pictures"] if r["likely"]["0"]})
    wrong = f"Taken for noisy without noise: {', '.join(hinted)}." if hinted else ""
    refused = sorted({r["picture"] for r in data["pictures"] if r["refused"]})
    unlike = (f" Some draws of {', '.join(refused)} are refused, as noise that is not the same in dark "
              f"and bright places: they count as not within." if refused else "")
    return table(header, rows) + (
        f"\n\nRoot mean square of the relative error; share of estimates within 15 %; the median that "
        f"is found where there is no noise. Pictures of 256 x 256 with values of 0 to 255, "
        f"{data['seeds']} draws each. {wrong}{unlike} {named(data['machine'])}; bench/noise.py.")


@shown("noise")
def outliers(data):
    """What is dropped by --robust of samples with and without gross errors."""
    rows = [(NOISE_SETS[m["set"]], m["pattern"], f"{100 * m['rate']:.0f} %",
             f"{100 * m['outliers']:.0f} %", f"{100 * m['dropped']:.2f} %",
             f"{100 * m['dropped_clean']:.3f} %") for m in data["mean"]]
    return table(("pictures", "pattern", "sampled", "found", "good ones dropped",
                  "dropped where all are good, at most"), rows) + (
        f"\n\nOf 1 % of the samples that are anything more than 80 from the truth, in the same run as "
        f"the noise. {named(data['machine'])}; bench/noise.py.")


def laws(kind, level):
    """Of one kind of noise: dB of each way, and of the last but for `exactly` how far off the
    expected error is."""
    def fill(data):
        of = [m for m in data["summary"] if m["kind"] == kind]
        ways = list(dict.fromkeys(m["way"] for m in of))
        at = {(m["preset"], m["level"], m["rate"], m["way"]): m for m in of}
        told = [way for way in ways if way != "exactly"][-1]
        rows = [(preset, level(n), f"{100 * rate:.0f} %",
                 *(f"{at[preset, n, rate, way]['psnr']:.2f}" for way in ways),
                 f"{at[preset, n, rate, told]['off_db']:.1f}")
                for preset, n, rate in sorted({key[:3] for key in at},
                                              key=lambda key: (key[0] != "fast", *key[1:]))]
        return table(("quality", "noise", "sampled", *(f"`{way}`" for way in ways),
                      "expected error off, dB"), rows) + (
            f"\n\nMean PSNR of five pictures, 256 x 256. {named(data['machine'])}; bench/laws.py.")
    shown("laws", f"laws_{kind}")(fill)


laws("counts", "peak {}".format)
laws("rays", "{} rays".format)
laws("salt", "{:.0%}".format)


SMOOTH_PEERS = "scikit-image {scikit-image}, SciPy {scipy}, rasterio {rasterio}"


def _by_mask(data, kinds, ways):
    """PSNR and seconds by kind of signal and mask, a column a way."""
    at = {(r["kind"], r["mask"], r["way"]): r for r in data["mean"]}
    cases = dict.fromkeys((r["kind"], r["mask"]) for r in data["mean"] if r["kind"] in kinds)
    return [(kind, mask, *(f"{r['psnr']:.2f}, {1e3 * r['seconds']:.0f}" if r else "-"
                           for r in (at.get((kind, mask, way)) for way in ways)))
            for kind, mask in cases]


@shown("smooth")
def smooth(data):
    ways = dict.fromkeys(r["way"] for r in data["mean"] if r["kind"] != "one axis")
    return table(("", "known", *ways), _by_mask(data, ("pictures", "elevation", "volume"), ways)) + (
        "\n\nPSNR in dB over the missing entries, of the range of the signal, and milliseconds of the "
        "processor, one thread. The five pictures of 256 x 256; an elevation of 256 x 256 and a volume "
        f"of 32 x 32 x 32, made by code. {named(data['machine'])}; "
        f"{SMOOTH_PEERS.format(**data['versions'])}; bench/run.sh smooth --images FOLDER.")


@shown("defaults")
def defaults(data):
    tables = []
    for kinds in (("one axis", "table"), ("picture", "elevation"), ("radiance",), ("soundings",),
                  [r["kind"] for r in data["mean"] if "volume" in r["kind"]]):
        ways = dict.fromkeys(r["way"] for r in data["mean"] if r["kind"] in kinds)
        tables.append(table(("", "gaps", *ways), _by_mask(data, kinds, ways)))
    maps = [r for r in data["mean"] if r["kind"] == "label map"]
    ways = dict.fromkeys(r["way"] for r in maps)
    if maps:
        tables.append(table(("label map, % wrong", *ways), [
            (mask, *(f"{100 * r['rms']:.2f}" for r in maps if r["mask"] == mask))
            for mask in dict.fromkeys(r["mask"] for r in maps)]))
    return "\n\n".join(tables) + (
        "\n\nPSNR in dB of the missing entries, of the range of the signal, or of the deviation of a "
        f"table's columns, and milliseconds. {named(data['machine'])}; bench/run.sh defaults.")


@shown("smooth")
def series(data):
    ways = dict.fromkeys(r["way"] for r in data["mean"] if r["kind"] == "one axis")
    return table(("", "known", *ways), _by_mask(data, ("one axis",), ways)) + (
        "\n\nThe same, mean over six signals of 1,000 entries: a chirp, steps, pulses, a random walk, a "
        "slow wave, a wave in noise.")


@shown("beside")
def beside(data):
    """A table for each pair and film: PSNR of each way at each rate."""
    blocks = []
    for case in dict.fromkeys(r["case"] for r in data["rows"] if "clouds" not in r["case"]):
        found = [r for r in data["rows"] if r["case"].removesuffix(" under clouds") == case]
        columns = list(dict.fromkeys((r["case"], r["rate"]) for r in found))
        at = {(r["way"], r["case"], r["rate"]): r for r in found}
        rows = [(way, *(f"{at[(way, *column)]['psnr']:.1f}" for column in columns),
                 f"{at[(way, *columns[1])]['seconds']:.2f}") for way in dict.fromkeys(r["way"] for r in found)]
        names = ["under clouds" if "clouds" in name else f"{100 * rate:.0f} %"
                 for name, rate in columns]
        blocks.append(table((case, *names, f"s at {names[1]}"), rows))
    return "\n\n".join(blocks) + (
        f"\n\nPSNR in dB, of films of the middle one of 8 frames; seconds a picture or frame, two "
        f"threads. Clouds hide 40 % of each frame and pass; the rest is known. {named(data['machine'])}; "
        f"bench/beside.py --side.")
