#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs the commands of ipcuckoo-migrate(7) as they are printed there, in the order of the page.
# Whatever is typed, 192.0.2.7 has to stay blocked and 192.0.2.8 has to pass: with the former tool,
# after the move, and after the way back. Programs that are not in this machine (apt, csf,
# systemctl) are replaced by scripts that do nothing, and /etc by a directory of this test.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"

tools=$(realpath "${0%/*}/../../../tools")
page=$tools/ipcuckoo-migrate.7
work=/tmp/migrate

# displays HEADING: prints the displays below this heading of the page, as they are read, with a
# NUL behind each
displays()
{
	awk -v heading="$1" '
		/^\.S[hs] / { here = substr($0, 5) == heading; next }
		!here { next }
		/^\.Bd -literal/ { inside = 1; text = ""; next }
		/^\.Ed/ { inside = 0; put(text); next }
		/^\.Dl / { put(substr($0, 5) "\n"); next }
		inside { text = text $0 "\n" }
		function put(text) {
			gsub(/\\&/, "", text)
			gsub(/\\e/, "\\", text)
			printf "%s%c", text, 0
		}' "$page"
}

# read_displays HEADING COUNT: sets $display to them; there have to be so many
read_displays()
{
	mapfile -d '' display < <(displays "$1")
	[ "${#display[@]}" -eq "$2" ] ||
		bail "$page has ${#display[@]} displays below $1, this test knows $2"
}

# typed NAME DISPLAY: a case: types the commands of a display on the firewall; each succeeds
typed()
{
	sed "s/^# //; s|/etc/|$work/etc/|g
		s|/usr/share/doc/ipcuckoo/examples|$tools/packaging|g" <<< "$2" > commands
	PATH=$work/bin:$PATH run_ok "$1" in_f bash -e -o pipefail commands
}

# sends ADDRESS: does the firewall answer a packet of this address?
sends()
{
	in_c ping -q -c 1 -W 1 -I "$1" $FC4 > /dev/null 2>&1
}

# blocked NAME: a case: 192.0.2.7 is blocked, its neighbour is not
blocked()
{
	check "$1" "blocked passes" "$(sends 192.0.2.7 && echo passes || echo blocked) $(
		sends 192.0.2.8 && echo passes || echo blocked)"
}

# passes NAME: a case: neither is blocked
passes()
{
	check "$1" "passes passes" "$(sends 192.0.2.7 && echo passes || echo blocked) $(
		sends 192.0.2.8 && echo passes || echo blocked)"
}

# members NAME WANT SET: a case: the set has these entries
members()
{
	check "$1" "$2" "$(ipcuckoo save "$3" | sed -n "s/^add $3 //p" | paste -sd ' ')"
}

# names COMMAND: prints the names of the sets that ipset or ipcuckoo has
names()
{
	case $1 in
	ipset)	in_f ipset list -n ;;
	*)	ipcuckoo list -n ;;
	esac | sort | paste -sd ' '
}

test_before_and_after()
{
	ipcuckoo create feed hash:net
	ipcuckoo add feed 192.0.2.7
	read_displays "Before you block" 1
	typed "count before blocking" "${display[0]}"
	passes "counting blocks nothing"
	ipcuckoo attach feed src drop
	read_displays "After that" 1
	typed "save for the next boot" "${display[0]}"
	ipcuckoo detach --all
	ipcuckoo destroy feed
	run_ok "restore what was saved" ipcuckoo restore -file $work/etc/ipcuckoo.save
	blocked "what was saved blocks again"
	ipcuckoo detach --all
	ipcuckoo destroy feed
}

test_ipset()
{
	read_displays "FROM IPSET" 1
	typed "ipset: the list and the rule before" "${display[0]}"
	blocked "ipset: it blocks"

	read_displays "Move sets and rules" 9
	typed "ipset: move" "${display[0]}"
	blocked "ipset: it blocks after the move"
	check "ipset: the set is here, and no longer there" "feed, " "$(names ipcuckoo), $(names ipset)"
	typed "ipset: remove the limit" "${display[1]}"
	typed "ipset: load the list" "${display[2]}"
	blocked "ipset: the list that was loaded blocks"
	typed "ipset: go back" "${display[3]}"
	blocked "ipset: it blocks after the way back"
	check "ipset: the set is there again, and not here" ", feed" "$(names ipcuckoo), $(names ipset)"

	in_f ipset create feed6 hash:net family inet6
	in_f ipset add feed6 2001:db8::/32
	in_f ipset add feed 198.51.100.0/24
	in_f ipset add feed 198.51.100.8 nomatch
	in_f ipset create other hash:ip
	in_f ipset add other 192.0.2.8
	read_displays "Make one set of two" 1
	typed "ipset: make one set of two" "${display[0]}"
	members "ipset: the set has the entries of both" \
		"192.0.2.7 198.51.100.0/24 198.51.100.8 nomatch 2001:db8::/32" all
	ipcuckoo destroy all
}

