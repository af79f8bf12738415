#!/bin/sh
# Install echarts by npm into the folder node_modules beside this one; otherwise say in one line what is left out.
set -u
cd "${0%/*}/.." || exit 1
without="the test that renders charts is left out"
[ -e node_modules/echarts/dist/echarts.min.js ] && exit 0
if ! command -v npm >/dev/null 2>&1; then
    echo "npm is missing: $without; 'sudo apt-get install npm' gives it"
    exit 0
fi
echo "installing echarts into node_modules (the test that renders charts, 60 MB)"
npm install --prefix . --no-save --no-package-lock --no-audit --no-fund echarts@5 >/dev/null 2>&1 && exit 0
echo "echarts could not be installed: $without"
