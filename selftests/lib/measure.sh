# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions for tests, demo and benchmarks, in addition to lib.sh: time, kernel memory, ipset.

# seconds_of COMMAND...: sets $took to the run time of the command, in seconds
seconds_of()
{
	local begin=$EPOCHREALTIME status

	"$@"
	status=$?
	took=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.3f", b - a }')
	return $status
}

# Memory that the kernel has allocated, in KiB: slab (with large kmalloc), vmalloc, per-CPU.
# Before that, drop caches, and wait until RCU has freed memory.
kernel_kib()
{
	sync
	echo 3 > /proc/sys/vm/drop_caches
	sleep 0.5
	echo 2 > /proc/sys/vm/drop_caches
	awk '$1 ~ /^(SUnreclaim|VmallocUsed|Percpu):$/ { kib += $2 } END { print kib }' \
		/proc/meminfo
}

# Memory that functions of the module have allocated with vmalloc, in bytes.
vmalloc_bytes()
{
	awk '/\[ipcuckoo\]/ {
		for (i = 1; i <= NF; i++)
			if (sub(/^pages=/, "", $i))
				pages += $i
	}
	END { print pages * 4096 }' /proc/vmallocinfo
}

# calc EXPRESSION [FORMAT]
calc()
{
	awk "BEGIN { printf \"${2:-%.2f}\", $1 }"
}

# with_commas NUMBER
with_commas()
{
	sed -E ':a; s/^([0-9]+)([0-9]{3})/\1,\2/; ta' <<< "$1"
}

# restore_file SET TYPE FAMILY FILE...: prints input for ipset restore, one line for each entry. The
# set has a large maxelem, and the defaults of ipset for the rest, as most people create sets.
restore_file()
{
	local set=$1 type=$2 family=$3

	shift 3
	echo "create $set $type family $family maxelem 10000000"
	awk -v set="$set" '{ sub(/[#;].*/, ""); sub(/\r$/, "") } NF { print "add", set, $1 }' "$@"
}
