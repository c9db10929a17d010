#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Approximate sets and packets: members always match, non-members match at the documented
# false-positive rate, and the sets use as much memory as documented.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"
. "${0%/*}/../../lib/measure.sh"

some=${SLOW:+300}
some=${some:-600}
# How many packets of non-members are sent. 3 % of them must match, give or take five standard
# deviations.
non_members=${SLOW:+2000}
non_members=${non_members:-4000}

# Limit of the memory of a fingerprint, in multiples of its size, in a set of 300,000. A table takes
# whole pages: pages larger than 4 KiB may waste as much as they are larger.
bytes_bar=1.06
waste=$(($(getconf PAGESIZE) - 4096))

filter_of()
{
	local name=$1 file=$2 out

	shift 2
	out=$(ipcuckoo create "$name" filter:ip "$@" 2>&1 && ipcuckoo load "$name" "$file" 2>&1) ||
		bail "cannot load $name: $out"
}

field()
{
	in_f sed -n "s/^$2 //p" "/proc/net/ipcuckoo/set/$1"
}

# With 32 bits, one non-member in 500 million matches, so the reference for exact sets will do.
test_verdicts()
{
	packets -s "$seed" generate hosts 4000 > $lists/hosts4
	packets -6 -s "$seed" generate hosts 2000 > $lists/hosts6
	cat $lists/hosts4 $lists/hosts6 > $lists/any
	filter_of in4 $lists/hosts4 bits 32 capacity 4000
	filter_of in6 $lists/hosts6 bits 32 capacity 2000 family inet6
	filter_of any $lists/any bits 32 capacity 6000 family any
	filter_of multi $lists/any bits 32 capacity 8000 family any multi
	attach_fresh "in4 src drop --approximate"
	fates "IPv4, src drop" -n "$some" -k tuifl -r src,drop,$lists/hosts4 check cs
	attach_fresh "in6 src drop --approximate"
	fates "IPv6, src drop" -6 -n "$some" -k tuifl -r src,drop,$lists/hosts6 check cs
	attach_fresh "any src drop --approximate"
	fates "both families in one set, IPv4" -n "$some" -r src,drop,$lists/any check cs
	fates "both families in one set, IPv6" -6 -n "$some" -r src,drop,$lists/any check cs
	attach_fresh "multi dst drop --approximate"
	fates "dst, towards the client" -n "$some" -r dst,drop,$lists/any check sc
	attach_fresh "in4 src count"
	fates "count lets pass" -n "$some" -r src,count,$lists/hosts4 check cs
	ipcuckoo flush in4
	: > $lists/nobody
	fates "flushed: no packet matches" -n 200 -r src,count,$lists/nobody check cs
}

# rate NAME FACTOR: a case: of the packets that reached the set, 3 % times FACTOR matched
rate()
{
	local total matched

	# The reference does not know that non-members may match, and would wait for these packets
	# to arrive, so only the counters are compared.
	packets -s "$seed" -n "$non_members" -w 2 -r src,count,$lists/all4 check cs > /dev/null
	read -r total matched < <(counters | awk '{ print $1 }' | paste -sd ' ')
	note "$matched of $total non-members matched, $(calc "100 * $matched / $total" %.2f) %"
	if awk "BEGIN { e = $total * 0.03 * $2; d = 5 * sqrt(e)
			exit !($total >= $non_members &&
				$matched > e - d && $matched < e + d) }"; then
		ok "$1"
	else
		not_ok "$1" "3 % of $total, times $2" "$matched"
	fi
}

test_rates()
{
	local full

	list_of $lists/all4 0.0.0.0/0
	ipcuckoo create all hash:net && ipcuckoo add all 0.0.0.0/0 ||
		bail "cannot create the set of all addresses"
	# No packet has an address of 240.0.0.0/4, so all packets are of non-members.
	python3 -c "
for i in range(61000): print(f'240.0.{i >> 8}.{i & 255}')" > $lists/members
	run_ok "a filter of 8 bits" ipcuckoo create eight filter:ip bits 8 capacity 57000
	head -57000 $lists/members | ipcuckoo load eight - > /dev/null
	note "$(ipcuckoo list -t eight | tail -1)"
	full=$(calc "$(field eight entries) / $(field eight slots) * 8 / 255 / 0.03")
	attach_fresh "all src count order 1" "eight src drop --approximate"
	rate "drop, 8 bits: non-members are dropped at the expected rate" "$full"
	attach_fresh "all src count order 1" "eight src count"
	rate "count, 8 bits: non-members are counted at the same rate" "$full"
	in_f sh -c 'echo / > /proc/net/ipcuckoo/set/eight'
	head -14000 $lists/members | ipcuckoo load eight - > /dev/null
	note "$(ipcuckoo list -t eight | tail -1)"
	attach_fresh "all src count order 1" "eight src drop --approximate"
	rate "a quarter full: non-members are dropped at a quarter of that rate" \
		"$(calc "$(field eight entries) / $(field eight slots) * 8 / 255 / 0.03")"
}

test_memory()
{
	local bits before after many=300000

	if [ -n "$SLOW" ]; then
		skip "bytes an entry" "kernels that check themselves use more memory"
		return
	fi
	awk -v n=$many 'BEGIN { while (n--) printf "2001:db8:%x::%x:%x\n", n % 65521, n / 65536, n % 65536 }' \
		> $lists/many
	for bits in 8 16 32; do
		before=$(kernel_kib)
		ipcuckoo create big filter:ip bits $bits family inet6 capacity $many
		after=$(kernel_kib)
		note "$(ipcuckoo load big $lists/many)"
		# Addresses that match already are not stored again.
		check "$bits bits: all addresses are loaded" \
			1 "$(calc "($(field big entries) > $many * 0.96)" %d)"
		note "$bits bits: $(calc "$(field big bytes) / $(field big entries)") bytes an entry," \
			"the kernel has grown by $(calc "($after - $before) * 1024 / $many")"
		if awk "BEGIN { limit = $many * $bits / 8 * $bytes_bar + $waste
				exit !($(field big bytes) <= limit &&
				($after - $before) * 1024 <= limit + $many * 0.4) }"; then
			ok "$bits bits: a fingerprint takes $bytes_bar times its size"
		else
			not_ok "$bits bits: a fingerprint takes $bytes_bar times its size" \
				"$bytes_bar" "see above"
		fi
		ipcuckoo destroy big
	done
}

note "seed $seed"
load_module
setup_quiet_net
test_verdicts
test_rates
test_memory
ipcuckoo detach --all
ipcuckoo destroy --all
ktap_done
