#!/bin/sh
# Train and play the models of this bundle on a machine without network, and pack the landed rows.
# usage: sh run.sh    (again after an interruption: it resumes)
# PYTHON names the interpreter (default: python3): the packages that the bundle has no wheels of come from it.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3}
if [ ! -e site/.installed ]; then
    "$python" -m pip install --quiet --no-index --no-deps --upgrade --target site wheels/*.whl
    touch site/.installed
fi
export PYTHONPATH="$PWD/site" CARRYOVER_HOME="$PWD/data"
export HF_HUB_OFFLINE=1 DO_NOT_TRACK=1 GX_ANALYTICS_ENABLED=false
unset CARRYOVER_LANDING PREFECT_API_URL || true
play() {
    echo "$(date -u +%H:%M:%S) $*"
    xargs "$python" -m carryover.flows.cli.start "$@" < options.txt
}
play stage train-models
play stage evaluate-models
play run    # finds all of that, computes the statistics and ends as a finished study
echo "$(date -u +%H:%M:%S) rows.tar"
tar cf rows.tar.part -C data landing
mv rows.tar.part rows.tar
