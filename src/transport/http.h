/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * DNS over HTTPS, the client's side: a request of HTTP/2 (RFC 9113) for each query, GET or POST (RFC 8484 4.1).
 *
 * Each query has a stream of its own, and replies come in any order. A reply that has another status than 200 or
 * another content type than application/dns-message is an event without message. Redirections (301, 302, 307, 308) to
 * https: or to a path are followed on the same connection, with a note; what comes later asks there at once. A reply
 * longer than a DNS message resets its stream. Early data isn't used (RFC 8470 leaves its meaning to the server).
 */
#pragma once

#include "src/transport/tls_params.h"

enum {
	TRANSPORT_HTTP_REDIRECTS_MAX = 10, /* on one connection; then the redirection is what the reply is */
	TRANSPORT_HTTP_URL_MAX = 1024,     /* of authority and of path, each */
};

typedef struct {
	bool uses_get;         /* else POST */
	const char *authority; /* "dns.example", "192.0.2.1:8443", "[2001:db8::1]"; at most TRANSPORT_HTTP_URL_MAX */
	const char *path;      /* with its '/', without "?dns="; NULL: "/dns-query". Strings are copied */
} transport_http_params_t;

/**
 * tls: client; ALPN is "h2", which the server has to take. NULL: HTTP/2 in the clear with prior knowledge (RFC
 * 9113 3.3). KNOT_EINVAL: hostname, sni, ticket, authority or path can't be used; KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t transport_http_new(
		const transport_tls_params_t *tls, const transport_http_params_t *http, transport_t **ret_t);
