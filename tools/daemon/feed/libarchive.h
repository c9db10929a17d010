/* SPDX-License-Identifier: GPL-2.0-only */
/* libarchive, loaded when it is needed: when the first archive arrives. */
#ifndef IPCUCKOOD_LIBARCHIVE_H
#define IPCUCKOOD_LIBARCHIVE_H

#include <archive.h>
#include <archive_entry.h>

#include "lib/library.h"

/* Each function of libarchive that is used, without "archive_". To use another one, add it here. */
#define LIBARCHIVE_FUNCTIONS(FUNCTION)			\
	FUNCTION(archive_, entry_filetype)		\
	FUNCTION(archive_, entry_pathname)		\
	FUNCTION(archive_, entry_pathname_utf8)		\
	FUNCTION(archive_, entry_size)			\
	FUNCTION(archive_, error_string)		\
	FUNCTION(archive_, filter_count)		\
	FUNCTION(archive_, format)			\
	FUNCTION(archive_, read_add_passphrase)		\
	FUNCTION(archive_, read_data)			\
	FUNCTION(archive_, read_free)			\
	FUNCTION(archive_, read_new)			\
	FUNCTION(archive_, read_next_header)		\
	FUNCTION(archive_, read_open_fd)		\
	FUNCTION(archive_, read_support_filter_bzip2)	\
	FUNCTION(archive_, read_support_filter_gzip)	\
	FUNCTION(archive_, read_support_filter_lz4)	\
	FUNCTION(archive_, read_support_filter_xz)	\
	FUNCTION(archive_, read_support_filter_zstd)	\
	FUNCTION(archive_, read_support_format_7zip)	\
	FUNCTION(archive_, read_support_format_raw)	\
	FUNCTION(archive_, read_support_format_tar)	\
	FUNCTION(archive_, read_support_format_zip_seekable)

LIBRARY(libarchive, "libarchive", LIBARCHIVE_FUNCTIONS, "libarchive.so.13")

#endif /* IPCUCKOOD_LIBARCHIVE_H */
