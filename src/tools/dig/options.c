/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/dig/options.h"

#include "libknot/base/encode.h"
#include "libknot/base/number.h"
#include "src/tools/lookup/trust.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { FLAG_Z = 0x0040 };

/* ---- Values ---- */

static bool options_scan(const char *value, uint64_t min, uint64_t max, uint64_t *ret_number)
{
	return knot_number_of(value, min, max, ret_number);
}

static option_result_t options_fail(option_context_t *context, const char *what, const char *option, const char *value)
{
	lookup_error(context->lookup, "%s +%s=%s", what, option, value);
	return OPTION_SAID;
}

/* ---- What settings point to ---- */

struct option_data {
	option_data_t *next;
	max_align_t room[];
};

/* Zeros that last as long as the query. */
static void *options_own(option_context_t *context, size_t size)
{
	option_data_t *data = calloc(1, sizeof(*data) + size);
	if (data == NULL) {
		abort();
	}
	data->next = *context->data;
	*context->data = data;
	return data->room;
}

static const char *options_copy(option_context_t *context, const char *text, size_t len)
{
	char *copy = options_own(context, len + 1);
	memcpy(copy, text, len);
	return copy;
}

void dig_options_free(lookup_t *lookup, option_data_t **data)
{
	while (*data != NULL) {
		option_data_t *next = (*data)->next;
		if ((const void *)(*data)->room == lookup->trust_params) {
			lookup_forget_trust(lookup);
		}
		free(*data);
		*data = next;
	}
}

/* ---- Format ---- */

enum { SHOWN_AROUND = PRESENT_HEADER | PRESENT_EDNS | PRESENT_STATS };

static option_result_t options_set_multiline(option_context_t *context, bool is_on, const char *value)
{
	(void)value;
	present_style_t *style = &context->query->style;
	style->rdata.is_multiline = is_on;
	if (is_on) {
		style->format = PRESENT_FULL;
		style->shows |= SHOWN_AROUND;
	}
	return OPTION_GOOD;
}

static option_result_t options_set_short(option_context_t *context, bool is_on, const char *value)
{
	(void)value;
	present_style_t *style = &context->query->style;
	style->format = is_on ? PRESENT_SHORT : PRESENT_FULL;
	style->shows &= ~(uint32_t)(is_on ? SHOWN_AROUND : 0);
	return OPTION_GOOD;
}

/* EDNS and TSIG are records of that section. */
static option_result_t options_set_additional(option_context_t *context, bool is_on, const char *value)
{
	(void)value;
	uint32_t *shows = &context->query->style.shows;
	*shows = is_on ? *shows | PRESENT_ADDITIONAL
		       : *shows & ~(uint32_t)(PRESENT_ADDITIONAL | PRESENT_EDNS | PRESENT_TSIG);
	return OPTION_GOOD;
}

static option_result_t options_set_all(option_context_t *context, bool is_on, const char *value)
{
	(void)value;
	uint32_t *shows = &context->query->style.shows;
	*shows = is_on ? *shows | PRESENT_ALL | PRESENT_COMMENTS : *shows & ~(uint32_t)(PRESENT_ALL | PRESENT_COMMENTS);
	context->query->shows_query &= is_on;
	return OPTION_GOOD;
}

static option_result_t options_set_json(option_context_t *context, bool is_on, const char *value)
{
	(void)value;
	context->query->style.format = is_on ? PRESENT_JSON : PRESENT_FULL;
	return OPTION_GOOD;
}

static option_result_t options_set_idn_out(option_context_t *context, bool is_on, const char *value)
{
	(void)value;
	context->query->idn_out = is_on;
	context->query->style.rdata.print_name = is_on ? lookup_idn_print : knot_name_print;
	return OPTION_GOOD;
}

/* Until Knot DNS 3.5 both directions had one name. */
static option_result_t options_set_idn(option_context_t *context, bool is_on, const char *value)
{
	context->query->idn_in = is_on;
	return options_set_idn_out(context, is_on, value);
}

/* ---- Transport ---- */

static option_result_t options_set_tcp(option_context_t *context, bool is_on, const char *value)
{
	(void)value;
	context->query->is_tcp = is_on;
	context->query->is_udp = !is_on;
	return OPTION_GOOD;
}

