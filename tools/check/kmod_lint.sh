#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# kmod_lint.sh KERNEL SOURCES - the Linux modules, the core and all in them: compiled
# with W=1 and looked at by sparse, where every warning is an error; then the
# kernel's checkpatch.pl and, with Coccinelle (spatch), its semantic patches, both from
# a Debian package linux-source-*. CHECKPATCH= names another checkpatch.pl.
set -eu
kernel=$1 work=$2 build=/lib/modules/$1/build
cd "$(dirname "$0")/../.."

compile()
{
	make -C "$build" M="$work/host_driver/linux" C=1 W=1 CF=-Wsparse-error \
		KCFLAGS=-Werror modules >"$work/log" 2>&1 || {
		grep -v '^  ' "$work/log"
		exit 1
	}
}

find_checkpatch()
{
	[ -z "${CHECKPATCH:-}" ] || { echo "$CHECKPATCH"; return; }
	tar=$(ls -v /usr/src/linux-source-*.tar.xz 2>/dev/null | tail -n 1)
	scripts=$work/scripts
	[ -n "$tar" ] || return 0
	[ -e "$scripts/checkpatch.pl" ] ||
		tar -xJf "$tar" -C "$work" --strip-components=1 --wildcards \
			'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
			'*/scripts/const_structs.checkpatch' \
			'*/scripts/coccinelle'
	echo "$scripts/checkpatch.pl"
}

# What is not for this tree:
#   BLOCK_COMMENT_STYLE, OPEN_ENDED_LINE: comments end on their last line, and
#     clang-format breaks lines, as everywhere in the tree
#   LINUX_VERSION_CODE, CONSTANT_COMPARISON: it is built for several kernels, and
#     checkpatch takes KERNEL_VERSION() for a constant on the wrong side
#   PREFER_KERNEL_TYPES: functions of unic_os.h and frames.h have portable types
#   COMPLEX_MACRO, MACRO_ARG_REUSE: lists X(name), and names of fields in tables
#   SPLIT_STRING: clang-format splits them, as everywhere in the tree
linux=BLOCK_COMMENT_STYLE,OPEN_ENDED_LINE,LINUX_VERSION_CODE,CONSTANT_COMPARISON
linux=$linux,PREFER_KERNEL_TYPES,COMPLEX_MACRO,MACRO_ARG_REUSE,SPLIT_STRING
# Headers of tracepoints look like this in the kernel, too.
trace=$linux,TRAILING_SEMICOLON,PARENTHESIS_ALIGNMENT,LINE_SPACING
# The core is not only for Linux, so not with --strict, and without:
#   SPDX_LICENSE_TAG: one form for all files
#   SPLIT_STRING, MISSING_SPACE: clang-format splits them
#   VOLATILE, PREFER_DEFINED_ATTRIBUTE_MACRO, ARRAY_SIZE: there are no such macros
#   SPACING, CONSTANT_COMPARISON: takes `new` and NAME() for what they are not
#   BRACES: of all arms, or of none
#   LINE_SPACING: takes a field whose name is on the next line for none
core=BLOCK_COMMENT_STYLE,SPDX_LICENSE_TAG,SPLIT_STRING,MISSING_SPACE,VOLATILE
core=$core,PREFER_DEFINED_ATTRIBUTE_MACRO,BRACES,LINE_SPACING,ARRAY_SIZE,SPACING
core=$core,CONSTANT_COMPARISON

# checkpatch IGNORED FILE... - with options of @strict
checkpatch()
{
	ignored=$1
	shift
	perl "$script" --no-tree --terse --no-summary --show-types $strict \
		--ignore "$ignored" -f "$@"
}

# The kernel's own rules, each on all files of the modules, two at a time. Says what
# they find.
coccicheck()
{
	grep -rl --include='*.cocci' '^virtual.*report' "$work/scripts/coccinelle" |
		sort | xargs -P 2 -I RULE sh -c 'spatch -D report --very-quiet \
			$(sed -n "s,^// *Options: *,,p" RULE) \
			--cocci-file RULE "$@" 2>/dev/null' sh "$@"
}

# checkpatch keeps words that it has seen in the tree
trap 'rm -f .checkpatch-camelcase.git.*' EXIT
compile
script=$(find_checkpatch)
if [ -z "$script" ]; then
	echo "skipped: 2 checkpatch.pl and coccicheck: linux-source-* is not installed"
	exit 0
fi
bad=0
strict=--strict
checkpatch "$linux" $(ls host_driver/linux/*.[ch] | grep -v unic_trace.h) || bad=1
checkpatch "$trace" host_driver/linux/unic_trace.h || bad=1
strict=
checkpatch "$core" host_driver/core/*.[ch] host_driver/core/*/*.[ch] host_driver/kio/*.[ch] || bad=1
if ! command -v spatch >/dev/null || [ ! -d "$work/scripts/coccinelle" ]; then
	echo "skipped: 1 coccicheck: coccinelle, or linux-source-*, is not installed"
	exit $bad
fi
found=$(coccicheck host_driver/linux/*.c)
[ -z "$found" ] || { echo "$found"; bad=1; }
exit $bad
