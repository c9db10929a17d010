# SPDX-License-Identifier: GPL-2.0
#
# ipcuckoo: a kernel module, a tool, and the machines they are tested in. "make help" lists
# what there is. Kbuild says what the module is made of.

# The running kernel's build directory, or the newest installed one's.
KDIR ?= $(or $(wildcard /lib/modules/$(shell uname -r)/build),$(lastword \
	$(shell printf '%s\n' $(wildcard /lib/modules/*/build) | sort -V)))
PREFIX ?= /usr/local
SBINDIR ?= $(PREFIX)/sbin
UNITDIR ?= $(PREFIX)/lib/systemd/system
DESTDIR ?=
SIGN_KEY ?=
SIGN_CERT ?=
STRIP ?= $(CROSS_COMPILE)strip
TESTS ?=
BENCH ?=
# Where everything is built; the sources may be read-only.
O ?= build
# The kernel, if it is not found: ipcuckoo_bpf needs its type information (kmod/bpf/types.sh).
BTF ?=
# Which of Debian's kernels the tests, the demo and bench boot: selftests/vm/kernel reads it.
KERNEL ?=
SERIES ?=
DEBIAN ?=
DECISIONS ?=

release := $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
	$(KDIR)/include/generated/utsrelease.h 2>/dev/null)
# "make spare" sets the variable spare to _spare: ipcuckoo_spare.ko has a directory of its own.
objects := $(O)/$(release)$(if $(spare),/spare)
vm := selftests/vm
packaging := tools/packaging
destdir := $(if $(DESTDIR),$(abspath $(DESTDIR)))

# Do not pass these variables on to other Makefiles, which use the names for something else: the
# kernel's Makefile would call itself forever if it inherited "build".
MAKEOVERRIDES := $(filter-out O=% build=% spare=% BTF=%,$(MAKEOVERRIDES))
unexport O build spare BTF

make_tools = $(MAKE) --no-print-directory -C tools \
	O='$(if $(filter /%,$(O)),$(O),../$(O))/tools' DESTDIR='$(destdir)' PREFIX='$(PREFIX)' \
	SBINDIR='$(SBINDIR)' UNITDIR='$(UNITDIR)'

all: module tools

# Each kernel has its own object directory, a tree of links to the sources, so that building
# for one does not undo what was built for another. kbuild makes no BTF, as a kernel may refuse a
# module whose BTF is not of its own build; kmod/bpf/ makes some for one module.
module:
	@[ -n '$(release)' ] || \
		{ echo 'no kernel headers: install linux-headers-amd64, or say KDIR=' >&2; exit 1; }
	@mkdir -p $(objects)
	@flock $(objects) $(MAKE) --no-print-directory O='$(O)' spare='$(spare)' BTF='$(BTF)' \
		build-module

# The same module under a second name, for upgrades: tools/ipcuckoo-upgrade.
spare:
	@$(MAKE) --no-print-directory O='$(O)' spare=_spare module

build-module:
	@mkdir -p $(addprefix $(objects)/kmod/,ipset xt bpf) $(objects)/uapi
	@cp -rsf $(CURDIR)/Kbuild $(CURDIR)/kmod $(CURDIR)/uapi $(objects)
	@find $(objects) -xtype l -delete
	@$(packaging)/version header $(objects)/kmod/release.h
	@$(MAKE) --no-print-directory $(if $(V),,-s) -C $(KDIR) M=$(abspath $(objects)) \
		CONFIG_DEBUG_INFO_BTF_MODULES= $(if $(BTF),BTF=$(abspath $(BTF))) \
		$(if $(spare),IPCUCKOO_SPARE=1) modules
	@echo '  MODULE  $(objects)/ipcuckoo$(spare).ko'

tools:
	@$(make_tools)

install: module spare tools
	@DESTDIR='$(destdir)' STRIP='$(STRIP)' SIGN_KEY='$(SIGN_KEY)' SIGN_CERT='$(SIGN_CERT)' \
		$(packaging)/module install $(release) $(KDIR) $(objects)/*ipcuckoo*.ko \
			$(objects)/spare/ipcuckoo_spare.ko
	@$(make_tools) install
	@[ -n '$(destdir)' ] || [ "$(release)" = "$$(uname -r)" ] || \
		echo 'installed for $(release), but '"$$(uname -r)"' is running' >&2

# Takes the module away from every kernel, not only from that of KDIR.
uninstall:
	@DESTDIR='$(destdir)' $(packaging)/module uninstall
	@$(make_tools) uninstall

# The tree as it was committed, and packages of it; tools/README.md says more.
dist deb rpm:
	@KDIR='$(KDIR)' SIGN_KEY='$(SIGN_KEY)' SIGN_CERT='$(SIGN_CERT)' BTF='$(BTF)' \
		$(packaging)/package $@ $(O)/$@

# Into the running kernel, without installing anything.
load: all
	@[ "$(release)" = "$$(uname -r)" ] || \
		{ echo 'built for $(release), but '"$$(uname -r)"' is running' >&2; exit 1; }
	@[ "$$(id -u)" = 0 ] || { echo 'only root can load a module' >&2; exit 1; }
	@[ ! -d /sys/module/ipcuckoo ] || rmmod ipcuckoo
	insmod $(objects)/ipcuckoo.ko
	$(O)/tools/ipcuckoo version

check:
	@$(vm)/check suite $(TESTS)

check-stock:
	@$(vm)/check stock $(TESTS)

check-debug:
	@$(vm)/check debug $(TESTS)

check-races:
	@$(vm)/check races $(TESTS)

# What takes too long for check: .ci/run runs both.
check-rest:
	@$(vm)/check rest

check-filters:
	@$(vm)/check filters

# Part of check is a short run of the same. ROUNDS=300 random changes, lies and faults, SEED=n.
check-fleet:
	@$(vm)/check fleet

# Not part of check: each of its kernels takes minutes to build.
check-config:
	@$(vm)/check config $(TESTS)

# Part of check is a short run of the same. ROUNDS=10000 random commands, SEED=n.
check-dropin:
	@$(vm)/check dropin

# Not part of check: it emulates another processor, and builds a kernel.
check-arm64:
	@$(vm)/check arm64 $(TESTS)

# Not part of check: builds the packages, and installs them in fresh trees of Debian.
check-packages:
	@$(vm)/check packages $(TESTS)

# Not part of check: fetches kernels of other Debian releases.
check-kernels:
	@$(vm)/check kernels $(TESTS)

# Not part of check: boots Debian with the packages, more than an hour. DEBIAN=bookworm is one release,
# PARTS=ipset a part of the test (see test_boot).
check-boot:
	@PARTS="$(PARTS)" $(vm)/check boot $(DEBIAN)

# Not part of check: it takes hours. SERIES="6.12 7" are some of its kernels.
check-matrix:
	@$(vm)/check matrix $(SERIES)

# Not part of check: fetches the programs, and builds a kernel. TESTS="fail2ban", DECISIONS=n.
check-programs:
	@DECISIONS=$(DECISIONS) $(vm)/check programs $(TESTS)

# A part of check-boot: boots a machine with Secure Boot, five minutes.
check-secure:
	@$(vm)/check secure

# Random, differential and exhaustive tests at their full sizes, with a new seed or SEED=n.
# PARTS="core dropin" are some of the parts (see check_soak() in vm/check), ROUNDS=n and MESSAGES=n sizes.
soak:
	@PARTS="$(PARTS)" $(vm)/check soak

torture:
	@$(vm)/check torture

# Look-ups, load and memory of this tree beside those of commit BASE, in the same boots (BOOTS=4,
# SEED=n).
bench-versus:
	@selftests/bench/versus $(if $(BOOTS),--boots $(BOOTS)) $(if $(SEED),--seed $(SEED)) \
		$(or $(BASE),HEAD)

# The kernel's own hash:ip and hash:net beside ours, and whether the bars hold. BENCH=quick, SEED=n.
bench-dropin:
	@selftests/bench/dropin $(if $(filter quick,$(BENCH)),--quick) $(if $(SEED),--seed $(SEED))

# Lists that a fleet shares in Redis: BENCH=quick, SEED=n; PARTS="snapshot" are some of its parts
# (selftests/bench/fleet/run).
bench-fleet:
	@selftests/bench/fleet/run $(if $(filter quick,$(BENCH)),--quick) \
		$(if $(SEED),--seed $(SEED)) $(PARTS)

demo:
	@selftests/demo/run

# All that is measured, and whether the bars hold. BENCH=quick is a look at whether it works;
# PARTS="memory report" are some of its parts (selftests/bench/run).
bench:
	@selftests/bench/run $(if $(filter quick,$(BENCH)),--quick) $(if $(SEED),--seed $(SEED)) $(PARTS)

# The plot of the README, of what was measured last (make bench PARTS="lookup").
plot:
	@selftests/bench/lab/picture build/bench selftests/bench/lookups.svg

# The published filters beside our tables, in user space.
bench-filters:
	@$(MAKE) --no-print-directory -C selftests/bench/filters run

# For inputs that upset the tool. SECONDS=60, TARGETS="list words": selftests/fuzz/Makefile.
fuzz:
	@$(vm)/deps fuzz
	@$(MAKE) --no-print-directory -C selftests/fuzz fuzz $(if $(SECONDS),SECONDS=$(SECONDS)) \
		$(if $(TARGETS),TARGETS='$(TARGETS)')

# kill -9 of every kind of request to sets of ENTRIES=10000000: some minutes, and 8 GB of memory.
check-kill:
	@$(vm)/deps debug
	@$(vm)/run --kernel uml --timeout 3600 --plain -- kill-latency $(or $(ENTRIES),10000000)

# The module is replaced while a set of ENTRIES=10000000, and one with timeouts, change all the time: some
# minutes, and 8 GB of memory.
check-upgrade:
	@$(vm)/deps debug
	@ENTRIES=$(or $(ENTRIES),10000000) $(vm)/run --kernel uml --memory 8000 --timeout 3600 -- upgrade.sh

# Part of check-rest.
lint:
	@$(vm)/check lint

clean:
	@$(make_tools) clean
	@$(MAKE) --no-print-directory -C selftests/core clean
	rm -rf $(if $(filter build,$(O)),build,$(if $(release),$(objects)))

help:
	@echo 'Build (KDIR=... for another kernel than the running one, O=... for another directory;'
	@echo 'ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- for another processor, SYSROOT=... for a root'
	@echo 'file system of it with libmnl and json-c):'
	@echo '  all          the modules and the tool; BTF=file is the kernel (vmlinux or vmlinuz), if it'
	@echo '               is not found: ipcuckoo_bpf needs it'
	@echo '  spare        the module under a second name, for ipcuckoo-upgrade'
	@echo '  install      all of them, for the kernel of KDIR (DESTDIR, PREFIX); SIGN_KEY=file and'
	@echo '               SIGN_CERT=file sign the module'
	@echo '  uninstall    take them away again, the module from every kernel'
	@echo '  load         insert the module just built into the running kernel'
	@echo '  clean        remove what was built; kernels stay in the cache'
	@echo
	@echo 'Package (what is committed; no root needed):'
	@echo '  deb          packages for Debian: the tool, the modules for the kernel of KDIR (several with'
	@echo '               blanks between them; SIGN_KEY=file and SIGN_CERT=file), their source for DKMS'
	@echo '  rpm          packages for Fedora and RHEL, with DKMS; not tested there'
	@echo '  dist         a tarball'
	@echo
	@echo 'Test (as root, on Debian 12 or 13; they install the packages they need). KERNEL=6.12 tests'
	@echo 'with that series of Debian'\''s kernels, which is fetched into the cache, not installed:'
	@echo '  demo         boot a machine, load lists, see packets dropped'
	@echo '  check        user-space tests, and the suite on User Mode Linux and on the stock'
	@echo '               kernel; TESTS="a.sh b.sh" runs these only, on the stock kernel'
	@echo '  check-stock  all of the suite on the stock kernel, emulated: most of an hour'
	@echo '  check-debug  the suite on kernels that check themselves (TESTS)'
	@echo '  check-races  concurrent programs on the kernel that looks for data races (TESTS)'
	@echo '  check-rest   what takes too long for check: the longest programs, all of the core and its'
	@echo '               mutants, lint, other processors, check-filters and check-kernels'
	@echo '  check-kill   kill -9 in the middle of every kind of request to a set of 10,000,000'
	@echo '  check-upgrade  the module is replaced while a set of 10,000,000 changes all the time'
	@echo '  check-config the suite on kernels without procfs, IPv6 or hooks at ingress, and the'
	@echo '               module compiled for 32 bits'
	@echo '  check-dropin  random commands of ipset, and packets, on the kernel'\''s own hash:ip and'
	@echo '               hash:net and on ours: the same results? ROUNDS=10000, SEED=n'
	@echo '  check-fleet  ipcuckood: feeds, CrowdSec, Redis and routes that change, fail and lie: do the'
	@echo '               sets follow? ROUNDS=300, SEED=n'
	@echo '  check-arm64  the suite without tool and procfs, cross-compiled, on emulated arm64:'
	@echo '               Debian'\''s kernel, and one with pages of 64 KiB'
	@echo '  check-packages  builds the packages, installs them in fresh trees of Debian'
	@echo '  check-kernels  the module built for the oldest 6.1, 6.12 and 7, and a part of the suite'
	@echo '  check-boot   boots Debian 12 and 13 with the packages, updates the kernel, breaks things;'
	@echo '               more than an hour; without DEBIAN=bookworm (one of them) check-secure, too;'
	@echo '               PARTS=ipset: only that sets of ipset are ours after a reboot, and stay'
	@echo '  check-programs  fail2ban, crowdsec, firewalld and others over our sets of ipset; ipcuckood'
	@echo '               with crowdsec and BIRD; in a machine that systemd starts (TESTS="fail2ban")'
	@echo '  check-secure boots a machine with Secure Boot, enrols a key; five minutes'
	@echo '  check-matrix the suite on each series of kernels of Debian, for hours; SERIES="6.12 7"'
	@echo '  soak         random, differential and exhaustive tests, larger than in check, with a new'
	@echo '               seed: hours, before an issue is resolved; SEED=n repeats a run; PARTS="core'
	@echo '               filters fuzz suite dropin fleet netlink races" are its parts; ROUNDS=n'
	@echo '  torture      unload the module and kill namespaces in use, fail every allocation'
	@echo '  check-filters  the published filters that bench-filters compares with ours'
	@echo '  bench        ours beside ipset and nftables: figures, bars, a page with plots;'
	@echo '               more than two hours, BENCH=quick is a look (SEED=n)'
	@echo '  plot         the plot of README.md, from what bench measured last'
	@echo '  bench-versus look-ups, load, memory beside those of another commit: BASE=..., BOOTS=4'
	@echo '  bench-dropin the kernel'\''s own hash:ip and hash:net beside ours, in one boot: look-ups,'
	@echo '               memory, load; figures and bars (BENCH=quick, SEED=n)'
	@echo '  bench-fleet  lists that a fleet shares in Redis: figures and bars (BENCH=quick, SEED=n)'
	@echo '  bench-filters  the published filters beside our tables, in user space'
	@echo '  fuzz         look for inputs that upset the tool; SECONDS=60 for each kind'
	@echo '  lint         checkpatch and sparse on the module, and whether calls between files go down'

.PHONY: all module spare build-module tools install uninstall load dist deb rpm check-packages \
	check-arm64 check-boot check-secure check check-stock check-debug check-races check-filters check-rest \
	check-config check-dropin check-fleet check-kernels check-kill check-matrix check-programs \
	check-upgrade soak torture demo bench plot bench-versus bench-dropin bench-filters bench-fleet fuzz \
	lint clean help
