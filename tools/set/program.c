// SPDX-License-Identifier: GPL-2.0-only
/* Attaches the program of bpf/xdp.bpf.c with libxdp, and removes it: see program.h. */
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "set/attachment.h"
#include "set/program.h"

static bool is_xdp(const struct nl_attachment *attachment)
{
	return attachment->place == IPCUCKOO_PLACE_XDP;
}

#ifdef IPCUCKOO_XDP

#include <errno.h>
#include <fcntl.h>
#include <net/if_arp.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/monotonic.h"
#include "set/libxdp.h"

#define PROGRAM		"ipcuckoo_xdp"
#define MODULE		"ipcuckoo_bpf"
#define MODULE_STATE	"/sys/module/" MODULE "/initstate"

/* The name of libxdp's own program */
#define DISPATCHER	"xdp_dispatcher"

#define NO_FILES	"libxdp's files about that device are not in /sys/fs/bpf here. ip netns exec hides that directory, nsenter --net does not"

/* Only root can open it, so nobody else can keep the lock. */
#define LOCK_FILE	"/run/ipcuckoo.lock"

/* How long to try to take the lock, in seconds, ten times in each */
#define LOCK_SECONDS	10

/* The compiled program is a part of this one. */
__asm__(".pushsection .rodata\n"
	".balign 8\n"
	"program_begin: .incbin \"" XDP_OBJECT "\"\n"
	"program_end:\n"
	".popsection");

extern const char program_begin[], program_end[];

/* The last warning of the libraries, which explains an error better than its number. */
static char reason[256];

static void keep_reason(const char *format, va_list args)
{
	vsnprintf(reason, sizeof(reason), format, args);
	reason[strcspn(reason, "\n")] = '\0';
}

static int hear_bpf(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_WARN)
		keep_reason(format, args);
	return 0;
}

static int hear_xdp(enum libxdp_print_level level, const char *format, va_list args)
{
	if (level == LIBXDP_WARN)
		keep_reason(format, args);
	return 0;
}

/* Load libxdp. Return: NULL, or why that failed. */
static const char *begin(void)
{
	const char *problem = libxdp_load();

	reason[0] = '\0';
	if (problem)
		return problem;
	libxdp.libbpf_set_print(hear_bpf);
	libxdp.libxdp_set_print(hear_xdp);
	return NULL;
}

static int lock_fd = -1;

/* When the lock was taken, and whether this run has gone on without it */
static double locked_at;
static bool unlocked;

/* Where the file cannot be made, or somebody keeps the lock, go on without it: that is no reason to
 * let packets pass.
 */
static void lock(const struct tool *tool)
{
	int tries = 10 * LOCK_SECONDS;

	if (lock_fd >= 0)
		return;
	unlocked = true;
	lock_fd = open(LOCK_FILE, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock_fd < 0)
		return;
	while (flock(lock_fd, LOCK_EX | LOCK_NB)) {
		if (!tries--) {
			warn(tool, "another ipcuckoo has kept " LOCK_FILE " locked for %d seconds: going on without it",
			     LOCK_SECONDS);
			return;
		}
		usleep(100000);
	}
	unlocked = false;
	locked_at = monotonic_seconds();
}

/* Can another run have removed a program, because one of the two went on without the lock? */
static bool was_unlocked(void)
{
	return unlocked || (lock_fd >= 0 && monotonic_seconds() - locked_at >= LOCK_SECONDS);
}

void program_unlock(void)
{
	if (lock_fd >= 0)
		close(lock_fd);
	lock_fd = -1;
	unlocked = false;
}

/* Is the module loaded, and initialized? Before that, the kernel refuses programs that call it. */
static bool is_module_live(void)
{
	FILE *file = fopen(MODULE_STATE, "re");
	char state[sizeof("live")] = "";

	if (!file)
		return false;
	if (!fgets(state, sizeof(state), file))
		state[0] = '\0';
	fclose(file);
	return !strcmp(state, "live");
}

void program_lock(const struct tool *tool)
{
	if (!tool->spare && is_module_live())
		lock(tool);
}

/* Load the module; if another run is loading it, wait for that. The last line that modprobe prints,
 * which says why it failed, is kept.
 */
static void run_modprobe(void)
{
	FILE *output = popen("exec modprobe " MODULE " 2>&1", "re");
	char line[sizeof(reason)];

	if (!output) {
		snprintf(reason, sizeof(reason), "modprobe: %s", strerror(errno));
		return;
	}
	while (fgets(line, sizeof(line), output)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0])
			strcpy(reason, line);
	}
	pclose(output);
}

