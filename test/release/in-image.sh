#!/usr/bin/env bash
# Runs a command in a root file system as a container engine would: as user 65532, read-only except /data and /tmp.
#   unshare --mount in-image.sh ROOT DATA COMMAND...
set -eu
root=$1 data=$2
shift 2
mount --bind "$root" "$root"
mount --bind "$data" "$root/data"
mount -o remount,bind,ro "$root"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
# Debian has it in a folder that only root's PATH has.
chroot=$(PATH="$PATH:/usr/sbin" command -v chroot)
exec setpriv --no-new-privs --inh-caps=-all "$chroot" --userspec=65532:65532 --groups= "$root" "$@"
