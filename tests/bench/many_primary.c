/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The primary of as many zones as are asked for: answers SOA, IXFR and AXFR over TCP, of any name, and makes little
 * work of it. All zones have serial 1, but for those that were changed.
 *
 *     many_primary PORT
 *
 * Commands on stdin, a line each; every one is answered by a line:
 *   change NAME P the next serial of a zone, which is printed; P: its number of gen_zones.py's providers
 *   count         of how many zones the SOA was asked for; how many questions for SOA, IXFR and AXFR were answered; the
 *                 connections that were made
 * It ends with stdin.
 */
#include "libknot/base/bytes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	TYPE_A = 1,
	TYPE_NS = 2,
	TYPE_SOA = 6,
	TYPE_IXFR = 251,
	TYPE_AXFR = 252,
	IN_MAX = 1 << 16,
	OUT_MAX = 1 << 20,
	CHANGED_MAX = 1 << 16,
	SEEN_MAX = 1 << 22,
	EVENTS = 64,
	HEADER = 12,
	NAME_MAX_LEN = 255
};

typedef struct {
	int fd;
	size_t in_len, out_len, out_sent;
	bool wants_out;
	uint8_t in[IN_MAX], out[OUT_MAX];
} conn_t;

typedef struct {
	uint8_t name[NAME_MAX_LEN];
	uint8_t len;
	uint16_t provider;
	uint32_t serial;
} changed_t;

static changed_t changed[CHANGED_MAX];
static uint64_t seen[SEEN_MAX], seen_count; /* hashes of names */
static uint64_t soa_count, ixfr_count, axfr_count, conn_count;
static int epoll;

/* The zone's entry of the table, or where it would be. */
static changed_t *find(const uint8_t *name, size_t len)
{
	uint32_t hash = 2166136261u;
	for (size_t i = 0; i < len; i++) {
		hash = (hash ^ name[i]) * 16777619u;
	}
	changed_t *at = &changed[hash % CHANGED_MAX];
	while (at->len != 0 && (at->len != len || memcmp(at->name, name, len) != 0)) {
		at = at == &changed[CHANGED_MAX - 1] ? changed : at + 1;
	}
	return at;
}

/* Note that a name was asked for. */
static void see(const uint8_t *name, size_t len)
{
	uint64_t hash = UINT64_C(14695981039346656037);
	for (size_t i = 0; i < len; i++) {
		hash = (hash ^ name[i]) * UINT64_C(1099511628211);
	}
	uint64_t at = (hash ^ hash >> 32) % SEEN_MAX;
	while (seen[at] != 0 && seen[at] != hash) {
		at = (at + 1) % SEEN_MAX;
	}
	seen_count += seen[at] == 0;
	seen[at] = hash;
}

/* ---- Answers ---- */

static uint8_t *put_record(uint8_t *at, uint16_t type, const void *rdata, size_t len)
{
	store_be16(at, 0xc00c); /* the name of the question */
	store_be16(at + 2, type);
	store_be16(at + 4, 1);
	store_be32(at + 6, 3600);
	store_be16(at + 10, (uint16_t)len);
	memcpy(at + 12, rdata, len);
	return at + 12 + len;
}

/* "ns1.dns7.net." */
static size_t put_server(uint8_t *at, const char *first, unsigned provider)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%c%s%cdns%u%cnet", (int)strlen(first), first,
			provider < 10    ? 4
			: provider < 100 ? 5
					 : 6,
			provider, 3);
	memcpy(at, text, (size_t)len + 1);
	return (size_t)len + 1;
}

/* As in the zone's file, so that changes fit. */
static uint8_t *put_soa(uint8_t *at, unsigned provider, uint32_t serial)
{
	uint8_t soa[128];
	const uint32_t numbers[] = { serial, 10800, 3600, 604800, 300 };
	size_t len = put_server(soa, "ns1", provider);
	len += put_server(soa + len, "hostmaster", provider);
	for (unsigned i = 0; i < 5; i++, len += 4) {
		store_be32(soa + len, numbers[i]);
	}
	return put_record(at, TYPE_SOA, soa, len);
}

static uint8_t *put_answer(uint8_t *at, uint16_t type, const changed_t *zone, unsigned *count)
{
	uint32_t serial = zone->len != 0 ? zone->serial : 1;
	unsigned provider = zone->len != 0 ? zone->provider : 0;
	const uint8_t address[4] = { 192, 0, (uint8_t)(serial >> 8), (uint8_t)serial };
	at = put_soa(at, provider, serial);
	*count = 1;
	if (type == TYPE_AXFR) {
		at = put_record(at, TYPE_NS, "", 1);
		at = put_record(at, TYPE_A, address, sizeof(address));
		at = put_soa(at, provider, serial);
		*count = 4;
	} else if (type == TYPE_IXFR) {
		at = put_soa(at, provider, serial - 1);
		at = put_soa(at, provider, serial);
		at = put_record(at, TYPE_A, address, sizeof(address));
		at = put_soa(at, provider, serial);
		*count = 5;
	}
	return at;
}

