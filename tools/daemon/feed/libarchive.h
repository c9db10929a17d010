/* SPDX-License-Identifier: GPL-2.0-only */
/* libarchive, loaded when it is needed: when the first archive arrives. */
#ifndef IPCUCKOOD_LIBARCHIVE_H
#define IPCUCKOOD_LIBARCHIVE_H

#include <archive.h>
#include <archive_entry.h>

/* Each function of libarchive that is used, without "archive_". To use another one, add it here. */
#define LIBARCHIVE_FUNCTIONS(FUNCTION)		\
	FUNCTION(entry_filetype)		\
	FUNCTION(entry_pathname)		\
	FUNCTION(entry_pathname_utf8)		\
	FUNCTION(entry_size)			\
	FUNCTION(error_string)			\
	FUNCTION(filter_count)			\
	FUNCTION(format)			\
	FUNCTION(read_add_passphrase)		\
	FUNCTION(read_data)			\
	FUNCTION(read_free)			\
	FUNCTION(read_new)			\
	FUNCTION(read_next_header)		\
	FUNCTION(read_open_fd)			\
	FUNCTION(read_support_filter_bzip2)	\
	FUNCTION(read_support_filter_gzip)	\
	FUNCTION(read_support_filter_lz4)	\
	FUNCTION(read_support_filter_xz)	\
	FUNCTION(read_support_filter_zstd)	\
	FUNCTION(read_support_format_7zip)	\
	FUNCTION(read_support_format_raw)	\
	FUNCTION(read_support_format_tar)	\
	FUNCTION(read_support_format_zip_seekable)

#define LIBARCHIVE_MEMBER(name)	__typeof__(archive_##name) *name;

/* The functions, of the types that <archive.h> gives them: libarchive.read_new() */
struct libarchive {
	LIBARCHIVE_FUNCTIONS(LIBARCHIVE_MEMBER)
};

extern struct libarchive libarchive;

/* Load libarchive, unless that was done before; it stays until the daemon ends. Return: NULL, or why
 * it cannot be used. Then its functions must not be called.
 */
const char *libarchive_load(void);

#endif /* IPCUCKOOD_LIBARCHIVE_H */
