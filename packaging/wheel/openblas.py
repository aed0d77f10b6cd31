# SPDX-License-Identifier: BSD-3-Clause
"""openblas.py PREFIX - writes PREFIX/lib/pkgconfig/openblas.pc for PREFIX/openblas/scipy_openblas32.

Each of its names has a prefix, so that it never meets another OpenBLAS of the process (NumPy brings
one). The compiler gives the prefix to the names that the sources call.
"""
import re
import sys
from pathlib import Path

PREFIX = "scipy_"
root = Path(__file__).resolve().parents[2]
place = Path(sys.argv[1]).resolve()
found = place / "openblas" / "scipy_openblas32"
version = re.search(r"^version=(\d+\.\d+\.\d+)",
                    next(found.glob("lib/pkgconfig/*.pc")).read_text(encoding="utf-8"), re.M)[1]
names = {name for source in sorted((root / "src").rglob("*.[ch]"))
         for name in re.findall(r"\b(cblas_[a-z0-9_]+|openblas_[a-z_]+|dsyevr_)\(",
                                source.read_text(encoding="utf-8"))}
renamed = " ".join(f"-D{name}={PREFIX}{name}" for name in sorted(names))
(place / "lib" / "pkgconfig").mkdir(parents=True, exist_ok=True)
(place / "lib" / "pkgconfig" / "openblas.pc").write_text(f"""\
Name: openblas
Description: OpenBLAS with names of its own
Version: {version}
Cflags: -I{found}/include {renamed}
Libs: -L{found}/lib -lscipy_openblas
""", encoding="utf-8")
