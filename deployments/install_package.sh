#!/bin/sh
# Install a Debian package where this user may do it; otherwise say in one line what it would give and how to get it.
# usage: sh deployments/install_package.sh PROGRAM PACKAGE PURPOSE WITHOUT
#   PROGRAM is looked for first; PURPOSE says what the package is for, WITHOUT what happens where it is missing.
set -u
program=$1 package=$2 purpose=$3 without=$4
command -v "$program" >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing Debian's $package ($purpose)"
    { apt-get -qq update && apt-get -qq install --yes "$package"; } >/dev/null 2>&1 && exit 0
    echo "$package could not be installed: $without"
    exit 0
fi
echo "$package is missing: $without; 'sudo apt-get install $package' gives it"
