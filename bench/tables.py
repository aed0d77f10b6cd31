#!/usr/bin/env python3
"""tables.py - puts the measured tables into README.md and docs, between <!-- bench:NAME --> and
<!-- /bench -->. NAME is a key of TABLES below; the figures come from
bench/results/*.json, so that no table is typed by hand. --check changes nothing and fails if a table
is out of date; --only NAME leaves the other tables alone."""
import argparse
import json
import re
import sys
from pathlib import Path

from table_text import named, number, power, table
from tables_cuda import cuda

ROOT = Path(__file__).resolve().parent.parent


def pair(row):
    return f"{number(row['ns_atom_20th'])}, {number(row['ns_atom_4th'])}" if row else "-"


def speed(results):
    data = results("pursuit")
    at = {(r["columns"], r["n"], r["signal"], r["levels"]): r for r in data["pursuit"]}
    rows = []
    for columns in ("two-sided", "paper"):
        for n in sorted({r["n"] for r in data["pursuit"] if r["signal"] != "file"}):
            near = n.bit_length() + 1  # M = 4 N
            picture, wide = at[columns, n, "picture", near], at.get((columns, n, "picture", 40))
            rows.append((columns, power(n), pair(at[columns, n, "noise", near]),
                         pair(at[columns, n, "piecewise", near]), pair(picture), pair(wide),
                         number(picture["speedup_tree"]), number(picture["speedup_levels"])))
    header = ("ns an atom at K = N/20, N/4", "N", "noise", "piecewise smooth", "picture",
              "picture, M = 2^40", "times faster than a tree transform an atom",
              "than level by level")
    return table(header, rows) + (
        f"\n\nM = 4 N where not said; ratios for the picture at K = N/4. One core. The tree transform "
        f"is the leanest we know: one pass that sums and keeps the largest. "
        f"{named(data['machine'])}.")


def targets(results):
    data = results("pursuit")
    rows = [(r["what"], number(r["value"], "{:,.4g}"), f"{r['sense']} {r['target']:,g}",
             "yes" if r["met"] else "no") for r in data["targets"]]
    sets = [f"{s['columns']}: " + ", ".join(f"{k} {v:.0f} ns" for k, v in s.items()
                                            if k not in ("columns", "identical_picks"))
            for s in data["instruction_sets"]]
    same = all(s["identical_picks"] for s in data["instruction_sets"] + data["threads"])
    return table(("1024 x 1024 picture, 25 %, K = N/4", "measured", "target", "met"), rows) + (
        f"\n\nInstruction sets ({'; '.join(sets)}) and 1 or many threads pick "
        f"{'identical' if same else 'DIFFERENT'} atoms. {named(data['machine'])}.")


def memory(results):
    data = results("pursuit")
    rows = [(r["columns"], *(number(r[k], "{:.1f}") for k in
                             ("rows", "tree", "pursuit", "held", "peak")))
            for r in data["memory"]]
    return table(("bytes a sample", "rows", "tree", "pursuit", "held", "most while starting"),
                 rows) + "\n\nCounted allocations at N = 2^18, M = 2^20: the same on every machine."


def scale(results):
    data = results("scale")
    rows = []
    for r in data["scale"]:
        seconds = {s["name"]: s["seconds"] for s in r["stages"]}
        rows.append((r["columns"], power(r["n"]), power(1 << r["levels"]), f"{r['atoms']:,}",
                     *(f"{seconds[k]:.1f}" for k in ("operator: rows, tree", "pursuit, 1 atom",
                                                     "pursuit, all atoms")),
                     number(r["ns_atom"]), f"{r['resident_peak_bytes'] / 2 ** 30:.2f}",
                     f"{r['largest_n_24gib'] / 1e6:,.0f} M", r["biggest_part"]))
    header = ("columns", "N", "M", "atoms", "s operator", "s to the first atom", "s all atoms",
              "ns an atom", "GiB resident", "largest N in 24 GiB", "biggest part")
    return table(header, rows) + f"\n\nOne core. {named(data['machine'])}."


def quality(results):
    data = results("pictures")
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


def seconds(value):
    return f"{value:.3f}" if value < 10 else f"{value:.0f}"


def milliseconds(value):
    return f"{1e3 * value:.1f}" if value < 0.01 else f"{1e3 * value:.0f}"


