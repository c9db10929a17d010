/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the daemon share. */
#ifndef IPCUCKOOD_DAEMON_H
#define IPCUCKOOD_DAEMON_H

#include <stdbool.h>
#include <systemd/sd-event.h>

struct config;
struct nl;

/**
 * struct daemon - one run of ipcuckood
 * @event:	the event loop; everything runs in it, and there are no threads
 * @config:	the configuration that is in force
 * @nl:		the connection to the kernel; NULL while there is none
 * @connections: how often it was opened: the module may be another one each time
 * @state_dir:	directory of the stored contents; NULL: nothing is stored
 * @control:	path of the control socket; NULL: there is none
 * @dry_run:	print what would change, and change neither the kernel's sets nor files
 * @answered:	in a dry run, called after each answer of a source
 */
struct daemon {
	sd_event *event;
	struct config *config;
	struct nl *nl;
	unsigned int connections;
	const char *state_dir;
	const char *control;
	bool dry_run;
	void (*answered)(struct daemon *daemon);
};

#endif /* IPCUCKOOD_DAEMON_H */
