// SPDX-License-Identifier: GPL-2.0-only
/*
 * ipcuckood: keeps sets as their sources say. Start reading at source.h and target.h.
 *
 * Everything runs in one event loop: signals, timers, transfers, the control socket. Requests to
 * the kernel are answered at once, and are therefore made without waiting in the loop.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "cli/complete.h"
#include "cli/kept.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/timer.h"
#include "daemon/compare.h"
#include "daemon/config.h"
#include "daemon/control.h"
#include "daemon/health.h"
#include "daemon/http/fetch.h"
#include "daemon/redis/backlog.h"
#include "daemon/set/attachments.h"
#include "daemon/set/guard.h"
#include "daemon/set/kernel.h"
#include "daemon/set/source.h"
#include "daemon/set/store.h"
#include "daemon/set/target.h"
#include "daemon/watch.h"
#include "lib/descriptors.h"
#include "release.h"

#define CONFIG_PATH	"/etc/ipcuckood.conf"
/* What the unit has as StateDirectory */
#define STATE_PATH	"/var/lib/ipcuckood"

/* A time that does not come */
#define TIME_NEVER	((time_t)((1ull << (8 * sizeof(time_t) - 1)) - 1))

/**
 * struct run - what a run needs beside the daemon itself
 * @daemon:	the daemon
 * @path:	the configuration
 * @kept_fd:	holds the lock of the file that says which sets the daemon keeps
 * @clock_fd:	becomes readable when the clock is set
 * @clock_ahead: how far the clock was ahead of the time since boot, in milliseconds
 */
struct run {
	struct daemon daemon;
	const char *path;
	int kept_fd;
	int clock_fd;
	int64_t clock_ahead;
};

/* Make the sets what the sources say now, and follow the sources. */
static void start(struct daemon *daemon)
{
	struct config *config = daemon->config;
	size_t i;

	for (i = 0; i < config->target_count; i++) {
		target_start(config->targets[i], daemon);
		if (!daemon->dry_run)
			target_apply(config->targets[i]);
	}
	for (i = 0; i < config->source_count; i++)
		source_remove_kept_out(config->sources[i]);
	for (i = 0; i < config->source_count; i++)
		source_start(config->sources[i], daemon);
	/* It looks at sets and sources at once. */
	if (!daemon->dry_run)
		watch_start(daemon);
	if (daemon->state_dir && !daemon->dry_run)
		config->left = backlog_find_left(daemon->state_dir, config->sources,
						 config->source_count);
}

/* Tell other programs which sets the daemon keeps. */
static void claim_sets(struct run *run)
{
	const struct daemon *daemon = &run->daemon;
	const struct config *config = daemon->config;
	const char **names = need_zeros((config->target_count + 1) * sizeof(*names));
	size_t i;
	int err;

	for (i = 0; i < config->target_count; i++)
		names[i] = config->targets[i]->name;
	err = keep_names(daemon->control, names, &run->kept_fd);
	if (err)
		log_warning("the list of the sets that are kept cannot be written beside %s: %s; \"ipcuckoo\" cannot warn those who change them",
			    daemon->control, strerror(-err));
	free(names);
}

static void stop(struct daemon *daemon)
{
	struct config *config = daemon->config;
	size_t i;

	for (i = 0; i < config->source_count; i++)
		source_stop(config->sources[i]);
	for (i = 0; i < config->target_count; i++)
		target_stop(config->targets[i]);
	watch_stop();
}

/* Give a source the contents that it had: in the old configuration, or else on disk. */
static void find_contents(struct source *source, const struct config *old, const char *dir)
{
	struct source *before = old ? config_source(old, source->name) : NULL;

	if (before && before->kind == source->kind &&
	    before->target->type == source->target->type &&
	    before->target->family == source->target->family)
		source_inherit(source, before);
	else if (dir)
		source->delivered = store_load(source, dir);
	guard_load(source);
}

/* @old: the configuration that was in force; NULL when the daemon starts */
static void find_all_contents(struct config *config, const struct config *old, const char *dir)
{
	size_t i;

	guard_look();
	for (i = 0; i < config->source_count; i++)
		find_contents(config->sources[i], old, dir);
	for (i = 0; i < config->source_count; i++)
		guard_start(config->sources[i]);
}

