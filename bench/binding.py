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


def arguments(description, json, quick="one picture"):
    """The options that measurements on the pictures share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--images", help="folder of *-256.png, as for pictures.py")
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--json", default=json)
    return parser.parse_args()
