// SPDX-License-Identifier: GPL-2.0-only
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/conf/secret.h"
#include "daemon/feed/libarchive.h"
#include "daemon/feed/unpack.h"
#include "lib/address.h"

/* Bytes that are read at once */
#define PIECE_SIZE	(32 << 10)

/* Members that a message names */
#define NAMES_MOST	5

/* The blocks of tar */
#define BLOCK_SIZE	512

/**
 * struct reading - an archive that is being read
 * @unpack:	how, and what gets its contents
 * @archive:	libarchive's handle
 * @fd:		the file
 * @members:	number of its files
 * @read:	number of files that were read
 * @skipped:	size of those that were not
 * @names:	names of the first ones, for messages
 * @why:	what is wrong
 * @size:	size of @why
 */
struct reading {
	const struct unpack *unpack;
	struct archive *archive;
	int fd;
	unsigned int members;
	unsigned int read;
	uint64_t skipped;
	char names[160];
	char *why;
	size_t size;
};

bool unpack_is_archive(const char *start, size_t len)
{
	static const struct {
		size_t at;
		const char *magic;
		size_t len;
	} kinds[] = {
		{ 0, "BZh", 3 }, { 0, "\xfd" "7zXZ", 5 }, { 0, "\x28\xb5\x2f\xfd", 4 },
		{ 0, "\x04\x22\x4d\x18", 4 }, { 0, "PK\x03\x04", 4 }, { 0, "PK\x05\x06", 4 },
		{ 0, "7z\xbc\xaf\x27\x1c", 6 }, { 257, "ustar", 5 },
	};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (len >= kinds[i].at + kinds[i].len &&
		    !memcmp(start + kinds[i].at, kinds[i].magic, kinds[i].len))
			return true;
	return false;
}

static int kind_of(struct archive *archive)
{
	return libarchive.format(archive) & ARCHIVE_FORMAT_BASE_MASK;
}

/* What libarchive says may have names of the archive in it. */
static bool fail(struct reading *reading)
{
	const char *text = libarchive.error_string(reading->archive);
	char quoted[160];

	address_quote(quoted, sizeof(quoted), text ? : "", text ? strlen(text) : 0);
	snprintf(reading->why, reading->size,
		 "is an archive that cannot be read: damaged, cut off, or in need of another archive-password-file? %s",
		 quoted);
	return false;
}

static bool take_data(struct reading *reading)
{
	const struct unpack *unpack = reading->unpack;
	char piece[PIECE_SIZE];
	ssize_t got;

	if (!unpack->begin(unpack->owner))
		return false;
	while ((got = libarchive.read_data(reading->archive, piece, sizeof(piece))) > 0)
		if (!unpack->data(unpack->owner, piece, got))
			return false;
	return got < 0 ? fail(reading) : unpack->end(unpack->owner);
}

static void note_name(struct reading *reading, const char *name)
{
	size_t len = strlen(reading->names);
	char quoted[64];

	if (reading->members > NAMES_MOST)
		return;
	address_quote(quoted, sizeof(quoted), name, strlen(name));
	snprintf(reading->names + len, sizeof(reading->names) - len, "%s%s", len ? ", " : "",
		 reading->members == NAMES_MOST ? "..." : quoted);
}

static bool take_member(struct reading *reading, struct archive_entry *entry)
{
	const struct unpack *unpack = reading->unpack;
	const char *name = libarchive.entry_pathname(entry);
	int format = kind_of(reading->archive);

	if (libarchive.entry_filetype(entry) != AE_IFREG)
		return true;
	/* What is neither an archive nor compressed any more was the beginning of one. */
	if (format == ARCHIVE_FORMAT_RAW && libarchive.filter_count(reading->archive) < 2) {
		snprintf(reading->why, reading->size, "is an archive that is damaged or cut off");
		return false;
	}
	if (!name)
		name = libarchive.entry_pathname_utf8(entry) ? : "?";
	note_name(reading, name);
	reading->members++;
	if (unpack->member ? !fnmatch(unpack->member, name, 0) : reading->members == 1) {
		reading->read++;
		return take_data(reading);
	}
	reading->skipped += libarchive.entry_size(entry);
	if (format == ARCHIVE_FORMAT_ZIP || reading->skipped <= unpack->skip_most)
		return true;
	snprintf(reading->why, reading->size,
		 "is an archive with much more than what is read of it; if that is right, raise max-size");
	return false;
}

