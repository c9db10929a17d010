#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Types the commands of the README, and those of QUICK START in ipcuckoo(8), as they are printed there;
# then the machine "boots": nothing is left but the file that was saved, and what the unit runs at boot
# has to block again. /etc is a directory of this test. "make check-boot" does the same in a machine that really boots.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"

top=$(realpath "${0%/*}/../../..")
work=/tmp/readme

# run_here NAME COMMANDS: a case: each of the commands succeeds on the firewall
run_here()
{
	sed "s|/etc/|$work/etc/|g; s|@SBINDIR@/||g" <<< "$2" > commands
	PATH=$work/bin:$PATH run_ok "$1" in_f bash -e -o pipefail commands
}

# fate ADDRESS: does the firewall answer a packet of this address?
fate()
{
	in_c ping -q -c 1 -W 1 -I "$1" $FC4 > /dev/null 2>&1 && echo passes || echo blocked
}

# fates_of NAME WANT: a case: what becomes of packets from an address of the list, and of another one
fates_of()
{
	check "$1" "$2" "$(fate 192.0.2.7) $(fate 192.0.2.8)"
}

# unit KEY: prints the commands that the unit has for this key
unit()
{
	sed -n "s/^$1=-\\?//p" "$top/tools/ipcuckoo.service.in"
}

mkdir -p $work/{bin,etc} && cd $work || bail "no place for files"
ln -sf "$(realpath "$IPCUCKOO")" bin/ipcuckoo
printf '#!/bin/sh\necho "$*" >> %s/systemctl\n' $work > bin/systemctl
chmod +x bin/systemctl
commands=$(awk '/^## / { here = /^## Eight commands/ } here && sub(/^    /, "")' "$top/README.md")
check "the README has eight commands" 8 "$(grep -c '^ipcuckoo ' <<< "$commands")"
printf '192.0.2.1\n192.0.2.7\n' > drop.txt
echo 2001:db8:bad::/48 > dropv6.txt

load_module
setup_quiet_net
for address in 192.0.2.7 192.0.2.8; do
	in_c ip addr add $address/32 dev lo
done
fates_of "nothing is blocked" "passes passes"
run_here "the commands until the list is in force" "$(sed '/ipcuckoo attach/q' <<< "$commands")"
fates_of "the list is in force" "blocked passes"
run_here "the commands after that" "$(sed '1,/ipcuckoo attach/d' <<< "$commands")"
fates_of "the last one ends that" "passes passes"
check "they enable the service" "enable ipcuckoo" "$(cat systemctl)"

ipcuckoo detach --all
ipcuckoo destroy --all
run_here "what the unit runs at boot" "$(unit ExecStart)"
fates_of "what was saved is in force" "blocked passes"
run_here "what it runs when it is reloaded" "$(unit ExecReload)"
fates_of "it stays in force" "blocked passes"
run_here "what it runs when it is stopped" "$(unit ExecStop)"
fates_of "then nothing is blocked" "passes passes"

quick=$(awk '/^\.Sh / { here = /QUICK START/ } /^\.Ed/ { show = 0 } show; here && /^\.Bd/ { show = 1 }' \
	"$top/tools/ipcuckoo.8")

# part FROM TO: prints the commands of QUICK START from one to the other
part()
{
	awk -v from="$1" -v to="$2" '$2 == from { on = 1 } on; on && $2 == to { exit }' <<< "$quick"
}

ipcuckoo destroy --all
rm etc/ipcuckoo.save systemctl
run_here "quick start: block" "$(part block why)"
fates_of "quick start: the address is blocked" "blocked passes"
run_here "quick start: unblock" "$(part unblock unblock)"
fates_of "quick start: it is not blocked any more" "passes passes"
run_here "quick start: a list, until it is saved" "$(part create enable)"
fates_of "quick start: the list is in force" "blocked passes"
check "quick start: the service is enabled" "enable ipcuckoo" "$(cat systemctl)"
check "quick start: what was saved blocks" "attach feed src drop" \
	"$(grep -o '^attach feed src drop' etc/ipcuckoo.save)"
run_here "quick start: undo" "$(part detach save)"
fates_of "quick start: nothing is blocked" "passes passes"
check "quick start: the next boot restores no list" "" "$(grep feed etc/ipcuckoo.save)"
check "these are all commands of the quick start" "$quick" \
	"$(part block why; part unblock unblock; part create enable; part detach save)"
ktap_done
