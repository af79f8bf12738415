#!/bin/sh
# Install Debian's bubblewrap when this user may do it; otherwise say in one line what it would give and how to get it.
set -u
command -v bwrap >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing Debian's bubblewrap (the sandbox of agent code)"
    { apt-get -qq update && apt-get -qq install --yes bubblewrap; } >/dev/null 2>&1 && exit 0
    echo "bubblewrap could not be installed; agent code runs at a lower sandbox level, which every trace names"
    exit 0
fi
echo "bubblewrap is missing: agent code runs at a lower sandbox level, which every trace names; 'sudo apt-get install bubblewrap' gives the full one"