/* The end of a tar archive is a block of zeros; libarchive does not miss it. */
static bool has_end(struct reading *reading)
{
	static const char zeros[BLOCK_SIZE];
	char block[BLOCK_SIZE];
	off_t end = lseek(reading->fd, 0, SEEK_END);

	if (kind_of(reading->archive) != ARCHIVE_FORMAT_TAR ||
	    libarchive.filter_count(reading->archive) > 1)
		return true;
	return end >= BLOCK_SIZE &&
	       pread(reading->fd, block, BLOCK_SIZE, end - BLOCK_SIZE) == BLOCK_SIZE &&
	       !memcmp(block, zeros, BLOCK_SIZE);
}

/* All files have been seen: were the right ones read? */
static bool judge(struct reading *reading)
{
	const char *member = reading->unpack->member;

	if (!has_end(reading))
		snprintf(reading->why, reading->size, "is a tar archive that is cut off");
	else if (!reading->members)
		snprintf(reading->why, reading->size, "is an archive without a file in it");
	else if (!reading->read)
		snprintf(reading->why, reading->size, "is an archive that has no %.64s, but: %s",
			 member, reading->names);
	else if (!member && reading->members > 1)
		snprintf(reading->why, reading->size,
			 "is an archive of several files; say which, as in member = *.txt: %s",
			 reading->names);
	else
		return true;
	return false;
}

static bool read_members(struct reading *reading)
{
	struct archive_entry *entry;
	int result;

	while ((result = libarchive.read_next_header(reading->archive, &entry)) == ARCHIVE_OK ||
	       result == ARCHIVE_WARN)
		if (!take_member(reading, entry))
			return false;
	return result == ARCHIVE_EOF ? judge(reading) : fail(reading);
}

/* Return: whether there is one, if one is needed. */
static bool set_password(struct reading *reading)
{
	const char *path = reading->unpack->password_file;
	char password[SECRET_SIZE] = "", why[SECRET_WHY_SIZE];
	bool good = !path || secret_read(path, "password", password, why);

	if (!good)
		snprintf(reading->why, reading->size, "%s", why);
	else if (path)
		libarchive.read_add_passphrase(reading->archive, password);
	explicit_bzero(password, sizeof(password));
	return good;
}

bool unpack_read(const struct unpack *unpack, int fd, char *why, size_t size)
{
	struct reading reading = { .unpack = unpack, .fd = fd, .why = why, .size = size };
	const char *problem = libarchive_load();
	struct archive *archive;
	bool good;

	if (problem) {
		snprintf(why, size, "is an archive: %s", problem);
		return false;
	}
	archive = libarchive.read_new();
	if (!archive) {
		snprintf(why, size, "is too large for the memory there is");
		return false;
	}
	reading.archive = archive;
	libarchive.read_support_filter_bzip2(archive);
	libarchive.read_support_filter_gzip(archive);
	libarchive.read_support_filter_lz4(archive);
	libarchive.read_support_filter_xz(archive);
	libarchive.read_support_filter_zstd(archive);
	libarchive.read_support_format_7zip(archive);
	libarchive.read_support_format_raw(archive);
	libarchive.read_support_format_tar(archive);
	libarchive.read_support_format_zip_seekable(archive);
	good = set_password(&reading);
	if (good && (lseek(fd, 0, SEEK_SET) ||
		     libarchive.read_open_fd(archive, fd, PIECE_SIZE) != ARCHIVE_OK))
		good = fail(&reading);
	good = good && read_members(&reading);
	libarchive.read_free(archive);
	return good;
}