/* The TLS settings of this query alone: copies of a query share them until one changes. */
static transport_trust_params_t *options_own_tls(option_context_t *context)
{
	transport_trust_params_t *own = options_own(context, sizeof(*own));
	if (context->query->tls != NULL) {
		*own = *context->query->tls;
	}
	context->query->tls = own;
	return own;
}

/* The last of TLS, HTTPS, QUIC that is said is used; TCP stays when TLS is taken back. */
static void options_use_tls(option_context_t *context)
{
	context->query->uses_tls = context->query->is_tcp = true;
	context->query->uses_quic = context->query->is_udp = false;
}

static option_result_t options_set_tls(option_context_t *context, bool is_on, const char *value)
{
	(void)value;
	if (is_on) {
		options_use_tls(context);
	} else {
		context->query->uses_tls = false;
	}
	return OPTION_GOOD;
}

static option_result_t options_set_quic(option_context_t *context, bool is_on, const char *value)
{
	(void)value;
	context->query->uses_quic = is_on;
	if (is_on) {
		context->query->uses_tls = context->query->uses_https = context->query->is_tcp = false;
	}
	return OPTION_GOOD;
}

static option_result_t options_set_tls_ca(option_context_t *context, bool is_on, const char *value)
{
	transport_trust_params_t *tls = options_own_tls(context);
	if (!is_on) {
		tls->uses_system_ca = false;
		tls->ca_file_count = 0;
		return OPTION_GOOD;
	}
	options_use_tls(context);
	if (value == NULL) {
		tls->uses_system_ca = true;
		return OPTION_GOOD;
	}
	if (tls->ca_file_count == TRANSPORT_CA_FILES_MAX) {
		return options_fail(context, "too many files", "tls-ca", value);
	}
	tls->ca_files[tls->ca_file_count++] = value;
	return OPTION_GOOD;
}

static option_result_t options_set_tls_pin(option_context_t *context, bool is_on, const char *value)
{
	transport_trust_params_t *tls = options_own_tls(context);
	uint8_t pin[TRANSPORT_PIN_LEN];
	if (!is_on) {
		tls->pin_count = 0;
		return OPTION_GOOD;
	}
	if (!lookup_scan_pin(value, pin)) {
		return OPTION_INVALID;
	}
	if (tls->pin_count == TRANSPORT_PINS_MAX) {
		return options_fail(context, "too many pins", "tls-pin", value);
	}
	memcpy(tls->pins[tls->pin_count++], pin, TRANSPORT_PIN_LEN);
	options_use_tls(context);
	return OPTION_GOOD;
}

static option_result_t options_set_tls_hostname(option_context_t *context, bool is_on, const char *value)
{
	(void)options_own_tls(context);
	context->query->hostname = is_on ? value : NULL;
	context->query->http_authority = NULL;
	if (is_on) {
		options_use_tls(context);
	}
	return OPTION_GOOD;
}

static option_result_t options_set_tls_sni(option_context_t *context, bool is_on, const char *value)
{
	context->query->sni = is_on ? value : NULL;
	if (is_on) {
		options_use_tls(context);
	}
	return OPTION_GOOD;
}

static option_result_t options_set_tls_keyfile(option_context_t *context, bool is_on, const char *value)
{
	options_own_tls(context)->key_file = is_on ? value : NULL;
	if (is_on) {
		options_use_tls(context);
	}
	return OPTION_GOOD;
}

static option_result_t options_set_tls_certfile(option_context_t *context, bool is_on, const char *value)
{
	options_own_tls(context)->cert_file = is_on ? value : NULL;
	if (is_on) {
		options_use_tls(context);
	}
	return OPTION_GOOD;
}

static option_result_t options_set_tls_ocsp(option_context_t *context, bool is_on, const char *value)
{
	enum { HOURS_DEFAULT = 7 * 24 };
	uint64_t hours = HOURS_DEFAULT;
	if (value != NULL && !options_scan(value, 1, UINT32_MAX / 3600, &hours)) {
		return OPTION_INVALID;
	}
	options_own_tls(context)->ocsp_age_max_s = is_on ? (uint32_t)hours * 3600 : 0;
	if (is_on) {
		options_use_tls(context);
	}
	return OPTION_GOOD;
}