# It begins with the set and the rule of ipset that test_ipset leaves, and removes them.
test_match()
{
	read_displays "Keep the rules of iptables" 2
	if [ -f "${IPCUCKOO_XT_KO:-}" ] && [ -f "${IPCUCKOO_XTABLES:-}/libxt_ipcuckoo.so" ]; then
		run_ok "-m ipcuckoo: load the module" insmod "$IPCUCKOO_XT_KO"
		on_exit "rmmod xt_ipcuckoo"
		local -x XTABLES_LIBDIR
		XTABLES_LIBDIR=$(printf '%s:' "$IPCUCKOO_XTABLES" /usr/lib/*/xtables)
		typed "-m ipcuckoo: move" "${display[0]}"
		blocked "-m ipcuckoo: it blocks after the move"
		typed "-m ipcuckoo: go back" "${display[1]}"
		blocked "-m ipcuckoo: it blocks after the way back"
		check "-m ipcuckoo: the set is there again, and not here" ", feed feed6 other" \
			"$(names ipcuckoo), $(names ipset)"
	else
		skip "-m ipcuckoo: move, and go back" "there is no module or no extension of iptables for it"
	fi
	in_f iptables -F
	in_f ipset destroy
	passes "without rules nothing is blocked"
}

test_nft()
{
	local table

	read_displays "FROM NFTABLES" 1
	table=${display[0]}
	echo "$table" > $work/etc/nftables.conf
	run_ok "nftables: the list and the rule before" in_f nft -f $work/etc/nftables.conf
	blocked "nftables: it blocks"

	read_displays "Move sets and rules" 9
	typed "nftables: move" "${display[4]}"
	members "nftables: addresses, prefixes and ranges are the same" \
		"192.0.2.7 198.51.100.0/24 203.0.113.16/28 203.0.113.32/27 203.0.113.64/27 203.0.113.96/30" \
		feed
	echo "flush ruleset" > $work/etc/nftables.conf
	typed "nftables: load rules without the set" "${display[5]}"
	blocked "nftables: it blocks after the move"

	in_f nft -f - <<-'END'
	table inet filter {
		set feed {
			type ipv6_addr
			flags interval, timeout
			counter
			elements = { 2001:db8::1 counter packets 7 bytes 700 comment "a, 192.0.2.8 b",
				     2001:db9::/32 timeout 1h, 2001:dba::2-2001:dba::3 }
		}
		set bans {
			type ipv4_addr
			flags timeout
			elements = { 192.0.2.7 timeout 3h, 192.0.2.9, 192.0.2.10 timeout 3h comment "x" }
		}
	}
	END
	typed "nftables: append a set of IPv6" \
		"$(grep -v -e create -e attach <<< "${display[4]/load feed -/load feed - --append}")"
	members "nftables: the set has both" \
		"192.0.2.7 198.51.100.0/24 203.0.113.16/28 203.0.113.32/27 203.0.113.64/27 203.0.113.96/30 2001:db8::1 2001:db9::/32 2001:dba::2/127" \
		feed
	typed "nftables: keep timeouts" "${display[7]}"
	check_match "nftables: what is left of the timeouts" \
		'^192\.0\.2\.7 timeout 10[0-9]{3} 192\.0\.2\.9 timeout 0 192\.0\.2\.10 timeout 10[0-9]{3}$' \
		"$(ipcuckoo save bans | sed -n 's/^add bans //p' | paste -sd ' ')"
	ipcuckoo destroy bans
	in_f nft flush ruleset
	typed "nftables: load the published list" "${display[6]}"
	blocked "nftables: the list that was loaded blocks"

	ipcuckoo add feed 192.0.2.0/30 192.0.2.1 2001:db8::/32
	echo "$table" | sed '/elements/,/}/d' > $work/etc/nftables.conf
	typed "nftables: go back" "${display[8]}"
	blocked "nftables: it blocks after the way back"
	check "nftables: the set is there again" "" "$(names ipcuckoo)"
	check "nftables: it has the entries of IPv4" "192.0.2.0/30 192.0.2.7" \
		"$(in_f nft list set inet filter feed | tr -d '\n\t' |
			sed 's/.*elements = { *//; s/ *}.*//; s/,/ /g; s/  */ /g')"

	in_f nft flush ruleset
	in_f nft add table inet filter
	in_f nft add chain inet filter input '{ type filter hook input priority filter; }'
	ipcuckoo create feed hash:net
	ipcuckoo add feed 192.0.2.7
	read_displays "Keep the rules of nftables" 2
	typed "nftables: a rule for a mark" "${display[0]}"
	blocked "nftables: a rule for a mark blocks"
	typed "nftables: go back from marks" "${display[1]}"
	passes "nftables: without marks nothing is blocked"
	in_f nft flush ruleset
	ipcuckoo destroy feed
}

