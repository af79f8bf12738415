#!/usr/bin/env bash
# The unmarked tests with the lowest versions that pyproject.toml allows and with the newest that pip resolves, then the
# core's tests on every other Python at hand. Environments live in build/versions and are made anew by every call.
# .ci/versions.sh [TESTS...]: these tests alone, in every environment.
set -euo pipefail
cd "$(dirname "$0")/.."
export DO_NOT_TRACK=1 GX_ANALYTICS_ENABLED=false
python=${PYTHON:-python3.11}
folder=build/versions
core_tests=(tests/tasks/runtime tests/tasks/lint tests/tasks/readers)
chosen=("$@")

floors() {
    "$python" - <<'PYTHON'
import re, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
asked = [each for group in (project["dependencies"], *project["optional-dependencies"].values()) for each in group]
found = (re.match(r"([\w.-]+)(?:\[\w+\])?[>=]=([\d.]+)", each) for each in asked)
print("\n".join(sorted({f"{each[1]}=={each[2]}" for each in found if each})))
PYTHON
}

environment() { # NAME PYTHON EXTRAS [PIP'S OPTIONS]: make one, and run pip check in it
    local place="$folder/$1" interpreter=$2 extras=$3
    shift 3
    "$interpreter" -m venv --clear "$place"
    local pip=("$place/bin/python" -m pip --disable-pip-version-check)
    case $extras in *train*) "${pip[@]}" install --quiet "$@" torch==2.13.0 ;; esac
    "${pip[@]}" install --quiet "$@" --editable ".[$extras]" pytest pytest-timeout pytest-xdist hypothesis
    "${pip[@]}" check
}

run_tests() { # NAME TESTS...: run them, or the chosen ones, in an environment
    local python="$folder/$1/bin/python"
    shift
    [ ${#chosen[@]} -eq 0 ] || set -- "${chosen[@]}"
    "$python" -m pytest -n 2 --dist loadfile "$@"
}

mkdir -p "$folder"
floors >"$folder/floors.txt"
for which in lowest newest; do
    echo "== $which versions"
    options=()
    # The lowest s3fs pins botocore by way of aiobotocore: without a boto3 to match, pip tries its releases one by one.
    [ "$which" = newest ] || options=(--constraint "$folder/floors.txt" 'aiobotocore[boto3]<3')
    environment "$which" "$python" study,train,dev "${options[@]}"
    run_tests "$which" --ignore tests/tasks/runtime
    [ ${#chosen[@]} -gt 0 ] || run_tests "$which" tests/tasks/runtime
done
for minor in 12 13 14; do
    interpreter=$(command -v "python3.$minor") && "$interpreter" -c '' 2>/dev/null || { echo "== no Python 3.$minor at hand"; continue; }
    echo "== the core on Python 3.$minor"
    environment "3.$minor" "$interpreter" frames
    run_tests "3.$minor" "${core_tests[@]}"
done
