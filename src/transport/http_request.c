/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transport/http_request.h"

#include "libknot/base/encode.h"
#include "libknot/base/number.h"

#include <assert.h>
#include <stdio.h>
#include <strings.h>

static const char dns_type[] = "application/dns-message";

/* ---- URLs ---- */

static bool http_url_copy(knot_str_t text, char ret_copy[static TRANSPORT_HTTP_URL_MAX + 1])
{
	if (text.len == 0 || text.len > TRANSPORT_HTTP_URL_MAX) {
		return false;
	}
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] <= ' ' || text.data[i] >= 0x7f || text.data[i] == '#') {
			return false;
		}
	}
	memcpy(ret_copy, text.data, text.len);
	ret_copy[text.len] = '\0';
	return true;
}

bool http_url_set(http_url_t *url, knot_str_t authority, knot_str_t path)
{
	http_url_t made;
	if (memchr(authority.data, '/', authority.len) != NULL || path.len == 0 || path.data[0] != '/' ||
			!http_url_copy(authority, made.authority) || !http_url_copy(path, made.path)) {
		return false;
	}
	*url = made;
	return true;
}

bool http_url_follow(const http_url_t *from, knot_str_t location, http_url_t *ret_to)
{
	static const char scheme[] = "https:";
	size_t scheme_len = sizeof(scheme) - 1;
	if (location.len > scheme_len && strncasecmp(location.data, scheme, scheme_len) == 0) {
		location.data += scheme_len;
		location.len -= scheme_len;
		if (location.len < 2 || location.data[0] != '/' || location.data[1] != '/') {
			return false;
		}
	}
	if (location.len < 2 || location.data[0] != '/' || location.data[1] != '/') {
		return http_url_set(ret_to, knot_str_of(from->authority), location);
	}
	knot_str_t authority = { location.data + 2, location.len - 2 };
	const char *path = memchr(authority.data, '/', authority.len);
	if (path == NULL) {
		return http_url_set(ret_to, authority, KNOT_STR("/"));
	}
	size_t len = (size_t)(path - authority.data);
	return http_url_set(ret_to, (knot_str_t){ authority.data, len }, (knot_str_t){ path, authority.len - len });
}

/* ---- Requests ---- */

static void http_fields_add(http_fields_t *fields, const char *name, const char *value, size_t value_len)
{
	assert(fields->count < HTTP_FIELDS_MAX);
	fields->fields[fields->count++] = (nghttp2_nv){ .name = (uint8_t *)name,
		.namelen = strlen(name),
		.value = (uint8_t *)value,
		.valuelen = value_len,
		.flags = NGHTTP2_NV_FLAG_NONE };
}

static void http_fields_begin(http_fields_t *fields, const char *method, const http_url_t *url, knot_str_t path)
{
	fields->count = 0;
	http_fields_add(fields, ":method", method, strlen(method));
	http_fields_add(fields, ":scheme", "https", 5);
	http_fields_add(fields, ":authority", url->authority, strlen(url->authority));
	http_fields_add(fields, ":path", path.data, path.len);
	http_fields_add(fields, "accept", dns_type, sizeof(dns_type) - 1);
}

void http_fields_post(const http_url_t *url, size_t message_len, http_fields_t *ret_fields)
{
	http_fields_begin(ret_fields, "POST", url, knot_str_of(url->path));
	int len = snprintf(ret_fields->length_text, sizeof(ret_fields->length_text), "%zu", message_len);
	http_fields_add(ret_fields, "content-type", dns_type, sizeof(dns_type) - 1);
	http_fields_add(ret_fields, "content-length", ret_fields->length_text, (size_t)len);
}

/* base64url without padding, RFC 4648 5. */
static size_t http_print_base64url(knot_bytes_t bytes, char *ret_text)
{
	size_t len = knot_base64_print(bytes, ret_text);
	while (len > 0 && ret_text[len - 1] == '=') {
		len--;
	}
	for (size_t i = 0; i < len; i++) {
		ret_text[i] = ret_text[i] == '+' ? '-' : ret_text[i] == '/' ? '_' : ret_text[i];
	}
	return len;
}

void http_fields_get(const http_url_t *url, knot_bytes_t message, char *path_room, http_fields_t *ret_fields)
{
	const char *variable = strchr(url->path, '?') == NULL ? "?dns=" : "&dns=";
	size_t len = strlen(url->path);
	memcpy(path_room, url->path, len);
	memcpy(path_room + len, variable, 5);
	len += 5;
	len += http_print_base64url(message, path_room + len);
	http_fields_begin(ret_fields, "GET", url, (knot_str_t){ path_room, len });
}

/* ---- Replies ---- */

bool http_is_dns_type(knot_str_t type)
{
	size_t len = sizeof(dns_type) - 1;
	return type.len >= len && strncasecmp(type.data, dns_type, len) == 0 &&
	       (type.len == len || type.data[len] == ';' || type.data[len] == ' ');
}

unsigned http_status_of(knot_str_t text)
{
	uint64_t status;
	return text.len == 3 && knot_number_scan(text, 999, &status) == KNOT_NUMBER_OK ? (unsigned)status : 0;
}