static void log_sets_left(const struct config *old, const struct config *config)
{
	size_t i;

	for (i = 0; i < old->target_count; i++)
		if (!config_target(config, old->targets[i]->name))
			log_warning("[set %s] is not in the configuration any more; it stays as it is, ipcuckoo destroy %s removes it",
				    old->targets[i]->name, old->targets[i]->name);
}

static int on_reload(sd_event_source *event, const struct signalfd_siginfo *info, void *data)
{
	struct run *run = data;
	struct daemon *daemon = &run->daemon;
	struct config *config, *old = daemon->config;
	size_t i;

	(void)event;
	(void)info;
	sd_notify(0, "RELOADING=1");
	config = config_read(run->path);
	if (config) {
		stop(daemon);
		find_all_contents(config, old, daemon->state_dir);
		log_sets_left(old, config);
		daemon->config = config;
		for (i = 0; i < old->target_count; i++)
			attachments_remove(daemon, old->targets[i],
					   config_target(config, old->targets[i]->name));
		config_free(old);
		claim_sets(run);
		start(daemon);
		log_info("the configuration was read again: %zu sets, %zu sources",
			 config->target_count, config->section_count);
	} else {
		log_error("the new configuration is wrong, and the old one stays in force; correct %s, and reload again",
			  run->path);
	}
	sd_notify(0, "READY=1");
	return 0;
}

static int on_end(sd_event_source *event, const struct signalfd_siginfo *info, void *data)
{
	struct run *run = data;

	(void)event;
	(void)info;
	return sd_event_exit(run->daemon.event, EXIT_SUCCESS);
}

/* A dry run ends when each source has answered once. */
static void end_dry_run(struct daemon *daemon)
{
	struct config *config = daemon->config;
	int status = EXIT_SUCCESS;
	size_t i;

	for (i = 0; i < config->source_count; i++) {
		if (config->sources[i]->state == SOURCE_WAITING)
			return;
		if (config->sources[i]->state != SOURCE_GOOD)
			status = EXIT_FAILURE;
	}
	daemon->answered = NULL;
	for (i = 0; i < config->target_count; i++) {
		target_apply(config->targets[i]);
		if (config->targets[i]->problem)
			status = EXIT_FAILURE;
	}
	sd_event_exit(daemon->event, status);
}

/* Be told when the clock is set the next time. */
static int wait_for_clock(struct run *run)
{
	/* The kernel cancels the timer when the clock is set. */
	const struct itimerspec never = { .it_value.tv_sec = TIME_NEVER };

	run->clock_ahead = clock_ahead_ms();
	return timerfd_settime(run->clock_fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never,
			       NULL) ? -errno : 0;
}

/* The kernel counts down the time that entries had left by the old clock. */
static int on_clock(sd_event_source *io, int fd, uint32_t events, void *data)
{
	struct run *run = data;
	struct config *config = run->daemon.config;
	int64_t before = run->clock_ahead, seconds;
	uint64_t count;
	size_t i;

	(void)io;
	(void)events;
	while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	wait_for_clock(run);
	seconds = (run->clock_ahead - before) / 1000;
	log_info("the clock was set by %lld seconds: entries with a timeout get the time that they have left by it",
		 (long long)seconds);
	for (i = 0; i < config->source_count; i++)
		source_clock_set(config->sources[i], seconds);
	for (i = 0; i < config->target_count; i++)
		if (config->targets[i]->timeouts)
			target_apply(config->targets[i]);
	return 0;
}

static int watch_clock(struct run *run)
{
	int err;

	run->clock_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (run->clock_fd < 0)
		return -errno;
	err = wait_for_clock(run);
	if (err)
		return err;
	return sd_event_add_io(run->daemon.event, NULL, run->clock_fd, EPOLLIN, on_clock, run);
}

static void need_event(int result, const char *what)
{
	if (result >= 0)
		return;
	log_error("%s: %s", what, strerror(-result));
	exit(EXIT_FAILURE);
}

/* The event loop takes them. Until it runs, they wait: a reload during the start shall not end it. */
static void block_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
}