/* Loading a BPF program does not load the module that provides its kfuncs. */
static int load_module(const struct tool *tool)
{
	if (is_module_live())
		return STATUS_OK;
	run_modprobe();
	if (is_module_live())
		return STATUS_OK;
	return fail(tool, STATUS_REFUSED,
		    "the kernel module " MODULE ", which XDP needs, cannot be loaded: %s; dmesg may say more; see ipcuckoo-bpf(7). Without it, attach at ingress",
		    reason[0] ? reason : "modprobe does not say why");
}

/* Find our program at a device. Return: NULL if it is not there. */
static struct xdp_program *find(struct xdp_multiprog *all)
{
	struct xdp_program *program = NULL;

	if (libxdp.xdp_multiprog__is_legacy(all)) {
		program = libxdp.xdp_multiprog__main_prog(all);
		return program && !strcmp(libxdp.xdp_program__name(program), PROGRAM) ? program : NULL;
	}
	while ((program = libxdp.xdp_multiprog__next_prog(program, all)))
		if (!strcmp(libxdp.xdp_program__name(program), PROGRAM))
			break;
	return program;
}

/* libxdp's dispatcher runs the programs of a device, and files in /sys/fs/bpf say which ones these
 * are. Without the files, libxdp takes the dispatcher for a program of somebody else.
 */
static bool is_dispatcher_only(struct xdp_multiprog *all)
{
	struct xdp_program *program = libxdp.xdp_multiprog__is_legacy(all) ?
				      libxdp.xdp_multiprog__main_prog(all) : NULL;

	return program && !strcmp(libxdp.xdp_program__name(program), DISPATCHER);
}

static struct xdp_program *open_program(void)
{
	LIBBPF_OPTS(bpf_object_open_opts, open, .object_name = PROGRAM);
	struct bpf_object *object = libxdp.bpf_object__open_mem(program_begin,
								program_end - program_begin, &open);
	DECLARE_LIBXDP_OPTS(xdp_program_opts, options, .obj = object, .prog_name = PROGRAM);
	struct xdp_program *program;

	if (!object)
		return NULL;
	program = libxdp.xdp_program__create(&options);
	if (!libxdp.libxdp_get_error(program))
		return program;
	libxdp.bpf_object__close(object);
	return NULL;
}

/* Attach in one mode. A program that was loaded for one mode is not used for another. */
static int attach_mode(int ifindex, enum xdp_attach_mode mode)
{
	struct xdp_program *program = open_program();
	int err;

	if (!program)
		return -EINVAL;
	err = libxdp.xdp_program__attach(program, ifindex, mode, 0);
	libxdp.xdp_program__close(program);
	return err;
}

/* Attach in the mode of the programs that are there; else in the driver, or if that has no XDP or
 * refuses the program, in the kernel's generic mode. Then @generic says why.
 */
static int attach_best(int ifindex, enum xdp_attach_mode there, const char **generic)
{
	int err;

	*generic = there == XDP_MODE_SKB ? "this one runs, like those that are there," : NULL;
	if (there != XDP_MODE_UNSPEC)
		return attach_mode(ifindex, there);
	err = attach_mode(ifindex, XDP_MODE_NATIVE);
	if (err == -EOPNOTSUPP)
		*generic = "the driver runs no XDP programs, so this one runs";
	else if (err == -EINVAL || err == -ERANGE)
		*generic = "the driver refuses this XDP program, perhaps because the MTU is too large, so it runs";
	else if (err == -ENOSPC || err == -ENOMEM)
		*generic = "the driver has too few queues, or too little memory, for XDP programs, so this one runs";
	else
		return err;
	return attach_mode(ifindex, XDP_MODE_SKB);
}

static int attach(const struct tool *tool, const char *dev, int ifindex)
{
	struct xdp_multiprog *all = libxdp.xdp_multiprog__get_from_ifindex(ifindex);
	enum xdp_attach_mode there = XDP_MODE_UNSPEC;
	bool found = false, legacy = false, unknown = false;
	const char *generic;
	int err;

	if (!libxdp.libxdp_get_error(all)) {
		there = libxdp.xdp_multiprog__attach_mode(all);
		found = find(all);
		legacy = libxdp.xdp_multiprog__is_legacy(all);
		unknown = is_dispatcher_only(all);
		libxdp.xdp_multiprog__close(all);
	}
	if (found)
		return STATUS_OK;
	if (unknown)
		return fail(tool, STATUS_REFUSED,
			    "cannot find out which XDP programs run at %s: " NO_FILES, dev);
	if (legacy)
		return fail(tool, STATUS_REFUSED,
			    "at %s is an XDP program that was not attached with libxdp, and leaves no room for another: detach it, or attach the set at ingress", dev);
	err = attach_best(ifindex, there, &generic);
	if (err)
		return fail(tool, STATUS_REFUSED,
			    "the XDP program cannot be attached to %s: %s%s%s", dev, strerror(-err),
			    reason[0] ? ": " : "", reason);
	if (generic)
		warn(tool, "%s: %s in generic mode, which is slower", dev, generic);
	return STATUS_OK;
}

