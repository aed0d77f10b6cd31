# SPDX-License-Identifier: BSD-3-Clause
"""tables_solvers.py - tables of solvers, operators, learning, for tables.py."""
from table_text import TABLES, named, seconds, shown, table


@shown("peers")
def solvers(data):
    rates = [r["rate"] for r in data["pictures"][0]["rates"]]
    rows = [(f"`{r['method']}`" if r["whose"] == "csrecover" else r["method"], r["basis"] or "-",
             *(f"{each['psnr']:.2f}" for each in r["rates"]),
             *(seconds(each["seconds"]) for each in r["rates"])) for r in data["pictures"]]
    header = ("solver", "basis", *(f"dB at {100 * rate:.0f} %" for rate in rates),
              *(f"s at {100 * rate:.0f} %" for rate in rates))
    return table(header, rows) + (
        "\n\nOurs by name, each on the basis that suits it best; then what other packages have. "
        f"One thread. {named(data['machine'])}; "
        "bench/run.sh peers --images FOLDER.")


def passes(data):
    """What, and seconds of ours and of PyTorch's best way: of chains those of a convolution more."""
    least = {}
    for r in data["rows"]:
        key = r["what"], r["side"], r["threads"], r["arithmetic"], r["who"]
        least[key] = min(least.get(key, r["seconds"]), r["seconds"])
    for what, side, threads, kind, who in least:
        if who == "csrecover" or what.startswith("2 of "):
            continue

        def pair(what):
            own = "tf32" if kind == "bf16" else kind
            return least[what, side, threads, own, "csrecover"], least[what, side, threads, kind, who]
        mine, theirs = pair(what)
        if what.startswith("10 of "):
            less = pair("2" + what[2:])
            what, mine, theirs = what[6:], (mine - less[0]) / 8, (theirs - less[1]) / 8
        cores = "" if data["cudnn"] else f", {threads} core" + "s" * (threads > 1)
        yield f"{what}, {side} x {side}, {kind}{cores}", mine, theirs


def of_problems(dense):
    """Peer, problem, seconds of the peer and ours."""
    omp, l1 = dense["omp"], dense["l1"]
    yield ("scikit-learn", f"OMP, {omp['m']:,} x {omp['n']:,}, {omp['k']} atoms", omp["sklearn"],
           omp["solve"] + omp["operator"])
    mine, *others = l1["rows"]
    for r in others:
        yield (r["method"], f"l1, {l1['m']} x {l1['n']:,}, gap {l1['gap']:g}", r["seconds"],
               mine["seconds"] + l1["operator"])
    for r in dense["complex"]["rows"]:
        size = f"{dense['complex']['m']} x {dense['complex']['n']:,}"
        off = f"{r['share']:g} of the noise, met to {r['spgl1_off']:.0e} and {r['off']:.0e}"
        yield "SPGL1", f"complex {size}, misfit of {off}", r["spgl1"], r["seconds"]
    for found in (one for name, one in dense.items() if name.startswith("batch")):
        least = {}
        for r in found["rows"]:
            name = r["way"].split(",")[0]
            least[name] = min(least.get(name, r["seconds"]), r["seconds"])
        mine = least.pop("csrecover")
        for name, theirs in least.items():
            yield (name, f"OMP, {found['m']:,} x {found['n']:,}, S = {found['k']}, {found['signals']:,} "
                   "signals", theirs, mine)


def against(results):
    """All peers: what they take and what ours takes for the same, and of pictures dB."""
    data = results("peers")
    fast = next(r for r in data["pictures"] if r["method"] == "--quality fast")["rates"][-1]
    rows = [(r["method"], "a picture from 25 %", r["rates"][-1]["seconds"], fast["seconds"],
             f"{r['rates'][-1]['psnr']:.2f}", f"{fast['psnr']:.2f}")
            for r in data["pictures"] if r["whose"] == "peer"]
    rows += [(*row, "", "") for row in of_problems(data["dense"])]
    found = {r["method"]: r for r in results("operators")["rows"]
             if (r["picture"], r["rate"]) == ("phantom", 0.25)}
    rows.append(("BART", "the phantom from 64 lines", found["bart"]["seconds"], found["fast"]["seconds"],
                 f"{found['bart']['psnr']:.1f}", f"{found['fast']['psnr']:.1f}"))
    rows += [("oneDNN", what, theirs, mine, "", "") for what, mine, theirs in passes(results("onednn"))]
    cells = [(name, what, f"{theirs:.4g}", f"{mine:.4g}",
              f"{theirs / mine:.{0 if theirs > 10 * mine else 2}f}", *db)
             for name, what, theirs, mine, *db in rows]
    versions = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    return table(("peer", "what", "s", "ours, s", "times faster", "dB", "ours, dB"), cells) + (
        f"\n\nOne thread unless cores are named; of each peer the best of its ways. Pictures: by "
        f"`--quality fast`. {versions}, oneDNN {results('onednn')['onednn']}; {named(data['machine'])}.")


TABLES["against"] = against
TABLES["cudnn"] = lambda results: table(
    ("what", "cuDNN, ms", "ours, ms", "times faster"),
    [(what, f"{1e3 * theirs:.3f}", f"{1e3 * mine:.3f}", f"{theirs / mine:.2f}")
     for what, mine, theirs in passes(results("cudnn"))]) + (
    f"\n\nFrom arrays of the host to arrays of the host. {results('cudnn')['device']}; PyTorch "
    f"{results('cudnn')['torch']}; bench/cudnn.py.")
PRESETS = {f"--quality {name}": f"`csrecover --quality {name}`"
           for name in ("fast", "balanced", "best")}