/* Handle a signal before all else: what is asked of the daemon after SIGHUP was sent is asked of the
 * new configuration, and the end does not wait until thousands of feeds have had their turn.
 */
static void add_signal(struct run *run, int number, sd_event_signal_handler_t handler)
{
	sd_event_source *source = NULL;

	need_event(sd_event_add_signal(run->daemon.event, &source, number, handler, run),
		   strsignal(number));
	sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IMPORTANT - 1);
	sd_event_source_set_floating(source, true);
	sd_event_source_unref(source);
}

static void set_up_events(struct run *run)
{
	struct daemon *daemon = &run->daemon;

	signal(SIGPIPE, SIG_IGN);
	need_event(sd_event_default(&daemon->event), "no event loop");
	add_signal(run, SIGHUP, on_reload);
	add_signal(run, SIGTERM, on_end);
	add_signal(run, SIGINT, on_end);
	if (!daemon->dry_run)
		need_event(watch_clock(run), "no watch over the clock");
	/* Only if the unit has WatchdogSec */
	need_event(sd_event_set_watchdog(daemon->event, true), "watchdog");
}

static int run_daemon(struct run *run)
{
	struct daemon *daemon = &run->daemon;
	struct control *control = NULL;
	int status;

	set_up_events(run);
	if (!daemon->dry_run) {
		control = control_start(daemon);
		if (!control)
			return EXIT_FAILURE;
		claim_sets(run);
	}
	find_all_contents(daemon->config, NULL, daemon->state_dir);
	if (daemon->dry_run)
		daemon->answered = end_dry_run;
	start(daemon);
	if (daemon->dry_run)
		end_dry_run(daemon);
	sd_notify(0, "READY=1");
	status = sd_event_loop(daemon->event);
	sd_notify(0, "STOPPING=1");
	keep_none(daemon->control, &run->kept_fd);
	control_stop(control);
	stop(daemon);
	kernel_close(daemon);
	config_free(daemon->config);
	fetch_end();
	sd_event_unref(daemon->event);
	return status < 0 ? EXIT_FAILURE : status;
}

