#!/bin/sh
# SCHEMA.md says what the schema table says.
"$1" | diff - "$2" || { echo "run: cmake --build BUILD --target schema-doc"; exit 1; }