/* The length of the answer, behind its two bytes of length. */
static size_t answer(const uint8_t *query, size_t len, uint8_t *out)
{
	size_t end = HEADER;
	unsigned count;
	while (end < len && query[end] != 0) {
		end += 1u + query[end];
	}
	if (end + 5 > len || end - HEADER >= NAME_MAX_LEN) {
		fprintf(stderr, "many_primary: a question that can't be read\n");
		exit(1);
	}
	uint16_t type = load_be16(query + end + 1);
	const changed_t *zone = find(query + HEADER, end + 1 - HEADER);
	if (type == TYPE_SOA) {
		soa_count++;
		see(query + HEADER, end + 1 - HEADER);
	}
	ixfr_count += type == TYPE_IXFR;
	axfr_count += type == TYPE_AXFR;
	memcpy(out, query, end + 5);
	store_be16(out + 2, 0x8400);
	uint8_t *at = put_answer(out + end + 5, type, zone, &count);
	store_be16(out + 4, 1);
	store_be16(out + 6, (uint16_t)count);
	store_be32(out + 8, 0);
	return (size_t)(at - out);
}

/* ---- Connections ---- */

static void drop(conn_t *conn)
{
	close(conn->fd);
	free(conn);
}

static void watch(conn_t *conn, bool wants_out)
{
	struct epoll_event event = { .events = wants_out ? EPOLLOUT : EPOLLIN, .data.ptr = conn };
	if (wants_out != conn->wants_out) {
		conn->wants_out = wants_out;
		(void)epoll_ctl(epoll, EPOLL_CTL_MOD, conn->fd, &event);
	}
}

static bool flush(conn_t *conn)
{
	while (conn->out_sent < conn->out_len) {
		ssize_t sent = send(conn->fd, conn->out + conn->out_sent, conn->out_len - conn->out_sent, MSG_NOSIGNAL);
		if (sent < 0 && errno == EAGAIN) {
			watch(conn, true);
			return true;
		}
		if (sent < 0) {
			return false;
		}
		conn->out_sent += (size_t)sent;
	}
	conn->out_sent = conn->out_len = 0;
	watch(conn, false);
	return true;
}

static bool serve(conn_t *conn)
{
	if (conn->out_len > 0) {
		return flush(conn); /* nothing is read before it is sent */
	}
	ssize_t got = recv(conn->fd, conn->in + conn->in_len, IN_MAX - conn->in_len, 0);
	if (got <= 0) {
		return got < 0 && errno == EAGAIN;
	}
	size_t at = 0;
	conn->in_len += (size_t)got;
	while (conn->in_len - at > 2 && conn->in_len - at - 2 >= load_be16(conn->in + at)) {
		size_t len = load_be16(conn->in + at);
		size_t made = answer(conn->in + at + 2, len, conn->out + conn->out_len + 2);
		store_be16(conn->out + conn->out_len, (uint16_t)made);
		conn->out_len += 2 + made;
		at += 2 + len;
	}
	memmove(conn->in, conn->in + at, conn->in_len - at);
	conn->in_len -= at;
	return flush(conn);
}

static void greet(int listener)
{
	int on = 1;
	conn_t *conn = calloc(1, sizeof(*conn));
	if (conn == NULL || (conn->fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) < 0) {
		free(conn);
		return;
	}
	(void)setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = conn };
	(void)epoll_ctl(epoll, EPOLL_CTL_ADD, conn->fd, &event);
	conn_count++;
}

/* ---- Commands ---- */

static void change(const char *text)
{
	uint8_t name[NAME_MAX_LEN];
	size_t len = 0;
	while (*text != '\0' && *text != ' ' && len + 64 < sizeof(name)) {
		size_t label = strcspn(text, ". ");
		name[len] = (uint8_t)label;
		memcpy(name + len + 1, text, label);
		len += 1 + label;
		text += label + (text[label] == '.');
	}
	name[len++] = 0;
	changed_t *at = find(name, len);
	if (at->len == 0) {
		memcpy(at->name, name, len);
		at->len = (uint8_t)len;
		at->provider = (uint16_t)atoi(text);
		at->serial = 1;
	}
	printf("%u\n", ++at->serial);
}

static bool obey(void)
{
	char line[512];
	if (fgets(line, sizeof(line), stdin) == NULL) {
		return false;
	}
	if (strncmp(line, "change ", 7) == 0) {
		change(line + 7);
	} else {
		printf("%llu %llu %llu %llu %llu\n", (unsigned long long)seen_count, (unsigned long long)soa_count,
				(unsigned long long)ixfr_count, (unsigned long long)axfr_count,
				(unsigned long long)conn_count);
	}
	fflush(stdout);
	return true;
}

int main(int argc, char **argv)
{
	int on = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	to.sin_port = htons(argc == 2 ? (uint16_t)atoi(argv[1]) : 0);
	(void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (to.sin_port == 0 || bind(listener, (struct sockaddr *)&to, sizeof(to)) != 0 || listen(listener, 128) != 0) {
		perror("many_primary PORT");
		return 1;
	}
	setvbuf(stdin, NULL, _IONBF, 0); /* epoll sees every line */
	epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event events[EVENTS], event = { .events = EPOLLIN, .data.ptr = &listener };
	(void)epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
	event.data.ptr = stdin;
	(void)epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event);
	puts("ready");
	fflush(stdout);
	for (;;) {
		int count = epoll_wait(epoll, events, EVENTS, -1);
		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr == &listener) {
				greet(listener);
			} else if (events[i].data.ptr == stdin) {
				if (!obey()) {
					return 0;
				}
			} else if (!serve(events[i].data.ptr)) {
				drop(events[i].data.ptr);
			}
		}
	}
}