def dense(data):
    """The sentences on dense problems."""
    omp, l1 = data["dense"].get("omp"), data["dense"].get("l1")
    if omp:
        same = "the same picks" if omp["same_picks"] else "OTHER PICKS"
        yield (f"OMP on a dense {omp['m']:,} x {omp['n']:,} matrix, {omp['k']} atoms: "
               f"{1e3 * omp['solve']:.0f} ms, and {1e3 * omp['operator']:.0f} ms once for the "
               f"operator; scikit-learn's orthogonal_mp {1e3 * omp['sklearn']:.0f} ms: "
               f"{omp['ratio']:.1f} times, {omp['ratio_with_operator']:.1f} times with the "
               f"operator, {same}.")
    if l1:
        rows = ", ".join(f"{r['method']} {milliseconds(r['seconds'])} ms ({r['iterations']:,} "
                         f"iterations)" for r in l1["rows"])
        yield (f"l1 on a dense {l1['m']:,} x {l1['n']:,} matrix, to within {l1['gap']:g} of the "
               f"least objective: {rows}; and {milliseconds(l1['operator'])} ms once for our operator.")


def solvers(results):
    data = results("peers")
    rates = [r["rate"] for r in data["pictures"][0]["rates"]]
    rows = [(f"`{r['method']}`" if r["whose"] == "csrecover" else r["method"], r["basis"] or "-",
             *(f"{each['psnr']:.2f}" for each in r["rates"]),
             *(seconds(each["seconds"]) for each in r["rates"])) for r in data["pictures"]]
    header = ("solver", "basis", *(f"dB at {100 * rate:.0f} %" for rate in rates),
              *(f"s at {100 * rate:.0f} %" for rate in rates))
    return table(header, rows) + (
        "\n\nOurs by name, each on the basis that suits it best; then what other packages have. "
        f"One thread. {' '.join(dense(data))} {named(data['machine'])}; "
        "bench/run.sh peers --images FOLDER.")


PRESETS = {f"--quality {name}": f"`csrecover --quality {name}`"
           for name in ("fast", "balanced", "best")}
FIRST = ("Delaunay linear", "Clough-Tocher cubic", "biharmonic (scikit-image)",
         "split Bregman (PyLops)", "OMP (scikit-learn)", *PRESETS)


def first(results):
    """README's table: the rows of peers that a user would choose from, and the presets."""
    data = results("peers")
    rates = [r["rate"] for r in data["pictures"][0]["rates"]]
    at = {r["method"]: r["rates"] for r in data["pictures"]}
    rows = [(PRESETS.get(name, name), *(f"{each['psnr']:.2f}" for each in at[name]),
             seconds(at[name][-1]["seconds"])) for name in FIRST]
    header = ("method", *(f"dB at {100 * rate:.0f} %" for rate in rates),
              f"s at {100 * rates[-1]:.0f} %")
    return table(header, rows) + (
        "\n\nMean PSNR over five pictures (camera, astronaut, chelsea, moon, brick), one thread. "
        f"{named(data['machine'])}; bench/run.sh peers --images FOLDER.")


def sidebyside(results):
    data = results("sidebyside")
    rows = [(r["method"], r["lines"], f"{r['psnr']:.2f}", seconds(r["seconds"]))
            for r in data["methods"]]
    shown = {}
    for r in data["methods"]:  # the first of each package
        shown.setdefault(r["method"].split(",")[0].split(":")[0], r)
    blocks = "\n\n".join(f"{package}:\n\n```python\n{r['code']}\n```"
                         for package, r in shown.items())
    return table(("", "lines", "dB", "seconds"), rows) + (
        f"\n\nMean over {len(data['methods'][0]['pictures'])} pictures of 256 x 256 of which "
        f"{100 * data['rate']:.0f} % are known, one thread. These are the lines that were measured, "
        f"with `y = image[mask]`:\n\n{blocks}\n\n{named(data['machine'])}; "
        f"bench/run.sh sidebyside.")


def learn(results):
    data = results("learn")
    st, one, em = data["statistics"], data["statistics"]["threads"][0], data["em"]
    best, copy = st["threads"][-1], st["memcpy_gbs"]
    rows = [("mean, of a copy's bandwidth", *(f"{t['mean_gbs'] / copy:.2f}" for t in (one, best))),
            ("centring, of a copy's bandwidth",
             *(f"{t['centre_gbs'] / copy:.2f}" for t in (one, best))),
            (f"covariance of {st['rows']:,} x {st['columns']:,}, s",
             *(f"{t['covariance_s']:.2f}" for t in (one, best))),
            (f"EM, a round of {em['rows']:,} x 64, {em['components']} Gaussians, s",
             f"{em['round_s_one']:.3f}", f"{em['round_s_all']:.3f}")]
    pca = data["pca"]
    note = (f"Copy {copy:.1f} GB/s. BLAS ssyrk of centred rows: {st['ssyrk_s']:.2f} s. Largest error "
            f"against float64 sums: {best['covariance_error']:.1e}, ssyrk {st['ssyrk_error']:.1e}. "
            f"Components of {pca['few']:,} pictures of 55 x 45 in {pca['few_s']:.1f} s, of "
            f"{pca['many']:,} in {pca['many_s']:.1f} s. {named(data['machine'])}.")
    return table(("learning", "one core", "all cores"), rows) + "\n\n" + note


