# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# Strangers that talk to unic; included by the Makefile.

interop: programs build-soft ## long: unic and strangers: programs over librdmacm [PART=cm] [OPTIONS="--only rping"]
	@tests/interop/cm.py $(OPTIONS)