/* Do the frames of a device begin with an Ethernet header? Those of some tunnels have none; at
 * others XDP sees the outer packet.
 */
static bool is_ethernet(const char *dev)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { 0 };
	bool known;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", dev);
	known = fd >= 0 && !ioctl(fd, SIOCGIFHWADDR, &request);
	if (fd >= 0)
		close(fd);
	return !known || request.ifr_hwaddr.sa_family == ARPHRD_ETHER ||
	       request.ifr_hwaddr.sa_family == ARPHRD_LOOPBACK;
}

int program_attach(const struct tool *tool, const struct nl_attachment *attachment)
{
	const char *problem;
	int ifindex, status;

	if (!is_xdp(attachment) || tool->spare)
		return STATUS_OK;
	ifindex = if_nametoindex(attachment->dev);
	if (!ifindex) {
		warn(tool, "%s does not exist: until it does and you run this command again with -exist, the attachment sees no packets",
		     attachment->dev);
		return STATUS_OK;
	}
	if (!is_ethernet(attachment->dev))
		return fail(tool, STATUS_REFUSED,
			    "%s has no Ethernet frames, which programs of XDP need: attach the set at ingress",
			    attachment->dev);
	problem = begin();
	if (problem)
		return fail(tool, STATUS_REFUSED, "%s; without it, attach at ingress", problem);
	status = load_module(tool);
	if (status)
		return status;
	lock(tool);
	return attach(tool, attachment->dev, ifindex);
}

int program_confirm(const struct tool *tool, const struct nl_attachment *attachment)
{
	return is_xdp(attachment) && if_nametoindex(attachment->dev) ?
	       program_attach(tool, attachment) : STATUS_OK;
}

/**
 * struct attached - attachments
 * @list:	some or all of those in the kernel
 * @count:	how many
 */
struct attached {
	const struct nl_attachment *list;
	size_t count;
};

/* Is anything attached at XDP of this device? */
static bool is_used(const struct attached *attached, const char *dev)
{
	const struct nl_attachment *at;

	for (at = attached->list; at < attached->list + attached->count; at++)
		if (is_xdp(at) && same_device(at->dev, dev))
			return true;
	return false;
}

/* Find a device that does not exist, although something is attached there. Return: NULL if there
 * is none.
 */
static const char *find_missing(const struct attached *attached)
{
	const struct nl_attachment *at;

	for (at = attached->list; at < attached->list + attached->count; at++)
		if (is_xdp(at) && !if_nametoindex(at->dev))
			return at->dev;
	return NULL;
}

static void warn_left(const struct tool *tool, const char *dev, bool generic, const char *why)
{
	warn(tool, "the XDP program cannot be removed from %s: %s%s%s. It passes all packets, but the modules stay loaded; `ip link set dev %s %s off' removes it and all other XDP programs there, and `xdp-loader clean' what libxdp keeps of them",
	     dev, why, reason[0] ? ": " : "", reason, dev, generic ? "xdpgeneric" : "xdp");
}

/* Remove our program from a device. @missing: the name of a device that does not exist, at which a
 * set is attached; or NULL. As @dev may be that device, renamed, the program stays there then.
 * Return: was the program there, or is that unknown?
 */
