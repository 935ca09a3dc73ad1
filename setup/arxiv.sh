#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make arxiv`: the sources of a built paper as one archive for a preprint server, built again alone.
# Its files are what LaTeX itself recorded as read (main.fls), and the bibliography. The proof unpacks them into an
# empty folder and runs pdflatex alone there: preprint servers do not run BibTeX. Exit status 1: they do not build.
# Arguments: folder of the paper, archive to write.
set -eu
bundle=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
cd "$1"
paper=$PWD
if [ ! -s main.fls ] || [ ! -s main.bbl ]; then
    echo "$1: the paper has not been built; allowed: make paper first" >&2
    exit 2
fi
export SOURCE_DATE_EPOCH=1577836800 FORCE_SOURCE_DATE=1 TZ=UTC max_print_line=1000
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
{
    sed -n 's|^INPUT \(\./\)\{0,1\}||p' main.fls
    printf 'main.bbl\nreferences.bib\n'
} | grep -vE '^/|\.(aux|out|toc|lof|lot)$' | LC_ALL=C sort -u >"$folder/files"
tar -cf - -T "$folder/files" | gzip -9n >"$bundle"
mkdir "$folder/alone"
tar -xzf "$bundle" -C "$folder/alone"
cd "$folder/alone"
for _ in 1 2 3 4; do # as many passes as a preprint server makes at most
    if ! pdflatex -interaction=nonstopmode -halt-on-error -file-line-error main.tex >"$folder/log" 2>&1; then
        echo "$bundle: does not build on its own: $(grep -E '^[^ ]+:[0-9]+: ' "$folder/log" | head -n 1)" >&2
        exit 1
    fi
done
if grep -E "(Citation|Reference) .*undefined" main.log >&2; then
    echo "$bundle: builds, but has the above" >&2
    exit 1
fi
same="other bytes than"
cmp -s main.pdf "$paper/main.pdf" && same="the same bytes as"
echo "the bundle: $bundle, $(wc -l <"$folder/files") files; built in an empty folder by pdflatex alone: $same $1/main.pdf"