/* Where the zone of an IPv6 address begins in an authority or a host, and what ends it. NULL: there is none. */
static const char *options_find_zone(const char *text, size_t len, const char **ret_end)
{
	char address[INET6_ADDRSTRLEN];
	uint8_t bytes[16];
	size_t begin = len > 0 && text[0] == '[';
	const char *zone = memchr(text, '%', len);
	size_t address_len = zone != NULL ? (size_t)(zone - text) - begin : sizeof(address);
	if (address_len >= sizeof(address)) {
		return NULL;
	}
	memcpy(address, text + begin, address_len);
	address[address_len] = '\0';
	const char *end = zone;
	while (end < text + len && strchr(begin == 1 ? "]" : "@#", *end) == NULL) {
		end++;
	}
	*ret_end = end;
	return inet_pton(AF_INET6, address, bytes) == 1 ? zone : NULL;
}

/* A copy without the zone of an address, which means something on this machine only. */
static const char *options_copy_without_zone(option_context_t *context, const char *text, size_t len)
{
	const char *end = text + len;
	const char *zone = options_find_zone(text, len, &end);
	size_t head = zone != NULL ? (size_t)(zone - text) : len, tail = zone != NULL ? (size_t)(text + len - end) : 0;
	char *copy = options_own(context, head + tail + 1);
	memcpy(copy, text, head);
	memcpy(copy + head, text + len - tail, tail);
	return copy;
}

/* [https:][//][authority][/path]; what isn't said stays as it is. The certificate has to be of the authority. */
static option_result_t options_set_https(option_context_t *context, bool is_on, const char *value)
{
	lookup_query_t *query = context->query;
	query->uses_https = is_on;
	if (!is_on) {
		query->uses_tls = false;
		query->http_server = query->http_authority = query->http_path = query->hostname = NULL;
		(void)options_own_tls(context);
		return OPTION_GOOD;
	}
	options_use_tls(context);
	if (value == NULL) {
		return OPTION_GOOD;
	}
	const char *at = strstr(value, "//");
	at = at != NULL && (at == value || at[-1] == ':') ? at + 2 : value;
	const char *path = strchr(at, '/');
	size_t authority_len = path != NULL ? (size_t)(path - at) : strlen(at);
	if (authority_len == 0 && path == NULL) {
		query->uses_https = false;
		return OPTION_INVALID;
	}
	query->http_path = path != NULL ? path : query->http_path;
	if (authority_len > 0) {
		lookup_host_t host;
		query->http_server = options_copy(context, at, authority_len);
		query->http_authority = options_copy_without_zone(context, at, authority_len);
		bool is_host = lookup_scan_host(query->http_server, &host); /* without port and brackets */
		query->hostname = is_host ? options_copy_without_zone(context, host.host, host.host_len)
					  : query->http_authority;
		(void)options_own_tls(context);
	}
	return OPTION_GOOD;
}

static option_result_t options_set_https_get(option_context_t *context, bool is_on, const char *value)
{
	(void)value;
	context->query->uses_http_get = is_on;
	if (is_on) {
		context->query->uses_https = true;
		options_use_tls(context);
	}
	return OPTION_GOOD;
}

/* ADDRESS[#PORT]; false: it isn't. */
static bool options_scan_address(const char *text, size_t len, uint16_t port_default, exchange_address_t *ret_address)
{
	char room[INET6_ADDRSTRLEN + 8];
	uint64_t port = port_default;
	if (len >= sizeof(room)) {
		return false;
	}
	memcpy(room, text, len);
	room[len] = '\0';
	char *hash = strpbrk(room, "#@");
	if (hash != NULL) {
		*hash++ = '\0';
		if (!options_scan(hash, 0, UINT16_MAX, &port)) {
			return false;
		}
	}
	exchange_address_t address = { .storage = { 0 } };
	if (inet_pton(AF_INET, room, &address.in.sin_addr) == 1) {
		address.in.sin_family = AF_INET;
		address.in.sin_port = htons((uint16_t)port);
	} else if (inet_pton(AF_INET6, room, &address.in6.sin6_addr) == 1) {
		address.in6.sin6_family = AF_INET6;
		address.in6.sin6_port = htons((uint16_t)port);
	} else {
		return false;
	}
	*ret_address = address;
	return true;
}

