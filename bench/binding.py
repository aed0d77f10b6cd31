# SPDX-License-Identifier: BSD-3-Clause
"""binding.py - imports csrecover on the library of a build folder, without installing it, and says
which on the command line."""
import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def load(build):
    """Where there is no source beside (cuda_pack.sh), the package is in the folder already."""
    if (ROOT / "python").is_dir():
        sys.path.insert(0, str(ROOT / "python"))
        import inplace
        inplace.place(build)
    sys.path.insert(0, str(Path(build).resolve() / "python"))
    import csrecover
    return csrecover


def parser(description, json, **options):
    """--build, --json and others. An option: its default, or (default, help); a list takes several
    values, False and None are switches without and with a value."""
    made = argparse.ArgumentParser(description=description,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--build", default=str(ROOT / "build"))
    made.add_argument("--json", default=json)
    for name, default in options.items():
        default, told = default if isinstance(default, tuple) else (default, None)
        one = default[0] if isinstance(default, list) and default else default
        kind = ({"action": "store_true"} if default is False else
                {"nargs": "+", "type": type(one)} if isinstance(default, list) and default else
                {"nargs": "+"} if isinstance(default, list) else
                {"type": str if one is None else type(one)})
        made.add_argument(f"--{name.replace('_', '-')}", default=default, help=told, **kind)
    return made


def arguments(description, json, **options):
    return parser(description, json, **options).parse_args()


def on_pictures(description, json, quick="one picture", **options):
    """The options that measurements on the pictures share."""
    return arguments(description, json, images=(None, "folder of *-256.png, as for pictures.py"),
                     quick=(False, quick), **options)
