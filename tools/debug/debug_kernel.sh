#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# debug_kernel.sh FOLDER - a kernel that looks for faults of modules, of the
# distribution's source and tests/vm/debug.config: FOLDER gets /boot and
# /lib/modules, as tests/vm/kernel.py wants them. Minutes, and 2 GB.
set -eu
folder=${1:?a folder}
config=$PWD/tests/vm/debug.config

fail()
{
	echo "debug_kernel.sh: $*" >&2
	exit 1
}

packed=$(find /usr/src -name 'linux-source-*.tar.xz' | sort -V | tail -1)
[ "$packed" ] || fail "no linux-source-*.tar.xz in /usr/src"
source=$folder/$(basename "$packed" .tar.xz)
objects=$folder/obj

if [ ! -d "$source" ]; then
	echo "unpacking $packed"
	rm -rf "$folder/unpacked"
	mkdir -p "$folder/unpacked"
	tar -C "$folder/unpacked" -xf "$packed"
	# It works here as it does from 6.2 on, where this line is gone.
	sed -i '/^config FAULT_INJECTION_STACKTRACE_FILTER/,/^$/{
		/depends on !X86_64/d }' "$folder"/unpacked/*/lib/Kconfig.debug
	mv "$folder"/unpacked/* "$source"
fi

kernel()
{
	nice -n 15 make --no-print-directory -C "$source" O="$objects" "$@"
}

mkdir -p "$objects"
kernel -s KCONFIG_ALLCONFIG="$config" allnoconfig
# What depends on something that is not set is left out in silence.
while read -r line; do
	case $line in
	'' | '#'*) ;;
	*=n) ! grep -q "^${line%=n}=" "$objects/.config" ;;
	*) grep -qx "$line" "$objects/.config" ;;
	esac || fail "the kernel's source does not take $line"
done <"$config"

rm -f "$objects/Module.symvers"
echo "compiling, some 1200 files"
kernel -j"$(nproc)" bzImage modules | awk '
	/ (CC|LD|AR|AS) / { n++ } n % 100 == 0 && n != said { print n; said = n }
	/ LD  vmlinux$/ { print "linking" } { fflush() }'
[ -f "$objects/Module.symvers" ] || fail "the kernel was not built"

release=$(cat "$objects/include/config/kernel.release")
rm -rf "${folder:?}/boot" "${folder:?}/lib"
kernel -s INSTALL_MOD_PATH="$folder" modules_install
mkdir -p "$folder/boot"
cp "$objects/arch/x86/boot/bzImage" "$folder/boot/vmlinuz-$release"
echo "$folder/boot/vmlinuz-$release"