def family(results):
    data = results("learn")
    rows = [(f"{100 * r['rate']:g} %", f"{r['pca_db']:.2f}", f"{r['haar_db']:.2f}",
             f"{r['dct_db']:.2f}") for r in data["family"]["rates"]]
    return table(("samples", "components, dB", "Haar pursuit, dB", "dct, dB"), rows) + (
        f"\n\nMean PSNR over 10 generated faces of 55 x 45; {data['family']['components']} components "
        f"of {data['family']['members']:,} others. {named(data['machine'])}.")


def estimates(results):
    data = results("estimate")
    rows = [(f"`{r['options']}`", " x ".join(map(str, r["shape"])) + (
             ", colour" if r["channels"] == 3 else ""), f"{r['bytes'] / 2 ** 20:,.0f}",
             f"{r['peak'] / 2 ** 20:,.0f}", f"{r['seconds']:.2f}", f"{r['wall']:.2f}",
             f"{r['wall'] / r['seconds']:.2f}") for r in data["rows"]]
    return table(("recovery", "signal", "MiB estimated", "MiB measured", "s estimated",
                  "s measured", "measured / estimated"), rows) + (
        f"\n\n25 % of the entries, {data['rows'][0]['threads']} threads. Memory is the tool's whole "
        f"peak, of which some 20 MiB are programs and libraries. {named(data['machine'])}.")


def silences(results):
    data = results("silences")
    rows = [(r["way"], f"{r['seconds']:.1f}", f"{r['longest']:.2f}", f"{r['stop']:.2f}")
            for r in data["rows"]]
    return table(("recovery", "s in all", "longest silence, s", "from a request to stop, s"),
                 rows) + (f"\n\nOne thread, a picture of {data['edge']} x {data['edge']} of which 25 % "
                          f"are known, filters of one half as wide; asked to stop after {data['limit']:g} "
                          "s. Times of the thread's processor. "
                          f"{named(data['machine'])}.")


def presets(results):
    """Mean PSNR of each preset; below it the pictures that a costlier preset recovers worse."""
    data = results("presets")
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


def uncertainty(results):
    data = results("uncertainty")
    quality = ("fast", "balanced", "best", "max")
    rows = [(m["preset"] if m["preset"] in quality else f"`--method {m['preset']}`",
             f"{100 * m['rate']:.0f} %", f"{m['sigma']:.0f}", str(m["pictures"]),
             f"{100 * m['within_1_db']:.0f} %",
             f"{100 * m['within_1']:.0f}, {100 * m['within_2']:.0f} %",
             f"{m['area']:.2f} ({m['area_ideal']:.2f})") for m in data["summary"]]
    return table(("preset", "sampled", "sigma", "pictures", "within 1 dB", "1, 2 sigma",
                  "area (true order)"), rows) + (
        f"\n\nPictures of 256 x 256, uniform samples. {named(data['machine'])}.")


def rounds(results):
    data = results("adaptive")
    mean = {(m["preset"], m["rate"], m["pattern"]): m["psnr"] for m in data["mean"]}
    patterns = ("uniform", "poisson", "rounds")
    rows = [(f"`{preset}`", f"{100 * rate:g} %",
             *(number(mean[preset, rate, pattern], "{:.2f}") for pattern in patterns))
            for preset, rate in dict.fromkeys((p, r) for p, r, _ in mean)]
    slowest = max(r["seconds"] for r in data["pictures"] if r["seconds"])
    return table(("preset", "samples", "uniform", "Poisson-disc", "in rounds"), rows) + (
        f"\n\nMean PSNR in dB over the five pictures, 256 x 256; a round takes {slowest:.2f} s at "
        f"most, the start of the program included. {named(data['machine'])}; bench/adaptive.py.")


def places(results):
    """Ways to choose places, each with recoveries of its own and ours."""
    data = results("adaptive_peers")
    rates = data["rates"]

    def samples(share):
        if share:
            return f"{100 * share:.1f} %"
        return f"> {100 * rates[-1]:g} %" if share is None else f"< {100 * rates[0]:g} %"

    ours = ("balanced", "best")
    rows = [(f"`{m['places']}`" if "." in m["places"] else m["places"],
             f"`{m['recovery']}`" if m["recovery"] in ours else m["recovery"],
             *(f"{value:.2f}" for value in m["psnr"]), samples(m["needed"]),
             number(m["choosing"] or None, "{:.1f}"), seconds(m["seconds"])) for m in data["mean"]]
    header = ("places", "recovered by", *(f"dB at {100 * rate:g} %" for rate in rates),
              f"samples for {data['target']:g} dB", "s to choose", "s to recover")
    return table(header, rows) + (
        f"\n\nMean PSNR over the five pictures, 256 x 256; samples for {data['target']:g} dB between "
        f"the rates by their logarithm; seconds of one thread's processor, at {100 * rates[-1]:g} %. "
        f"Both kinds of SLADS were trained in {data['training']:.0f} s. "
        f"{named(data['machine'])}; bench/run.sh adaptive_peers --images FOLDER.")