static option_result_t options_set_proxy(option_context_t *context, bool is_on, const char *value)
{
	enum { PORT_SOURCE = 0, PORT_DESTINATION = 53 };
	exchange_address_t source = { .storage = { 0 } }, destination = source;
	context->query->proxy_source = context->query->proxy_destination = source;
	if (!is_on) {
		return OPTION_GOOD;
	}
	const char *minus = strchr(value, '-');
	if (minus == NULL) {
		return options_fail(context, "invalid specification", "proxy", value);
	}
	if (!options_scan_address(value, (size_t)(minus - value), PORT_SOURCE, &source)) {
		lookup_error(context->lookup, "invalid proxy source address '%.*s'", (int)(minus - value), value);
	} else if (!options_scan_address(minus + 1, strlen(minus + 1), PORT_DESTINATION, &destination)) {
		lookup_error(context->lookup, "invalid proxy destination address '%s'", minus + 1);
	} else if (source.sa.sa_family != destination.sa.sa_family) {
		lookup_error(context->lookup, "proxy address family mismatch '%.*s' versus '%s'", (int)(minus - value),
				value, minus + 1);
	} else {
		context->query->proxy_source = source;
		context->query->proxy_destination = destination;
		return OPTION_GOOD;
	}
	return OPTION_SAID;
}

/* ---- EDNS ---- */

static option_result_t options_set_edns(option_context_t *context, bool is_on, const char *value)
{
	lookup_query_t *query = context->query;
	uint64_t version = 0;
	if (value != NULL && !options_scan(value, 0, UINT8_MAX, &version)) {
		return OPTION_INVALID;
	}
	query->edns = (int)version;
	if (!is_on) { /* nothing that would need it */
		query->edns = query->bufsize = -1;
		query->wants_nsid = query->wants_expire = query->wants_zoneversion = query->flag_do = query->flag_de =
				false;
		query->has_subnet = query->has_cookie = false;
		query->padding = LOOKUP_PAD_NEVER;
		query->option_count = 0;
	}
	return OPTION_GOOD;
}

static option_result_t options_set_bufsize(option_context_t *context, bool is_on, const char *value)
{
	uint64_t size = 0;
	if (is_on && !options_scan(value, 0, UINT16_MAX, &size)) {
		return OPTION_INVALID;
	}
	size = size > 0 && size < KNOT_MSG_HEADER_LEN ? KNOT_MSG_HEADER_LEN : size;
	context->query->bufsize = size > 0 ? (int)size : -1;
	return OPTION_GOOD;
}

static option_result_t options_set_padding(option_context_t *context, bool is_on, const char *value)
{
	uint64_t size = 0;
	if (value != NULL && !options_scan(value, 0, UINT16_MAX, &size)) {
		return OPTION_INVALID;
	}
	context->query->padding = !is_on ? LOOKUP_PAD_NEVER : value != NULL ? LOOKUP_PAD_BYTES : LOOKUP_PAD_POLICY;
	context->query->padding_bytes = (uint16_t)size;
	return OPTION_GOOD;
}

static option_result_t options_set_alignment(option_context_t *context, bool is_on, const char *value)
{
	uint64_t block = LOOKUP_PADDING_BLOCK;
	if (value != NULL && !options_scan(value, 2, UINT16_MAX, &block)) {
		return OPTION_INVALID;
	}
	context->query->padding_block = is_on ? (uint16_t)block : 0;
	return OPTION_GOOD;
}

