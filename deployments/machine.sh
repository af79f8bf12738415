#!/bin/sh
# A Prefect server, work pools and workers on this machine, in the background: `make up` and `make down` call it.
# usage: BIN=/path/of/venv/bin DEPLOY="make deploy" sh deployments/machine.sh up | down
# With PREFECT_API_URL it starts the workers of that server alone. A worker takes one run at a time on each GPU.
set -eu
: "${CARRYOVER_HOME:=$PWD/data}"
state=$CARRYOVER_HOME/machine
export CARRYOVER_HOME PREFECT_SERVER_ANALYTICS_ENABLED=false

# Each process leads a group of its own, so that what it started ends with it.
start() {  # NAME COMMAND...
    name=$1; shift
    if [ -f "$state/$name.pid" ] && kill -s 0 -- "-$(cat "$state/$name.pid")" 2>/dev/null; then
        echo "$name is running"
        return
    fi
    setsid "$@" >"$state/$name.log" 2>&1 </dev/null &
    echo $! >"$state/$name.pid"
    echo "$name is started, its log is $state/$name.log"
}

up() {
    mkdir -p "$state"
    if [ -z "${PREFECT_API_URL:-}" ]; then
        export PREFECT_API_URL="http://127.0.0.1:${PREFECT_PORT:=4200}/api"
        start server "$BIN/prefect" server start --host 127.0.0.1 --port "$PREFECT_PORT"
        tries=0
        until "$BIN/python" -m carryover.flows.cli.prefect_server 2>"$state/lack"; do
            if [ $((tries += 1)) -ge 60 ]; then
                echo "$(cat "$state/lack"); see $state/server.log" >&2
                exit 1
            fi
            sleep 1
        done
    fi
    $DEPLOY >"$state/deploy.log" 2>&1 || { tail -n 5 "$state/deploy.log" >&2; exit 1; }
    start cpu "$BIN/prefect" worker start --pool cpu
    devices=$(nvidia-smi --query-gpu=index --format=csv,noheader 2>/dev/null || true)
    for device in $devices; do
        start "gpu$device" env CUDA_VISIBLE_DEVICES="$device" "$BIN/prefect" worker start --pool gpu --limit 1 --name "$(hostname)-gpu$device"
    done
    [ -n "$devices" ] || start gpu "$BIN/prefect" worker start --pool gpu --limit 1
    echo "ready: export PREFECT_API_URL=$PREFECT_API_URL; UI at ${PREFECT_API_URL%/api}; 'make down' stops it"
}

stop() {  # NAME.pid...
    for file in "$@"; do
        kill -s TERM -- "-$(cat "$file")" 2>/dev/null || true
    done
    tries=0
    for file in "$@"; do
        while kill -s 0 -- "-$(cat "$file")" 2>/dev/null; do
            [ $((tries += 1)) -lt 60 ] || { kill -s KILL -- "-$(cat "$file")" 2>/dev/null || true; break; }
            sleep 0.5
        done
        rm "$file"
        echo "${file%.pid} is stopped"
    done
}

down() {  # the server last: workers tell it how their runs ended
    cd "$state" 2>/dev/null || return 0
    stop $(ls | grep 'pid$' | grep -v server)
    stop $(ls | grep server.pid)
}

"$1"
