#!/bin/sh
# Install echarts and axe-core by npm into the folder node_modules beside this one; otherwise say what is left out.
set -u
cd "${0%/*}/.." || exit 1
without="the tests that render charts and check accessibility are left out"
[ -e node_modules/echarts/dist/echarts.min.js ] && [ -e node_modules/axe-core/axe.min.js ] && exit 0
if ! command -v npm >/dev/null 2>&1; then
    echo "npm is missing: $without; 'sudo apt-get install npm' gives it"
    exit 0
fi
echo "installing echarts and axe-core into node_modules (tests that render charts and check accessibility, 65 MB)"
npm install --prefix . --no-save --no-package-lock --no-audit --no-fund echarts@5 axe-core@4 >/dev/null 2>&1 && exit 0
echo "echarts and axe-core could not be installed: $without"
