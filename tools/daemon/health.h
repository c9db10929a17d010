/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether all is well, for monitoring. */
#ifndef IPCUCKOOD_HEALTH_H
#define IPCUCKOOD_HEALTH_H

struct config;

/* The exit statuses of a plugin of Nagios */
enum health {
	HEALTH_OK,
	HEALTH_WARNING,		/* what is in force is not what it should be, or will not be */
	HEALTH_CRITICAL,	/* a set does not do what it is for */
	HEALTH_UNKNOWN,		/* no daemon has answered */
};

/* A line for each fault, the critical ones first, or one that says that there is none. Allocated. */
char *health_text(const struct config *config, enum health *health);

#endif /* IPCUCKOOD_HEALTH_H */
