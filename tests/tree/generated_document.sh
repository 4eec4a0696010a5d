#!/bin/sh
# A document that is made from a table says what the table says: PROGRAM DOCUMENT TARGET.
"$1" | diff - "$2" || { echo "run: cmake --build BUILD --target $3"; exit 1; }
