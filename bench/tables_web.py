# SPDX-License-Identifier: BSD-3-Clause
"""tables_web.py - what the module for browsers takes, for tables.py."""
import math

from table_text import named, seconds, shown, table


@shown("web", "browser")
def browser(data):
    kinds = {1: "gray", 3: "colour"}
    rows = [(f"{r['side']} x {r['side']} {kinds[r['channels']]}", r["quality"],
             seconds(r["wasm"]), seconds(r["plain"]), seconds(r["native"]),
             math.ceil(r["heap"] / 2**20)) for r in data["rows"]]
    header = ("picture", "quality", "s, WebAssembly", "s, plain C", "s, native", "MiB")
    wasm, prior = data["files"]["csrec.wasm"], data["files"]["prior-gray.npz"]
    ready = "" if data["page"] is None else (
        f" The page was ready {data['page']:.2f} s after it was asked for, in headless Chromium.")
    return table(header, rows) + (
        f"\n\nProcessor seconds from 25 % of the pixels, one thread: Node {data['node']}; the "
        "native tool, of plain C, and of the instructions that the processor has, each with its "
        "start; and the memory of the module. `csrec.wasm` has "
        f"{wasm['bytes'] / 1e6:.2f} MB, {wasm['gzip'] / 1e3:.0f} KB by gzip and "
        f"{wasm['brotli'] / 1e3:.0f} KB by Brotli; the prior {prior['bytes'] / 1e6:.1f} MB.{ready} "
        f"{named(data['machine'])}; bench/run.sh web.")