NOISE_SETS = {"five": "five", "others": "others", "kinds": "drawings and others",
              "made": "synthetic"}


def noise(results):
    """Errors of the estimated noise, and how often it is thought likely."""
    data = results("noise")
    rows = [(NOISE_SETS[m["set"]], m["pattern"], f"{100 * m['rate']:.0f} %",
             *(f"{100 * e:.0f} %" for e in m["error"].values()), f"{100 * m['within']:.0f} %",
             number(m["clean"], "{:.1f}"),
             *(f"{100 * m['likely'][s]:.0f} %" for s in ("0", "5", "10", "20")))
            for m in data["mean"]]
    header = ("pictures", "pattern", "sampled", "error at sigma 5", "10", "20", "50", "within 15 %",
              "found of none", "said to be noisy, of none", "5", "10", "20")
    hinted = sorted({r["picture"] for r in data["pictures"] if r["likely"]["0"]})
    wrong = f"Taken for noisy without noise: {', '.join(hinted)}." if hinted else ""
    return table(header, rows) + (
        f"\n\nRoot mean square of the relative error; share of estimates within 15 %; the median that "
        f"is found where there is no noise. Pictures of 256 x 256 with values of 0 to 255, "
        f"{data['seeds']} draws each. {wrong} {named(data['machine'])}; bench/noise.py.")


def outliers(results):
    """What is dropped by --robust of samples with and without gross errors."""
    data = results("noise")
    rows = [(NOISE_SETS[m["set"]], m["pattern"], f"{100 * m['rate']:.0f} %",
             f"{100 * m['outliers']:.0f} %", f"{100 * m['dropped']:.2f} %",
             f"{100 * m['dropped_clean']:.3f} %") for m in data["mean"]]
    return table(("pictures", "pattern", "sampled", "found", "good ones dropped",
                  "dropped where all are good, at most"), rows) + (
        f"\n\nOf 1 % of the samples that are anything more than 80 from the truth, in the same run as "
        f"the noise. {named(data['machine'])}; bench/noise.py.")


def prior(results):
    """The learned prior beside other programs, by kinds of pictures."""
    data = results("net_peers")
    means, kinds = data["mean"], list(data["mean"])
    at = {(k, r["method"], r["rate"]): r for k in kinds for r in means[k]}
    rows = [(method.replace("csrecover ", "`") + "`" if "csrecover" in method else method,
             *(f"{at[k, method, 0.1]['psnr']:.2f} / {at[k, method, 0.25]['psnr']:.2f}"
               for k in kinds), f"{at[kinds[0], method, 0.25]['seconds']:.2f}")
            for method in dict.fromkeys(r["method"] for r in means["five"])]
    versions = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    without = "; ".join(f"{name}: {why}" for name, why in data["left_out"].items())
    return table(("PSNR, 10 / 25 %", *kinds, "s, one thread"), rows) + (
        f"\n\n{versions}. Left out: {without}. {named(data['machine'])}; bench/run.sh net_peers.")


def colours(results):
    """Colour pictures, one mask for all channels."""
    data = results("colours")
    rows = [(r["method"].replace("csrecover --quality", "`csrecover --quality") + "`" * (
        "csrecover" in r["method"]), f"{r['psnr']:.2f}", f"{r['seconds']:.2f}")
        for r in sorted(data["mean"], key=lambda r: r["psnr"])]
    names = ", ".join(dict.fromkeys(r["picture"] for r in data["pictures"]))
    packages = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    left = "".join(f" Not had: {name}: its weights have to be downloaded, which this machine cannot."
                   for name in data["left_out"])
    return table(("method", "PSNR, dB", "seconds"), rows) + (
        f"\n\nMeans of {names}, 256 x 256, {100 * data['rate']:.0f} % known, one thread. DPIR "
        f"begins with Delaunay's triangulation. Other work shared the machine's cores.{left} {named(data['machine'])}; {packages}; "
        f"bench/colours.py.")


def large(results):
    """A file larger than the memory it may use."""
    data = results("large")
    rows = [(r["how"], f"{r['seconds']:.0f}", f"{r['peak_mib']:,.0f}", f"{r['psnr']:.2f}")
            for r in data["rows"]]
    same = all(r.get("same", True) for r in data["rows"])
    return table(("", "seconds", "MiB", "PSNR, dB"), rows) + (
        f"\n\nReading, recovering and writing a float TIFF of {data['side']:,} x {data['side']:,} "
        f"pixels, {100 * data['rate']:.0f} % known, {data['file_mib']:.0f} MiB compressed. The slabs "
        f"gave {'the same' if same else 'OTHER'} pixels. {named(data['machine'])}; bench/large.py.")


