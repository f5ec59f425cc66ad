/* SPDX-License-Identifier: BSD-2-Clause */
/* Words of command lines: types, servers, addresses, keys. */
#include "src/tools/lookup/lookup.h"

#include "libknot/base/number.h"
#include "src/sys/lines.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

lookup_query_t lookup_query_default(void)
{
	return (lookup_query_t){
		.family = AF_UNSPEC,
		.type = KNOT_TYPE_A,
		.class = KNOT_CLASS_IN,
		.flags = KNOT_FLAG_RD | KNOT_FLAG_AD,
		.timeout_ms = 5000,
		.retries = 2,
		.edns = 0,
		.bufsize = -1,
		.badcookies = LOOKUP_BADCOOKIES_MAX,
		.style = present_style(),
		.idn_in = true,
	};
}

/* ---- Types ---- */

static bool words_scan_serial(const char *text, uint32_t *ret_serial)
{
	uint64_t serial;
	if (!knot_number_of(text, 0, UINT32_MAX, &serial)) {
		return false;
	}
	*ret_serial = (uint32_t)serial;
	return true;
}

bool lookup_set_type(lookup_query_t *query, const char *text)
{
	const char *serial_text = strchr(text, '=');
	size_t len = serial_text != NULL ? (size_t)(serial_text - text) : strlen(text);
	lookup_operation_t operation = LOOKUP_QUERY;
	uint16_t type = KNOT_TYPE_SOA;
	uint32_t serial = 0;
	if (len == 6 && strncasecmp(text, "NOTIFY", len) == 0) {
		operation = LOOKUP_NOTIFY;
	} else if (knot_rrtype_scan((knot_str_t){ text, len }, &type) != KNOT_OK) {
		return false;
	} else if (type == KNOT_TYPE_AXFR) {
		operation = LOOKUP_AXFR;
	} else if (type == KNOT_TYPE_IXFR) {
		operation = LOOKUP_IXFR;
	}
	bool may_have_serial = operation == LOOKUP_NOTIFY || operation == LOOKUP_IXFR;
	if (serial_text != NULL ? !may_have_serial || !words_scan_serial(serial_text + 1, &serial)
				: operation == LOOKUP_IXFR) {
		return false;
	}
	query->type = type;
	query->operation = operation;
	query->has_serial = serial_text != NULL;
	query->serial = serial;
	return true;
}

/* ---- Servers ---- */

bool lookup_is_port(const char *text)
{
	uint64_t port;
	bool is_number = strspn(text, "0123456789") == strlen(text);
	return text[0] != '\0' && (!is_number || knot_number_of(text, 0, UINT16_MAX, &port));
}

bool lookup_scan_host(const char *text, lookup_host_t *ret_host)
{
	lookup_host_t host = { .host = text, .host_len = strlen(text) };
	if (text[0] == '/') { /* a path may have anything in it */
		*ret_host = host;
		return true;
	}
	const char *at = NULL;
	if (text[0] == '[') {
		const char *end = strchr(text, ']');
		if (end == NULL || (end[1] != ':' && end[1] != '@' && end[1] != '#' && end[1] != '\0')) {
			return false;
		}
		host.host = text + 1;
		host.host_len = (size_t)(end - text - 1);
		at = end[1] != '\0' ? end + 1 : NULL;
	} else {
		const char *colon = strchr(text, ':');
		bool is_ipv6 = colon != NULL && strchr(colon + 1, ':') != NULL;
		at = strpbrk(text, is_ipv6 ? "@#" : "@#:");
		host.host_len = at != NULL ? (size_t)(at - text) : host.host_len;
	}
	host.service = at != NULL ? at + 1 : NULL;
	if (host.service != NULL && !lookup_is_port(host.service)) {
		return false;
	}
	*ret_host = host;
	return true;
}

bool lookup_reverse(const char *address, char ret_name[static 80])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t bytes[16];
	if (inet_pton(AF_INET, address, bytes) == 1) {
		snprintf(ret_name, 80, "%u.%u.%u.%u.in-addr.arpa.", bytes[3], bytes[2], bytes[1], bytes[0]);
		return true;
	}
	if (inet_pton(AF_INET6, address, bytes) != 1) {
		return false;
	}
	char *at = ret_name;
	for (int i = 15; i >= 0; i--) {
		*at++ = digits[bytes[i] & 15];
		*at++ = '.';
		*at++ = digits[bytes[i] >> 4];
		*at++ = '.';
	}
	memcpy(at, "ip6.arpa.", sizeof("ip6.arpa."));
	return true;
}

/* ---- Keys ---- */

static bool words_scan_algorithm(knot_str_t text, knot_tsig_algorithm_t *ret_algorithm)
{
	static const struct {
		const char *name;
		knot_tsig_algorithm_t algorithm;
	} rows[] = {
		{ "hmac-md5", KNOT_TSIG_HMAC_MD5 },
		{ "hmac-md5.sig-alg.reg.int", KNOT_TSIG_HMAC_MD5 },
		{ "hmac-sha1", KNOT_TSIG_HMAC_SHA1 },
		{ "hmac-sha224", KNOT_TSIG_HMAC_SHA224 },
		{ "hmac-sha256", KNOT_TSIG_HMAC_SHA256 },
		{ "hmac-sha384", KNOT_TSIG_HMAC_SHA384 },
		{ "hmac-sha512", KNOT_TSIG_HMAC_SHA512 },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		if (strlen(rows[i].name) == text.len && strncasecmp(rows[i].name, text.data, text.len) == 0) {
			*ret_algorithm = rows[i].algorithm;
			return true;
		}
	}
	return false;
}