static const struct option options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "state", required_argument, NULL, 's' },
	{ "control", required_argument, NULL, 'S' },
	{ "check", required_argument, NULL, 'k' },
	{ "dry-run", no_argument, NULL, 'n' },
	{ "json", no_argument, NULL, 'j' },
	{ "prometheus", no_argument, NULL, 'p' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

/* What can be asked of the program; completion takes the commands from here. */
static const struct {
	const char *words;
	const char *text;
} uses[] = {
	{ "[OPTION...]", "keep the sets of the configuration" },
	{ "--check FILE", "check a configuration, and change nothing" },
	{ "--dry-run", "print what would change in the kernel's sets" },
	{ "status [-j|--prometheus]", "show the sets and their sources" },
	{ "health", "say whether all is well, as plugins of Nagios do" },
	{ "compare [-j|--prometheus]", "show what each source has that the others have not" },
	{ "accept SOURCE", "take what was refused" },
	{ "refresh SOURCE", "fetch it now" },
};

#define USES	(sizeof(uses) / sizeof(uses[0]))

static void print_usage(FILE *to)
{
	size_t i;

	for (i = 0; i < USES; i++)
		fprintf(to, "%s ipcuckood %-25s %s\n", i ? "      " : "usage:", uses[i].words,
			uses[i].text);
	fputs("options: --config FILE, --state DIRECTORY, --control SOCKET\n"
	      "See ipcuckood(8).\n", to);
}

/* Print how a command line may go on. The values of all options are names of files. */
static int print_completion(char *const *word, int count)
{
	const struct option *option;
	char *known = NULL;
	size_t size, i;
	FILE *to = open_memstream(&known, &size);

	if (!to)
		return EXIT_FAILURE;
	for (i = 0; i < USES; i++)
		if (islower((unsigned char)*uses[i].words))
			fprintf(to, "%s\n", uses[i].words);
	putc('*', to);
	for (option = options; option->name; option++)
		fprintf(to, " [--%s%s]", option->name, option->has_arg ? " FILE" : "");
	if (!fclose(to))
		complete(known, word, count);
	free(known);
	return EXIT_SUCCESS;
}

static int fail_usage_of_daemon(void)
{
	print_usage(stderr);
	return STATUS_USAGE;
}

/* STATUS_USAGE is HEALTH_CRITICAL for Nagios, which would take wrong words for a fault of the sets. */
static int fail_usage_of_health(void)
{
	fail_usage_of_daemon();
	return HEALTH_UNKNOWN;
}

static bool asks_health(int argc, char **argv)
{
	while (argc--)
		if (!strcmp(*argv++, "health"))
			return true;
	return false;
}

/* Ask the daemon that runs. */
static int run_client(const char *control, char **word, const char *format)
{
	const char *name = word[1] ? word[1] : "";
	bool health = !strcmp(word[0], "health");
	bool status = !strcmp(word[0], "status");
	char *line;
	int result;

	if (health && !word[1])
		return control_health(control);
	if (health)
		return fail_usage_of_health();
	if ((!status && strcmp(word[0], "accept") && strcmp(word[0], "refresh")) ||
	    (!status && !word[1]) || (word[1] && (status || word[2])))
		return fail_usage_of_daemon();
	line = status ? need_copy(format) : need_text("%s %s", word[0], name);
	result = control_ask(control, line);
	free(line);
	return result;
}

static int run_compare(const char *path, const char *dir, const char *format)
{
	struct config *config = config_read(path);
	bool complete;

	if (!config)
		return STATUS_USAGE;
	complete = compare_sources(config, dir, format);
	config_free(config);
	return complete ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int check_config(const char *path)
{
	struct config *config = config_read(path);
	bool opens;

	if (!config)
		return STATUS_USAGE;
	opens = config_opens_files(config);
	if (!config->target_count)
		log_error("%s has no set; write a section, [set NAME], and sources for it", path);
	else if (opens)
		printf("%s is right: sets: %zu, sources: %zu\n", path, config->target_count,
		       config->section_count);
	opens &= config->target_count > 0;
	config_free(config);
	return opens ? EXIT_SUCCESS : STATUS_USAGE;
}

static int run_words(int argc, char **argv)
{
	struct run run = {
		.path = CONFIG_PATH, .kept_fd = -1,
		.daemon = { .state_dir = getenv("STATE_DIRECTORY"), .control = CONTROL_PATH },
	};
	const char *format = "status";
	int option;

	reserve_standard_descriptors();
	if (argc > 1 && !strcmp(argv[1], "--complete"))
		return print_completion(argv + 2, argc - 2);
	/* Completion needs the names alone: what "status" prints has words of servers in it. */
	if (argc > 1 && !strcmp(argv[1], "--names"))
		return control_ask(run.daemon.control, "names");
	while ((option = getopt_long(argc, argv, "c:njhV", options, NULL)) != -1) {
		switch (option) {
		case 'k':
			return check_config(optarg);
		case 'c':
			run.path = optarg;
			break;
		case 's':
			run.daemon.state_dir = optarg;
			break;
		case 'S':
			run.daemon.control = optarg;
			break;
		case 'n':
			run.daemon.dry_run = true;
			break;
		case 'j':
			format = "json";
			break;
		case 'p':
			format = "prometheus";
			break;
		case 'h':
			print_usage(stdout);
			return EXIT_SUCCESS;
		case 'V':
			puts("ipcuckood v" IPCUCKOO_VERSION);
			return EXIT_SUCCESS;
		default:
			return asks_health(argc, argv) ? fail_usage_of_health() :
							 fail_usage_of_daemon();
		}
	}
	if (optind + 1 == argc && !strcmp(argv[optind], "compare"))
		return run_compare(run.path, run.daemon.state_dir ? : STATE_PATH, format);
	if (optind < argc)
		return run_client(run.daemon.control, argv + optind, format);
	block_signals();
	run.daemon.config = config_read(run.path);
	return run.daemon.config ? run_daemon(&run) : STATUS_USAGE;
}

int main(int argc, char **argv)
{
	int status;

	/* libjq runs the file .jq in it before each filter. */
	unsetenv("HOME");
	status = run_words(argc, argv);
	if ((fflush(stdout) || ferror(stdout)) && status <= STATUS_NO) {
		log_error("the output cannot be written: %s", strerror(errno));
		status = STATUS_REFUSED;
	}
	return status;
}
