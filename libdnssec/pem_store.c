/* SPDX-License-Identifier: BSD-2-Clause */
#include "libdnssec/pem_store.h"

#include <fcntl.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FOLDER_MODE = 0750,
	FILE_MODE = 0640,
	PEM_MAX = 16 * 1024, /* bytes: RSA of 4096 bits takes a fifth of that */
};

/* KNOT_EKEYID: the id isn't one, so it may lead anywhere. KNOT_ESPACE. */
static knot_err_t pem_path(const char *folder, const char *id, char ret_path[static PATH_MAX])
{
	size_t digits = strspn(id, "0123456789abcdef");
	if (digits == 0 || id[digits] != '\0') {
		return KNOT_EKEYID;
	}
	int len = snprintf(ret_path, PATH_MAX, "%s/%s.pem", folder, id);
	return len > 0 && len < PATH_MAX ? KNOT_OK : KNOT_ESPACE;
}

/* The whole file, at most PEM_MAX. What isn't a file may have no end, or wait for somebody who writes. */
static knot_err_t pem_read(const char *path, uint8_t *text, size_t *ret_len)
{
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	bool is_known = fstat(fd, &info) == 0;
	if (!is_known || !S_ISREG(info.st_mode)) {
		(void)close(fd);
		return is_known && S_ISDIR(info.st_mode) ? knot_err_of_errno(EISDIR) : KNOT_EPRIVATEKEY;
	}
	size_t len = 0;
	ssize_t got = 1;
	while (len < PEM_MAX && (got = read(fd, text + len, PEM_MAX - len)) > 0) {
		len += (size_t)got;
	}
	knot_err_t err = got < 0 ? knot_err_of_errno(errno) : KNOT_OK;
	(void)close(fd);
	*ret_len = len;
	return err == KNOT_OK && len == PEM_MAX ? KNOT_EPRIVATEKEY : err;
}

static knot_err_t pem_write_all(int fd, knot_mut_bytes_t pem)
{
	for (size_t done = 0; done < pem.len;) {
		ssize_t len = write(fd, pem.data + done, pem.len - done);
		if (len < 0 && errno != EINTR) {
			return knot_err_of_errno(errno);
		}
		done += len > 0 ? (size_t)len : 0;
	}
	return fsync(fd) == 0 ? KNOT_OK : knot_err_of_errno(errno);
}

/* So that a new name outlives a power failure. */
static knot_err_t pem_sync_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	knot_err_t err = fsync(fd) == 0 ? KNOT_OK : knot_err_of_errno(errno);
	(void)close(fd);
	return err;
}

static knot_err_t pem_write(const char *folder, const char *path, knot_mut_bytes_t pem)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	knot_err_t err = pem_write_all(fd, pem);
	if (close(fd) != 0 && err == KNOT_OK) {
		err = knot_err_of_errno(errno);
	}
	err = err == KNOT_OK ? pem_sync_folder(folder) : err;
	if (err != KNOT_OK) {
		(void)unlink(path); /* half a key is none */
	}
	return err;
}

static knot_err_t pem_compare(const char *path, knot_mut_bytes_t pem)
{
	uint8_t there[PEM_MAX];
	size_t len;
	knot_err_t err = pem_read(path, there, &len);
	bool is_same = err == KNOT_OK && len == pem.len && memcmp(there, pem.data, len) == 0;
	OPENSSL_cleanse(there, sizeof(there));
	return err == KNOT_OK && !is_same ? KNOT_EKEYIMPORT : err;
}

knot_err_t dnssec_pem_put(const char *folder, const dnssec_key_t *key, char ret_id[static DNSSEC_KEY_ID_LEN + 1])
{
	char path[PATH_MAX];
	knot_mut_bytes_t pem;
	knot_err_t err = dnssec_key_to_pem(key, &pem);
	if (err != KNOT_OK) {
		return err;
	}
	err = dnssec_key_id(key, ret_id);
	err = err == KNOT_OK ? pem_path(folder, ret_id, path) : err;
	if (err == KNOT_OK && mkdir(folder, FOLDER_MODE) != 0 && errno != EEXIST) {
		err = knot_err_of_errno(errno);
	}
	err = err == KNOT_OK ? pem_write(folder, path, pem) : err;
	if (err == knot_err_of_errno(EEXIST)) {
		err = pem_compare(path, pem);
	}
	dnssec_pem_free(&pem);
	return err;
}

knot_err_t dnssec_pem_find(
		const char *folder, const char *id, uint8_t algorithm, uint16_t flags, dnssec_key_t **ret_key)
{
	char path[PATH_MAX];
	uint8_t text[PEM_MAX];
	size_t len;
	knot_err_t err = pem_path(folder, id, path);
	err = err == KNOT_OK ? pem_read(path, text, &len) : err;
	err = err == KNOT_OK ? dnssec_key_from_pem((knot_bytes_t){ text, len }, algorithm, flags, ret_key) : err;
	OPENSSL_cleanse(text, sizeof(text));
	return err;
}

knot_err_t dnssec_pem_get(const char *folder, const char *id, dnssec_key_t *key)
{
	dnssec_key_t *private;
	knot_err_t err = dnssec_pem_find(folder, id, dnssec_key_algorithm(key), dnssec_key_flags(key), &private);
	if (err != KNOT_OK) {
		return err;
	}
	err = dnssec_key_take_private(key, private);
	dnssec_key_free(private);
	return err;
}

bool dnssec_pem_has(const char *folder, const char *id)
{
	char path[PATH_MAX];
	struct stat info;
	return pem_path(folder, id, path) == KNOT_OK && lstat(path, &info) == 0 && S_ISREG(info.st_mode);
}

knot_err_t dnssec_pem_copy(const char *from_folder, const char *to_folder, const char *id)
{
	uint8_t text[PEM_MAX];
	char from[PATH_MAX], to[PATH_MAX];
	size_t len = 0;
	knot_err_t err = pem_path(from_folder, id, from);
	err = err == KNOT_OK ? pem_path(to_folder, id, to) : err;
	err = err == KNOT_OK ? pem_read(from, text, &len) : err;
	if (err == KNOT_OK && mkdir(to_folder, FOLDER_MODE) != 0 && errno != EEXIST) {
		err = knot_err_of_errno(errno);
	}
	const knot_mut_bytes_t pem = { text, len };
	err = err == KNOT_OK ? pem_write(to_folder, to, pem) : err;
	err = err == knot_err_of_errno(EEXIST) ? pem_compare(to, pem) : err;
	OPENSSL_cleanse(text, sizeof(text));
	return err;
}

knot_err_t dnssec_pem_remove(const char *folder, const char *id)
{
	char path[PATH_MAX];
	knot_err_t err = pem_path(folder, id, path);
	if (err == KNOT_OK && unlink(path) != 0) {
		err = knot_err_of_errno(errno);
	}
	return err;
}
