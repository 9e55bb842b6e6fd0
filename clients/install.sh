#!/usr/bin/env bash
# Installs what clients/run.py drives (Python, Node and Go packages), and the readers of segment files that tests use, where
# they are missing.
set -euo pipefail
cd "$(dirname "$0")"
packages=(PyMySQL cryptography mysql-connector-python duckdb pandas pyarrow pyspark)
python3 -c 'import pymysql, cryptography, mysql.connector, duckdb, pandas, pyarrow, pyspark' 2>/dev/null ||
    python3 -m pip install --quiet "${packages[@]}" ||
    python3 -m pip install --quiet --break-system-packages "${packages[@]}"
[ -d node/node_modules/mysql2 ] || npm install --silent --no-audit --no-fund --no-package-lock --prefix node
(cd go && go mod download)
