#!/usr/bin/env bash
# Run a command as an ordinary user, who reaches this checkout and its Python although they may lie in root's folders.
# Paths stay as they are: in a mount namespace, a closed folder above them is replaced by an open one that holds only them.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || exec "$@"
if [ -z "${USER_HOME:-}" ]; then
    USER_HOME=$(mktemp -d)
    trap 'rm -rf --one-file-system "$USER_HOME"' EXIT
    export USER_HOME
    unshare --mount .ci/as_user.sh "$@"
    exit
fi

user=1000
home=$USER_HOME
chmod 755 "$home"
places=("$PWD" "$(.venv/bin/python -c 'import sys; print(sys.base_prefix)')")
for number in "${!places[@]}"; do
    mkdir "$home/$number"
    mount --bind "${places[number]}" "$home/$number"
done
for place in "${places[@]}"; do
    folder=
    IFS=/ read -ra names <<<"${place#/}"
    for name in "${names[@]}"; do
        folder=$folder/$name
        if [ -d "$folder" ] && ! ((8#$(stat --format %a "$folder") & 1)); then
            mount -t tmpfs -o mode=755 tmpfs "$folder"
            break
        fi
    done
done
for number in "${!places[@]}"; do
    mkdir -p "${places[number]}"
    mount --bind "$home/$number" "${places[number]}"
done
mkdir "$home/tmp"
chown "$user:$user" "$home/tmp"
cd "${places[0]}"
exec setpriv --reuid "$user" --regid "$user" --clear-groups env HOME="$home/tmp" TMPDIR="$home/tmp" USER=carryover \
    PYTHONDONTWRITEBYTECODE=1 "$@"