FIRST = ("Delaunay linear", "Clough-Tocher cubic", "biharmonic (scikit-image)",
         "FSR, fast (OpenCV)", "split Bregman (PyLops)", "OMP (scikit-learn)", *PRESETS)


@shown("peers")
def first(data):
    """README's table: the rows of peers that a user would choose from, and the presets."""
    rates = [r["rate"] for r in data["pictures"][0]["rates"]]
    at = {r["method"]: r["rates"] for r in data["pictures"]}
    rows = [(PRESETS.get(name, name), *(f"{each['psnr']:.2f}" for each in at[name]),
             seconds(at[name][-1]["seconds"])) for name in FIRST]
    header = ("method", *(f"dB at {100 * rate:.0f} %" for rate in rates),
              f"s at {100 * rates[-1]:.0f} %")
    return table(header, rows) + (
        "\n\nMean PSNR over five pictures (camera, astronaut, chelsea, moon, brick), one thread. "
        f"{named(data['machine'])}; bench/run.sh peers --images FOLDER.")


@shown("operators")
def operators(data):
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
    bart = "; ".join(f"from {256 * r['rate']:g} lines {r['psnr']:.1f} dB in {r['seconds']:.1f} s"
                     for r in data["rows"] if r["method"] == "bart")
    options = next((r["options"] for r in data["rows"] if r["method"] == "bart"), "")
    return table(header, rows) + (
        f"\n\nRelative error of the phantom after 5,000 steps of total variation: {exact}." + (
            f" BART's total variation (`bart pics {options}`): {bart}." if bart else "") +
        f"\n\nPSNR in dB and processor seconds on one core, 256 x 256, the mean of the five pictures of "
        f"bench/pictures.py. bench/operators.py; {named(data['machine'])}.")


@shown("phase")
def phase(data):
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


@shown("phase")
def coherence(data):
    rows = [(f"`{c['matrix']}`", c["zeros"], c["equal_pairs"], f"{c['coherence']:.2f}",
             f"{c['welch']:.2f}" if c["welch"] else "-", f"{c['root_mean_square']:.2f}",
             max(c["sure_mutual"], c["sure_cumulative"])) for c in data["coherence"]]
    header = ("64 x 256", "columns of zeros", "equal pairs", "mu", "Welch's bound",
              "root mean square", "certain k")
    return table(header, rows) + f"\n\nbench/phase.py; {named(data['machine'])}."


@shown("learn")
def learn(data):
    st, one = data["statistics"], data["statistics"]["threads"][0]
    best, copy = st["threads"][-1], st["memcpy_gbs"]
    rows = [("mean, of a copy's bandwidth", *(f"{t['mean_gbs'] / copy:.2f}" for t in (one, best))),
            ("centring, of a copy's bandwidth",
             *(f"{t['centre_gbs'] / copy:.2f}" for t in (one, best))),
            (f"covariance of {st['rows']:,} x {st['columns']:,}, s",
             *(f"{t['covariance_s']:.2f}" for t in (one, best)))]
    pca = data["pca"]
    note = (f"Copy {copy:.1f} GB/s. BLAS ssyrk of centred rows: {st['ssyrk_s']:.2f} s. Largest error "
            f"against float64 sums: {best['covariance_error']:.1e}, ssyrk {st['ssyrk_error']:.1e}. "
            f"Components of {pca['few']:,} pictures of 55 x 45 in {pca['few_s']:.1f} s, of "
            f"{pca['many']:,} in {pca['many_s']:.1f} s. {named(data['machine'])}.")
    return table(("learning", "one core", "all cores"), rows) + "\n\n" + note


@shown("learn")
def family(data):
    rows = [(f"{100 * r['rate']:g} %", f"{r['pca_db']:.2f}", f"{r['haar_db']:.2f}",
             f"{r['dct_db']:.2f}") for r in data["family"]["rates"]]
    return table(("samples", "components, dB", "Haar pursuit, dB", "dct, dB"), rows) + (
        f"\n\nMean PSNR over 10 generated faces of 55 x 45; {data['family']['components']} components "
        f"of {data['family']['members']:,} others. {named(data['machine'])}.")


@shown("estimate", "estimate")
def estimates(data):
    rows = [(f"`{r['options']}`", " x ".join(map(str, r["shape"])) + (
             ", colour" if r["channels"] == 3 else ""), f"{r['bytes'] / 2 ** 20:,.0f}",
             f"{r['peak'] / 2 ** 20:,.0f}", f"{r['seconds']:.2f}", f"{r['wall']:.2f}",
             f"{r['wall'] / r['seconds']:.2f}") for r in data["rows"]]
    return table(("recovery", "signal", "MiB estimated", "MiB measured", "s estimated",
                  "s measured", "measured / estimated"), rows) + (
        f"\n\n25 % of the entries, {data['rows'][0]['threads']} threads. Memory is the tool's whole "
        f"peak, of which some 20 MiB are programs and libraries. {named(data['machine'])}.")


@shown("silences")
def silences(data):
    rows = [(r["way"], f"{r['seconds']:.1f}", f"{r['longest']:.2f}", f"{r['stop']:.2f}")
            for r in data["rows"]]
    return table(("recovery", "s in all", "longest silence, s", "from a request to stop, s"),
                 rows) + (f"\n\nOne thread, a picture of {data['edge']} x {data['edge']} of which 25 % "
                          f"are known, filters of one half as wide; asked to stop after {data['limit']:g} "
                          "s. Times of the thread's processor. "
                          f"{named(data['machine'])}.")
