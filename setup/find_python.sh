#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the full path of the first Python >= 3.11, or nothing. PYTHON (if set) comes first.
# The interpreter tells its own path, because a name on PATH may be a shim that starts another one.
for name in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python3.14 python /usr/bin/python3; do
    path=$("$name" -I -c 'import sys
if sys.version_info >= (3, 11): print(sys._base_executable or sys.executable)' 2>/dev/null) || continue
    if [ -n "$path" ]; then
        printf '%s\n' "$path"
        exit 0
    fi
done
exit 1
