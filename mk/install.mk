# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# What is installed, and where. The programs are built once more for it, in build/release,
# as a distribution wants them. A packager may set the folders, DESTDIR, CPPFLAGS, CFLAGS
# and LDFLAGS; tests do not use this build.

PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
VERBSDIR   := $(PREFIX)/lib/unic
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
UNITDIR    ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
UDEVDIR    ?= $(PREFIX)/lib/udev/rules.d
WIRESHARKDIR ?= $(LIBDIR)/wireshark/plugins
COMPLETIONDIR ?= $(DATADIR)/bash-completion/completions
IMAGEDIR   ?= $(DATADIR)/unic/images
EXAMPLEDIR ?= $(DATADIR)/doc/unic/examples

# No text of a program lies at a place that an attacker knows, nothing that is linked can
# be overwritten, and a stack or buffer that overflows ends the program. The compiler of
# a packager may know warnings that ours does not.
HARDEN      := -fPIC -fno-semantic-interposition -fstack-protector-strong -U_FORTIFY_SOURCE \
	-D_FORTIFY_SOURCE=2 -Wformat -Wformat-security -Wno-error -ffile-prefix-map=$(CURDIR)=.
HARDEN_LINK := -Wl,-z,relro -Wl,-z,now
RELEASE     := $(B)/release
RELEASE_IS   = --no-print-directory B=$(RELEASE) VARIANT="$(HARDEN) $(CPPFLAGS) $(CFLAGS)" \
	LINK_WITH="$(HARDEN_LINK) $(LDFLAGS)"

