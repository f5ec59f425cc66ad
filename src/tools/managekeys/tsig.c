/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/managekeys/keymgr.h"

#include "libknot/base/encode.h"
#include "libknot/base/number.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

enum { SECRET_MAX = 1024 }; /* bytes */

/* RFC 8945 6: as many bits as the digest has. */
static const struct {
	const char *name;
	unsigned bits;
} algorithms[] = {
	{ "hmac-md5", 128 },
	{ "hmac-sha1", 160 },
	{ "hmac-sha224", 224 },
	{ "hmac-sha256", 256 },
	{ "hmac-sha384", 384 },
	{ "hmac-sha512", 512 },
};

static bool tsig_print(const char *name, const char *algorithm, size_t len)
{
	uint8_t secret[SECRET_MAX];
	char text[KNOT_BASE64_LEN(SECRET_MAX)];
	if (getrandom(secret, len, 0) != (ssize_t)len) {
		return keymgr_complain("failed to generate TSIG (%s)", knot_strerror(KNOT_ECRYPTO));
	}
	int text_len = (int)knot_base64_print((knot_bytes_t){ secret, len }, text);
	printf("# %s:%s:%.*s\n"
	       "key:\n"
	       "  - id: %s\n"
	       "    algorithm: %s\n"
	       "    secret: %.*s\n",
			algorithm, name, text_len, text, name, algorithm, text_len, text);
	explicit_bzero(secret, sizeof(secret));
	explicit_bzero(text, sizeof(text));
	return true;
}

/* What others can use as the name of a key: a domain name without blanks and colons, which separate words. */
static bool tsig_check_name(const char *name)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t scanned;
	knot_err_t err = knot_name_scan(knot_str_of(name), knot_name_root, wire, &scanned);
	err = err == KNOT_OK && (name[0] == '\0' || strpbrk(name, " \t\r\n:#\"'[]{}") != NULL) ? KNOT_EINVAL : err;
	return err == KNOT_OK || keymgr_complain("failed to generate TSIG (invalid key name '%s')", name);
}

bool keymgr_make_tsig(const char *name, const char *algorithm, const char *bits)
{
	size_t i = 0;
	const char *wanted = algorithm != NULL ? algorithm : "hmac-sha256";
	while (i < KNOT_LEN(algorithms) && strcasecmp(algorithms[i].name, wanted) != 0) {
		i++;
	}
	if (i == KNOT_LEN(algorithms)) {
		return keymgr_complain("failed to generate TSIG (invalid key algorithm '%s', use hmac-sha256, "
				       "hmac-sha384, hmac-sha512, "
				       "hmac-sha224, hmac-sha1 or hmac-md5)",
				wanted);
	}
	if (!tsig_check_name(name)) {
		return false;
	}
	uint64_t count = algorithms[i].bits;
	if (bits != NULL && !knot_number_of(bits, 1, SECRET_MAX * 8, &count)) {
		return keymgr_complain("invalid number of bits '%s', use 1 to %d", bits, SECRET_MAX * 8);
	}
	if (count < algorithms[i].bits) {
		fprintf(stderr, "warning: optimal key size for %s is at least %u bits\n", algorithms[i].name,
				algorithms[i].bits);
	}
	return tsig_print(name, algorithms[i].name, (size_t)((count + 7) / 8));
}
