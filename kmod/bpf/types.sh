#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Makes the type information (BTF) of the module ipcuckoo_bpf, by which the kernel checks programs
# that call its functions:
#
#   types.sh KDIR RELEASE OBJECT TYPE_IDS.h TYPES.btf FUNCTION...
#
# OBJECT is compiled, with debug information. TYPE_IDS.h gets the BTF type ids of the FUNCTIONs, as
# type_ids.c finds them. The type ids of a module continue after the last type id of vmlinux, so this
# looks for the kernel: the file BTF of the environment; else the vmlinux in KDIR; if RELEASE is
# running, /sys/kernel/btf/vmlinux; else where distributions have kernels. That can be an ELF file,
# a compressed kernel for x86, or BTF.
#
# If the kernel, a program or the BTF does not allow that, says why, writes the reason to TYPE_IDS.h,
# and succeeds: the module is built, and says the same when it is loaded. The same make builds the
# other modules, which need no BTF and must not fail because of this one.

set -u

kdir=$1 release=$2 object=$3 type_ids=$4 types=$5
shift 5
work=$types.work
trap 'rm -rf "$work"' EXIT
rm -rf "$work" "$types"
mkdir -p "$work" || exit

# give_up REASON
give_up()
{
	echo "  BTF     none, so BPF programs cannot use sets: $1" >&2
	printf '#define IPCUCKOO_NO_TYPES "%s"\n' "$1" > "$type_ids" || exit
	: > "$types"
	exit
}

# number FILE OFFSET BYTES: prints a little-endian number
number()
{
	od -An -v -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '
}

# magic FILE: prints its first four bytes
magic()
{
	od -An -v -t x1 -N 4 "$1" | tr -d ' \n'
}

# payload FILE: prints what a compressed kernel for x86 has in it. Its header says where: see the
# kernel's Documentation/arch/x86/boot.rst.
payload()
{
	[ "$(number "$1" 514 4)" = 1400005704 ] || return
	at=$((($(number "$1" 497 1) + 1) * 512 + $(number "$1" 584 4)))
	tail -c +$((at + 1)) "$1" | head -c "$(number "$1" 588 4)" > "$work/payload"
	case $(magic "$work/payload") in
	1f8b*)		gzip -dc ;;
	fd377a58)	xz -dc --single-stream ;;
	28b52ffd)	zstd -dc ;;
	02214c18)	lz4 -dc ;;
	425a68*)	bzip2 -dc ;;
	*)		lzma -dc ;;
	esac < "$work/payload" 2> /dev/null
}

# take FILE: copies the kernel's types to $work/base
take()
{
	[ -r "$1" ] || return
	case $(magic "$1") in
	9feb*)
		cp "$1" "$work/base"
		;;
	7f454c46)
		"${OBJCOPY:-objcopy}" --dump-section .BTF="$work/base" "$1" "$work/copy" 2> /dev/null
		;;
	*)
		payload "$1" > "$work/vmlinux"
		[ "$(magic "$work/vmlinux")" = 7f454c46 ] && take "$work/vmlinux"
		;;
	esac
	[ -s "$work/base" ]
}

find_base()
{
	if [ -n "${BTF:-}" ]; then
		take "$BTF"
		return
	fi
	take "$kdir/vmlinux" && return
	[ "$release" = "$(uname -r)" ] && take /sys/kernel/btf/vmlinux && return
	for file in "/boot/vmlinuz-$release" "/lib/modules/$release/vmlinuz" \
		"/usr/lib/debug/boot/vmlinux-$release" \
		"/usr/lib/debug/lib/modules/$release/vmlinux"; do
		take "$file" && return
	done
	return 1
}

# has_option NAME: whether the kernel was configured with it. We run make with
# CONFIG_DEBUG_INFO_BTF_MODULES= (see Makefile), so make's variable does not say it.
has_option()
{
	grep -qsx "$1=y" "$kdir/include/config/auto.conf"
}

for option in CONFIG_DEBUG_INFO_BTF CONFIG_DEBUG_INFO_BTF_MODULES; do
	has_option $option || give_up "the kernel has no $option: use one that has"
done
pahole=${PAHOLE:-pahole}
command -v "$pahole" > /dev/null ||
	give_up "pahole is missing: install the package pahole (or dwarves)"
hostcc=${HOSTCC:-gcc}
command -v "${hostcc%% *}" > /dev/null ||
	give_up "no host compiler (${hostcc%% *}): set HOSTCC=gcc"
# shellcheck disable=SC2086 # a compiler and its options
$hostcc -Wall -O2 -o "$work/type_ids" "${0%/*}/type_ids.c" ||
	give_up "${hostcc%% *} cannot compile type_ids.c: install the headers of the C library (libc6-dev)"
find_base ||
	give_up "the types of the kernel $release are not found: give its vmlinux or vmlinuz with BTF=FILE"
"${OBJCOPY:-objcopy}" --dump-section .debug_info="$work/dwarf" "$object" "$work/copy" 2> /dev/null
[ -s "$work/dwarf" ] ||
	give_up "${object##*/} has no debug information (DWARF): compile it without -g0 and LTO"
"$pahole" --btf_base "$work/base" --btf_encode_detached "$types" -J "$object" ||
	rm -f "$types"
[ -s "$types" ] ||
	give_up "$pahole makes no BTF of ${object##*/}: install a newer one"
"$work/type_ids" "$work/base" "$types" "$@" > "$type_ids" ||
	give_up "type_ids.c does not find the functions in the BTF: use another pahole, or a newer ipcuckoo"
