# SPDX-License-Identifier: BSD-3-Clause
"""tables_cuda.py - the table of what was measured on a device, for tables.py."""
from table_text import named, power, shown, table


def copies(data):
    """Rows of the CUDA table: the transform's share of the copy bandwidth."""
    copy = next(r["gb_s"] for r in data["transform"] if r["bench"] == "copy")
    for r in data["transform"]:
        if r["bench"] == "transform" and r["log2_n"] >= 24:
            yield (f"all inner products, N = 2^{r['log2_n']}, {r['columns']}",
                   f"{r['ms']:.2f} ms, {r['gb_s'] / 1e3:.2f} TB/s of useful bytes",
                   f"{100 * r['copy_share']:.0f} % of a copy ({copy / 1e3:.2f} TB/s)")


def loops(data):
    at = {r["n"]: r for r in data["loop"]["pursuits"] if r["signal"] == "picture"}
    for n in (1 << 16, 1 << 18, 1 << 20):
        if "reference_iteration_us" in at[n]:
            us, cpu = at[n]["reference_iteration_us"], at[n]["reference_cpu_iteration_us"]
            yield (f"the paper's loop, an iteration, N = {power(n)}", f"{us:,.0f} us",
                   f"{cpu / us:,.0f} times a CPU core ({cpu / 1e3:,.1f} ms)")
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


def products(data):
    """The larger of each operator's products: forward and adjoint, vectors there and back."""
    largest = {}
    for r in data.get("operators", []):
        kind = r["operator"], r["what"]
        other = largest.get(kind, r)
        if r["what"] != "correlate" and r["m"] * r["n"] >= other["m"] * other["n"]:
            largest[kind] = r
    for r in largest.values():
        same = "the same bits" if r["same_bits"] else f"to {r['largest']:.0e}"
        yield (f"operator {r['operator']}, {r['m']:,} x {r['n']:,}, {r['what']}",
               f"{r['cuda_ms']:.2f} ms, of which vectors {r['transfer_ms']:.2f}",
               f"{r['cpu_threads']} CPU threads {r['cpu_ms']:.2f} ms; {same}")


def manies(data):
    rows = data.get("omp", [])
    for r in rows:
        alike = [o for o in rows if (o["m"], o["n"]) == (r["m"], r["n"])]
        if r is max(alike, key=lambda o: o["signals"]):
            yield (f"OMP of {r['signals']:,} signals, {r['m']} x {r['n']}, {r['atoms']} atoms",
                   f"{r['signals_per_s']:,.0f} signals/s",
                   f"{r['cpu_threads']} CPU threads {r['cpu_per_s']:,.0f}; "
                   f"{100 * r['same_picks']:.1f} % with the same picks")


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


def moments(data):
    """Mean and centring beside a copy, and the covariance."""
    rows = {r["bench"]: r for r in data.get("statistics", [])}
    for name in ("mean", "center"):
        if name in rows:
            yield (f"{'centring' if name == 'center' else name} of 202,599 x 2,475 floats",
                   f"{rows[name]['ms']:.2f} ms", f"{100 * rows[name]['of_copy']:.0f} % of a copy")
    if "covariance" in rows:
        r = rows["covariance"]
        yield ("covariance of the same", f"{r['ms']:.2f} ms",
               f"largest error {r['largest_error']:.1e}")


def shape(r):
    return (f"x ({', '.join(map(str, r['x']))}), W ({', '.join(map(str, r['w']))}), "
            f"pad {r['pad']}")


def convolutions(data):
    for r in data.get("conv2d", []):
        yield (f"conv2d {shape(r)}: forward, backward",
               f"{r['forward_ms']:.3f}, {r['backward_ms']:.3f} ms",
               f"{r['forward_tflop_s']:.0f}, {r['backward_tflop_s']:.0f} Tflop/s")


def networks(data):
    """A pass and a step of training of the prior's network, in fp32 and in tf32."""
    rows = {(r["what"], r["side"], r["fast"]): r for r in data.get("net", [])}
    names = {"apply": "one pass, {0} x {0}, from host to host",
             "training": "a step of training on 64 parts of {0} x {0}"}
    for (what, side, fast), r in rows.items():
        quick = rows.get((what, side, True))
        if not fast and quick:
            yield (f"the prior's network: {names[what].format(side)}", f"{r['ms']:.2f} ms",
                   f"{2.0 * r['gmac'] / r['ms']:.0f} Tflop/s; tf32 {quick['ms']:.2f} ms")


def adaptive(data):
    rows = {(r["side"], r["backend"]): r for r in data.get("rounds", [])}
    for (side, backend), r in rows.items():
        if backend == "cuda":
            cpu = rows[side, "cpu"]
            yield (f"a round of adaptive measuring, {side} x {side}",
                   f"{r['density_ms'] + r['places_ms']:.0f} ms, of which places on the CPU "
                   f"{r['places_ms']:.0f}", f"CPU {cpu['density_ms'] + cpu['places_ms']:.0f} ms")


def methods(data):
    """Whole recoveries and learning by methods that compute a part, or nothing, on the device."""
    for r in data.get("methods", []):
        there = (f"{r['cuda_ms']:,.1f} ms, differs by {r['difference']:.1e}"
                 if r["cuda_ms"] is not None else "no engine")
        yield (f"method {r['method']}, {r['what']}", there,
               f"{r['cpu_threads']} CPU threads {r['cpu_ms']:,.1f} ms")


def calls(data):
    """Whole calls between arrays of the host: what auto chooses between."""
    for r in data.get("calls", []):
        yield (f"{r['call']}, {r['what']}, from host to host",
               f"{r['cuda_ms']:,.1f} ms", f"{r['cpu_threads']} CPU threads {r['cpu_ms']:,.1f} ms")


@shown("cuda")
def cuda(data):
    rows = [row for part in (copies, loops, batches, thresholds, groups, moments,
                             convolutions, networks, adaptive, products, manies, methods, calls,
                             wholes) for row in part(data)]
    same = (all(r["equal_to_cpu"] for r in data["loop"]["pursuits"] + data["recover"]["choice"])
            and data["recover"]["picture_64_grids"]["equal_to_cpu"])
    return table(("on the device", "measured", "against"), rows) + (
        f"\n\nPursuits are {'equal' if same else 'NOT EQUAL'} to the CPU's to the bit. "
        f"{data['device']}; {named(data['machine'])}; bench/cuda.sh.")
