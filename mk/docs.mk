# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# What readers of the documents see: a site of all of them, and pictures.

SITE := $(B)/docs
docs: release ## install: the documentation as a site, in build/docs/html; a warning is an error
	@tools/install/install_deps.sh packages.txt documentation
	@tools/docs/site.py --out $(SITE)/src --man $(RELEASE)/man
	@UNIC_VERSION=$(VERSION) sphinx-build -q -W --keep-going -b html -c docs/site $(SITE)/src $(SITE)/html \
		&& echo "$@: ok"
docs-test: ## install: what the site says is typed: each command of tutorial, how-to and README, run
	@tests/docs/test_site.py && echo "$@: ok"
# Runs the demo in a terminal that is recorded.
picture: programs build-soft ## install: record docs/demo.svg, the picture of README.md
	@tools/docs/terminal.py --out docs/demo.svg --columns 110 make BOARD=soft demo > /dev/null && echo "$@: ok"
diagrams: ## install: draw the diagrams of the documents, docs/site/*.svg
	@tools/docs/diagrams.py && echo "$@: ok"
