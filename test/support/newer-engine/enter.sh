#!/bin/sh
# Enters an engine's root folder and becomes its dockerd. Runs in a mount namespace of its own (unshare -m), so
# every mount goes with it. A plain chroot would not do: docker load pivots within its root.
# usage: enter.sh ROOT DATA SOCKETS MODELS BRIDGE
set -eu
root=$1 data=$2 sockets=$3 models=$4 bridge=$5
mount --make-rprivate /
mount --bind "$root" "$root"
mkdir -p "$root/var/lib/docker" "$root/sockets" "$root/old" "$root$models"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount --bind "$data" "$root/var/lib/docker"
mount --bind "$sockets" "$root/sockets"
mount --bind "$models" "$root$models"
cd "$root"
pivot_root . old
umount -l /old
rm -rf /run/docker /run/docker.pid
exec dockerd --host unix:///sockets/docker.sock --bridge "$bridge" --exec-root /run/docker --pidfile /run/docker.pid
