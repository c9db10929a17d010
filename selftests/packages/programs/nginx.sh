#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ipcuckood fetches a feed from Debian's nginx, which compresses it and answers conditional requests:
# what it asks for when the list is the same, has changed, is gone or is cut off, and when nginx is
# away.

. "${0%/*}/machine"

set=block
source="feed www"
www=/srv/feeds
asked=/run/asked
[ -x "${IPCUCKOOD:-}" ] || skip_all "ipcuckood was not built: its libraries are not installed"

# list ADDRESS...: publishes the feed, at once
list()
{
	printf '%s\n' "$@" {198.51.100,203.0.113}.{1..200} > $www/new
	mv $www/new $www/list.txt
}

# answers PATTERN: how many answers of nginx look like this: status, encoding, and whether the request
# had a condition
answers()
{
	grep -c "$1" $asked
}

# answered_again PATTERN: waits for one more
answered_again()
{
	local before

	before=$(answers "$1")
	busywait 20 eval '[ "$(answers "'"$1"'")" -gt '"$before"' ]'
}

versions nginx libcurl4
on_exit 'systemctl stop ipcuckood nginx; "$IPCUCKOO" destroy; modprobe -r ipcuckoo'
mkdir -p $www
cat > /etc/nginx/nginx.conf <<-'END'
	events { }
	http {
		types { text/plain txt; }
		gzip on;
		gzip_min_length 1;
		gzip_types text/plain;
		log_format asked '$status $sent_http_content_encoding $http_if_none_match$http_if_modified_since';
		access_log /run/asked asked;
		server {
			listen 127.0.0.1:8081;
			root /srv/feeds;
		}
	}
END
printf '%s\n' '[set block]' '[feed www]' 'set = block' 'url = http://127.0.0.1:8081/list.txt' \
	'every = 1s' 'jitter = 0%' > /etc/ipcuckood.conf
install_daemon
list 192.0.2.66
start nginx
start ipcuckood
check "the feed is in force" "good" "$(busywait 20 source_is good && echo good)"
run_ok "its first address" is_blocked 192.0.2.66
run_ok "and its last one" is_blocked 203.0.113.200
check_match "it came compressed, and was asked for without a condition" '^200 gzip -*$' \
	"$(head -n 1 $asked)"
run_ok "then it is asked for only if it has changed" answered_again '^304 - .*[[:alnum:]]'

list 192.0.2.67
busywait 20 is_blocked 192.0.2.67
run_ok "what is new is in force" is_blocked 192.0.2.67
run_ok "what has left is not" is_free 192.0.2.66
run_ok "an answer without a change again" answered_again '^304 '

mv $www/list.txt $www/kept
run_ok "the list is gone" answered_again '^404 '
busywait 20 source_is failing
run_ok "which is said" source_is failing
run_ok "the last one stays in force" is_blocked 192.0.2.67
mv $www/kept $www/list.txt
check "it is there again" "good" "$(busywait 60 source_is good && echo good)"

printf '%s\n' 192.0.2.67 203.0.113.0/2 > $www/list.txt
busywait 20 source_is refused
check_match "a list that was cut off is refused" 'shrank|too much' "$(/usr/sbin/ipcuckood status)"
run_ok "the last one stays in force" is_blocked 203.0.113.200

list 192.0.2.68
stop nginx
busywait 20 source_is failing
run_ok "without nginx, too" is_blocked 203.0.113.200
start nginx
busywait 60 is_blocked 192.0.2.68
run_ok "the new list, when nginx is back" is_blocked 192.0.2.68
check "all is good" "good" "$(busywait 20 source_is good && echo good)"
end_with <(journalctl -b --no-pager -u ipcuckood -u nginx)
