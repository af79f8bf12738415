#!/bin/sh
# Install vLLM in an environment of its own and link its program beside our Python, where the study looks for it.
# usage: sh deployments/install_vllm.sh [FOLDER]     (default .vllm; some 10 GB with CUDA's libraries)
set -eu
cd "$(dirname "$0")/.."
folder=${1:-.vllm}
python=${PYTHON:-python3.11}
programs=${VENV:-.venv}/bin
room=12

fail() {
    echo "vllm is not installed: $1 (a server elsewhere needs none of this: name it with --endpoint-url)" >&2
    exit 1
}

command -v "$python" >/dev/null || fail "$python is missing; name another Python 3.11 with PYTHON=..."
[ -d "$programs" ] || fail "there is no $programs; run make install first"
mkdir -p "$folder" || fail "$folder cannot be made; name another folder"
# The marker is written last: a folder without it holds what an earlier failure left, a CPU build of torch among it.
if [ ! -e "$folder/.installed" ]; then
    free=$(df -Pk "$folder" | awk 'NR == 2 {print int($4 / 1048576)}')
    [ "$free" -ge "$room" ] || fail "it takes up to $room GiB and $folder has $free; name a folder on another disk"
    "$python" -m venv --clear "$folder" || fail "$python makes no environment in $folder"
    "$folder/bin/python" -m pip --disable-pip-version-check install --constraint deployments/constraints_gpu.txt vllm ||
        fail "pip ended with what stands above; start again to go on"
    "$folder/bin/python" -c 'import sys, torch; sys.exit(torch.version.cuda is None)' ||
        fail "pip took a torch without CUDA, as its own settings prefer; see 'pip config list', then start again"
    touch "$folder/.installed"
fi
ln -sf "$(cd "$folder" && pwd)/bin/vllm" "$programs/vllm"
# Its program imports CUDA's driver, so without a GPU the version is read from the package.
"$folder/bin/python" -c 'from importlib.metadata import version; print("vllm", version("vllm"))'
