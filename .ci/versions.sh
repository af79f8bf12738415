#!/usr/bin/env bash
# The unmarked tests with the lowest versions that pyproject.toml allows and with the newest, then the core's tests on
# every other Python at hand. Environments live in build/versions and are made anew by every call. uv resolves: pip takes
# half an hour to find the lowest versions, as it has no such strategy. An index other than PyPI: UV_DEFAULT_INDEX.
# .ci/versions.sh [TESTS...]: these tests alone, in every environment.
set -euo pipefail
cd "$(dirname "$0")/.."
export DO_NOT_TRACK=1 GX_ANALYTICS_ENABLED=false
python=${PYTHON:-python3.11}
folder=build/versions
core_tests=(tests/tasks/{runtime,lint,readers,agent,cave,probe,families} tests/tasks/traces/test_events.py)
# These read a warehouse, which is the study's: pytest stops where they import DuckDB.
study_tests=(tests/tasks/agent/test_recorder_rows.py tests/tasks/cave/{test_tracing,arms/test_play}.py)
sent=(numpy pandas scipy networkx pillow attrs matplotlib) # whose objects the runtime's tests send
chosen=("$@")

environment() { # NAME PYTHON EXTRAS RESOLUTION [PACKAGES...]: make one, and run pip check in it
    local place="$folder/$1" interpreter=$2 extras=$3 resolution=$4
    shift 4
    "$interpreter" -m venv --clear "$place"
    local pip=("$place/bin/python" -m pip --disable-pip-version-check)
    "${pip[@]}" install --quiet uv
    # pip finds the torch without CUDA that its settings name, and uv keeps what is installed
    case $extras in *train*) "${pip[@]}" install --quiet torch==2.13.0 ;; esac
    "$place/bin/uv" pip install --quiet --python "$place/bin/python" --resolution "$resolution" \
        --editable ".[$extras]" pytest pytest-timeout pytest-xdist hypothesis "$@"
    "${pip[@]}" check
}

run_tests() { # NAME EXPRESSION TESTS...: run those that it selects, or the chosen ones, in an environment
    local python="$folder/$1/bin/python" expression=$2
    shift 2
    [ ${#chosen[@]} -eq 0 ] || set -- "${chosen[@]}"
    "$python" -m pytest -n 2 --dist loadfile -k "$expression" "$@"
}

find_python() { # MINOR: print a Python 3.MINOR: PATH's, or where that is a shim that fails, the newest of pyenv
    local candidate
    for candidate in "python3.$1" $(compgen -G "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$1.*/bin/python" | sort -Vr); do
        if "$candidate" -c '' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

for which in lowest newest; do
    echo "== $which versions"
    resolution=highest
    [ "$which" = newest ] || resolution=lowest-direct
    environment "$which" "$python" study,train,dev "$resolution"
    run_tests "$which" "" --ignore tests/tasks/runtime
    [ ${#chosen[@]} -gt 0 ] || run_tests "$which" "" tests/tasks/runtime
done
for minor in 12 13 14; do
    interpreter=$(find_python "$minor") || { echo "== no Python 3.$minor at hand"; continue; }
    echo "== the core on Python 3.$minor"
    environment "3.$minor" "$interpreter" frames highest "${sent[@]}"
    # PyPI's torch brings several GB.
    run_tests "3.$minor" "not torch and not tensor" "${study_tests[@]/#/--ignore=}" "${core_tests[@]}"
done
