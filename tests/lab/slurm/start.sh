#!/bin/sh
# Starts on this host what does not run yet: start.sh DIRECTORY [controller] [PRELOADED-LIBRARY]
set -eu
directory=$1 role=${2:-} shim=${3:-}
export SLURM_CONF="$directory/slurm.conf"

runs() { # PID-FILE NAME: a number may have gone to another process meanwhile
    [ -s "$1" ] && [ "$(cat "/proc/$(cat "$1")/comm" 2>/dev/null)" = "$2" ]
}

mkdir -p /run/munge /var/spool/slurmctld /var/spool/slurmd
if ! runs /run/munge/munged.pid munged; then
    install -m 600 "$directory/munge.key" /run/munge/key
    munged --force --key-file=/run/munge/key --socket=/run/munge/munge.socket --pid-file=/run/munge/munged.pid \
        --log-file=/var/log/munged.log --seed-file=/run/munge/seed --num-threads=2
fi
if [ "$role" = controller ]; then
    runs /run/slurmctld.pid slurmctld || slurmctld
fi
runs /run/slurmd.pid slurmd || LD_PRELOAD="$shim" slurmd
