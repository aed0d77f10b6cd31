# SPDX-License-Identifier: BSD-3-Clause
"""layout.py - how a page lies on the screen, and whether all can use it."""

import os
import pathlib
import subprocess
import sys
import zipfile


def check(truth, *words):
    if not truth:
        raise AssertionError(" ".join(map(str, words)))


def near(a, b, tolerance, what):
    check(abs(a - b) <= tolerance, what, a, "is not", b)


LAYOUT = """(() => {
  const all = s => [...document.querySelectorAll(s)], box = e => e.getBoundingClientRect();
  const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 2 &&
    b.top < a.bottom - 2;
  const rows = {};
  all('.panels figure').map(f => Math.round(box(f).top)).forEach(top => {
    rows[top] = (rows[top] || 0) + 1;
  });
  const counts = Object.values(rows), most = Math.max(0, ...counts);
  return {
    beyond: document.documentElement.scrollWidth,
    overlaps: all('svg').reduce((n, svg) => {
      const texts = [...svg.querySelectorAll('text')].map(box);
      return n + texts.filter((a, i) => texts.some((b, k) => i < k && overlap(a, b))).length;
    }, 0),
    letters: Math.min(99, ...all('svg').map(s => 13 * box(s).width / s.viewBox.baseVal.width)),
    paper: getComputedStyle(document.body).backgroundColor,
    columns: most, alone: most > 1 && Math.min(...counts) === 1,
    targets: all('button, select, summary, input').filter(e => e.checkVisibility())
      .map(e => Math.min(box(e).width, box(e).height)),
  };
})()"""


BEYOND = """[...document.querySelectorAll('body *')].filter(e => !e.closest('.wide') &&
  e.getBoundingClientRect().right > innerWidth - 5).map(e => e.outerHTML.slice(0, 60))"""


def check_layout(tab, name, width, dark):
    said = tab.ask(LAYOUT)
    where = f"{name} {width} {'dark' if dark else 'light'}"
    check(said["beyond"] <= width, where, said, said["beyond"] > width and tab.ask(BEYOND))
    check(said["overlaps"] == 0 and not said["alone"] and said["letters"] > 9.9, where, said)
    check(said["paper"] == ("rgb(28, 28, 28)" if dark else "rgb(255, 255, 255)"), where, said)
    check(min(said["targets"]) >= 43.9, where, said["targets"])
    check(width > 500 or said["columns"] <= 1, where, said)
    check(not tab.complaints, where, tab.complaints)


def find_axe(folder):
    """axe-core's script, or None."""
    if os.environ.get("CSREC_AXE"):
        return pathlib.Path(os.environ["CSREC_AXE"]).read_text()
    done = subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--retries", "1",
                           "--timeout", "10", "-d", folder, "axe-playwright-python"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wheels = list(pathlib.Path(folder).glob("axe_*.whl"))
    if done.returncode or not wheels:
        return None
    with zipfile.ZipFile(wheels[0]) as wheel:
        member = next(n for n in wheel.namelist() if n.endswith("axe.min.js"))
        return wheel.read(member).decode()


def check_access(tab, axe, where):
    tab.ask(axe + ";0")
    found = tab.ask("""axe.run(document, {runOnly: {type: 'tag', values: ['wcag2a', 'wcag2aa',
      'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}}).then(r => r.violations.map(v =>
      v.id + ': ' + v.nodes.map(n => n.target.join(' ') + ' ' + n.failureSummary).join(' | ')))""")
    check(not found, where, *found)