/* ADDRESS[/PREFIX] as the option's data, RFC 7871 6: the bits behind the prefix are 0. */
static option_result_t options_set_subnet(option_context_t *context, bool is_on, const char *value)
{
	lookup_query_t *query = context->query;
	query->has_subnet = is_on;
	if (!is_on) {
		return OPTION_GOOD;
	}
	char address[INET6_ADDRSTRLEN] = "";
	const char *slash = strchr(value, '/');
	size_t address_len = slash != NULL ? (size_t)(slash - value) : strlen(value);
	uint8_t *data = query->subnet, *bytes = data + 4;
	if (address_len < sizeof(address)) {
		memcpy(address, value, address_len);
	}
	memset(data, 0, sizeof(query->subnet));
	bool is_ipv4 = inet_pton(AF_INET, address, bytes) == 1;
	if (!is_ipv4 && inet_pton(AF_INET6, address, bytes) != 1) {
		return options_fail(context, "invalid address", "subnet", value);
	}
	uint64_t prefix_max = is_ipv4 ? 32 : 128, prefix = prefix_max;
	if (slash != NULL && !options_scan(slash + 1, 0, prefix_max, &prefix)) {
		return options_fail(context, "invalid network mask", "subnet", value);
	}
	size_t len = (prefix + 7) / 8;
	if (prefix % 8 != 0) {
		bytes[len - 1] &= (uint8_t)(0xFF00 >> prefix % 8);
	}
	store_be16(data, is_ipv4 ? 1 : 2);
	data[2] = (uint8_t)prefix;
	query->subnet_len = (uint8_t)(4 + len);
	return OPTION_GOOD;
}

static option_result_t options_set_cookie(option_context_t *context, bool is_on, const char *value)
{
	enum { SERVER_MIN = 8 };
	lookup_query_t *query = context->query;
	query->has_cookie = is_on;
	query->cookie_len = 0;
	if (!is_on || value == NULL) {
		return OPTION_GOOD;
	}
	size_t digits = strlen(value), len;
	if (digits > 2 * sizeof(query->cookie) || !knot_hex_scan(knot_str_of(value), query->cookie, &len)) {
		return OPTION_INVALID;
	}
	if (len < LOOKUP_COOKIE_CLIENT_LEN) {
		return options_fail(context, "too short client", "cookie", value);
	}
	if (len > LOOKUP_COOKIE_CLIENT_LEN && len < LOOKUP_COOKIE_CLIENT_LEN + SERVER_MIN) {
		return options_fail(context, "too short server", "cookie", value);
	}
	query->cookie_len = (uint8_t)len;
	return OPTION_GOOD;
}

static option_result_t options_set_badcookie(option_context_t *context, bool is_on, const char *value)
{
	(void)value;
	context->query->badcookies = is_on ? LOOKUP_BADCOOKIES_MAX : 0;
	return OPTION_GOOD;
}

static option_result_t options_set_ednsopt(option_context_t *context, bool is_on, const char *value)
{
	lookup_query_t *query = context->query;
	char code_text[8] = "";
	uint64_t code;
	if (!is_on) {
		query->option_count = 0;
		return OPTION_GOOD;
	}
	const char *colon = strchr(value, ':');
	size_t code_len = colon != NULL ? (size_t)(colon - value) : strlen(value);
	const char *hex = colon != NULL ? colon + 1 : "";
	size_t hex_len = strlen(hex);
	if (code_len < sizeof(code_text)) {
		memcpy(code_text, value, code_len);
	}
	if (!options_scan(code_text, 0, UINT16_MAX, &code) || hex_len % 2 != 0 ||
			strspn(hex, "0123456789abcdefABCDEF") != hex_len || hex_len > 2 * UINT16_MAX) {
		return OPTION_INVALID;
	}
	if (query->option_count == LOOKUP_OPTIONS_MAX) {
		return options_fail(context, "too many options", "ednsopt", value);
	}
	lookup_option_t *list = options_own(context, LOOKUP_OPTIONS_MAX * sizeof(*list));
	if (query->option_count > 0) {
		memcpy(list, query->options, query->option_count * sizeof(*list));
	}
	list[query->option_count++] = (lookup_option_t){ (uint16_t)code, hex };
	query->options = list;
	return OPTION_GOOD;
}

/* ---- Times ---- */

static option_result_t options_set_timeout(option_context_t *context, bool is_on, const char *value)
{
	uint64_t seconds = 0;
	if (is_on && !options_scan(value, 0, UINT32_MAX / 1000, &seconds)) {
		return OPTION_INVALID;
	}
	context->query->timeout_ms = (uint32_t)seconds * 1000;
	return OPTION_GOOD;
}

static option_result_t options_set_retry(option_context_t *context, bool is_on, const char *value)
{
	uint64_t count = 0;
	if (is_on && !options_scan(value, 0, UINT32_MAX, &count)) {
		return OPTION_INVALID;
	}
	context->query->retries = (uint32_t)count;
	return OPTION_GOOD;
}

