/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * knsec3hash: prints the NSEC3 hash of a name (RFC 5155 5); see doc/man/knsec3hash.1.
 */
#include "libknot/base/encode.h"
#include "src/conf/version.h"
#include "src/sys/file.h"
#include "src/zone/nsec3_hash.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SALT_MAX = 255 /* bytes: its length is one byte */ };

/** The arguments, in whichever of the two orders they came. */
typedef struct {
	const char *salt, *algorithm, *iterations, *name;
	const char *shown_salt; /* what is printed as the salt */
} words_t;

__attribute__((format(printf, 1, 2))) static void nsec3hash_error(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("error: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

static void nsec3hash_help(void)
{
	puts("Usage:   knsec3hash <salt> <algorithm> <iterations> <domain-name>\n"
	     "Example: knsec3hash c01dcafe 1 10 knot-dns.cz\n"
	     "Alternative usage: knsec3hash <algorithm> <flags> <iterations> <salt> <domain-name>\n"
	     "Example: knsec3hash 1 0 10 c01dcafe knot-dns.cz");
}

/* ---- Arguments ---- */

/* Knot prints the first argument as the salt in either order; scripts have it so. Flags are no part of a hash. */
static bool nsec3hash_words(int count, char **args, words_t *ret_words)
{
	if (count == 4) {
		*ret_words = (words_t){ args[0], args[1], args[2], args[3], args[0] };
	} else if (count == 5) {
		*ret_words = (words_t){ args[3], args[0], args[2], args[4], args[0] };
	}
	return count == 4 || count == 5;
}

static bool nsec3hash_number(const char *text, unsigned long max, unsigned long *ret_number)
{
	char *end;
	bool begins_well = (*text >= '0' && *text <= '9') || *text == '+';
	errno = 0;
	unsigned long number = strtoul(text, &end, 10);
	bool is_good = begins_well && end != text && *end == '\0' && errno == 0 && number <= max;
	*ret_number = is_good ? number : 0;
	return is_good;
}

static bool nsec3hash_salt(const char *text, uint8_t ret_salt[static SALT_MAX], uint8_t *ret_len)
{
	size_t len = strcmp(text, "-") == 0 ? 0 : strlen(text);
	bool is_hex = len % 2 == 0 && strspn(text, "0123456789abcdefABCDEF") >= len;
	if (!is_hex) {
		nsec3hash_error("invalid salt (%s)", knot_strerror(KNOT_EPARAM));
		return false;
	}
	if (len / 2 > SALT_MAX) {
		nsec3hash_error("invalid salt, maximum length is %d bytes", SALT_MAX);
		return false;
	}
	for (size_t i = 0; i < len; i += 2) {
		ret_salt[i / 2] = (uint8_t)(knot_hex_digit(text[i]) << 4 | knot_hex_digit(text[i + 1]));
	}
	*ret_len = (uint8_t)(len / 2);
	return true;
}

/* ---- The hash ---- */

static bool nsec3hash_run(const words_t *words)
{
	uint8_t salt[SALT_MAX], wire[KNOT_NAME_MAX], lower[KNOT_NAME_MAX], hash[ZONE_NSEC3_HASH_LEN];
	unsigned long algorithm, iterations;
	zone_nsec3_params_t params = { .salt = salt };
	knot_name_t name;
	if (!nsec3hash_number(words->algorithm, UINT8_MAX, &algorithm)) {
		nsec3hash_error("invalid algorithm number");
		return false;
	}
	if (!nsec3hash_number(words->iterations, UINT16_MAX, &iterations)) {
		nsec3hash_error("invalid iteration count");
		return false;
	}
	if (!nsec3hash_salt(words->salt, salt, &params.salt_len)) {
		return false;
	}
	if (knot_name_scan(knot_str_of(words->name), knot_name_root, wire, &name) != KNOT_OK) {
		nsec3hash_error("cannot parse domain name");
		return false;
	}
	knot_name_lower(name, lower);
	name.wire = lower;
	params.algorithm = (uint8_t)algorithm;
	params.iterations = (uint16_t)iterations;
	if (!zone_nsec3_hash(&params, name, hash)) {
		nsec3hash_error("cannot compute NSEC3 hash (invalid NSEC3 algorithm)");
		return false;
	}
	char text[2 * sizeof(hash)]; /* base32 is shorter */
	size_t len = knot_base32hex_print((knot_bytes_t){ hash, sizeof(hash) }, text);
	printf("%.*s (salt=%s, hash=%lu, iterations=%lu)\n", (int)len, text, words->shown_salt, algorithm, iterations);
	return true;
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", optional_argument, NULL, 'V' },
		{ 0 },
	};
	words_t words;
	bool is_good = true;
	int c = getopt_long(argc, argv, "hV::", known, NULL);
	if (c == 'h') {
		nsec3hash_help();
	} else if (c == 'V') {
		conf_version_print("knsec3hash", optarg != NULL);
	} else if (c != -1 || !nsec3hash_words(argc - optind, argv + optind, &words)) {
		nsec3hash_help();
		is_good = false;
	} else {
		is_good = nsec3hash_run(&words);
	}
	bool is_written = sys_file_end_output();
	return is_good && is_written ? EXIT_SUCCESS : EXIT_FAILURE;
}