def scaling(data, kind):
    """Rows of the same work, or of work that grows with the ranks, against one rank."""
    one = {r["what"]: r["seconds"] for r in data[kind] if r["ranks"] == 1}
    return [(r["what"], r["ranks"], seconds(r["seconds"]),
             f"{one[r['what']] / r['seconds'] * (1 if kind == 'strong' else r['ranks']):.2f}",
             f"{r['peak_mib']:,.0f}") for r in data[kind]]


def many(results):
    """Ranks on one machine."""
    data = results("many")
    header = ("ranks", "seconds", "times one rank", "MiB of the largest rank")
    parts = [table((f"{kind} scaling", *header), scaling(data, kind))
             for kind in ("strong", "weak")]
    same = all(r["same"] for r in data["strong"] + data["weak"])
    return "\n\n".join(parts) + (
        f"\n\nMedian of {data['repeats']}, one thread a rank, tiles of {data['tile']:,} values, "
        f"with starting, reading and writing; times one rank: work done a second against that of one "
        f"rank. The files were {'the same' if same else 'OTHERS'} for all numbers of ranks. "
        f"{data['mpi']}; {named(data['machine'])}; bench/many.py.")


def parts(results):
    """Memory of a process by the format of its files."""
    data = results("parts")
    kinds = list(dict.fromkeys(r["how"] for r in data["rows"]))
    by = {(r["what"], r["how"]): r for r in data["rows"]}
    names = dict.fromkeys(r["what"] for r in data["rows"])

    def cell(row):
        return f"{row['peak_mib']:,.0f}" if row and "peak_mib" in row else "-"
    same = all(r.get("same", True) for r in data["rows"])
    return table(("input", *kinds), [(name, *(cell(by.get((name, k))) for k in kinds)) for name in names]) + (
        f"\n\nLargest resident set in MiB, with `fast`, of a picture of {data['side']:,} x "
        f"{data['side']:,} values in float32, {100 * data['rate']:.0f} % known, in tiles of "
        f"{data['tile']:,}; slabs and ranks (the largest one) with `--memory {data['memory']}`, but for compressed "
        f"`.npz`, which is read as a whole; to "
        f"`.npy`, of HDF5 to HDF5. The values were {'the same' if same else 'OTHERS'}. "
        f"{named(data['machine'])}; bench/parts.py.")


def methods(results):
    """Methods on the CPU and a GPU."""
    data = results("cuda_methods")
    rows = [(f"`{r['method']}`", r["what"], r["cpu_threads"], r["cpu_ms"], r["cuda_ms"])
            for r in data["methods"]]
    both = {}
    for r in data["gaussian"]:
        size = (f"{r['side']}^3" if r["depth"] > 1 else f"{r['side']} x {r['side']}") + (
            ", colours" if r["channels"] == 3 else "") + (", noise" if r["sigma"] else "")
        both.setdefault((size, r["effort"], r["cpu_threads"]), {})[r["backend"]] = r["ms"]
    rows += [("`gaussian`", f"{size}, effort {effort}", threads, ms["cpu"], ms["cuda"])
             for (size, effort, threads), ms in both.items() if len(ms) == 2]
    return table(("method", "work", "CPU threads", "ms", "ms, GPU", "times"),
                 [(name, what, threads, f"{cpu:.0f}", f"{gpu:.0f}" if gpu else "-",
                   f"{cpu / gpu:.1f}" if gpu else "-")
                  for name, what, threads, cpu, gpu in rows]) + (
        f"\n\n{data['gpu']}; {named(data['machine'])}; bench/cuda_methods.c, bench/cuda_gaussian.c.")


def devices(results):
    """One GPU against all of a machine."""
    data = results("devices")
    one = data["one_recovery"]
    what = {"signals_192": "192 signals of 2^18 samples: 64 grids of a colour picture",
            "signals_768": "768 signals: 256 grids",
            "picture_8192_balanced": "one picture of 8192 x 8192, `balanced`, 4 tiles"}
    rows = [(what[key], r["devices"], f"{r['seconds']:.2f}", f"{r['times_one']:.2f}")
            for key in what for r in one[key]]
    files = data["files_best_512"]
    rows += [("64 files of 512 x 512, `best`, with reading and writing", r["devices"],
              f"{r['seconds']:.2f}", f"{files[0]['seconds'] / r['seconds']:.2f}") for r in files]
    gpu = one["backends"][1].split(",")[0]
    return table(("work", "GPUs", "seconds", "times one"), rows) + (
        f"\n\nAll results have the bits of one device. {gpu}; {named(one['machine'])}; "
        "bench/devices.sh.")


