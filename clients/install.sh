#!/usr/bin/env bash
# Installs what clients/run.py drives (Python, Node and Go packages), and the readers of segment files that tests use, in the
# versions that are written down beside it.
set -euo pipefail
cd "$(dirname "$0")"
# Debian keeps its own Python to itself unless it is told.
python3 -m pip install --quiet --requirement requirements.txt ||
    python3 -m pip install --quiet --break-system-packages --requirement requirements.txt
npm ls --prefix node >/dev/null 2>&1 || npm ci --silent --no-audit --no-fund --prefix node
(cd go && go mod download && go mod verify >/dev/null)
