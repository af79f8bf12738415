#!/bin/sh
# A Prefect server, work pools and workers on this machine, in the background: `make up` and `make down` call it.
# usage: BIN=/path/of/venv/bin DEPLOY="make deploy" sh deployments/machine.sh up | down
# With PREFECT_API_URL it starts the workers of that server alone. PREFECT_HOST=0.0.0.0 with
# PREFECT_SERVER_API_AUTH_STRING=user:password lets other machines in.
set -eu
: "${CARRYOVER_HOME:=$PWD/data}"
state=$CARRYOVER_HOME/machine
export CARRYOVER_HOME PREFECT_SERVER_ANALYTICS_ENABLED=false
# On a busy disk SQLite is locked for longer than Prefect's ten seconds, and its services log errors.
export PREFECT_SERVER_DATABASE_TIMEOUT="${PREFECT_SERVER_DATABASE_TIMEOUT:-120}"

fail() {
    echo "carryover: $1" >&2
    exit 1
}

# Ids are given out anew after a reboot or in the course of time. So each process carries a mark in its environment, as
# do all that it starts, and a group is ours while one of its processes has the mark that is noted beside its id.
is_running() {  # NAME
    [ -f "$state/$1.pid" ] || return 1
    group=0 mark=
    read -r group mark <"$state/$1.pid" || true
    for environment in $(grep -lsxzF "CARRYOVER_MARK=$mark" /proc/[0-9]*/environ); do
        process_group=$(sed 's/.*) //' "${environment%/environ}/stat" 2>/dev/null | cut -d ' ' -f 3)
        [ "$process_group" != "$group" ] || return 0
    done
    return 1
}

# Each process leads a group of its own, so that what it started ends with it.
start() {  # NAME COMMAND...
    name=$1; shift
    if is_running "$name"; then
        echo "$name is running"
        return
    fi
    mark=$(cat /proc/sys/kernel/random/uuid)
    CARRYOVER_MARK=$mark setsid "$@" >"$state/$name.log" 2>&1 </dev/null 9>&- &
    echo "$! $mark" >"$state/$name.pid"
    tries=0
    until is_running "$name" || [ $((tries += 1)) -gt 50 ]; do  # the mark shows once the command is loaded
        sleep 0.1
    done
    echo "$name is started, its log is $state/$name.log"
}

start_server() {
    : "${PREFECT_HOST:=127.0.0.1}" "${PREFECT_PORT:=4200}"
    case $PREFECT_HOST in
        127.* | localhost) ;;
        *) [ -n "${PREFECT_SERVER_API_AUTH_STRING:-}" ] ||
            fail "a server at $PREFECT_HOST needs a password; set PREFECT_SERVER_API_AUTH_STRING=user:password" ;;
    esac
    if [ -n "${PREFECT_SERVER_API_AUTH_STRING:-}" ]; then
        export PREFECT_SERVER_API_AUTH_STRING PREFECT_API_AUTH_STRING="$PREFECT_SERVER_API_AUTH_STRING"
    fi
    reached=$PREFECT_HOST
    [ "$PREFECT_HOST" != 0.0.0.0 ] || reached=127.0.0.1
    export PREFECT_API_URL="http://$reached:$PREFECT_PORT/api"
    if is_running server; then
        port=$(cat "$state/server.port")
        [ "$port" = "$PREFECT_PORT" ] || fail "the server of $CARRYOVER_HOME runs on port $port; call 'make down' first"
    else
        "$BIN/python" -m carryover.tasks.services.ports "$PREFECT_PORT" ||
            fail "no server is started; stop that process, or choose another port: PREFECT_PORT=... make up"
        echo "$PREFECT_PORT" >"$state/server.port"
    fi
    # The UI asks the server that it came from, whatever name a browser has for it.
    start server env PREFECT_UI_API_URL=/api "$BIN/prefect" server start --host "$PREFECT_HOST" --port "$PREFECT_PORT"
    tries=0
    until "$BIN/python" -m carryover.flows.cli.machine.prefect_server 2>"$state/lack"; do
        is_running server && [ $((tries += 1)) -lt 60 ] || fail "$(cat "$state/lack"); see $state/server.log"
        sleep 1
    done
    # Another server on the port would answer as well, while ours fails to bind it.
    is_running server || fail "the server has ended; see $state/server.log"
}

up() {
    mkdir -p "$state"
    exec 9>"$state/lock"
    flock 9  # a second `make up` finds what the first one starts
    [ -n "${PREFECT_API_URL:-}" ] || start_server
    $DEPLOY >"$state/deploy.log" 2>&1 || { tail -n 5 "$state/deploy.log" >&2; exit 1; }
    start cpu "$BIN/carryover" worker --pool cpu
    devices=$(nvidia-smi --query-gpu=index --format=csv,noheader 2>/dev/null || true)
    for device in $devices; do
        start "gpu$device" env CUDA_VISIBLE_DEVICES="$device" "$BIN/carryover" worker --pool gpu
    done
    [ -n "$devices" ] || start gpu "$BIN/carryover" worker --pool gpu
    settings=PREFECT_API_URL=$PREFECT_API_URL
    [ -z "${PREFECT_API_AUTH_STRING:-}" ] || settings="$settings PREFECT_API_AUTH_STRING=..."
    echo "ready: export $settings; UI at ${PREFECT_API_URL%/api}; 'make down' stops it"
}

lives() {  # GROUP: whether a process of it is no zombie
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v group="$1" '
        { sub(/.*\) /, "") }
        $1 != "Z" && $3 == group { is_found = 1 }
        END { exit !is_found }'
}

stop() {  # NAME...
    for name in "$@"; do
        if is_running "$name"; then
            kill -s TERM -- "-$group" 2>/dev/null || true
        else
            rm "$state/$name.pid"
            echo "$name had ended"
        fi
    done
    tries=0
    for name in "$@"; do
        [ -f "$state/$name.pid" ] || continue
        read -r group mark <"$state/$name.pid"
        while lives "$group"; do
            if [ $((tries += 1)) -ge 300 ]; then
                ! is_running "$name" || kill -s KILL -- "-$group" 2>/dev/null || true
                break
            fi
            sleep 0.1
        done
        rm "$state/$name.pid"
        echo "$name is stopped"
    done
}

down() {  # the server last: workers tell it how their runs ended
    [ -d "$state" ] || return 0
    names=$(ls "$state" | sed -n 's/\.pid$//p')
    stop $(echo "$names" | grep -v '^server$')
    stop $(echo "$names" | grep '^server$')
}

"$1"