def pieces(results):
    """One pursuit on several GPUs."""
    data = results("cuda_pieces")
    rows = [(f"2^{r['log2_n']}", f"2^{r['levels']}", f"{r['atoms']:,}", f"{r['seconds']:.2f}",
             f"{r['seconds_one']:.2f}" if "seconds_one" in r else "does not fit", r["rounds"],
             r["tops"]) for r in data["pieces"]]
    return table(("samples N", "rows M", "atoms", "seconds on 2 GPUs", "on one", "exchanges",
                  "picks above pieces"), rows) + (
        f"\n\nFrom rows and samples in memory to atoms, with upload and trees. {data['gpu']}; "
        f"{named(data['machine'])}; bench/cuda_pieces.c.")


def ranks(results):
    """One pursuit by several ranks, wall time."""
    data = results("pursuit_ranks")
    rows = [(f"2^{r['log2_n']}", r["ranks"], f"{r['seconds']:.2f}",
             f"{r['seconds_one'] / r['seconds']:.2f}", r["rounds"],
             f"{r['messages'] / r['atoms']:.4f}", f"{r['bytes'] / r['atoms']:.1f}")
            for r in data["runs"]]
    one = data["runs"][0]["seconds_one"]
    return table(("N", "ranks", "seconds", "times one process", "exchanges", "messages an atom",
                  "bytes an atom"), rows) + (
        f"\n\nOne process without pieces: {one:.2f} s. Ranks are threads with messages. "
        f"{named(data['machine'])}; bench/run.sh ranks.")


def ranks_delay(results):
    """One pursuit by ranks on a network with a set delay, and the model."""
    data = results("pursuit_delay")
    rows = [(r["ranks"], r["rounds"], r["messages_deep"], f"{r['delay_us'] / 1e3:g}",
             f"{r['latency_us'] / 1e3:.2f}", f"{r['seconds']:.2f}", f"{r['seconds_expected']:.2f}",
             "-" if r["delay_us"] == 0 else f"{r['seconds'] / r['seconds_expected']:.2f}")
            for r in data["rows"]]
    plain, slow = data["rendezvous"]
    times = (slow["seconds_exchanging"] - plain["seconds_exchanging"]) / slow["messages_deep"] / (
        1e-6 * (slow["latency_us"] - plain["latency_us"]))
    first = {r["ranks"]: r for r in data["rows"] if r["delay_us"] == 0}
    ends, more = [], []
    for r in data["rows"]:
        none = first[r["ranks"]]
        end = (r["seconds"] - r["seconds_exchanging"]) - (none["seconds"] - none["seconds_exchanging"])
        if r["delay_us"] >= 5000:
            ends.append(end / (1e-6 * r["latency_us"]))
            more.append(1e3 * (r["seconds"] - r["seconds_expected"] - end) / r["messages_deep"])
    network = {"relay": "a relay between TUN devices", "netem": "netem"}[data["network"]]
    return table(("ranks", "rounds", "messages deep", "delay set, ms", "reached, ms", "seconds",
                  "by the model", "ratio"), rows) + (
        f"\n\nN = 2^{data['log2_n']}, M = 4 N, N/4 atoms, paper columns, one process: "
        f"{data['seconds_one']:.2f} s. A rank is a process in a network namespace of its own; delays by "
        f"{network}, reached: half the median of an echo. The pursuit's own seconds (`--json`), the "
        f"least of {data['repeats']} runs; the files had the bytes of one process. With 5 ms and more a "
        f"message took {min(more):.2f} to {max(more):.2f} ms longer than by the model, and beginning and end "
        f"outside the rounds {min(ends):.0f} to {max(ends):.0f} delays. With an eager limit of "
        f"{data['eager_limit']} bytes, {slow['ranks']} ranks and a delay of {slow['delay_us'] / 1e3:g} "
        f"ms, a message took {times:.1f} delays. {data['mpi']}; {named(data['machine'])}; "
        "bench/run.sh ranks_delay.")


def ranks_memory(results):
    """Memory of the ranks of one pursuit."""
    data = results("pursuit_memory")
    rows = [(f"2^{r['log2_n']}", r["ranks"], f"{r['first_mib']:.0f}",
             f"{r['others_mib']:.0f}" if r["others_mib"] else "-") for r in data["rows"]]
    return table(("samples N", "ranks", "rank 0, MiB", "largest other, MiB"), rows) + (
        f"\n\nLargest resident set, with `-C`, from a `.npy` in float32 of about 4 N values, N/4 atoms, "
        f"paper columns. {data['mpi']}; {named(data['machine'])}; bench/run.sh ranks_memory.")


