/* SPDX-License-Identifier: BSD-2-Clause */
/** What a DNS query is in HTTP: URL and header fields, and what a reply's fields say. Pure; for this folder only. */
#pragma once

#include "src/transport/http.h"

#include <nghttp2/nghttp2.h>

/** Where requests go: https://authority/path. NUL-terminated. */
typedef struct {
	char authority[TRANSPORT_HTTP_URL_MAX + 1];
	char path[TRANSPORT_HTTP_URL_MAX + 1];
} http_url_t;

/** Take authority and path; false: too long, empty, or with characters that a URL can't have (RFC 3986 2). */
bool http_url_set(http_url_t *url, knot_str_t authority, knot_str_t path);

/** Follow a location (RFC 9110 10.2.2): "https://authority/path", "//authority/path", "/path". False: none of these. */
bool http_url_follow(const http_url_t *from, knot_str_t location, http_url_t *ret_to);

enum {
	HTTP_FIELDS_MAX = 7,
	/* "path?dns=" and base64url of the longest message */
	HTTP_PATH_MAX = TRANSPORT_HTTP_URL_MAX + 5 + (TRANSPORT_MESSAGE_MAX + 2) / 3 * 4,
};

/** Header fields of a request, which refer to what it was made of. */
typedef struct {
	nghttp2_nv fields[HTTP_FIELDS_MAX];
	size_t count;
	char length_text[8];
} http_fields_t;

/** For POST; the message is sent as the body. */
void http_fields_post(const http_url_t *url, size_t message_len, http_fields_t *ret_fields);

/** For GET; path_room: HTTP_PATH_MAX bytes that the fields refer to. */
void http_fields_get(const http_url_t *url, knot_bytes_t message, char *path_room, http_fields_t *ret_fields);

/** Is this the content type of DNS messages, with or without parameters (RFC 8484 6)? */
bool http_is_dns_type(knot_str_t type);

/** Three digits, else 0. */
unsigned http_status_of(knot_str_t text);
