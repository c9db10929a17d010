#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Makes the type information (BTF) of the module ipcuckoo_bpf, by which the kernel checks programs
# that call its functions:
#
#   types.sh KDIR RELEASE OBJECT NUMBERS.h TYPES.btf FUNCTION...
#
# OBJECT is compiled, with debug information. NUMBERS.h gets the numbers that the types of the
# FUNCTIONs have. The types of a module go on where those of the kernel end, so this looks for the
# kernel: the file BTF of the environment; else the vmlinux in KDIR; if RELEASE is running, what it
# says of itself; else where distributions have kernels. That can be an ELF file, a compressed
# kernel for x86, or BTF.
#
# If pahole, a compiler or the kernel's types are missing, says so, writes the reason to NUMBERS.h,
# and succeeds: the module is built, and says the same when it is loaded.

set -u

kdir=$1 release=$2 object=$3 numbers=$4 types=$5
shift 5
work=$types.work
trap 'rm -rf "$work"' EXIT
rm -rf "$work" "$types"
mkdir -p "$work" || exit

# give_up REASON
give_up()
{
	echo "  BTF     none, so BPF programs cannot use sets: $1" >&2
	printf '#define IPCUCKOO_NO_TYPES "%s"\n' "$1" > "$numbers" || exit
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

[ -n "${KERNEL_HAS_BTF:-}" ] ||
	give_up "the kernel has no CONFIG_DEBUG_INFO_BTF: use one that has"
pahole=${PAHOLE:-pahole}
command -v "$pahole" > /dev/null ||
	give_up "pahole is missing: install the package pahole (or dwarves)"
[ -x "${0%/*}/number" ] ||
	give_up "there is no compiler for programs of this machine: name it with HOSTCC=gcc"
find_base ||
	give_up "the types of the kernel $release are not found: give its vmlinux or vmlinuz with BTF=FILE"
"$pahole" --btf_base "$work/base" --btf_encode_detached "$types" -J "$object" ||
	give_up "$pahole cannot read the module: install a newer one"
[ -s "$types" ] ||
	give_up "the kernel's configuration makes no debug information: use another one"
"${0%/*}/number" "$work/base" "$types" "$@" > "$numbers"