def operators(results):
    data = results("operators")
    groups = {}
    for row in data["rows"]:
        kind = {"phantom": "phantom", "head": "synthetic head, complex"}.get(row["picture"], "five pictures")
        key = row["what"], row["rate"], kind
        groups.setdefault(key, {}).setdefault(row["method"], []).append(row)
    rows = []
    for (what, rate, kind), methods in groups.items():
        cells = []
        for method in ("fast", "balanced", "best"):
            mean = [sum(r[k] for r in methods[method]) / len(methods[method])
                    for k in ("psnr", "seconds")]
            cells.append(f"{mean[0]:.2f} ({mean[1]:.1f} s)")
        rows.append((what, f"{100 * rate:g} %", kind, *cells))
    header = ("measured", "rows", "signal", "`fast`: total variation", "`balanced`", "`best`")
    exact = "; ".join(f"from {256 * r['rate']:g} lines {r['error']:.1e} in {r['seconds']:.0f} s"
                      for r in data["rows"] if r["method"] == "exact")
    return table(header, rows) + (
        f"\n\nRelative error of the phantom after 5,000 steps of total variation: {exact}."
        f"\n\nPSNR in dB and processor seconds on one core, 256 x 256, the mean of the five pictures of "
        f"bench/pictures.py. bench/operators.py; {named(data['machine'])}.")


def phase(results):
    data = results("phase")
    at = [min(range(16), key=lambda i: abs(data["phase"][0]["m_over_n"][i] - x))
          for x in (0.1, 0.25, 0.5, 0.75, 0.9)]
    rows, first = [("l1, n large", "", *(f"{data['phase'][0]['l1'][i]:.2f}" for i in at))], data["phase"][0]
    for run in data["phase"]:
        rows += [(f"`{run['ensemble']}`, {run['amplitudes']}", f"`{s['solver']}`",
                  *(f"{s['half'][i]:.2f}" for i in at)) for s in run["solvers"]]
    header = ("matrix, entries", "solver", *(f"m/n = {first['m_over_n'][i]:.2f}" for i in at))
    return table(header, rows) + (
        f"\n\nk/m at which half of the signals come back, n = {first['n']}, {first['trials']} signals of "
        f"each of 16 x 16 sizes; the diagram of all solvers took {first['seconds']:.0f} s. "
        f"bench/phase.py; {named(data['machine'])}.")


def coherence(results):
    data = results("phase")
    rows = [(f"`{c['matrix']}`", c["zeros"], c["equal_pairs"], f"{c['coherence']:.2f}",
             f"{c['welch']:.2f}" if c["welch"] else "-", f"{c['root_mean_square']:.2f}",
             max(c["sure_mutual"], c["sure_cumulative"])) for c in data["coherence"]]
    header = ("64 x 256", "columns of zeros", "equal pairs", "mu", "Welch's bound",
              "root mean square", "certain k")
    return table(header, rows) + f"\n\nbench/phase.py; {named(data['machine'])}."


def paper(results):
    data = results("phase")
    rows = [(f"2^{t['levels']}", f"{t['n']:,}", number(t["matrix_bytes"] / 2**30, "{:,.0f}" if t["levels"] > 14 else "{:.1g}"),
             f"{t['read_bytes'] / 1024:,.4g}", f"{1e3 * t['seconds_levels']:.3g}",
             f"{1e3 * t['seconds_tree']:.3g}") for t in data["paper"]]
    header = ("M", "N", "stored matrix, GiB", "rows and r, KiB", "level by level, ms", "row tree, ms")
    return table(header, rows) + (
        f"\n\nThe stored matrix in single precision. One transform with all its products in the order "
        f"of columns, the fastest of three. bench/phase.py; {named(data['machine'])}.")


def l1(results):
    data = results("l1")
    rays = next((r["machine"] for r in data["rows"] if "machine" in r), data["machine"])
    def short(value):
        return f"{value:.2g}" if value < 99 else f"{value:.0f}"
    rows = [(r["problem"], r["size"], r["peer"], short(1000 * r["ours_seconds"]),
             short(1000 * r["peer_seconds"]), short(r["ratio"]), f"{r['difference']:.1e}")
            for r in data["rows"]]
    header = ("problem", "size", "peer", "ms here", "ms of the peer", "ratio", "difference of x")
    return table(header, rows) + (
        "\n\nA peer iterates, in doublings or powers of 100 of its tolerance, until x is within 1e-5 "
        "of ours, or at the last of its tolerances (scikit-learn: 1e-8); processor time, best of "
        "five, one thread, matrices prepared and step lengths given; "
        f"others worked on the machine at the same time (load {data['machine']['load']}). bench/l1.py; "
        f"SPGL1 {data['machine'].get('spgl1')}, SigPy {data['machine'].get('sigpy')}; "
        f"{named(data['machine'])}. Rays: {named(rays)}.")


