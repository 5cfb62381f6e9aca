#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# install_deps.sh [LIST [PART...]] - see that every package of LIST (packages.txt)
# is installed, or of those parts of it (the first words of their headings).
# Root on Debian: installs what is missing. Anyone else is told the command to
# run. DEPS=skip: whoever runs this knows better. DEPS_LOG=FILE: what apt-get prints goes there.
set -eu
cd "$(dirname "$0")/../.."
list=${1:-packages.txt}
[ $# = 0 ] || shift
parts=" $* "

fail()
{
	echo "install-deps: $*" >&2
	exit 1
}

[ "${DEPS:-}" != skip ] || exit 0
command -v dpkg-query >/dev/null || fail "this is not Debian. Please install" \
	"what $list names, then run the target again with DEPS=skip."

wanted()
{
	awk -v parts="$parts" '
		/^#/ { part = " " tolower($2) " " }
		/^[^#]/ && (parts !~ /[^ ]/ || index(parts, part)) { print $1 }
	' "$list"
}

missing=
for package in $(wanted); do
	status=$(dpkg-query -W -f '${db:Status-Status}' "$package" \
		2>/dev/null || true)
	[ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

run()
{
	[ -n "${DEPS_LOG:-}" ] || { "$@"; return; }
	"$@" >>"$DEPS_LOG" 2>&1 || { tail -n 20 "$DEPS_LOG"; return 1; }
}

command="apt-get install -y --no-install-recommends$missing"
[ -z "${DEPS_LOG:-}" ] || echo "install-deps: packages are missing, which takes a minute; more is in $DEPS_LOG"
run echo "install-deps: missing packages:$missing"
[ "$(id -u)" = 0 ] || fail "not root. Please run: sudo $command"

export DEBIAN_FRONTEND=noninteractive
run echo "install-deps: apt-get update; $command"
run apt-get update -q || fail "apt-get update failed: is there a network and a" \
	"mirror in /etc/apt/sources.list?"
# shellcheck disable=SC2086 # a list of words is meant
run $command || fail "apt-get could not install them, see above"
