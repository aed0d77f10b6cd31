# SPDX-License-Identifier: BSD-3-Clause
"""tables_pursuit.py - tables of pursuits and of what ranks and devices share, for tables.py."""
from table_text import named, number, power, seconds, shown, table


def pair(row):
    return f"{number(row['ns_atom_20th'])}, {number(row['ns_atom_4th'])}" if row else "-"


@shown("pursuit")
def speed(data):
    at = {(r["columns"], r["n"], r["signal"], r["levels"]): r for r in data["pursuit"]}
    rows = []
    for columns in ("two-sided", "paper"):
        for n in sorted({r["n"] for r in data["pursuit"]}):
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


@shown("pursuit")
def targets(data):
    rows = [(r["what"], number(r["value"], "{:,.4g}"), f"{r['sense']} {r['target']:,g}",
             "yes" if r["met"] else "no") for r in data["targets"]]
    sets = [f"{s['columns']}: " + ", ".join(f"{k} {v:.0f} ns" for k, v in s.items()
                                            if k not in ("columns", "identical_picks"))
            for s in data["instruction_sets"]]
    same = all(s["identical_picks"] for s in data["instruction_sets"] + data["threads"])
    return table(("1024 x 1024 picture, 25 %, K = N/4", "measured", "target", "met"), rows) + (
        f"\n\nInstruction sets ({'; '.join(sets)}) and 1 or many threads pick "
        f"{'identical' if same else 'DIFFERENT'} atoms. {named(data['machine'])}.")


@shown("pursuit")
def memory(data):
    rows = [(r["columns"], *(number(r[k], "{:.1f}") for k in
                             ("rows", "tree", "pursuit", "held", "peak")))
            for r in data["memory"]]
    return table(("bytes a sample", "rows", "tree", "pursuit", "held", "most while starting"),
                 rows) + "\n\nCounted allocations at N = 2^18, M = 2^20: the same on every machine."


@shown("scale")
def scale(data):
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


def scaling(data, kind):
    """Rows of the same work, or of work that grows with the ranks, against one rank."""
    one = {r["what"]: r["seconds"] for r in data[kind] if r["ranks"] == 1}
    return [(r["what"], r["ranks"], seconds(r["seconds"]),
             f"{one[r['what']] / r['seconds'] * (1 if kind == 'strong' else r['ranks']):.2f}",
             f"{r['peak_mib']:,.0f}") for r in data[kind]]


@shown("many")
def many(data):
    """Ranks on one machine."""
    header = ("ranks", "seconds", "times one rank", "MiB of the largest rank")
    parts = [table((f"{kind} scaling", *header), scaling(data, kind))
             for kind in ("strong", "weak")]
    same = all(r["same"] for r in data["strong"] + data["weak"])
    return "\n\n".join(parts) + (
        f"\n\nMedian of {data['repeats']}, one thread a rank, tiles of {data['tile']:,} values, "
        f"with starting, reading and writing; times one rank: work done a second against that of one "
        f"rank. The files were {'the same' if same else 'OTHERS'} for all numbers of ranks. "
        f"{data['mpi']}; {named(data['machine'])}; bench/many.py.")


@shown("parts")
def parts(data):
    """Memory of a process by the format of its files."""
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


@shown("large")
def large(data):
    """A file larger than the memory it may use."""
    rows = [(r["how"], f"{r['seconds']:.0f}", f"{r['peak_mib']:,.0f}", f"{r['psnr']:.2f}")
            for r in data["rows"]]
    same = all(r.get("same", True) for r in data["rows"])
    return table(("", "seconds", "MiB", "PSNR, dB"), rows) + (
        f"\n\nReading, recovering and writing a float TIFF of {data['side']:,} x {data['side']:,} "
        f"pixels, {100 * data['rate']:.0f} % known, {data['file_mib']:.0f} MiB compressed. The slabs "
        f"gave {'the same' if same else 'OTHER'} pixels. {named(data['machine'])}; bench/large.py.")


@shown("pursuit_ranks")
def ranks(data):
    """One pursuit by several ranks, wall time."""
    rows = [(f"2^{r['log2_n']}", r["ranks"], f"{r['seconds']:.2f}",
             f"{r['seconds_one'] / r['seconds']:.2f}", r["rounds"],
             f"{r['messages'] / r['atoms']:.4f}", f"{r['bytes'] / r['atoms']:.1f}")
            for r in data["runs"]]
    one = data["runs"][0]["seconds_one"]
    return table(("N", "ranks", "seconds", "times one process", "exchanges", "messages an atom",
                  "bytes an atom"), rows) + (
        f"\n\nOne process without pieces: {one:.2f} s. Ranks are threads with messages. "
        f"{named(data['machine'])}; bench/run.sh ranks.")


@shown("pursuit_delay")
def ranks_delay(data):
    """One pursuit by ranks on a network with a set delay, and the model."""
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


@shown("pursuit_memory")
def ranks_memory(data):
    """Memory of the ranks of one pursuit."""
    rows = [(f"2^{r['log2_n']}", r["ranks"], f"{r['first_mib']:.0f}",
             f"{r['others_mib']:.0f}" if r["others_mib"] else "-") for r in data["rows"]]
    return table(("samples N", "ranks", "rank 0, MiB", "largest other, MiB"), rows) + (
        f"\n\nLargest resident set, with `-C`, from a `.npy` in float32 of about 4 N values, N/4 atoms, "
        f"paper columns. {data['mpi']}; {named(data['machine'])}; bench/run.sh ranks_memory.")


@shown("cuda_pieces")
def pieces(data):
    """One pursuit on several GPUs."""
    rows = [(f"2^{r['log2_n']}", f"2^{r['levels']}", f"{r['atoms']:,}", f"{r['seconds']:.2f}",
             f"{r['seconds_one']:.2f}" if "seconds_one" in r else "does not fit", r["rounds"],
             r["tops"]) for r in data["runs"]]
    return table(("samples N", "rows M", "atoms", "seconds on 2 GPUs", "on one", "exchanges",
                  "picks above pieces"), rows) + (
        f"\n\nFrom rows and samples in memory to atoms, with upload and trees. {data['device']}; "
        f"{named(data['machine'])}; bench/run.sh pieces.")


@shown("devices")
def devices(data):
    """One GPU against all of a machine."""
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
        "bench/devices.py.")


@shown("cuda_methods")
def methods(data):
    """Methods on the CPU and a GPU."""
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
        f"\n\n{data['device']}; {named(data['machine'])}; bench/cuda.py methods gaussian.")
