#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# kmod_install.sh install|uninstall VERSION [KERNEL] - the Linux modules and their
# udev rule. With dkms the sources go to /usr/src, and whatever kernel comes gets
# its modules; without, those that `make kmod` built go to KERNEL, the running one.
# DESTDIR: instead of /, without dkms.
set -eu
cd "$(dirname "$0")/../.."
what=$1 version=$2 kernel=${3:-$(uname -r)}
root=${DESTDIR:-}
linux=host_driver/linux
rule=$root/usr/lib/udev/rules.d/70-unic.rules
updates=$root/lib/modules/$kernel/updates/unic
sources=/usr/src/unic-$version

with_dkms()
{
	[ -z "$root" ] && command -v dkms >/dev/null
}

install_dkms()
{
	mkdir -p "$sources/host_driver"
	cp -r abi "$sources"
	cp -r host_driver/core host_driver/kio $linux "$sources/host_driver"
	sed "s/@VERSION@/$version/g" $linux/dkms.conf >"$sources/dkms.conf"
	dkms install --force "unic/$version" -k "$kernel"
}

install_built()
{
	mkdir -p "$updates"
	cp build/kmod/$linux/*.ko "$updates"
	[ -n "$root" ] || depmod "$kernel"
}

uninstall()
{
	rm -f "$rule"
	if with_dkms; then # every version that was ever installed
		for old in $(dkms status unic | sed 's|^unic/\([^,]*\),.*|\1|' |
			sort -u); do
			dkms remove "unic/$old" --all
			rm -rf "/usr/src/unic-$old"
		done
	fi
	rm -rf "$updates"
	[ -n "$root" ] || depmod "$kernel"
}

case $what in
install)
	if with_dkms; then install_dkms; else install_built; fi
	install -D -m 644 $linux/70-unic.rules "$rule"
	[ -n "$root" ] || udevadm control --reload 2>/dev/null || true
	;;
uninstall)
	uninstall
	;;
*)
	echo "usage: kmod_install.sh install|uninstall VERSION [KERNEL]" >&2
	exit 2
	;;
esac
