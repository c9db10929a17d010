#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The demonstration of "make demo", in the machine that demo/run boots: loads lists, sends packets
# from addresses on them, next to them, and elsewhere, and loads the same lists into ipset. Fails if
# any packet was wrongly blocked or passed.

. "${0%/*}/../lib/lib.sh"
. "${0%/*}/../lib/lib-net.sh"
. "${0%/*}/../lib/measure.sh"

hosts=$data/ipsum.txt
nets4=("$data"/country-*-ipv4.txt)
nets6=("$data"/country-*-ipv6.txt)
ktap_begun=1	# this is not a test: print no KTAP, except "Bail out!"
wrong=0

fail()
{
	echo "  WRONG: $*"
	wrong=1
}

# Prints examples, one a line: the expected fate (blocked or passed), the address, and a remark.
choose_examples()
{
	python3 - "$seed" "$data" <<-'END'
	import random, socket, sys
	from bisect import bisect
	from glob import glob
	from os.path import basename
	random.seed(int(sys.argv[1]))

	def read(names, family, bits):
	    for path in sorted(glob(f"{sys.argv[2]}/{names}.txt")):
	        with open(path) as f:
	            for line in f:
	                word, *feeds = line.split("#")[0].split() or [""]
	                if word:
	                    addr, _, length = word.partition("/")
	                    first = int.from_bytes(socket.inet_pton(family, addr), "big")
	                    span = 1 << bits - int(length or bits)
	                    yield first, first + span - 1, word, feeds, basename(path)

	def text(addr, bits):
	    family = socket.AF_INET if bits == 32 else socket.AF_INET6
	    return socket.inet_ntop(family, addr.to_bytes(bits // 8, "big"))

	class Lists:
	    def __init__(self, bits, entries):
	        self.bits, self.entries = bits, sorted(entries)
	        self.ends = []	# for each entry, the largest end of it and those before it
	        last = -1
	        for e in self.entries:
	            last = max(last, e[1])
	            self.ends.append(last)
	    def has(self, addr):
	        i = bisect(self.entries, (addr, 1 << 128))
	        return i > 0 and self.ends[i - 1] >= addr
	    def non_member(self):
	        while True:
	            if self.bits == 128:
	                addr = 0x2 << 124 | random.getrandbits(124)
	            else:
	                addr = random.randrange(16 << 24, 96 << 24)
	            if not self.has(addr):
	                return addr
	    def beside(self, e):
	        """The address right before or after an entry, if it is on no list."""
	        return next((a for a in (e[0] - 1, e[1] + 1)
	                     if not self.has(a)), None)
	    def some(self, entries):
	        """Some entries among ordinary addresses, with an address beside them on no list."""
	        low, high = (11, 100) if self.bits == 32 else (0x20, 0x40)
	        few = [e for e in entries if low <= e[0] >> self.bits - 8 < high][:100]
	        return [e for e in few if self.beside(e) is not None]

	hosts = list(read("ipsum", socket.AF_INET, 32))
	nets4 = list(read("country-*-ipv4", socket.AF_INET, 32))
	nets6 = list(read("country-*-ipv6", socket.AF_INET6, 128))
	four, six = Lists(32, hosts + nets4), Lists(128, nets6)

	def show(fate, addr, bits, who):
	    print(fate, text(addr, bits), who)

	def pair(lists, entries, who):
	    e = random.choice(lists.some(entries))
	    beside = lists.beside(e)
	    inside = e[0] + random.randrange(e[1] - e[0] + 1) if e[1] > e[0] else e[0]
	    show("blocked", inside, lists.bits, who(e))
	    show("passed", beside, lists.bits, "next to it, on no list")

	def listed(e):
	    return f"on ipsum, which {e[3][0]} feeds name"
	def inside(e):
	    return f"in {e[2]} ({e[4].split('-')[1]})"

	for entries in hosts, nets4, nets6:
	    random.shuffle(entries)
	hosts.sort(key=lambda e: -int(e[3][0]))
	pair(four, hosts[:3000], listed)
	pair(four, nets4, inside)
	pair(six, nets6, inside)
	pair(six, [e for e in nets6 if "/48" in e[2]], inside)
	show("passed", four.non_member(), 32, "on no list")
	show("passed", six.non_member(), 128, "on no list")
	END
}

count_entries()
{
	awk '{ sub(/[#;].*/, "") } NF' "$@" | wc -l
}

# Number of different prefix lengths, of both families together.
count_lengths()
{
	sed -n 's|^[^#]*/\([0-9]*\).*|\1|p' "$@" | sort -u | wc -l
}

# Sends one ping from the address of each example, all at once, and compares their fates.
ping_examples()
{
	local fate addr who dir i=0

	dir=$(mktemp -d)
	while read -r fate addr who; do
		if [[ $addr == *:* ]]; then
			ip -n c addr add "$addr/128" dev eth0 nodad
		else
			ip -n c addr add "$addr/32" dev eth0
		fi
	done <<< "$examples"
	while read -r fate addr who; do
		{
			if in_c ping -n -q -c 1 -W 4 -I "$addr" \
				"$([[ $addr == *:* ]] && echo $S6 || echo $S4)" > /dev/null 2>&1; then
				echo passed
			else
				echo blocked
			fi > "$dir/$i"
		} &
		i=$((i + 1))
	done <<< "$examples"
	wait
	i=0
	while read -r fate addr who; do
		printf '  %-8s %-38s %s\n' "$(< "$dir/$i")" "$addr" "$who"
		[ "$(< "$dir/$i")" = "$fate" ] || fail "$addr should have been $fate"
		i=$((i + 1))
	done <<< "$examples"
}

# many_packets OPTION... : sends thousands of packets from addresses on the lists, next to them, and
# elsewhere, and compares each with a search in the files. Adds to $sent and $blocked.
many_packets()
{
	local out sum

	out=$(packets -s "$seed" "$@" check cs) || fail "$(grep wrong <<< "$out")"
	sum=$(grep -o '[0-9]* packets\|[0-9]* to arrive' <<< "$out" | grep -o '^[0-9]*')
	# shellcheck disable=SC2086
	set -- $sum
	sent=$((sent + ${1:-0}))
	blocked=$((blocked + ${1:-0} - ${2:-0}))
	[ "${1:-0}" -gt 0 ] || fail "no packets could be sent"
}

rule_of()
{
	local IFS=+

	echo "src,drop,$*"
}

counted()
{
	counters | awk '{ sum += $1 } END { print sum + 0 }'
}

load_ours()
{
	ipcuckoo load ipsum "$hosts" > /dev/null &&
	ipcuckoo load countries "${nets4[@]}" "${nets6[@]}" > /dev/null
}

load_ipset()
{
	local set

	for set in hosts nets4 nets6; do
		in_f ipset restore -exist < "/tmp/$set.ipset" || return
	done
}

# Loads the lists. The time and the memory are printed in the last table.
load_lists()
{
	local kib

	kib=$(kernel_kib)
	ipcuckoo create ipsum hash:ip && ipcuckoo create countries hash:net family any &&
		ipcuckoo attach ipsum src drop > /dev/null &&
		ipcuckoo attach countries src drop > /dev/null || bail "cannot create the sets"
	seconds_of load_ours || bail "cannot load the lists"
	our_seconds=$took
	our_kib=$(($(kernel_kib) - kib))
	printf '  %-10s %8s IPv4 hosts\n' ipsum "$(with_commas "$(count_entries "$hosts")")"
	printf '  %-10s %8s prefixes of %d lengths, IPv4 and IPv6 in one set\n' countries \
		"$(with_commas "$(count_entries "${nets4[@]}" "${nets6[@]}")")" \
		"$(count_lengths "${nets4[@]}" "${nets6[@]}")"
}

show_examples()
{
	local before due

	before=$(counted)
	ping_examples
	due=$(grep -c '^blocked' <<< "$examples")
	[ "$(($(counted) - before))" -eq "$due" ] ||
		fail "$due packets should have been counted as dropped, not $(($(counted) - before))"
}

# Both sets are attached, so packets of both families pass both rules.
send_thousands()
{
	local before rules

	rules=(-r "$(rule_of "$hosts")" -r "$(rule_of "${nets4[@]}" "${nets6[@]}")")
	before=$(counted)
	many_packets -n 2000 "${rules[@]}"
	many_packets -6 -n 1500 "${rules[@]}"
	[ "$(($(counted) - before))" -eq "$blocked" ] ||
		fail "$blocked packets should have been counted as dropped, not $(($(counted) - before))"
	printf '  %s more packets, from the lists, next to them, and elsewhere: %s blocked, %s passed,\n' \
		"$(with_commas $sent)" "$(with_commas $blocked)" "$(with_commas $((sent - blocked)))"
	if [ $wrong -eq 0 ]; then
		echo "  every one as the files say."
	else
		echo "  but not all as the files say."
	fi
}

compare_ipset()
{
	local kib count

	restore_file hosts hash:ip inet "$hosts" > /tmp/hosts.ipset
	restore_file nets4 hash:net inet "${nets4[@]}" > /tmp/nets4.ipset
	restore_file nets6 hash:net inet6 "${nets6[@]}" > /tmp/nets6.ipset
	kib=$(kernel_kib)
	seconds_of load_ipset || bail "ipset cannot load the lists"
	kib=$(($(kernel_kib) - kib))
	count=$(with_commas "$(count_entries "$hosts" "${nets4[@]}" "${nets6[@]}")")
	printf '  %-30s %14s %17s\n' "$count entries" "file to blocked" "kernel memory"
	printf '  %-30s %12.2f s %13.2f MiB\n' \
		"ipcuckoo" "$our_seconds" "$(calc "$our_kib / 1024")" \
		"ipset, a set for each family" "$took" "$(calc "$kib / 1024")"
}

seed=${SEED:-$(($(date +%s) % 100000))}
echo
echo "ipcuckoo on Linux $(uname -r), in a virtual machine of two emulated processors:"
echo "client -> firewall -> server; the firewall forwards, and has the lists."
echo
load_module
setup_quiet_net
examples=$(choose_examples) || bail "cannot choose examples"
load_lists
echo
show_examples
sent=0
blocked=0
echo
send_thousands
echo
compare_ipset
exit $wrong