#define WORDS_ALGORITHMS "hmac-sha256, hmac-sha384, hmac-sha512, hmac-sha224, hmac-sha1 or hmac-md5"

/* NULL: it is a key; else why not. A secret is never part of it. */
static const char *words_scan_key(const char *text, lookup_key_t *ret_key)
{
	const char *first = strchr(text, ':');
	const char *second = first != NULL ? strchr(first + 1, ':') : NULL;
	knot_tsig_algorithm_t algorithm = KNOT_TSIG_HMAC_SHA256;
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	knot_base64_state_t state = { 0 };
	size_t secret_len = 0;
	if (first == NULL) {
		return "a key is [algorithm:]name:secret";
	}
	if (second != NULL && !words_scan_algorithm((knot_str_t){ text, (size_t)(first - text) }, &algorithm)) {
		return "unknown algorithm, use " WORDS_ALGORITHMS;
	}
	const char *name_text = second != NULL ? first + 1 : text, *secret = (second != NULL ? second : first) + 1;
	size_t name_len = (size_t)(secret - 1 - name_text);
	if (name_len == 0 ||
			knot_name_scan((knot_str_t){ name_text, name_len }, knot_name_root, wire, &name) != KNOT_OK) {
		return "invalid name of the key";
	}
	knot_name_lower(name, ret_key->name);
	name.wire = ret_key->name;
	if (knot_base64_add(&state, knot_str_of(secret), (knot_mut_bytes_t){ ret_key->secret, sizeof(ret_key->secret) },
			    &secret_len) != KNOT_DECODE_OK ||
			state.digit_count != 0) {
		return "the secret isn't base64";
	}
	ret_key->key = (knot_tsig_key_t){ name, algorithm, { ret_key->secret, secret_len } };
	return NULL;
}

void lookup_key_free(lookup_key_t *take_key)
{
	if (take_key != NULL) {
		explicit_bzero(take_key, sizeof(*take_key));
		free(take_key);
	}
}

lookup_key_t *lookup_key_scan(const char *text, const char **ret_reason)
{
	lookup_key_t *key = calloc(1, sizeof(*key));
	*ret_reason = key != NULL ? words_scan_key(text, key) : "out of memory";
	if (*ret_reason != NULL) {
		lookup_key_free(key);
		key = NULL;
	}
	return key;
}

/*
 * One line of a file. In the output of keymgr -t the key is in a comment, with its algorithm, before a part for
 * knot.conf, "key:", which isn't a key without a secret.
 */
static lookup_key_t *words_read_key_line(char *line, bool *ret_is_comment, const char **ret_reason)
{
	char *text = line + strspn(line, " \t");
	bool is_comment = *ret_is_comment = *text == '#' || *text == ';';
	text += is_comment ? strspn(text, "#; \t") : 0;
	text[strcspn(text, " \t\r\n")] = '\0';
	const char *colon = strchr(text, ':');
	if (*text == '\0' || (is_comment && (colon == NULL || strchr(colon + 1, ':') == NULL))) {
		return NULL;
	}
	const char *reason;
	lookup_key_t *key = lookup_key_scan(text, &reason);
	if (key != NULL && key->key.secret.len == 0) {
		lookup_key_free(key);
		key = NULL;
		reason = "the key has no secret";
	}
	*ret_reason = is_comment ? *ret_reason : reason;
	return key;
}

/** What the lines of a file have said of its key. */
typedef struct {
	lookup_key_t *key;   /* owned */
	lookup_key_t *noted; /* owned: the first one in a comment */
	const char *fault;   /* of the first line that isn't a comment */
	bool is_conf;        /* which is the part for knot.conf */
} key_file_t;

static void words_take_key_line(key_file_t *file, char *line)
{
	bool is_comment;
	lookup_key_t *found = words_read_key_line(line, &is_comment, &file->fault);
	file->is_conf = strcmp(line + strspn(line, " \t"), "key:") == 0;
	if (!is_comment) {
		file->key = found;
	} else if (file->noted == NULL) {
		file->noted = found;
	} else {
		lookup_key_free(found);
	}
}

/* A comment's key counts before the part for knot.conf, or if the file has nothing else; others were taken out of use.
 */
static lookup_key_t *words_choose_key(key_file_t *file)
{
	bool is_of_keymgr = file->key == NULL && (file->fault == NULL || file->is_conf);
	lookup_key_t *chosen = is_of_keymgr ? file->noted : file->key;
	if (!is_of_keymgr) {
		lookup_key_free(file->noted);
	}
	return chosen;
}

lookup_key_t *lookup_key_read(const char *path, const char **ret_reason)
{
	key_file_t file = { .key = NULL };
	char *line;
	size_t len;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		*ret_reason = strerror(errno);
		return NULL;
	}
	sys_lines_t lines = sys_lines_of(fd);
	while (file.key == NULL && file.fault == NULL && sys_lines_next(&lines, &line, &len)) {
		words_take_key_line(&file, line);
	}
	sys_lines_done(&lines);
	close(fd);
	file.fault = file.fault != NULL ? file.fault : lines.error != 0 ? strerror(lines.error) : lines.fault;
	lookup_key_t *key = words_choose_key(&file);
	*ret_reason = key != NULL ? NULL : file.fault != NULL ? file.fault : "there is no key in it";
	return key;
}
