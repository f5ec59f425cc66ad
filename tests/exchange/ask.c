/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A client for tests that shows all of src/exchange: one query per line of its input, over one connection.
 *
 *     ask kind=tls server=127.0.0.1 port=853 ca=ca.pem hostname=dns.example
 *
 * A line "example.com A" or "example.com AXFR" is asked; what came of it is printed: the session's lines behind ";; ",
 * notes, "reply rcode=0 answers=1 len=55" for each message, and at last "end 0" or "end 7: the sentence". A transfer is
 * read until its second SOA. "ticket" as a line opens another connection, which resumes the session of the first.
 */
#include "src/exchange/exchange.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

static exchange_params_t params = { .timeout_ms = 5000 };
static transport_trust_params_t trust_params;

static void ask_note(void *ctx, transport_note_level_t level, const char *text)
{
	static const char *const names[] = { [TRANSPORT_NOTE_DETAIL] = "detail",
		[TRANSPORT_NOTE_DEBUG] = "debug",
		[TRANSPORT_NOTE_WARNING] = "warning" };
	(void)ctx;
	printf("%s: %s\n", names[level], text);
}

/* ---- Settings ---- */

static void ask_set_address(exchange_address_t *address, const char *text)
{
	if (strchr(text, '/') != NULL) {
		address->un.sun_family = AF_UNIX;
		(void)snprintf(address->un.sun_path, sizeof(address->un.sun_path), "%s", text);
	} else if (inet_pton(AF_INET, text, &address->in.sin_addr) == 1) {
		address->in.sin_family = AF_INET;
	} else if (inet_pton(AF_INET6, text, &address->in6.sin6_addr) == 1) {
		address->in6.sin6_family = AF_INET6;
	}
}

static void ask_set_kind(const char *value)
{
	static const char *const kinds[] = { "udp", "tcp", "tls", "https", "quic" };
	for (size_t i = 0; i < KNOT_LEN(kinds); i++) {
		params.kind = strcmp(kinds[i], value) == 0 ? (exchange_kind_t)i : params.kind;
	}
}

static void ask_set_server(const char *value)
{
	ask_set_address(&params.server, value);
}

static void ask_set_local(const char *value)
{
	ask_set_address(&params.local, value);
}

static void ask_set_port(const char *value)
{
	params.server.in.sin_port = htons((uint16_t)atoi(value));
}

static void ask_set_timeout(const char *value)
{
	params.timeout_ms = (uint32_t)atoi(value);
}

static void ask_set_ca(const char *value)
{
	trust_params.is_strict = true;
	trust_params.ca_files[trust_params.ca_file_count++] = value;
}

static void ask_set_pin(const char *value)
{
	for (size_t i = 0; i < TRANSPORT_PIN_LEN; i++) { /* hex */
		unsigned byte = 0;
		(void)sscanf(value + 2 * i, "%2x", &byte);
		trust_params.pins[trust_params.pin_count][i] = (uint8_t)byte;
	}
	trust_params.pin_count++;
}

static void ask_set_cert(const char *value)
{
	trust_params.cert_file = value;
}

static void ask_set_key(const char *value)
{
	trust_params.key_file = value;
}

static void ask_set_ocsp(const char *value)
{
	trust_params.ocsp_age_max_s = (uint32_t)atoi(value);
}

static void ask_set_hostname(const char *value)
{
	params.hostname = value;
}

static void ask_set_sni(const char *value)
{
	params.sni = value;
}

static void ask_set_early(const char *value)
{
	params.uses_early_data = atoi(value) != 0;
}

static void ask_set_fast_open(const char *value)
{
	params.uses_fast_open = atoi(value) != 0;
}

static void ask_set_get(const char *value)
{
	params.http.uses_get = atoi(value) != 0;
}

static void ask_set_authority(const char *value)
{
	params.http.authority = value;
}

static void ask_set_path(const char *value)
{
	params.http.path = value;
}

static const struct {
	const char *name;
	void (*set)(const char *value);
} settings[] = {
	{ "kind", ask_set_kind },
	{ "server", ask_set_server },
	{ "local", ask_set_local },
	{ "port", ask_set_port },
	{ "timeout", ask_set_timeout },
	{ "ca", ask_set_ca },
	{ "pin", ask_set_pin },
	{ "cert", ask_set_cert },
	{ "key", ask_set_key },
	{ "ocsp", ask_set_ocsp },
	{ "hostname", ask_set_hostname },
	{ "sni", ask_set_sni },
	{ "early", ask_set_early },
	{ "fastopen", ask_set_fast_open },
	{ "get", ask_set_get },
	{ "authority", ask_set_authority },
	{ "path", ask_set_path },
};

static bool ask_set(char *arg)
{
	char *value = strchr(arg, '=');
	for (size_t i = 0; value != NULL && i < KNOT_LEN(settings); i++) {
		if (strlen(settings[i].name) == (size_t)(value - arg) &&
				strncmp(settings[i].name, arg, (size_t)(value - arg)) == 0) {
			settings[i].set(value + 1);
			return true;
		}
	}
	return false;
}

/* ---- Asking ---- */