LIBUNIC_SO     := libunic.so.$(SO_VERSION)
LIBUNIC_SONAME := libunic.so.$(firstword $(subst ., ,$(SO_VERSION)))
INSTALLED_BIN   = $(PROGRAMS) unic-nic
# What unic-run has libibverbs load: it looks in ../lib/unic of its own place.
VERBS_SO        = $(notdir $(VERBS))
# unic.h and what it includes.
PUBLIC_HEADERS := $(addprefix host_driver/libunic/,bufman.h pace.h unic.h) $(addprefix abi/,unic_queue.h unic_types.h unic_words.h)
# Those that are built with what is installed.
SHOWN          := $(filter-out %/driver.c %/polite.c,$(EXAMPLES)) examples/disk.sh
IMAGES         := ek-tm4c1294xl/flash.bin lm3s6965evb/flash.bin mps2-an385/unic.elf virt/unic.elf
image_name      = unic-$(firstword $(subst /, ,$1))$(suffix $1)
UNITS          := unic-bus@.service unic-nic@.service unic-wire@.service unicd@.service
# Manual pages: what --help says, and the sections of docs/man. Their date is that of the
# sources.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2> /dev/null)
manual = LC_ALL=C help2man --no-info --source="unic $(VERSION)" --include=docs/man/$1.h2m $(RELEASE)/bin/$1 | sed '2s/"[A-Z][a-z]* [0-9]*"/"$(shell date -u -d @$(or $(SOURCE_DATE_EPOCH),0) +%F)"/' > $(RELEASE)/man/$1.1
# ... and of functions, from what their headers say.
LIBUNIC_HEADERS := $(addprefix host_driver/libunic/,unic.h bufman.h pace.h)
# Whose calls the pages show: programs that tests run, the simple ones first.
USES := $(addprefix examples/,two_hosts.c token_rpc.c extend.c recover.c own_policy.c polite.c) \
	tests/install/program.c $(wildcard host_driver/tools/*.c) $(sort $(wildcard tests/qemu/*.c tests/unit/host/test_libunic_*.c \
	tests/vm/*.c tests/libsim/*.c host_driver/verbs/*.c)) $(addprefix host_driver/libunic/,bufman.c form.c fastpool.c)
FUNCTIONS = $(shell sed -n 's/^\t\(unic_[a-z0-9_]*\);/\1/p' host_driver/libunic/libunic.map) unic_inc_rkey
# ... and of formats.
FORMATS := unic-trace unic.conf
# What `make uninstall` removes, which is what `make install` wrote.
INSTALLED = $(addprefix $(BINDIR)/,$(INSTALLED_BIN)) \
	$(addprefix $(LIBDIR)/,$(LIBUNIC_SO) $(LIBUNIC_SONAME) libunic.so libunic.a pkgconfig/unic.pc) \
	$(addprefix $(INCLUDEDIR)/unic/,$(notdir $(PUBLIC_HEADERS))) $(addprefix $(EXAMPLEDIR)/,$(notdir $(SHOWN))) \
	$(addprefix $(VERBSDIR)/,$(VERBS_SO)) $(addprefix $(UNITDIR)/,$(UNITS)) $(SYSUSERSDIR)/unic.conf $(TMPFILESDIR)/unic.conf $(UDEVDIR)/70-unic.rules $(WIRESHARKDIR)/unic.lua \
	$(addprefix $(COMPLETIONDIR)/,$(INSTALLED_BIN)) $(INSTALLED_BIN:%=$(MANDIR)/man1/%.1) $(FUNCTIONS:%=$(MANDIR)/man3/%.3) $(FORMATS:%=$(MANDIR)/man5/%.5) $(MANDIR)/man7/unic.7 $(DATADIR)/unic/grafana.json $(addprefix $(IMAGEDIR)/,$(foreach i,$(IMAGES),$(call image_name,$i)))

release: ## install: programs and library as they are installed, in build/release
	@$(MAKE) $(RELEASE_IS) programs $(addprefix $(RELEASE)/lib/,$(LIBUNIC_SO) $(VERBS_SO) libunic.a)
	@$(MAKE) $(RELEASE_IS) BOARD=soft image
	@mkdir -p $(RELEASE)/man
	@$(foreach p,$(INSTALLED_BIN),$(call manual,$p) &&) true
	@tools/docs/man3.py --out $(RELEASE)/man/man3 --version "unic $(VERSION)" --date \
		"$(shell date -u -d @$(or $(SOURCE_DATE_EPOCH),0) +%F)" $(USES:%=--uses %) $(LIBUNIC_HEADERS)
	@$(foreach f,$(FORMATS),{ echo '.TH $f 5 "$(shell date -u -d @$(or $(SOURCE_DATE_EPOCH),0) +%F)" "unic $(VERSION)" "unic"' && \
		cat docs/man/$f.5; } > $(RELEASE)/man/$f.5 &&) true
	@echo "$@: ok"
install: install-programs install-services install-dev install-images ## install: programs, manuals, services, library, headers, NIC images [PREFIX=/usr/local] [DESTDIR=]
	@$(MAKE) --no-print-directory install-loader && echo "$@: ok"
# Programs find a new library once the loader knows of it. A package does that by itself.
install-loader:
	@$(if $(DESTDIR),true,ldconfig 2> /dev/null || echo "install: programs find $(LIBUNIC_SONAME) when root has run \
	ldconfig, or with LD_LIBRARY_PATH=$(LIBDIR)")
install-programs: release
	@install -d $(addprefix $(DESTDIR),$(BINDIR) $(LIBDIR) $(VERBSDIR) $(MANDIR)/man1 $(MANDIR)/man5 $(MANDIR)/man7 $(COMPLETIONDIR) $(WIRESHARKDIR) $(DATADIR)/unic)
	@install $(addprefix $(RELEASE)/bin/,$(INSTALLED_BIN)) $(DESTDIR)$(BINDIR)
	@install -m 644 $(RELEASE)/lib/$(LIBUNIC_SO) $(DESTDIR)$(LIBDIR)
	@install -m 644 $(addprefix $(RELEASE)/lib/,$(VERBS_SO)) $(DESTDIR)$(VERBSDIR)
	@install -m 644 $(INSTALLED_BIN:%=$(RELEASE)/man/%.1) $(DESTDIR)$(MANDIR)/man1
	@$(foreach p,$(INSTALLED_BIN),install -m 644 host_driver/tools/completion.bash $(DESTDIR)$(COMPLETIONDIR)/$p &&) true
	@install -m 644 tools/grafana/unic.json $(DESTDIR)$(DATADIR)/unic/grafana.json
	@install -m 644 tools/wireshark/unic.lua $(DESTDIR)$(WIRESHARKDIR)
	@install -m 644 $(RELEASE)/man/man3/unic.7 $(DESTDIR)$(MANDIR)/man7
	@install -m 644 $(FORMATS:%=$(RELEASE)/man/%.5) $(DESTDIR)$(MANDIR)/man5
	@ln -sf $(LIBUNIC_SO) $(DESTDIR)$(LIBDIR)/$(LIBUNIC_SONAME)
# What systemd starts, and udev does with the device of the Linux module. Each service may
# read and write as little as it needs: sandbox.conf.
install-services:
	@install -d $(addprefix $(DESTDIR),$(UNITDIR) $(SYSUSERSDIR) $(TMPFILESDIR) $(UDEVDIR))
	@$(foreach u,$(UNITS),sed -e '/@SANDBOX@/ { r host_driver/systemd/sandbox.conf' -e 'd }' -e \
		's|@BINDIR@|$(BINDIR)|' host_driver/systemd/$u > $(DESTDIR)$(UNITDIR)/$u &&) true
	@install -m 644 host_driver/systemd/sysusers.conf $(DESTDIR)$(SYSUSERSDIR)/unic.conf
	@install -m 644 host_driver/systemd/tmpfiles.conf $(DESTDIR)$(TMPFILESDIR)/unic.conf
	@install -m 644 host_driver/linux/70-unic.rules $(DESTDIR)$(UDEVDIR)
install-dev: release
	@install -d $(addprefix $(DESTDIR),$(LIBDIR)/pkgconfig $(INCLUDEDIR)/unic $(MANDIR)/man3 $(EXAMPLEDIR))
	@cp -P $(FUNCTIONS:%=$(RELEASE)/man/man3/%.3) $(DESTDIR)$(MANDIR)/man3
	@install -m 644 $(PUBLIC_HEADERS) $(DESTDIR)$(INCLUDEDIR)/unic
	@install -m 644 $(SHOWN) $(DESTDIR)$(EXAMPLEDIR)
	@install -m 644 $(RELEASE)/lib/libunic.a $(DESTDIR)$(LIBDIR)
	@ln -sf $(LIBUNIC_SONAME) $(DESTDIR)$(LIBDIR)/libunic.so
	@sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|' -e \
		's|@VERSION@|$(VERSION)|' host_driver/libunic/unic.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/unic.pc
build-images:
	@$(foreach i,$(IMAGES),$(MAKE) --no-print-directory BOARD=$(firstword $(subst /, ,$i)) $(B)/$i &&) true
# What debuggers need names the folder of the build; the image in $(B) has it.
install_image = $(if $(filter %.elf,$1),$(ARM)objcopy --strip-debug $1 $2 && chmod 644 $2,install -m 644 $1 $2)
install-images: $(if $(shell command -v $(ARM)gcc),build-images)
	@$(if $^,install -d $(DESTDIR)$(IMAGEDIR),echo "$@: no $(ARM)gcc, so no image of a board")
	@$(if $^,$(foreach i,$(IMAGES),$(call install_image,$(B)/$i,$(DESTDIR)$(IMAGEDIR)/$(call image_name,$i)) &&) true)
check-abi-library: release ## install: what abidiff says of libunic.so since it was recorded; from ABI 2 on a break fails
	@tools/check/abi_library.py $(RELEASE)/lib/$(LIBUNIC_SO) && echo "$@: ok"
abi-library-golden: release ## install: record libunic.so as it is, in host_driver/libunic/libunic.abi
	@tools/check/abi_library.py --rewrite $(RELEASE)/lib/$(LIBUNIC_SO) && echo "$@: ok"
uninstall: ## install: remove what install wrote [PREFIX=] [DESTDIR=]
	@rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	@rmdir --ignore-fail-on-non-empty $(addprefix $(DESTDIR),$(INCLUDEDIR)/unic $(VERBSDIR) $(IMAGEDIR) $(EXAMPLEDIR) \
		$(patsubst %/,%,$(dir $(IMAGEDIR)) $(dir $(EXAMPLEDIR)))) 2> /dev/null; echo "$@: ok"
package-test: ## install: build the Debian packages; install, use and purge them in a clean system (as root)
	@tools/install/install_deps.sh packages-debian.txt
	@tests/packages/test_packages.py && echo "$@: ok"
install-test: ## install: test it: install into a folder, and what programs outside see of it
	@tests/install/test_install.py && tests/install/test_examples.py && echo "$@: ok"