static option_result_t options_set_delay(option_context_t *context, bool is_on, const char *value)
{
	uint64_t ms = 0;
	if (is_on && !options_scan(value, 0, 1000 * 3600, &ms)) {
		return OPTION_INVALID;
	}
	context->query->delay_ms = (uint32_t)ms;
	return OPTION_GOOD;
}

/* Signatures are what is looked at: they have to be asked for. */
static option_result_t options_set_validate(option_context_t *context, bool is_on, const char *value)
{
	enum { VERBOSITY_MAX = 3 };
	uint64_t verbosity = VERBOSITY_MAX;
	if (value != NULL && !options_scan(value, 1, VERBOSITY_MAX, &verbosity)) {
		return OPTION_INVALID;
	}
	context->query->validates = is_on ? (int)verbosity : 0;
	context->query->flag_do |= is_on;
	return OPTION_GOOD;
}

/* ---- The rows ---- */

#define BOOL(member)  OPTION_BOOL, (uint32_t)offsetof(lookup_query_t, member), NULL, false
#define NOT(member)   OPTION_NOT, (uint32_t)offsetof(lookup_query_t, member), NULL, false
#define SHOWS(bits)   OPTION_SHOWS, (uint32_t)(bits), NULL, false
#define FLAG(bit)     OPTION_FLAG, (uint32_t)(bit), NULL, false
#define CALL(set)     OPTION_CALL, 0, options_set_##set, false
#define OLD(set)      OPTION_CALL, 0, options_set_##set, true
#define NOTHING       OPTION_TAKES_NOTHING, NULL
#define MAY_TAKE(arg) OPTION_MAY_TAKE, arg
#define TAKES(arg)    OPTION_TAKES, arg

