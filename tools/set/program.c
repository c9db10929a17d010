// SPDX-License-Identifier: GPL-2.0-only
/* Attaches the program of bpf/xdp.bpf.c with libxdp, and removes it: see program.h. */
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "set/program.h"

static bool is_xdp(const struct nl_attachment *attachment)
{
	return attachment->place == IPCUCKOO_PLACE_XDP;
}

#ifdef IPCUCKOO_XDP

#include <errno.h>
#include <net/if_arp.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "set/libxdp.h"

#define PROGRAM	"ipcuckoo_xdp"
#define MODULE	"ipcuckoo_bpf"

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
	size_t len;

	vsnprintf(reason, sizeof(reason), format, args);
	len = strlen(reason);
	if (len && reason[len - 1] == '\n')
		reason[len - 1] = '\0';
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

	if (problem)
		return problem;
	libxdp.libbpf_set_print(hear_bpf);
	libxdp.libxdp_set_print(hear_xdp);
	reason[0] = '\0';
	return NULL;
}

/* Load the module with the function that the program calls. Programs do not load it. */
static int load_module(const struct tool *tool)
{
	static const char * const argv[] = { "modprobe", "-q", MODULE, NULL };
	int status;
	pid_t pid;

	if (!access("/sys/module/" MODULE, F_OK))
		return STATUS_OK;
	if (!posix_spawnp(&pid, argv[0], NULL, NULL, (char **)argv, environ))
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	if (!access("/sys/module/" MODULE, F_OK))
		return STATUS_OK;
	return fail(tool, STATUS_REFUSED,
		    "the kernel module " MODULE ", which XDP needs, cannot be loaded: dmesg says why; see BPF PROGRAMS in ipcuckoo(8). Without it, attach at ingress");
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
	else
		return err;
	return attach_mode(ifindex, XDP_MODE_SKB);
}

static int attach(const struct tool *tool, const char *dev, int ifindex)
{
	struct xdp_multiprog *all = libxdp.xdp_multiprog__get_from_ifindex(ifindex);
	enum xdp_attach_mode there = XDP_MODE_UNSPEC;
	bool found = false, legacy = false;
	const char *generic;
	int err;

	if (!libxdp.libxdp_get_error(all)) {
		there = libxdp.xdp_multiprog__attach_mode(all);
		found = find(all);
		legacy = libxdp.xdp_multiprog__is_legacy(all);
		libxdp.xdp_multiprog__close(all);
	}
	if (found)
		return STATUS_OK;
	if (legacy)
		return fail(tool, STATUS_REFUSED,
			    "at %s is an XDP program that was not attached with libxdp, and leaves no room for another: detach it, or attach the set at ingress", dev);
	err = attach_best(ifindex, there, &generic);
	if (err)
		return fail(tool, STATUS_REFUSED,
			    "the XDP program cannot be attached to %s: %s%s%s", dev, strerror(-err),
			    reason[0] ? ": " : "", reason);
	if (generic && !tool->quiet && !tool->json)
		printf("%s: %s in generic mode, which is slower.\n", dev, generic);
	return STATUS_OK;
}

/* Do the frames of a device begin with an Ethernet header? Those of some tunnels have none, others
 * show a program the packet in which they came.
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

	if (!is_xdp(attachment))
		return STATUS_OK;
	ifindex = if_nametoindex(attachment->dev);
	if (!ifindex) {
		warn(tool, "there is no device %s now, so no packet is looked at there: attach the set with -exist when there is",
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
	return attach(tool, attachment->dev, ifindex);
}

static void detach(const struct tool *tool, const char *dev)
{
	int ifindex = if_nametoindex(dev), err = 0;
	struct xdp_program *program;
	struct xdp_multiprog *all;
	const char *problem;

	if (!ifindex)
		return;
	problem = begin();
	if (problem) {
		warn(tool, "the XDP program cannot be removed from %s: %s; it passes all packets",
		     dev, problem);
		return;
	}
	all = libxdp.xdp_multiprog__get_from_ifindex(ifindex);
	if (!all || libxdp.libxdp_get_error(all))
		return;
	program = find(all);
	if (program)
		err = libxdp.xdp_program__detach(program, ifindex,
						 libxdp.xdp_multiprog__attach_mode(all), 0);
	libxdp.xdp_multiprog__close(all);
	if (err)
		warn(tool, "the XDP program cannot be removed from %s: %s%s%s; it passes all packets",
		     dev, strerror(-err), reason[0] ? ": " : "", reason);
}

#else

int program_attach(const struct tool *tool, const struct nl_attachment *attachment)
{
	return is_xdp(attachment) ?
	       fail(tool, STATUS_REFUSED,
		    "this program was built without clang or libxdp, so it has no program for XDP: attach the set at ingress, or build it with them") :
	       STATUS_OK;
}

static void detach(const struct tool *tool, const char *dev)
{
	(void)tool;
	(void)dev;
}

#endif

static bool is_used(const struct nl_attachment *all, size_t count, const char *dev)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (is_xdp(&all[i]) && !strcmp(all[i].dev, dev))
			return true;
	return false;
}

void program_tidy(const struct tool *tool, const struct nl_attachment *attachments,
		  size_t count)
{
	struct nl_attachment *all;
	size_t left, i;

	if (nl_attachments(tool->nl, &all, &left) < 0)
		return;
	for (i = 0; i < count; i++)
		/* Once for each device. */
		if (is_xdp(&attachments[i]) && !is_used(all, left, attachments[i].dev) &&
		    !is_used(attachments, i, attachments[i].dev))
			detach(tool, attachments[i].dev);
	free(all);
}