# starts_unit DROP-IN: what systemd runs before the bouncer, of this drop-in for its unit
starts_unit()
{
	mkdir -p $work/run
	sed -n "s|/run/ipcuckoo-bouncer|$work/run|g; s/^ExecStartPre=//p" "$1" |
		grep -v modprobe > commands
	PATH=$work/run:$work/bin:$PATH in_f bash -e commands
}

# What the bouncer runs in its mode ipset: first it empties the sets, then it restores changes.
bouncer()
{
	printf '%s\n' "del crowdsec-blacklists 192.0.2.9 -exist" \
		"add crowdsec-blacklists 192.0.2.7 timeout 86399 -exist" \
		"add crowdsec-blacklists 192.0.2.7 timeout 2147482 -exist" \
		"add crowdsec-blacklists 198.51.100.0/24 timeout 3600 -exist" > changes
	printf '%s\n' "add crowdsec6-blacklists 2001:db8::/32 timeout 3600 -exist" > changes6
	cat > commands <<-END
	ipset flush crowdsec-blacklists
	ipset flush crowdsec6-blacklists
	ipset restore -file changes
	ipset restore -file changes6
	ipset list crowdsec-blacklists > list
	END
	PATH=$work/run:/usr/sbin:/usr/bin:/sbin:/bin in_f bash -e commands
}

