#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""generate.py HEADER COMPILER OUTPUT - turns csrec.h into the module csrecover._csrec.

The header is the only list of types and functions: what is added there can be called from Python
after the next build. The C preprocessor expands its tables; cffi reads the declarations that are
left and writes a module that needs no parser and no compiler where it is imported."""
import os
import re
import subprocess
import sys

import cffi


def with_parts(header):
    """The text of the header, its own parts in place of their includes. The system's are left out:
    cffi knows bool, size_t and the int types itself, and their headers are not for its parser."""
    def part(line):
        name = re.search('"(.*)"', line[0])
        return with_parts(os.path.join(os.path.dirname(header), name[1])) if name else ""
    with open(header, encoding="utf-8") as file:
        return re.sub(r"^\s*#\s*include\b.*$", part, file.read(), flags=re.M)


def declarations(header, compiler):
    text = with_parts(header)
    done = subprocess.run([compiler, "-E", "-P", "-x", "c", "-"], input=text, text=True,
                          capture_output=True)
    if done.returncode:
        sys.exit(f"generate.py: {compiler} -E failed on {header}: {done.stderr.strip()}")
    return re.sub(r"__attribute__\(\(visibility\(\"default\"\)\)\)", "", done.stdout)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    header, compiler, output = sys.argv[1:]
    ffi = cffi.FFI()
    ffi.set_source("csrecover._csrec", None)
    ffi.cdef(declarations(header, compiler))
    part = output + ".part"
    ffi.emit_python_code(part)
    os.replace(part, output)


main()