def bart(results):
    data = results("bart")
    pictures = {"phantom": "phantom", "head": "synthetic head, 4 coils"}
    groups = {}
    for row in data["pictures"]:
        groups.setdefault((row["picture"], row["rate"]), {})[row["method"]] = row
    def cell(row):
        return f"{row['psnr']:.2f} ({row['seconds']:.1f} s)" if row else "-"
    methods = ("fast", "bart 100", "bart 300", "bart 1000", "balanced")
    rows = [(pictures[name], f"{100 * rate:g} %", *(cell(found.get(m)) for m in methods))
            for (name, rate), found in groups.items()]
    header = ("signal", "rows", "`fast`: total variation", "BART, 100 steps", "300 steps",
              "1,000 steps", "`balanced`: plug-and-play")
    same = [(r["problem"], r["size"], f"{1000 * r['ours_seconds']:.0f}",
             f"{1000 * r['peer_seconds']:.0f}", f"{r['peer_seconds'] / r['ours_seconds']:.1f}",
             f"{r['steps']:,}", f"{r['difference']:.1e}", f"{r['objective']:.0e}")
            for r in data["l1"]]
    return table(header, rows) + "\n\n" + table(
        ("problem of `fista`", "size", "ms here", "ms of BART", "ratio", "steps of BART",
         "difference of x", "of the objective"), same) + (
        f"\n\nPSNR in dB and processor seconds on one core. BART is `bart pics`, in float32; its rho "
        f"is the better of 10 and 30 (phantom), 30 and 100 (head) by the true signal, and its times are those of the whole "
        f"program. Steps for l1: the first of 100, 300, 1,000, ... that is within 1e-5 of our x. "
        f"Load {data['machine']['load']}. bench/bart.py; BART {data['machine']['bart']}; "
        f"{named(data['machine'])}.")


TABLES = {
    "bart": bart,
    "l1": l1, "phase": phase, "coherence": coherence, "paper": paper,
    "colours": colours, "operators": operators, "many": many, "parts": parts,
    "devices": devices, "methods": methods, "pieces": pieces,
    "ranks": ranks, "ranks_delay": ranks_delay,
    "ranks_memory": ranks_memory, "large": large, "prior": prior, "speed": speed, "targets": targets,
    "memory": memory, "scale": scale, "presets": presets, "uncertainty": uncertainty,
    "noise": noise, "outliers": outliers, "rounds": rounds, "places": places, "quality": quality,
    "pictures": quality, "first": first, "cuda": cuda, "solvers": solvers, "sidebyside": sidebyside,
    "learn": learn, "family": family, "estimate": estimates, "silences": silences,
}
# The closing comment may be missing, or lie beyond the next opening one: then it is put in.
MARKER = re.compile(r"<!-- bench:(\w+) -->\n?(?:(?:(?!<!-- bench:).)*?<!-- /bench -->)?", re.S)


def reader(folder):
    def read(name):
        try:
            data = json.loads((folder / f"{name}.json").read_text())
        except FileNotFoundError:
            sys.exit(f"tables.py: {folder / name}.json is missing; run bench/run.sh")
        if data.get("source") == "made by bench/pictures.py":
            sys.exit(f"tables.py: {folder / name}.json is of pictures made by code, the tables are of "
                     "photographs; measure with --images FOLDER")
        return data
    return read


def fill(text, results, only):
    def put(match):
        name = match.group(1)
        if only and name != only:
            return match.group(0)
        if name not in TABLES:
            sys.exit(f"tables.py: no table '{name}'; there are {', '.join(TABLES)}")
        return f"<!-- bench:{name} -->\n{TABLES[name](results)}\n<!-- /bench -->" + (
            "" if match.group(0).endswith("<!-- /bench -->") else "\n")
    return MARKER.sub(put, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="*", help="default: README.md and docs/*.md")
    parser.add_argument("--results", default=str(ROOT / "bench" / "results"))
    parser.add_argument("--only", metavar="NAME", help="leave the other tables as they are")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    results = reader(Path(arguments.results))
    pages = [Path(name) for name in arguments.file] or [ROOT / "README.md",
                                                        *sorted(ROOT.glob("docs/*.md"))]
    old = []
    for path in pages:
        before = path.read_text(encoding="utf-8")
        after = fill(before, results, arguments.only)
        if after != before:
            old.append(str(path))
        if after != before and not arguments.check:
            part = path.with_name(path.name + ".part")
            part.write_text(after, encoding="utf-8")
            part.replace(path)
        if MARKER.search(before) and not arguments.check:
            print(f"{path}: {len(MARKER.findall(before))} tables")
    if arguments.check and old:
        sys.exit(f"tables.py: tables are out of date: {', '.join(old)}")


if __name__ == "__main__":
    main()