static size_t ask_write_query(const char *name, const char *type, uint16_t id, uint8_t room[static 512])
{
	uint8_t *p = room + 12;
	memset(room, 0, 12);
	store_be16(room, id);
	store_be16(room + 4, 1);
	while (*name != '\0') {
		size_t len = strcspn(name, ".");
		*p++ = (uint8_t)len;
		memcpy(p, name, len);
		p += len;
		name += len + (name[len] == '.');
	}
	*p++ = 0;
	store_be16(p, strcmp(type, "AXFR") == 0 ? 252 : strcmp(type, "SOA") == 0 ? 6 : 1);
	store_be16(p + 2, 1);
	return (size_t)(p + 4 - room);
}

static void ask_print_session(const exchange_t *x)
{
	transport_session_t session;
	exchange_describe(x, &session);
	for (unsigned i = 0; i < session.count; i++) {
		printf(";; %s\n", session.lines[i]);
	}
}

static void ask_print_end(const exchange_t *x, exchange_end_t end)
{
	static const char *const names[] = { [EXCHANGE_OK] = "ok",
		[EXCHANGE_SOCKET] = "socket",
		[EXCHANGE_BIND] = "bind",
		[EXCHANGE_CONNECT] = "connect",
		[EXCHANGE_SEND] = "send",
		[EXCHANGE_RECEIVE] = "receive",
		[EXCHANGE_TIMEOUT] = "timeout",
		[EXCHANGE_CLOSED] = "closed",
		[EXCHANGE_STREAM] = "stream",
		[EXCHANGE_HANDSHAKE] = "handshake",
		[EXCHANGE_UNTRUSTED] = "untrusted",
		[EXCHANGE_PROTOCOL] = "protocol",
		[EXCHANGE_HTTP] = "http",
		[EXCHANGE_SOURCE] = "source",
		[EXCHANGE_MEMORY] = "memory" };
	if (end == EXCHANGE_OK) {
		printf("end ok\n");
	} else {
		printf("end %s: %s\n", names[end], exchange_problem(x));
	}
}

/* SOA records in the answer section: two end a transfer. */
static unsigned ask_count_soa(knot_bytes_t message)
{
	unsigned count = 0;
	for (size_t i = 12; i + 6 <= message.len; i++) {
		count += memcmp(message.data + i, "\0\6\0\1", 4) == 0 && i > 12 + 4;
	}
	return count;
}

static exchange_end_t ask_one(exchange_t *x, const char *name, const char *type)
{
	static uint16_t id = 1;
	uint8_t query[512];
	bool is_transfer = strcmp(type, "AXFR") == 0;
	bool has_id = params.kind < EXCHANGE_HTTPS;
	unsigned soa_count = 0;
	size_t len = ask_write_query(name, type, has_id ? id++ : 0, query);
	exchange_end_t end = exchange_send(x, (knot_bytes_t){ query, len });
	while (end == EXCHANGE_OK) {
		knot_bytes_t reply;
		end = exchange_receive(x, exchange_until_ns(x), &reply);
		if (end != EXCHANGE_OK || reply.len < 12) {
			break;
		}
		bool is_ours = load_be16(reply.data) == load_be16(query);
		printf("reply rcode=%u answers=%u len=%zu%s\n", reply.data[3] & 15u, load_be16(reply.data + 6),
				reply.len, is_ours ? "" : " other id");
		soa_count += ask_count_soa(reply);
		if (!is_transfer || soa_count >= 2 || (reply.data[3] & 15) != 0) {
			break;
		}
	}
	return end;
}

static exchange_t *ask_open(void)
{
	exchange_t *x = exchange_new(&params);
	if (x == NULL) {
		printf("end memory\n");
		exit(1);
	}
	exchange_end_t end = exchange_open(x);
	if (end != EXCHANGE_OK) {
		ask_print_end(x, end);
		exit(1);
	}
	return x;
}

static exchange_t *ask_resume(exchange_t *take_x)
{
	static uint8_t room[65536];
	knot_bytes_t ticket = exchange_ticket(take_x);
	printf("ticket %s\n", ticket.len > 0 ? "yes" : "no");
	if (ticket.len > 0 && ticket.len <= sizeof(room)) {
		memcpy(room, ticket.data, ticket.len);
		params.ticket = (knot_bytes_t){ room, ticket.len };
	}
	exchange_free(take_x);
	return ask_open();
}

int main(int argc, char **argv)
{
	transport_trust_t *trust = NULL;
	char line[256], name[200], type[20];
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++) {
		if (!ask_set(argv[i])) {
			printf("unknown setting: %s\n", argv[i]);
			return 2;
		}
	}
	params.note = ask_note;
	if (transport_trust_new(&trust_params, ask_note, NULL, &trust) != KNOT_OK) {
		return 1;
	}
	params.trust = trust;
	exchange_t *x = ask_open();
	exchange_end_t end = EXCHANGE_OK;
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (strcmp(line, "ticket\n") == 0) {
			x = ask_resume(x);
		} else if (sscanf(line, "%199s %19s", name, type) == 2) {
			end = ask_one(x, name, type);
			ask_print_session(x);
			ask_print_end(x, end);
		}
	}
	exchange_free(x);
	transport_trust_free(trust);
	return end == EXCHANGE_OK ? 0 : 1;
}
