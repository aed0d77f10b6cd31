# SPDX-License-Identifier: BSD-3-Clause
"""tables_pursuit.py - tables of pursuits and of what ranks share, for tables.py."""
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


@shown("scale")
def scale(data):
    rows = [(r["columns"], power(r["n"]), power(1 << r["levels"]), f"{r['atoms']:,}",
             *(f"{r[k]:.1f}" for k in ("seconds_operator", "seconds_first", "seconds_all")),
             number(r["ns_atom"]), f"{r['operator_bytes_sample']:.1f}", f"{r['bytes_sample']:.1f}",
             f"{24 * 2 ** 30 / r['bytes_sample'] / 1e6:,.0f} M") for r in data["scale"]]
    header = ("columns", "N", "M", "atoms", "s operator", "s to the first atom", "s all atoms",
              "ns an atom", "bytes a sample, operator", "... with pursuit, rows and y",
              "largest N in 24 GiB")
    return table(header, rows) + f"\n\nOne core. {named(data['machine'])}; bench/run.sh speed."


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
