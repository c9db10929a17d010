#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Prints a number of what the module ipcuckoo and those that use it must have in common. They may
# be of different versions: a package that is upgraded replaces the files of all modules, but not the
# one that is loaded.
#
#   abi.sh DIRECTORY    the one that has kmod/ and uapi/
#
# The number is a checksum of the headers in which exports.c and the sources of the other modules find
# ipcuckoo's structures, constants, inline functions and prototypes, without comments and white space.
# An exported function that does something else by the same prototype needs another name.

set -eu

# included FILE...: prints the headers that they include
included()
{
	sed -n 's|^#include "\([^"]*\)".*|\1|p' "$@"
}

# collect NAME: adds a header to "headers", and those that it includes. The version is none of them.
collect()
{
	for file in "kmod/$1" "uapi/$1"; do
		case " $headers kmod/release.h " in
		*" $file "*)	continue ;;
		esac
		[ -f "$file" ] || continue
		headers="$headers $file"
		for name in $(included "$file"); do
			collect "$name"
		done
	done
}

cd "$1"
headers=
for name in $(included kmod/exports.c) \
		$(included kmod/ipset/*.[ch] kmod/xt/*.[ch] kmod/bpf/*.[ch] | sed -n 's|^\.\./||p'); do
	collect "$name"
done
[ -n "$headers" ]
cat $headers | sed -E -e ':again' -e 's:/\*[^*]*\*+([^/*][^*]*\*+)*/: :g' -e '/\/\*/{ N; b again' -e '}' |
	tr -s '[:space:]' ' ' | cksum | { read -r sum _; printf '%08x\n' "$sum"; }
