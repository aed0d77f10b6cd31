# SPDX-License-Identifier: BSD-3-Clause
"""tables_pursuit.py - tables of pursuits and of what ranks share, for tables.py."""
import math
import statistics

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
                         number(picture["speedup_levels"])))
    header = ("ns an atom at K = N/20, N/4", "N", "noise", "piecewise smooth", "picture",
              "picture, M = 2^40", "times faster than an iteration of the paper's loop")
    return table(header, rows) + (
        f"\n\nM = 4 N where not said; ratios for the picture at K = N/4. One core. "
        f"{named(data['machine'])}; bench/run.sh speed.")


# Series of growth.py, and their unit.
PLOTS = {"signal": "samples", "pictures": "pixels", "files": "files", "frames": "frames"}


def lines_of(machines, series):
    """Machine, what, how and rows by size of each line of a plot."""
    for data in machines:
        own = [r for r in data["rows"] if r["series"] == series]
        for what, how in dict.fromkeys((r["what"], r["how"]) for r in own):
            rows = [r for r in own if (r["what"], r["how"]) == (what, how)]
            yield data["machine"], what, how, sorted(rows, key=lambda r: r["size"])


def fit(rows):
    """Slope of the logarithms of seconds over sizes, and the sum of squares that the line leaves."""
    x, y = ([math.log(r[key]) for r in rows] for key in ("size", "seconds"))
    slope, offset = statistics.linear_regression(x, y)
    return slope, sum((b - slope * a - offset) ** 2 for a, b in zip(x, y))


def knee(rows):
    """The row where two lines meet that leave least; None of fewer than four."""
    return min(range(1, len(rows) - 1), key=lambda k: fit(rows[:k + 1])[1] + fit(rows[k:])[1],
               default=None) if len(rows) > 3 else None


def span(rows, key, form):
    return " to ".join(dict.fromkeys(form(row[key]) for row in (rows[0], rows[-1])))


@shown("growth")
def growth(data):
    """A row for each line of the plots: slopes, and the memory of one more of the series' unit."""
    def size(n):
        return f"{math.isqrt(n)}^2" if series == "pictures" else power(n) if series == "signal" else f"{n:,}"
    found = []
    for series, unit in PLOTS.items():
        for _, what, how, rows in lines_of(data["machines"], series):
            at, (a, b) = knee(rows), (rows[-2:] if len(rows) > 1 else rows * 2)
            more = 2 ** 20 * max(b["peak_mib"] - a["peak_mib"], 0) / max(b["size"] - a["size"], 1)
            slopes = [f"{fit(part)[0]:.2f}" for part in ((rows[:at + 1], rows[at:]) if at else [rows])
                      if len(part) > 1]
            found.append((f"{series}, {what}, {how}", span(rows, "size", size),
                          span(rows, "seconds", seconds), ", ".join(slopes) or "-",
                          size(rows[at]["size"]) if at else "-", span(rows, "peak_mib", number),
                          number(more, "{:,.3g}")))
    header = ("line", "size", "seconds", "slopes", "knee", "MiB", "bytes one more")
    return table(header, found) + "\n\n" + " ".join(
        f"{m['machine']['device'] or 'CPU'}: {named(m['machine'])}."
        for m in data["machines"]) + " bench/growth.py."


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