static const option_row_t option_rows[] = {
	{ "multiline", NOTHING, "Print long records on several lines, with comments.", CALL(multiline) },
	{ "short", NOTHING, "Print the data of answers only.", CALL(short) },
	{ "generic", NOTHING, "Print types and data in generic form (RFC 3597).", BOOL(style.rdata.is_generic) },
	{ "crypto", NOTHING, "Print keys and signatures.", NOT(style.rdata.hides_crypto) },
	{ "aaflag", NOTHING, "Set the flag AA.", FLAG(KNOT_FLAG_AA) },
	{ "tcflag", NOTHING, "Set the flag TC.", FLAG(KNOT_FLAG_TC) },
	{ "rdflag", NOTHING, "Set the flag RD.", FLAG(KNOT_FLAG_RD) },
	{ "recurse", NOTHING, "The same as +rdflag.", FLAG(KNOT_FLAG_RD) },
	{ "raflag", NOTHING, "Set the flag RA.", FLAG(KNOT_FLAG_RA) },
	{ "zflag", NOTHING, "Set the reserved flag Z.", FLAG(FLAG_Z) },
	{ "adflag", NOTHING, "Set the flag AD.", FLAG(KNOT_FLAG_AD) },
	{ "cdflag", NOTHING, "Set the flag CD.", FLAG(KNOT_FLAG_CD) },
	{ "doflag", NOTHING, "Set the EDNS flag DO.", BOOL(flag_do) },
	{ "dnssec", NOTHING, "The same as +doflag.", BOOL(flag_do) },
	{ "deflag", NOTHING, "Set the EDNS flag DE.", BOOL(flag_de) },
	{ "all", NOTHING, "Print all sections.", CALL(all) },
	{ "qr", NOTHING, "Print the query, too.", BOOL(shows_query) },
	{ "header", NOTHING, "Print the header.", SHOWS(PRESENT_HEADER) },
	{ "comments", NOTHING, "Print headings of sections.", SHOWS(PRESENT_COMMENTS) },
	{ "opt", NOTHING, "Print EDNS.", SHOWS(PRESENT_EDNS) },
	{ "opttext", NOTHING, "Print unknown EDNS options as text if they are.", SHOWS(PRESENT_OPT_TEXT) },
	{ "optpresent", NOTHING, "Print EDNS in one line of NAME=value.", SHOWS(PRESENT_OPT_PRESENT) },
	{ "question", NOTHING, "Print the question section.", SHOWS(PRESENT_QUESTION) },
	{ "answer", NOTHING, "Print the answer section.", SHOWS(PRESENT_ANSWER) },
	{ "authority", NOTHING, "Print the authority section.", SHOWS(PRESENT_AUTHORITY) },
	{ "additional", NOTHING, "Print the additional section.", CALL(additional) },
	{ "tsig", NOTHING, "Print the TSIG.", SHOWS(PRESENT_TSIG) },
	{ "stats", NOTHING, "Print size, time and server below.", SHOWS(PRESENT_STATS) },
	{ "class", NOTHING, "Print classes of records.", SHOWS(PRESENT_CLASS) },
	{ "ttl", NOTHING, "Print TTLs of records.", SHOWS(PRESENT_TTL) },
	{ "tcp", NOTHING, "Ask over TCP (transfers do).", CALL(tcp) },
	{ "fastopen", NOTHING, "Use TCP Fast Open.", BOOL(uses_fast_open) },
	{ "ignore", NOTHING, "Take truncated replies, don't ask again over TCP.", BOOL(ignores_tc) },
	{ "keepopen", NOTHING, "Keep the connection for the next query.", BOOL(keeps_open) },
	{ "tls", NOTHING, "Ask over TLS, whoever the server is.", CALL(tls) },
	{ "tls-ca", MAY_TAKE("FILE"), "Verify the server by CAs in FILE or of the system.", CALL(tls_ca) },
	{ "tls-pin", TAKES("BASE64"), "Verify the server by the SHA-256 of its public key.", CALL(tls_pin) },
	{ "tls-hostname", TAKES("NAME"), "Verify that the certificate is NAME's.", CALL(tls_hostname) },
	{ "tls-sni", TAKES("NAME"), "Ask for the server NAME.", CALL(tls_sni) },
	{ "tls-keyfile", TAKES("FILE"), "Private key of the client's certificate.", CALL(tls_keyfile) },
	{ "tls-certfile", TAKES("FILE"), "Certificate of the client.", CALL(tls_certfile) },
	{ "tls-ocsp-stapling", MAY_TAKE("HOURS"), "Demand an OCSP response, at most so old (168).", CALL(tls_ocsp) },
	{ "https", MAY_TAKE("URL"), "Ask over HTTPS; URL is [authority][/path].", CALL(https) },
	{ "https-get", NOTHING, "Use the method GET instead of POST.", CALL(https_get) },
	{ "quic", NOTHING, "Ask over QUIC.", CALL(quic) },
	{ "nsid", NOTHING, "Ask for the server's identifier.", BOOL(wants_nsid) },
	{ "zoneversion", NOTHING, "Ask for the version of the zone.", BOOL(wants_zoneversion) },
	{ "bufsize", TAKES("BYTES"), "Size of UDP replies that is offered (1232).", CALL(bufsize) },
	{ "padding", MAY_TAKE("BYTES"), "Pad the query, by RFC 8467 or with so many bytes.", CALL(padding) },
	{ "alignment", MAY_TAKE("BYTES"), "Pad the query to blocks of so many bytes (128).", CALL(alignment) },
	{ "subnet", TAKES("PREFIX"), "Send the client's subnet.", CALL(subnet) },
	{ "client", TAKES("PREFIX"), "The same as +subnet.", OLD(subnet) },
	{ "edns", MAY_TAKE("VERSION"), "Use EDNS (of version 0).", CALL(edns) },
	{ "timeout", TAKES("SECONDS"), "Wait so long for each reply (5; 0: for ever).", CALL(timeout) },
	{ "retry", TAKES("COUNT"), "Repeat so often over UDP (2).", CALL(retry) },
	{ "msgdelay", TAKES("MS"), "Wait between messages of a transfer.", CALL(delay) },
	{ "expire", NOTHING, "Ask when the zone expires.", BOOL(wants_expire) },
	{ "cookie", MAY_TAKE("HEX"), "Send a cookie.", CALL(cookie) },
	{ "badcookie", NOTHING, "Ask again with the server's cookie.", CALL(badcookie) },
	{ "ednsopt", TAKES("CODE[:HEX]"), "Send any EDNS option.", CALL(ednsopt) },
	{ "proxy", TAKES("SRC[#PORT]-DST[#PORT]"), "Put a PROXYv2 header before the query.", CALL(proxy) },
	{ "validate", MAY_TAKE("LEVEL"), "Check signatures and denial by the server's keys.", CALL(validate) },
	{ "json", NOTHING, "Print JSON (RFC 8427).", CALL(json) },
	{ "idnin", NOTHING, "Take names in the user's characters.", BOOL(idn_in) },
	{ "idnout", NOTHING, "Print names in the user's characters.", CALL(idn_out) },
	{ "idn", NOTHING, "The same as +idnin and +idnout.", OLD(idn) },
};

