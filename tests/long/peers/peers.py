# SPDX-License-Identifier: BSD-3-Clause
"""peers.py needs|tests NAME - what pip installs for peer_NAME.py, or what pytest is given to run.

An adapter is a module peer_NAME with NEEDS, requirements of pip; tests(), the arguments of pytest,
which raises OSError where they cannot be had; and the swaps, which pytest makes when it loads the
module as a plugin (pytest_configure)."""
import importlib
import os
import subprocess
import sys
import tarfile
from pathlib import Path


def installed(module, *files):
    """Tests that the package ships."""
    folder = Path(importlib.import_module(module).__file__).parent
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise OSError(f"{module} ships no {', '.join(missing)}")
    return [str(folder / name) for name in files]


def from_source(requirement, *files):
    """Tests that only the source distribution holds."""
    folder = Path(os.environ["PEERS_WORK"]) / "source"
    done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary",
                           ":all:", "--dest", str(folder), requirement], capture_output=True, text=True)
    archives = sorted(folder.glob(f"{requirement.split('=')[0].lower()}-*.tar.gz")) or \
        sorted(folder.glob(f"{requirement.split('=')[0]}-*.tar.gz"))
    if done.returncode or not archives:
        raise OSError(f"pip has no source of {requirement}")
    with tarfile.open(archives[-1]) as archive:
        archive.extractall(folder, filter="data")
    top = folder / archives[-1].name[:-len(".tar.gz")]
    missing = [name for name in files if not (top / name).is_file()]
    if missing:
        raise OSError(f"the source of {requirement} holds no {', '.join(missing)}")
    return [str(top / name) for name in files]


def swap(mine, name, *modules):
    """Puts ours under that name into modules, each of which must have it."""
    for module in modules:
        found = importlib.import_module(module)
        if not hasattr(found, name):
            raise AttributeError(f"{module} has no {name} to swap")
        setattr(found, name, mine)


if __name__ == "__main__":
    what, peer = sys.argv[1], sys.argv[2]
    adapter = importlib.import_module(f"peer_{peer}")
    try:
        print(*(adapter.NEEDS if what == "needs" else adapter.tests()))
    except OSError as reason:
        sys.exit(print(reason) or 77)
