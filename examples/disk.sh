#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# disk.sh ADDRESS FILE SIZE FOLDER - a block device that is FILE of another host, with a
# file system, mounted at FOLDER. As root, with the modules unic and unicblk loaded.
# The other host runs: unicd --kio-export DIR --kio-writable
#
# disk.sh off FOLDER - the way back.
set -eu

disks=/sys/class/unicblk

# The node of the disk whose source is $1 of the host $2.
node_of()
{
	for said in /sys/block/unicblk*/unicblk/source; do
		if grep -q "$1" "$said" && grep -q "$2" "$said"; then
			echo "/dev/$(basename "${said%/unicblk/source}")"
			return
		fi
	done
	echo "disk.sh: no disk of $1" >&2
	exit 1
}

if [ $# = 2 ] && [ "$1" = off ]; then
	node=$(awk -v at="$2" '$2 == at { print $1 }' /proc/mounts)
	umount "$2"
	echo "${node#/dev/unicblk}" >$disks/remove
	exit
fi
if [ $# != 4 ]; then
	echo "usage: disk.sh ADDRESS FILE SIZE FOLDER | off FOLDER" >&2
	exit 2
fi

# A file that is not there, or is shorter, is made that long. The write returns when the
# disk is there, or says why not.
echo "nic=0 addr=$1 file=$2 size=$3" >$disks/add
node=$(node_of "$2" "$1")
# Flush means: it is on the other host's disk. So a journal is worth what it is anywhere.
${MKFS:-mkfs.ext4 -q} "$node"
mkdir -p "$4"
mount -t ext4 "$node" "$4"
echo "$node is mounted at $4; it is done with: disk.sh off $4"
