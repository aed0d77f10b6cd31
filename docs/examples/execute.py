#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""execute.py NOTEBOOK... - runs notebooks in place and keeps their output.

What depends on the machine (times, counters, versions) is left out, and figures are small, so that
the same output makes the same file. Needs nbclient, ipykernel and what the notebook imports.
"""
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

KEPT = ("image/png", "text/plain")
FIGURES = "%config InlineBackend.print_figure_kwargs = {'dpi': 72, 'metadata': {'Software': None}}"


def executed(path):
    """The notebook with fresh output; an error in a cell is raised."""
    book = nbformat.read(path, as_version=4)
    book.cells.insert(0, nbformat.v4.new_code_cell(FIGURES))
    NotebookClient(book, timeout=300, kernel_name="python3",
                   resources={"metadata": {"path": str(Path(path).parent)}}).execute()
    del book.cells[0]
    return stripped(book)


def stripped(book):
    book.metadata = nbformat.NotebookNode()
    for cell in book.cells:
        cell.metadata = nbformat.NotebookNode()
        if cell.cell_type != "code":
            continue
        cell.execution_count = None
        # Warnings and progress go to stderr; a figure's repr says nothing beside the figure.
        cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
        for one in cell.outputs:
            if "data" in one:
                data = {kind: one.data[kind] for kind in KEPT if kind in one.data}
                one.data = {"image/png": data["image/png"]} if "image/png" in data else data
                one.metadata = nbformat.NotebookNode()
            if "execution_count" in one:
                one.execution_count = None
    return book


def printed(book):
    """What the cells print, as one text."""
    return "".join(one.text for cell in book.cells for one in cell.get("outputs", [])
                   if one.get("name") == "stdout")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    for name in sys.argv[1:]:
        nbformat.write(executed(name), name)
