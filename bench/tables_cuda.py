# SPDX-License-Identifier: BSD-3-Clause
"""tables_cuda.py - the table of what was measured on a device, for tables.py."""
from table_text import named, power, shown, table


def loops(data):
    at = {r["n"]: r for r in data["loop"]["pursuits"] if r["signal"] == "picture"}
    for n in (1 << 16, 1 << 18, 1 << 20, 1 << 22):
        r = at[n]
        yield (f"one signal, an atom, N = {power(n)}", f"{r['speculative_atom_us']:.2f} us",
               f"{r['cpu_atom_us'] / r['speculative_atom_us']:.1f} times a CPU core "
               f"({r['cpu_atom_us']:.2f} us)")


def batches(data):
    batch = data["batch"]
    core = 1.0 / batch["cpu_core_us_an_atom"]
    for r in batch["batches"]:
        if r["warps"] or r["signals"] == 1:
            continue
        grids = f"{r['grids']} grids" if r["grids"] > 1 else "one grid"
        yield (f"{r['signals']:,} signals of {batch['n']:,} samples, {grids}",
               f"{r['million_atoms_s']:,.0f} M atoms/s",
               f"{r['million_atoms_s'] / core:,.0f} times a CPU core")


def wholes(data):
    r = data["recover"]["picture_64_grids"]
    yield ("1024 x 1024 RGB at 25 %, 64 grids: the library call",
           f"{r['device']['seconds']:.2f} s",
           f"{r['cpu']['seconds'] / r['device']['seconds']:.1f} times "
           f"{data['machine']['cores']} CPU cores ({r['cpu']['seconds']:.2f} s)")
    tool = data.get("tool")
    if tool:
        best = min(tool["cuda"], tool["cuda_again"])
        yield ("the same, all of `csrecover --backend cuda`, .npz to PNG", f"{best:.2f} s",
               f"{tool['cpu'] / best:.1f} times --backend cpu ({tool['cpu']:.2f} s)")


def thresholds(data):
    for r in data.get("threshold", []):
        yield (f"{r['side']} x {r['side']} at 25 %, threshold, blocks 8, 16, 32: 60 iterations",
               f"{r['loop_ms']:.2f} ms",
               f"whole recovery {r['cuda_ms']:.1f} ms, on {r['cpu_threads']} CPU threads "
               f"{r['cpu_ms']:.1f} ms, to rounding the same")


def groups(data):
    """Gaussian groups on pictures, colours and a volume, effort 0 and 1."""
    def problem(r):
        return (r["side"], r.get("depth", 1), r.get("channels", 1), r.get("sigma", 0), r["effort"])

    rows = data.get("gaussian", [])
    for r in (r for r in rows if r["backend"] == "cuda"):
        cpu = next((c for c in rows if c["backend"] == "cpu" and problem(c) == problem(r)), None)
        beside = (f"{cpu['cpu_threads']} CPU threads {cpu['ms']:,.0f} ms, {cpu['psnr']:.2f} dB"
                  if cpu else "")
        side, depth, channels, sigma, effort = problem(r)
        yield ((f"{depth} x " if depth > 1 else "") + f"{side} x {side} at 25 %"
               + (", colours" if channels == 3 else "")
               + (f", noise of sigma {sigma:g}" if sigma > 0 else "")
               + f", Gaussian groups, effort {effort:g}",
               f"{r['ms']:,.0f} ms, {r['psnr']:.2f} dB", beside)


def adaptive(data):
    rows = {(r["side"], r["backend"]): r for r in data.get("rounds", [])}
    for (side, backend), r in rows.items():
        if backend == "cuda":
            cpu = rows[side, "cpu"]
            yield (f"a round of adaptive measuring, {side} x {side}",
                   f"{r['density_ms'] + r['places_ms']:.0f} ms, of which places on the CPU "
                   f"{r['places_ms']:.0f}", f"CPU {cpu['density_ms'] + cpu['places_ms']:.0f} ms")


def methods(data):
    """Whole recoveries and learning by methods that compute a part on the device."""
    for r in data.get("methods", []):
        yield (f"method {r['method']}, {r['what']}",
               f"{r['cuda_ms']:,.1f} ms, differs by {r['difference']:.1e}",
               f"{r['cpu_threads']} CPU threads {r['cpu_ms']:,.1f} ms")


def calls(data):
    """Whole calls between arrays of the host: what auto chooses between."""
    for r in data.get("calls", []):
        yield (f"{r['call']}, {r['what']}, from host to host",
               f"{r['cuda_ms']:,.1f} ms", f"{r['cpu_threads']} CPU threads {r['cpu_ms']:,.1f} ms")


@shown("cuda")
def cuda(data):
    rows = [row for part in (loops, batches, thresholds, groups, adaptive, methods, calls, wholes)
            for row in part(data)]
    same = (all(r["equal_to_cpu"] for r in data["loop"]["pursuits"] + data["recover"]["choice"])
            and data["recover"]["picture_64_grids"]["equal_to_cpu"])
    return table(("on the device", "measured", "against"), rows) + (
        f"\n\nPursuits are {'equal' if same else 'NOT EQUAL'} to the CPU's to the bit. "
        f"{data['device']}; {named(data['machine'])}; bench/cuda.sh.")
