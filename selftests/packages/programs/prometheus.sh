#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What "ipcuckood status --prometheus" prints, and our rules for alerts, by promtool: a set that is in
# force, one that is attached nowhere, a feed that fails, and a daemon that has ended.

. "${0%/*}/machine"

[ -x "${IPCUCKOOD:-}" ] || skip_all "ipcuckood was not built: its libraries are not installed"
command -v promtool > /dev/null || skip_all "promtool is not installed"
rules=$tools/packaging/prometheus-ipcuckood.yml
work=$(mktemp -d)
on_exit 'rm -r "$work"; "$IPCUCKOO" detach --all; "$IPCUCKOO" destroy'

# daemon WORD...: runs ipcuckood
daemon()
{
	"$IPCUCKOOD" --config "$work/conf" --state "$work" --control "$work/control" "$@"
}

settled()
{
	daemon status --prometheus > "$work/metrics" 2> /dev/null &&
		grep -q '^ipcuckood_set_good{set="good"} 1$' "$work/metrics" &&
		grep -q '^ipcuckood_source_failures_total{source="missing".* [1-9]' "$work/metrics"
}

# series: the metrics as they are from minute to minute, of a machine fw1. What has been counted goes on.
series()
{
	sed -nE "s/^([a-z_]+)\{(.*)\} ([^ ]+)\$/  - series: '\1{instance=\"fw1\",\2}'\n    values: '\3+\3x4500'/p" \
		"$work/metrics" | sed -E "/_total/{n;b};n;s/\+[^']*x/+0x/"
}

# alert NAME MINUTES [SUMMARY [LABEL...]]: what a rule has to say after so many minutes: nothing, or this
alert()
{
	printf '  - alertname: %s\n    eval_time: %sm\n' "$1" "$2"
	[ $# -gt 2 ] || return
	printf '    exp_alerts:\n    - exp_annotations: { summary: "%s" }\n      exp_labels: { instance: fw1' "$3"
	shift 3
	printf ', %s' "$@"
	printf ' }\n'
}

# expect TEXT MTIME: checks the rules: the alerts on stdin, while the file of metrics was written at MTIME
expect()
{
	{
		printf 'rule_files: [ %s ]\nevaluation_interval: 1m\ntests:\n- interval: 1m\n' "$rules"
		printf '  input_series:\n'
		printf "  - series: 'node_textfile_mtime_seconds{instance=\"fw1\",file=\"/x/ipcuckood.prom\"}'\n    values: '%s'\n" "$2"
		series
		printf '  alert_rule_test:\n'
		cat
	} > "$work/test.yml"
	run_ok "$1" promtool test rules "$work/test.yml"
}

versions prometheus
echo 192.0.2.66 > "$work/list"
printf '%s\n' '[set good]' 'attach = src drop' '[set idle]' '[feed own]' 'set = good' "url = file://$work/list" \
	'[feed missing]' 'set = idle' "url = file://$work/missing" > "$work/conf"
daemon 2> "$work/log" &
daemon=$!
run_ok "the daemon says how it is" busywait 20 settled
run_ok "promtool finds no fault in the metrics" promtool check metrics < "$work/metrics"
run_ok "nor in the rules" promtool check rules "$rules"
names=$(sed -n 's/.*- alert: //p' "$rules")
summary='feed missing on fw1 fails, or its list was refused'
expect "alerts: the set that is attached nowhere, the feed that fails, and no other" '0+60x4500' < <(
	for name in $names; do
		case $name in
		IpcuckoodSetNotInForce)
			alert $name 120 "set idle on fw1 is not in force: ipcuckood health says why" \
				'severity: critical' 'set: idle' ;;
		IpcuckoodSourceNotGood)
			alert $name 120 "$summary" 'severity: warning' 'kind: feed' 'set: idle' 'source: missing' ;;
		*)
			alert $name 120 ;;
		esac
	done)
kill $daemon
wait $daemon
expect "an alert when the daemon has ended, and the file is as old" '0x4500' < <(
	alert IpcuckoodSilent 4
	alert IpcuckoodSilent 120 "ipcuckood on fw1 has said nothing for 5 minutes" 'severity: critical' 'file: /x/ipcuckood.prom')
sed -i -E 's/^(ipcuckood_source_last_good_timestamp_seconds.*) [^ ]+$/\1 0/' "$work/metrics"
expect "an alert when a feed had its last good answer three days ago" '0+60x4500' < <(
	alert IpcuckoodSourceOld 2000
	alert IpcuckoodSourceOld 4320 "feed own on fw1 has had no good answer for two days or more" \
		'severity: critical' 'kind: feed' 'set: good' 'source: own')

ktap_done