# What systemd does with the key that the drop-in names; then the daemon has to take the configuration.
test_bouncer()
{
	local name file credentials=/run/credentials/ipcuckood.service

	if [ ! -x "${IPCUCKOOD:-}" ]; then
		skip "CrowdSec: our bouncer" "ipcuckood was not built: its libraries are not installed"
		return
	fi
	read_displays "With a bouncer of ipcuckoo" 3
	typed "CrowdSec: configure our bouncer" "${display[0]}"
	mkdir -p $credentials
	IFS=: read -r name file < <(sed -n 's/^LoadCredential=//p' etc/systemd/system/ipcuckood.service.d/*)
	cp "$file" "$credentials/$name"
	run_ok "CrowdSec: our bouncer takes the configuration" "$IPCUCKOOD" --check etc/ipcuckood.conf
	check "CrowdSec: its key is that of cscli" "secret 600" \
		"$(cat $credentials/crowdsec) $(stat -c %a etc/ipcuckood.crowdsec)"
	rm -r $credentials
}

test_crowdsec()
{
	local dropin=etc/systemd/system/crowdsec-firewall-bouncer.service.d/crowdsec-firewall-bouncer.conf

	if [ ! -f "$tools/packaging/${dropin##*/}" ]; then
		skip "CrowdSec" "the tree has no drop-in for the bouncer"
		return
	fi
	read_displays "Without rules" 4
	typed "CrowdSec: install the drop-in" "${display[0]}"
	run_ok "CrowdSec: it makes and attaches the sets" starts_unit "$dropin"
	run_ok "CrowdSec: the bouncer runs the link" bouncer
	blocked "CrowdSec: it blocks"
	run_ok "CrowdSec: the bouncer starts again" bouncer
	run_ok "CrowdSec: the sets are there already" starts_unit "$dropin"
	blocked "CrowdSec: it still blocks"
	typed "CrowdSec: look at it" "${display[2]}"
	check "CrowdSec: the number of entries" "Number of entries: 2" "$(grep ^Number list)"
	typed "CrowdSec: go back" "${display[3]}"
	check "CrowdSec: the drop-in is removed" "" "$(ls "${dropin%/*}")"
	check "CrowdSec: nothing is left" "" "$(names ipcuckoo)"
	passes "CrowdSec: nothing is blocked after the way back"
}

# The files as CSF writes them
csf_files()
{
	cat > $work/etc/csf/csf.deny <<-'END'
	# The addresses to deny

	203.0.113.5 # do not delete
	192.0.2.7 # lfd: (sshd) Failed SSH login from 192.0.2.7 (XX/Nowhere/-): 5 in the last 3600 secs - Mon Nov 23 04:05:06 2026
	198.51.100.0/24 # Manually denied - Mon Nov 23 04:05:06 2026
	2001:db8::7 # Manually denied: 2001:db8::7 (Unknown) - Mon Nov 23 04:05:06 2026
	tcp|in|d=22|s=192.0.2.8 # no SSH
	d=80,443|s=192.0.2.8
	Include /etc/csf/more.deny
	END
	cat > $work/etc/csf/csf.allow <<-'END'
	# The addresses to allow
	203.0.113.5 # csf SSH installation/upgrade IP address - Mon Nov 23 04:05:06 2026
	tcp|in|d=3306|s=192.0.2.7
	END
}

test_csf()
{
	local row words status statuses=""

	csf_files
	read_displays "Move the lists" 5
	typed "CSF: load and attach" "${display[0]}"
	members "CSF: the addresses of csf.deny" \
		"192.0.2.7 198.51.100.0/24 203.0.113.5 2001:db8::7" deny
	members "CSF: the addresses of csf.allow" "203.0.113.5" allow
	blocked "CSF: it blocks"
	in_c ip addr add 203.0.113.5/32 dev lo
	in_f ip route add 203.0.113.5/32 via $C4
	run_ok "CSF: what is on both lists passes" sends 203.0.113.5
	check "CSF: a packet to a denied address is dropped, too" 1 \
		"$(in_f ping -q -c 1 -W 1 192.0.2.7 > /dev/null; echo $?)"
	typed "CSF: empty csf.deny" "${display[1]}"
	blocked "CSF: it blocks when csf.deny is empty"
	typed "CSF: a set for a time" "${display[2]}"
	typed "CSF: a published list" "${display[3]}"
	members "CSF: the entries of the published list" "198.18.0.0/15" spamdrop

	ipcuckoo flush deny
	ipcuckoo flush allow
	while read -r row; do
		# shellcheck disable=SC2086
		words=${row#*Ta ipcuckoo } && ipcuckoo $words > /dev/null 2>&1
		status=$?
		statuses+="$status "
	done < <(sed -n '/^\.Ss Move the lists/,/^\.Ss/ { /^\.It csf /p }' "$page")
	check "CSF: the commands in place of those of csf; one tests, and says no" \
		"0 0 0 0 1 0 0 0 " "$statuses"
	typed "CSF: go back" "${display[4]}"
	check "CSF: csf.deny is there again" yes \
		"$(grep -q '^192\.0\.2\.7 ' $work/etc/csf/csf.deny && echo yes)"
	passes "CSF: nothing is blocked after the way back, which leaves it to csf"
}

mkdir -p $work/{bin,etc/csf} && cd $work || bail "no place for files"
ln -sf "$(realpath "$IPCUCKOO")" bin/ipcuckoo
for program in apt reboot systemctl; do
	printf '#!/bin/sh\n' > bin/$program
done
# shellcheck disable=SC2016
printf '#!/bin/sh\n[ "$1" != -df ] || : > %s/etc/csf/csf.deny\n' $work > bin/csf
printf '#!/bin/sh\necho "198.18.0.0/15 ; SBL1"\n' > bin/curl
printf '#!/bin/sh\necho secret\n' > bin/cscli
chmod +x bin/{apt,reboot,systemctl,csf,curl,cscli}
echo 192.0.2.7 > etc/feed.txt

command -v jq > /dev/null || skip_all "jq is not installed"
load_module
setup_quiet_net
for address in 192.0.2.7 192.0.2.8; do
	in_c ip addr add $address/32 dev lo
done
passes "without a list nothing is blocked"
test_before_and_after
modprobe ip_set_hash_net && modprobe ip_set_hash_ip || bail "cannot load the kernel's types of ipset"
test_ipset
test_match
test_nft
test_bouncer
test_crowdsec
test_csf
ktap_done