static bool detach(const struct tool *tool, const char *dev, unsigned int ifindex,
		   const char *missing)
{
	struct xdp_multiprog *all;
	enum xdp_attach_mode mode;
	struct xdp_program *program;
	int err;

	reason[0] = '\0';
	all = libxdp.xdp_multiprog__get_from_ifindex(ifindex);
	err = all ? libxdp.libxdp_get_error(all) : -ENOENT;
	if (err == -ENOENT || err == -ENODEV)
		return false;
	if (err) {
		warn(tool, "cannot find out whether the XDP program is still at %s: %s%s%s",
		     dev, strerror(-err), reason[0] ? ": " : "", reason);
		return true;
	}
	if (is_dispatcher_only(all)) {
		libxdp.xdp_multiprog__close(all);
		warn(tool, "cannot find out whether the XDP program is still at %s: " NO_FILES ". If it is, it passes all packets, and the modules stay loaded; ipcuckoo detach --all removes it where the directory is visible",
		     dev);
		return true;
	}
	mode = libxdp.xdp_multiprog__attach_mode(all);
	program = find(all);
	if (program && missing)
		warn(tool, "the XDP program stays at %s, where nothing is attached: perhaps this device was called %s, which does not exist, and where a set is attached",
		     dev, missing);
	else if (program)
		err = libxdp.xdp_program__detach(program, ifindex, mode, 0);
	libxdp.xdp_multiprog__close(all);
	if (err)
		warn_left(tool, dev, mode == XDP_MODE_SKB, strerror(-err));
	return program;
}

/* Remove our program from all devices at which nothing is attached: a device may have been renamed
 * since the program was attached to it. The devices of the attachments @done were looked at before.
 */
static void detach_everywhere(const struct tool *tool, const struct attached *done,
			      const struct attached *left)
{
	struct if_nameindex *devices = if_nameindex(), *dev;
	const char *missing = find_missing(left);

	for (dev = devices; dev && dev->if_index; dev++)
		if (!is_used(done, dev->if_name) &&
		    !is_used(left, dev->if_name))
			detach(tool, dev->if_name, dev->if_index, missing);
	if (devices)
		if_freenameindex(devices);
}

/* Remove our program from the devices of the attachments @gone, or @everywhere, but not where one of
 * those that are @left still needs it. Each device is looked at once: @before has the attachments
 * that were done.
 */
static void tidy(const struct tool *tool, const struct attached *gone, bool everywhere,
		 const struct attached *left)
{
	struct attached before = { .list = gone->list };
	const char *problem = begin(), *dev;
	bool lost = everywhere && !problem;
	unsigned int ifindex;

	for (; before.count < gone->count; before.count++) {
		dev = gone->list[before.count].dev;
		ifindex = if_nametoindex(dev);
		if (!is_xdp(&gone->list[before.count]) || is_used(left, dev) ||
		    is_used(&before, dev))
			continue;
		if (problem && ifindex)
			warn_left(tool, dev, false, problem);
		else if (problem)
			warn(tool, "cannot look whether the XDP program is at a device that was called %s: %s",
			     dev, problem);
		else if (!ifindex || !detach(tool, dev, ifindex, NULL))
			lost = true;
	}
	if (lost)
		detach_everywhere(tool, gone, left);
}

/* While this run removed a program, another run may have attached a set at the same device: attach the
 * program again.
 */
static void confirm_all(const struct tool *tool)
{
	struct nl_attachment *all;
	size_t count, i;

	if (nl_attachments(tool->nl, &all, &count) < 0)
		return;
	for (i = 0; i < count; i++)
		program_confirm(tool, &all[i]);
	free(all);
}

void program_tidy(const struct tool *tool, const struct nl_attachment *attachments, size_t count,
		  bool everywhere)
{
	struct attached gone = { attachments, count }, left;
	struct nl_attachment *all;
	size_t i;
	int err;

	for (i = 0; i < count && !is_xdp(&attachments[i]); i++)
		;
	if ((i < count || everywhere) && !tool->spare && is_module_live()) {
		lock(tool);
		err = nl_attachments(tool->nl, &all, &left.count);
		if (err < 0) {
			warn(tool, "cannot find out where the XDP program is not needed any more: %s. It stays there; it passes all packets, but the modules stay loaded",
			     strerror(-err));
		} else {
			left.list = all;
			tidy(tool, &gone, everywhere, &left);
			free(all);
			if (was_unlocked())
				confirm_all(tool);
		}
	}
}

#else

int program_attach(const struct tool *tool, const struct nl_attachment *attachment)
{
	return is_xdp(attachment) ?
	       fail(tool, STATUS_REFUSED,
		    "this program was built without clang or libxdp, so it has no program for XDP: attach the set at ingress, or build it with them") :
	       STATUS_OK;
}

int program_confirm(const struct tool *tool, const struct nl_attachment *attachment)
{
	(void)tool;
	(void)attachment;
	return STATUS_OK;
}

void program_lock(const struct tool *tool)
{
	(void)tool;
}

void program_unlock(void)
{
}

void program_tidy(const struct tool *tool, const struct nl_attachment *attachments, size_t count,
		  bool everywhere)
{
	(void)tool;
	(void)attachments;
	(void)count;
	(void)everywhere;
}

#endif
