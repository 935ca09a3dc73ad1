#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make kick-tires`: each part of this project once, in minutes, with one line PASS or FAIL for each; what it printed
# is in results/kick-tires. A step that fails does not keep the others from running. Exit status 1: a step failed.
cd "$(dirname "$0")/.." || exit 2
logs=results/kick-tires
steps=0 failed=0
mkdir -p "$logs"

# step NAME TEXT COMMAND...: the command must end with status 0 and print the text
step() {
    name=$1 text=$2 log=$logs/$(echo "$1" | tr ' ' '-').txt began=$(date +%s)
    shift 2
    steps=$((steps + 1))
    "$@" >"$log" 2>&1 </dev/null
    status=$?
    seconds=$(($(date +%s) - began))
    if [ "$status" -eq 0 ] && grep -qF -e "$text" "$log"; then
        echo "PASS  $name ($seconds s)"
    else
        failed=$((failed + 1))
        echo "FAIL  $name ($seconds s): exit status $status, to print: $text; $log ends:"
        tail -n 12 "$log" | sed 's/^/    /'
    fi
}

step "check the tools" '"fit_for"' .venv/bin/rematch check --json
step "measure a session" " ok" .venv/bin/rematch measure smoke --profile smoke
step "print its results" java-jdkhttp .venv/bin/rematch results smoke
step "execute a notebook" "Output Notebook" \
    .venv/bin/papermill notebooks/30-strings.ipynb "$logs/30-strings.ipynb" -p profile sample
# one run an arm: it prints ratios, and refuses verdicts with the reason
step "compare two files" one_run .venv/bin/rematch compare \
    harness/tests/golden/jmeter/closed-10-users.jtl.gz -- harness/tests/golden/jmeter/open-arrivals.jtl.gz

[ "$failed" -eq 0 ] && verdict=PASS || verdict=FAIL
cat <<NEXT

$verdict: $((steps - failed)) of $steps steps passed
Next:
  read what is claimed, and what each claim costs to check: ARTIFACT.md
  build the paper from the bundled sessions, measure nothing: make paper PROFILE=sample
  measure everything here: make paper
  run all tests: make test
NEXT
[ "$failed" -eq 0 ]
