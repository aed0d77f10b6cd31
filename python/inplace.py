#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""inplace.py BUILD - the package on the library of a build folder, without installing: prints the
folder to put into PYTHONPATH. Needs cffi and a C compiler's preprocessor (CC, else cc)."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def place(build):
    build = Path(build).resolve()
    library = next((build / f"libcsrec{suffix}" for suffix in (".so", ".dylib")
                    if (build / f"libcsrec{suffix}").exists()), None)
    if library is None:
        sys.exit(f"inplace.py: no libcsrec in {build}; build first")
    package = build / "python" / "csrecover"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "python" / "csrecover", package,
                    ignore=shutil.ignore_patterns("__pycache__", "_csrec.py", "libcsrec*"))
    (package / library.name).symlink_to(library)
    (package / "share").symlink_to(ROOT / "share" / "csrecover")
    subprocess.run([sys.executable, ROOT / "python" / "generate.py", ROOT / "include" / "csrec.h",
                    os.environ.get("CC") or "cc", package / "_csrec.py"], check=True,
                   stdout=subprocess.DEVNULL)
    return package.parent


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(place(sys.argv[1]))
