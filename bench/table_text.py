# SPDX-License-Identifier: BSD-3-Clause
"""table_text.py - tables and figures as Markdown, for tables.py."""

TABLES = {}  # name -> function of a reader of results


def shown(result, name=None):
    """A table of what bench/results has of that name."""
    def register(function):
        TABLES[name or function.__name__] = lambda results: function(results(result))
        return function
    return register


def table(header, rows):
    """Markdown; the first column is text, the others are figures."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def power(n):
    log = n.bit_length() - 1
    return f"2^{log}" if n == 1 << log else f"{n:,}"


def number(value, form="{:,.0f}"):
    return "-" if value is None else form.format(value)


def named(machine):
    memory = f", {machine['memory_gib']:.0f} GiB" if "memory_gib" in machine else ""
    sets = f", {machine['instructions']}" if "instructions" in machine else ""
    extra = ", ".join(f"{label} {machine[key]}" for key, label in
                      (("numpy", "NumPy"), ("scipy", "SciPy"), ("skimage", "scikit-image"),
                       ("sklearn", "scikit-learn"), ("pylops", "PyLops"))
                      if key in machine)
    return (f"{machine['cpu']}, {machine['cores']} cores{memory}{sets}; {machine['compiler']}"
            f"{'; ' + extra if extra else ''}; {machine['date']}")


def seconds(value):
    return f"{value:.3f}" if value < 10 else f"{value:.0f}"
