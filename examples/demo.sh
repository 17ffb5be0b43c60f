#!/bin/sh
# The main job, end to end: tune a small heat solver under the embedded MPICH, prove the gain, write the report.
# Called by `make demo`; everything it makes is in build/demo.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
mpiric=$top/.venv/bin/mpiric
work=$top/build/demo

rm -rf "$work"
mkdir -p "$work"
make -s -C "$top/examples" MPICC="$("$mpiric" mpi prefix mpich)/bin/mpicc" ../build/examples/heat3d
cp "$top/build/examples/heat3d" "$work/"
cd "$work"

PATH=$("$mpiric" mpi prefix mpich)/bin:$PATH
export PATH
command='mpiexec -n 2 ./heat3d'
echo "\$ mpiric tune --budget 100s -- $command"
# shellcheck disable=SC2086  # the command is words
"$mpiric" tune --budget 100s --store "$work/store" --output "$work/heat3d.recipe.toml" -- $command

echo
echo "\$ mpiric run -- $command"
# shellcheck disable=SC2086
"$mpiric" run --store "$work/store" -- $command
cp "$work"/store/*/report.html "$work/report.html"
echo
echo "The report, to open in a browser: build/demo/report.html"
echo "Yours next: mpiric tune -- mpirun -n 2 ./your_program    ($mpiric)"