const option_row_t *dig_options(size_t *ret_count)
{
	*ret_count = KNOT_LEN(option_rows);
	return option_rows;
}

/* ---- Finding a row ---- */

typedef enum { FOUND_NONE, FOUND_ONE, FOUND_MANY } options_found_t;

static bool options_begins(const char *name, knot_str_t word)
{
	return strlen(name) >= word.len && memcmp(name, word.data, word.len) == 0;
}

/* A name or the beginning of only one, with or without "no". */
static options_found_t options_find(knot_str_t word, const option_row_t **ret_row, bool *ret_on)
{
	options_found_t found = FOUND_NONE;
	for (size_t i = 0; i < 2 * KNOT_LEN(option_rows); i++) {
		const option_row_t *row = &option_rows[i / 2];
		char name[64];
		snprintf(name, sizeof(name), "%s%s", i % 2 == 0 ? "" : "no", row->name);
		if (!options_begins(name, word)) {
			continue;
		}
		bool is_whole = strlen(name) == word.len;
		found = is_whole || found == FOUND_NONE ? FOUND_ONE : FOUND_MANY;
		*ret_row = row;
		*ret_on = i % 2 == 0;
		if (is_whole) {
			break;
		}
	}
	return found;
}

static option_result_t options_apply(option_context_t *context, const option_row_t *row, bool is_on, const char *value)
{
	lookup_query_t *query = context->query;
	switch (row->kind) {
	case OPTION_BOOL: *(bool *)((char *)query + row->offset_or_bits) = is_on; break;
	case OPTION_NOT: *(bool *)((char *)query + row->offset_or_bits) = !is_on; break;
	case OPTION_SHOWS:
		query->style.shows = is_on ? query->style.shows | row->offset_or_bits
					   : query->style.shows & ~row->offset_or_bits;
		break;
	case OPTION_FLAG:
		query->flags = (uint16_t)(is_on ? query->flags | row->offset_or_bits
						: query->flags & ~row->offset_or_bits);
		break;
	case OPTION_CALL: return row->set(context, is_on, value);
	}
	return OPTION_GOOD;
}

bool dig_option_take(option_context_t *context, const char *word, bool *ret_usage)
{
	const char *equals = strchr(word, '='), *value = equals != NULL ? equals + 1 : NULL;
	knot_str_t name = { word + 1, equals != NULL ? (size_t)(equals - word - 1) : strlen(word + 1) };
	const option_row_t *row = NULL;
	bool is_on = true;
	options_found_t found = name.len > 0 ? options_find(name, &row, &is_on) : FOUND_NONE;
	*ret_usage = found != FOUND_ONE;
	if (found != FOUND_ONE) {
		lookup_error(context->lookup, "%s option: %s", found == FOUND_NONE ? "invalid" : "ambiguous", word);
		return false;
	}
	option_argument_t takes = is_on ? row->argument : OPTION_TAKES_NOTHING;
	if (takes == OPTION_TAKES_NOTHING && value != NULL) {
		if (!context->is_quiet) {
			lookup_warn(context->lookup, "superfluous option argument: %s", word);
		}
		value = NULL;
	} else if (value != NULL && *value == '\0') {
		lookup_error(context->lookup, "empty argument: %s", word);
		return false;
	} else if (takes == OPTION_TAKES && value == NULL) {
		lookup_error(context->lookup, "missing argument: %s", word);
		return false;
	}
	option_result_t result = options_apply(context, row, is_on, value);
	if (result == OPTION_INVALID) {
		lookup_error(context->lookup, "invalid +%s=%s", row->name, value);
	}
	return result == OPTION_GOOD;
}
