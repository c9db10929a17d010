/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Archives, and files that are compressed, but for gzip: read by libarchive, from a file. Some
 * kinds have the list of their members at their end, so all of the archive has to be there.
 */
#ifndef IPCUCKOOD_UNPACK_H
#define IPCUCKOOD_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many first bytes show whether it is an archive. */
#define UNPACK_START_SIZE	512

/**
 * struct unpack - how to read an archive, and what gets its contents
 * @member:	pattern of the members to read; NULL: it has only one
 * @password_file: a file whose first line is the password; NULL: there is none
 * @skip_most:	maximum size of members that are not read, where they have to be decompressed
 * @begin:	a member begins. Return: false to give up
 * @data:	gets its contents, in parts. Return: false to give up
 * @end:	it ends. Return: false to give up
 * @owner:	argument for these
 */
struct unpack {
	const char *member;
	const char *password_file;
	uint64_t skip_most;
	bool (*begin)(void *owner);
	bool (*data)(void *owner, const char *data, size_t len);
	bool (*end)(void *owner);
	void *owner;
};

/* Does it begin as an archive? */
bool unpack_is_archive(const char *start, size_t len);
/* Read an archive. Return: whether all went well; otherwise @why says what is wrong, unless one of the
 * functions gave up.
 */
bool unpack_read(const struct unpack *unpack, int fd, char *why, size_t size);

#endif /* IPCUCKOOD_UNPACK_H */
