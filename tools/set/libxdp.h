/* SPDX-License-Identifier: GPL-2.0-only */
/* libxdp and the libbpf that it uses; loaded when a set is attached at XDP, or detached from there. */
#ifndef IPCUCKOO_TOOL_LIBXDP_H
#define IPCUCKOO_TOOL_LIBXDP_H

#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "lib/library.h"

/* Each function that is used. To use another one, add it here. */
#define LIBXDP_FUNCTIONS(FUNCTION)			\
	FUNCTION(, bpf_object__close)			\
	FUNCTION(, bpf_object__open_mem)		\
	FUNCTION(, libbpf_set_print)			\
	FUNCTION(, libxdp_get_error)			\
	FUNCTION(, libxdp_set_print)			\
	FUNCTION(, xdp_multiprog__attach_mode)		\
	FUNCTION(, xdp_multiprog__close)		\
	FUNCTION(, xdp_multiprog__get_from_ifindex)	\
	FUNCTION(, xdp_multiprog__is_legacy)		\
	FUNCTION(, xdp_multiprog__main_prog)		\
	FUNCTION(, xdp_multiprog__next_prog)		\
	FUNCTION(, xdp_program__attach)			\
	FUNCTION(, xdp_program__close)			\
	FUNCTION(, xdp_program__create)			\
	FUNCTION(, xdp_program__detach)			\
	FUNCTION(, xdp_program__name)

/* This file needs libbpf, so this also finds the functions of the libbpf that it uses. */
LIBRARY(libxdp, "libxdp", LIBXDP_FUNCTIONS, "libxdp.so.1")

#endif /* IPCUCKOO_TOOL_LIBXDP_H */
