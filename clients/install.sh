#!/usr/bin/env bash
# Installs the client libraries that clients/run.py drives (Python, Node and Go packages) where they are missing.
set -euo pipefail
cd "$(dirname "$0")"
python3 -c 'import pymysql, cryptography, mysql.connector' 2>/dev/null ||
    python3 -m pip install --quiet PyMySQL cryptography mysql-connector-python ||
    python3 -m pip install --quiet --break-system-packages PyMySQL cryptography mysql-connector-python
[ -d node/node_modules/mysql2 ] || npm install --silent --no-audit --no-fund --no-package-lock --prefix node
(cd go && go mod download)
