#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run.py BUILD - the page of csrecover --report in a headless Chromium, as readers use it.

  layout     375 and 1280 pixels wide, light and dark: nothing beyond the edge, no text on text,
             nothing from a network, no complaint of axe-core (Deque), all there without the script
  values     under the pointer and by the arrow keys, beside the .npy files
  slider     dragged on the picture by mouse and finger, moved by keys; pictures magnified together
  charts     what they tell at the pointer, beside their table
  downloads  clicked, and compared with the page and with the files
  names      of files are text, whatever they hold

Exit code 77, with the reason: no Chromium. Without axe-core, which pip fetches into a temporary
folder, or CSREC_AXE names, that part is left out, and said so.
"""

import base64
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import browser  # noqa: E402
import npy  # noqa: E402
from layout import check, check_access, check_layout, find_axe, near  # noqa: E402

SEED = int(os.environ.get("CSREC_TEST_SEED") or time.time())
NAME = "<script>hacked=1<script>'\"& #?%41.npz"
HEIGHT, WIDTH = 60, 90
PAGES = {  # options; the reference
    "gray": ("gray.npz -Q fast -o gray-out.npy -u gray-map.npy", "gray.npy"),
    "bare": ("gray.npz -Q fast -o bare-out.npy", None),
    "color": ("color.npz -s 1 -o color-out.npy", "color.npy"),
    "gaps": ("gaps.npy -Q fast -o gaps-out.npy", "gray.npy"),
    "volume": ("volume.npz -s 1 -o volume-out.npy", "volume.npy"),
    "line": ("line.npz -o line-out.npy", "line.npy"),
    "labels": ("labels.npz -Q fast --labels -o labels-out.npy", "labels.npy"),
    "sums": ("sums.npz --set iterations=2 -o sums-out.npy", "gray.npy"),
    "wide": ("wide.npz -Q fast -o wide-out.npy", "wide.npy"),
    "one": ("one.npz -o one-out.npy", "one.npy"),
}


# ------------------------------------------------------------------ inputs

def write(name, values, shape, descr="<f4"):
    pathlib.Path(name).write_bytes(npy.npy(values, shape, descr))


def steps(draw, height, width, channels=1):
    """Rectangles of random values, and a slope."""
    values = [10.0 * (k // channels % width) / width for k in range(height * width * channels)]
    for _ in range(12):
        y, x = draw.randrange(height), draw.randrange(width)
        by = [draw.random() for _ in range(channels)]
        for k in range(y, min(height, y + 20)):
            for i in range(x, min(width, x + 30)):
                for c in range(channels):
                    values[(k * width + i) * channels + c] += 40.0 * by[c]
    return values


def make_inputs(draw, tools):
    gray = steps(draw, HEIGHT, WIDTH)
    write("gray.npy", gray, (HEIGHT, WIDTH))
    write("gaps.npy", [v if draw.random() < 0.4 else float("nan") for v in gray], (HEIGHT, WIDTH))
    write("color.npy", steps(draw, 40, 50, 3), (40, 50, 3))
    write("volume.npy", steps(draw, 12 * 16, 20), (12, 16, 20))
    write("line.npy", [(k % 300) / 50 for k in range(3000)], (3000,))
    write("labels.npy", [int(v // 20) for v in gray], (HEIGHT, WIDTH), "|u1")
    write("wide.npy", steps(draw, 40, 4096), (40, 4096))
    write("one.npy", [7.0], (1, 1))
    for name in ("gray", "color -c", "volume", "line", "labels", "wide", "one"):
        name, _, more = name.partition(" ")
        rate = "1" if name == "one" else "0.3"
        run(tools, f"cssample {name}.npy {more} -o {name}.npz -r {rate} -q")
    run(tools, "cssample gray.npy -o sums.npz --operator hadamard -r 0.3 -q")


def run(tools, line, *words):
    program, *rest = line.split()
    subprocess.run([f"{tools}/{program}", *rest, *words], check=True, stderr=subprocess.PIPE)


def make_pages(tools):
    for name, (options, truth) in PAGES.items():
        more = ["-r", truth] if truth else []
        run(tools, f"csrecover {options} --report {name}.html -q", *more)
    os.rename("one.npz", NAME)
    run(tools, "csrecover -q --report names.html -o", 'it\'s "<b>".npy', NAME)


def check_all_layouts(tab, axe):
    for name in [*PAGES, "names"]:
        for width in (375, 1280):
            for dark in (False, True):
                tab.open(f"{name}.html", width, dark)
                check_layout(tab, name, width, dark)
                if axe:
                    check_access(tab, axe, f"{name} {width} {dark}")


def check_without_script(tab):
    tab.open("gray.html", 1280, script=False)
    tab.call("Emulation.setScriptExecutionDisabled", value=False)
    seen = tab.ask("""[document.querySelectorAll('.panels img').length,
      ...['tools', 'compare', 'downloads'].map(id => document.getElementById(id))
        .map(e => e.checkVisibility())]""")
    check(seen == [6, False, False, False], seen)


# ------------------------------------------------------------------ readers

def frame_of(tab, panel):
    """Left, top, width and height, once it is in sight."""
    frame = f"document.querySelector('#{panel} .frame')"
    tab.ask(f"{frame}.scrollIntoView({{block: 'center'}})")
    return tab.ask(f"(r => [r.left, r.top, r.width, r.height])({frame}.getBoundingClientRect())")


def values_of(tab):
    """Words, and the numbers behind them."""
    spans = tab.ask("[...document.querySelectorAll('#values span')].map(e => e.textContent)")
    said = {}
    for span in spans:
        words, _, number = span.rpartition(" ")
        said[words if number[-1].isdigit() else span] = number
    return said


def data_step(tab, panel):
    return float(tab.ask(f"document.querySelector('#{panel} data').dataset.step"))


def check_pixel(said, signals, k, steps_of, sampled, where):
    out, truth, expected = signals
    near(float(said["recovered"]), out[k], steps_of[0], where)
    near(float(said["reference"]), truth[k], steps_of[0], where)
    near(float(said["error"]), out[k] - truth[k], 2.1 * steps_of[0], where)
    near(float(said["expected error"]), expected[k], steps_of[1], where)
    check((k in sampled) == ("sample" in said) == ("not sampled" not in said), where, said)
    if k in sampled:
        near(float(said["sample"]), sampled[k], steps_of[0], where)


def check_values(tab, draw):
    signals = [npy.read_npy(name)[2] for name in ("gray-out.npy", "gray.npy", "gray-map.npy")]
    # A sample has the expected error 0, and no other pixel has.
    sampled = {k: signals[0][k] for k, error in enumerate(signals[2]) if error == 0.0}
    check(len(sampled) == round(0.3 * HEIGHT * WIDTH), len(sampled), "samples")
    for width in (1280, 375):
        tab.open("gray.html", width)
        steps_of = data_step(tab, "recovery"), data_step(tab, "expected")
        for panel in ("recovery", "samples", "error", "compare"):
            for _ in range(6):
                left, top, wide, high = frame_of(tab, panel)
                row, column = draw.randrange(HEIGHT), draw.randrange(WIDTH)
                tab.mouse("Moved", left + wide * (column + 0.5) / WIDTH,
                          top + high * (row + 0.5) / HEIGHT)
                said = values_of(tab)
                check(f"row {row}, column" in said and said[f"row {row}, column"] == str(column),
                      panel, row, column, said)
                check_pixel(said, signals, row * WIDTH + column, steps_of, sampled,
                            (panel, row, column))
    tab.ask("document.querySelector('#recovery .frame').focus()")
    for key in ("ArrowRight", "ArrowDown", "ArrowDown"):
        tab.press(key)
    row, column = min(row + 2, HEIGHT - 1), min(column + 1, WIDTH - 1)
    check(values_of(tab).get(f"row {row}, column") == str(column), row, column, values_of(tab))
    check_pixel(values_of(tab), signals, row * WIDTH + column, steps_of, sampled, "keys")


def line_at(tab):
    """Where the line is, as a share of the picture, by its place on the screen."""
    return tab.ask("""(f => (l => (l.left + l.width / 2 - f.left) / f.width)(
      document.querySelector('#compare .line').getBoundingClientRect()))(
      document.querySelector('#compare .frame').getBoundingClientRect())""")


def check_slider(tab):
    tab.open("gray.html", 1280)
    left, top, wide, high = frame_of(tab, "compare")
    near(line_at(tab), 0.5, 0.01, "line")
    tab.mouse("Pressed", left + 0.5 * wide, top + 0.5 * high, True, 1)
    for share in (0.4, 0.3, 0.2):
        tab.mouse("Moved", left + share * wide, top + 0.4 * high, True)
        near(line_at(tab), share, 0.01, "dragged")
    tab.mouse("Released", left + 0.2 * wide, top + 0.4 * high, False, 1)
    tab.mouse("Moved", left + 0.9 * wide, top + 0.4 * high)
    near(line_at(tab), 0.2, 0.01, "released")
    tab.ask("document.getElementById('cut').focus()")
    tab.press("ArrowRight", windowsVirtualKeyCode=39)
    near(line_at(tab), 0.21, 0.01, "key")
    same = tab.ask("""(s => [...document.getElementById('left').options].map(o => {
      left.value = o.value; left.onchange();
      return s('#compare img') === s('#' + o.value + ' img') &&
        s('#compare .over img') === s('#recovery img');
    }))(s => document.querySelector(s).src)""")
    check(same == [True] * 3, "left", same)
    tab.open("gray.html", 375)
    left, top, wide, high = frame_of(tab, "compare")
    for kind, share in (("Start", 0.5), ("Move", 0.6), ("Move", 0.7)):
        tab.call("Input.dispatchTouchEvent", type="touch" + kind,
                 touchPoints=[{"x": left + share * wide, "y": top + 0.5 * high}])
    end = time.monotonic() + 10  # moves of a finger are gathered until the next frame
    while abs(line_at(tab) - 0.7) > 0.02 and time.monotonic() < end:
        time.sleep(0.02)
    near(line_at(tab), 0.7, 0.02, "finger")
    tab.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


ZOOMED = """[...document.querySelectorAll('.frame img')].map(i => { const f = i.closest('.frame');
  return [i.clientWidth / f.clientWidth, -i.offsetLeft / i.clientWidth,
    -i.offsetTop / i.clientHeight]; })"""


def check_zoom(tab):
    tab.open("gray.html", 1280)
    left, top, wide, high = frame_of(tab, "expected")
    for k in range(2):
        for kind in ("Pressed", "Released"):
            tab.mouse(kind, left + 0.5 * wide, top + 0.3 * high, kind == "Pressed", k + 1)
    tab.ask("document.getElementById('in').click()")
    for zoom, x, y in tab.ask(ZOOMED):
        near(zoom, 4, 0.1, "zoom")
        near(x, 0.375, 0.02, "x")
        near(y, 0.275, 0.02, "y")
    tab.mouse("Pressed", left + 0.5 * wide, top + 0.5 * high, True, 1)
    tab.mouse("Moved", left + 0.25 * wide, top + 0.5 * high, True)
    tab.mouse("Released", left + 0.25 * wide, top + 0.5 * high, False, 1)
    near(tab.ask(ZOOMED)[0][1], 0.4375, 0.02, "moved")
    tab.ask("document.getElementById('whole').click()")
    check(all(max(abs(x), abs(y)) < 1e-6 and zoom == 1 for zoom, x, y in tab.ask(ZOOMED)), "whole")
    tab.ask("document.querySelector('#worst + button').click()")
    row, column, side = (int(tab.ask(f"document.getElementById('worst').dataset.{k}"))
                         for k in ("row", "column", "side"))
    zoom, x, y = tab.ask(ZOOMED)[0]
    for corner, extent, at in ((x, WIDTH, column), (y, HEIGHT, row)):
        check(corner * extent <= at + 0.5 and (corner + 1 / zoom) * extent >= at + side - 0.5,
              zoom, corner, at)


def check_charts(tab):
    """What a chart tells is the row of its table whose point is nearest to the pointer."""
    for name in ("line", "gray", "color"):
        tab.open(f"{name}.html", 1280)
        charts = tab.ask("document.querySelectorAll('.plot').length")
        check(charts >= 2, name, charts)
        for k in range(charts):
            plot = f"document.querySelectorAll('.plot')[{k}]"
            tab.ask(plot + ".scrollIntoView({block: 'center'})")
            left, top, wide, high = tab.ask(f"(r => [r.left, r.top, r.width, r.height])({plot}"
                                            ".getBoundingClientRect())")
            tab.mouse("Moved", left + 0.6 * wide, top + 0.5 * high)
            said = tab.ask(f"[...{plot}.nextElementSibling.querySelectorAll('output span')]"
                           ".map(e => e.textContent)")
            rows = tab.ask(f"[...{plot}.nextElementSibling.querySelectorAll('tr')]"
                           ".map(r => [...r.cells].map(c => c.textContent))")
            check(len(said) > 1, name, k, said)
            label = rows[0][1] + " "
            marked = float(said[0][len(label):]) if said[0].startswith(label) else None
            levels = {r[0] for r in rows if sum(r[0] == other[0] for other in rows) == 1}
            for words in said[marked is not None:]:
                check(any(words == f"{curve} {y} at {x}" or words == f"{curve} {y}" and
                          (marked is None or float(x) == marked or curve in levels)
                          for curve, x, y in rows[1:]), name, words)
            tab.ask(plot + ".focus()")
            tab.press("ArrowRight")
            check(said != tab.ask(f"[...{plot}.nextElementSibling.querySelectorAll('output span')]"
                                  ".map(e => e.textContent)"), name, k, "keys")


# ------------------------------------------------------------------ downloads

def fetch(tab, label, name):
    """The bytes of a file after a click."""
    path = pathlib.Path(tab.folder, name)
    tab.ask(f"document.querySelector('[aria-label=\"{label}\"]').click()")
    end = time.monotonic() + 30
    while not (path.exists() and path.stat().st_size):
        check(time.monotonic() < end, "no", name, "but", os.listdir(tab.folder))
        time.sleep(0.02)
    time.sleep(0.1)
    return path


def check_downloads(tab):
    tab.open("gray.html", 1280)
    for title, panel in (("Recovery", "recovery"), ("True error", "error")):
        source = tab.ask(f"document.querySelector('#{panel} img').src")
        png = fetch(tab, title + " as PNG", f"gray-out-{panel}.png").read_bytes()
        check(png == base64.b64decode(source.partition(",")[2]), panel)
    for title, panel, file in (("Recovery", "recovery", "gray-out.npy"),
                               ("Reference", "reference", "gray.npy"),
                               ("Expected error", "expected", "gray-map.npy")):
        path = fetch(tab, title + " as NPY", f"gray-out-{panel}.npy")
        shape, kind, values = npy.read_npy(str(path))
        check(shape == (HEIGHT, WIDTH) and kind == "f4", shape, kind)
        step = data_step(tab, panel)
        for k, wanted in enumerate(npy.read_npy(file)[2]):
            near(values[k], wanted, 0.51 * step, (panel, k))
    samples = npy.read_npy(str(fetch(tab, "Samples as NPY", "gray-out-samples.npy")))[2]
    check(sum(v == v for v in samples) == round(0.3 * HEIGHT * WIDTH), "samples")
    path = fetch(tab, "PSNR against the reference as CSV", "gray-out-chart-3.csv")
    csv = path.read_text().splitlines()
    rows = tab.ask("[...document.querySelectorAll('figure.chart')[2].querySelectorAll('tr')]"
                   ".map(r => [...r.cells].map(c => c.textContent))")
    check(csv[0] == ",".join(f'"{cell}"' for cell in rows[0]), csv[0])
    check(csv[1:] == [f'"{curve}",{x},{y}' for curve, x, y in rows[1:]], csv[1], rows[1])
    path = fetch(tab, "Settings and numbers as JSON", "gray-out-facts.json")
    quality = json.loads(path.read_text())["quality"]
    out, truth = npy.read_npy("gray-out.npy")[2], npy.read_npy("gray.npy")[2]
    error = sum((a - b) ** 2 for a, b in zip(out, truth)) / len(out)
    near(quality["peak"] / 10 ** (quality["psnr"] / 20), error ** 0.5, 1e-4, "JSON")


def check_names(tab):
    tab.open("names.html", 1280)
    check(tab.ask("typeof hacked") == "undefined", "a name became a script")
    check(tab.ask("document.querySelector('h1').textContent") == "Recovery of " + NAME, "h1")
    check(tab.ask("JSON.parse(document.getElementById('facts').textContent).input") == NAME, "JSON")
    name = tab.ask("document.getElementById('downloads').dataset.name")
    check(name == 'it\'s "<b>"', "downloads", name)
    check(not tab.complaints, tab.complaints)


def main():
    program, tools = browser.find(), os.path.abspath(sys.argv[1])
    if not program:
        print("SKIPPED: no chromium to open pages with")
        return 77
    print(f"CSREC_TEST_SEED={SEED}", flush=True)
    draw = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_inputs(draw, tools)
        make_pages(tools)
        axe = find_axe(folder)
        if not axe:
            print("SKIPPED, accessibility: no axe-core")
        tab = browser.Browser(program, folder)
        try:
            check_all_layouts(tab, axe)
            for part in (check_without_script, check_slider, check_zoom, check_charts,
                         check_downloads, check_names):
                part(tab)
            check_values(tab, draw)
        finally:
            tab.close()
    print(f"{len(PAGES) + 1} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
