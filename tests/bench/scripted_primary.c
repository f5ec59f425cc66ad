/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A primary that knows its zones by arithmetic: it answers SOA, IXFR and AXFR over UDP and TCP, makes new versions of
 * zones, tells a secondary of them, and asks it until it serves them. Prints one line of JSON.
 *
 *     scripted_primary PORT SECONDARY_PORT ORIGIN ZONES REFRESH NOTIFIES PER_S UNTIL
 *
 * All on 127.0.0.1. ZONES: how many there are, z0.ORIGIN, z1.ORIGIN, ...; 0: ORIGIN itself, of which a secondary has
 * the version with serial 1 from elsewhere. A new version has one record more. REFRESH: of their SOA, and
 * its RETRY, in seconds.
 * NOTIFIES: new versions at most. PER_S:
 * so many a second, from the first question on, of random zones; 0: each when the last is served.
 * UNTIL: when it prints, and goes on without new versions, `notified`: when all new versions are served; `asked`: when
 * each zone was asked for; `transferred`: when each zone was transferred. SIGTERM ends it, and it prints if it hasn't.
 * Seconds are of the monotonic clock.
 */
#include "libknot/base/bytes.h"
#include "tests/bench/load_bytes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	MESSAGE_MAX = 1024,
	IN_MAX = 16384,
	OUT_MAX = 65536,
	CONNS_MAX = 4096,
	OPEN_MAX = 1024, /* new versions that aren't served yet */
	SAMPLES_MAX = 1 << 20,
	TYPE_A = 1,
	TYPE_NS = 2,
	TYPE_SOA = 6,
	TYPE_IXFR = 251,
	TYPE_AXFR = 252,
	NAME_OFF = 12, /* of the question's name, which is the zone's */
	TTL = 3600,
};
#define NS_PER_S     1000000000ULL
#define ASK_FIRST_NS 50000ULL        /* between questions of whether a version is served */
#define ASK_LATER_NS 1000000ULL      /* the same where many versions are waited for */
#define GAP_NS       5000000ULL      /* between versions that are made one by one */
#define LOST_NS      (20 * NS_PER_S) /* when a version counts as lost */

typedef struct {
	int fd;
	size_t in_len, out_at, out_len;
	uint8_t in[IN_MAX], out[OUT_MAX];
} conn_t;

/* A new version that isn't served yet. */
typedef struct {
	uint32_t zone, serial;
	uint64_t told_ns, given_ns, ask_ns; /* given: just before its transfer was sent; 0: not yet */
	uint8_t number;                     /* of the versions that had this place; in the id of questions */
	bool is_used;
} open_t;

static const char *origin_text;
static uint32_t zone_count, refresh_s, *serials;
static uint8_t *seen; /* 1: asked for, 2: transferred */
static uint64_t asked_count, transferred_count, question_count, first_ns, last_ns;
static open_t opens[OPEN_MAX];
static unsigned open_count;
static uint64_t notify_count, notify_max, per_s, next_ns, lost_count;
static uint32_t *served_us, *told_us;
static size_t sample_count;
static int udp, listener, asker, epoll;
static struct sockaddr_in secondary = { .sin_family = AF_INET };
static volatile sig_atomic_t is_ending;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- Messages ---- */

static size_t put_zone_name(uint8_t *to, uint32_t zone)
{
	char text[300];
	if (zone_count == 0) {
		return load_put_name(to, origin_text);
	}
	snprintf(text, sizeof(text), "z%u.%s", zone, origin_text);
	return load_put_name(to, text);
}

/* The zone of a name; false: none of ours. */
static bool find_zone(const uint8_t *name, uint32_t *ret_zone)
{
	*ret_zone = 0;
	if (zone_count == 0) {
		return true;
	}
	for (unsigned i = 2; i <= name[0]; i++) {
		*ret_zone = *ret_zone * 10 + (uint32_t)(name[i] - '0');
	}
	return name[0] > 1 && (name[1] | 0x20) == 'z' && *ret_zone < zone_count;
}

/* Owner: the zone's name, or a label below it. Its rdata follows. */
static size_t put_record_head(uint8_t *to, const char *label, uint16_t type)
{
	size_t at = 0;
	if (label != NULL) {
		at = load_put_name(to, label) - 1;
	}
	store_be16(to + at, 0xC000 | NAME_OFF);
	store_be16(to + at + 2, type);
	store_be16(to + at + 4, 1);
	store_be32(to + at + 6, TTL);
	return at + 10;
}

static size_t put_soa(uint8_t *to, uint32_t serial)
{
	static const uint8_t names[] = "\1a\3nic\xC0\14\12hostmaster\3nic\xC0\14";
	size_t at = put_record_head(to, NULL, TYPE_SOA);
	store_be16(to + at, (uint16_t)(sizeof(names) - 1 + 20));
	memcpy(to + at + 2, names, sizeof(names) - 1);
	at += 2 + sizeof(names) - 1;
	const uint32_t numbers[] = { serial, refresh_s, refresh_s, 604800, 3600 };
	for (unsigned i = 0; i < 5; i++) {
		store_be32(to + at + 4u * i, numbers[i]);
	}
	return at + 20;
}

static size_t put_address(uint8_t *to, const char *label, uint32_t number)
{
	size_t at = put_record_head(to, label, TYPE_A);
	store_be16(to + at, 4);
	store_be32(to + at + 2, 0x0A000000 | number);
	return at + 6;
}

/* What each version has more than the one before. */
static size_t put_news(uint8_t *to, uint32_t serial)
{
	char label[32];
	snprintf(label, sizeof(label), "scripted-%u", serial);
	return put_address(to, label, serial);
}

/* Answer a question in place of it: its type, and the rest by what the secondary may ask. Returns the length; 0: no
 * answer. */
static size_t answer(uint8_t *message, size_t len, uint32_t *ret_zone, uint16_t *ret_type)
{
	size_t at = NAME_OFF;
	while (at < len && message[at] != 0) {
		at += 1u + message[at];
	}
	at += 5;
	if (len < NAME_OFF || at > len || at > MESSAGE_MAX / 2 || (message[2] & 0x80) != 0 ||
			!find_zone(message + NAME_OFF, ret_zone)) {
		return 0;
	}
	*ret_type = load_be16(message + at - 4);
	uint32_t serial = serials[*ret_zone];
	unsigned count = 1;
	message[2] = 0x84;
	message[3] = 0;
	at += put_soa(message + at, serial);
	if (*ret_type == TYPE_IXFR && serial > 1) { /* the secondary has the version before */
		at += put_soa(message + at, serial - 1);
		at += put_soa(message + at, serial);
		at += put_news(message + at, serial);
		at += put_soa(message + at, serial);
		count = 5;
	} else if (*ret_type == TYPE_AXFR) {
		at += put_record_head(message + at, NULL, TYPE_NS);
		static const uint8_t ns[] = { 0, 4, 1, 'n', 0xC0, NAME_OFF };
		memcpy(message + at, ns, sizeof(ns));
		at += sizeof(ns);
		at += put_address(message + at, "n", 1);
		at += put_address(message + at, "www", *ret_zone);
		at += put_soa(message + at, serial);
		count = 5;
	}
	store_be16(message + 4, 1);
	store_be16(message + 6, (uint16_t)count);
	store_be32(message + 8, 0);
	return at;
}

/* ---- Counting ---- */

static void note(uint32_t zone, uint16_t type)
{
	uint64_t now = now_ns();
	question_count++;
	first_ns = first_ns == 0 ? now : first_ns;
	if ((seen[zone] & 1) == 0) {
		seen[zone] |= 1;
		asked_count++;
		last_ns = now;
	}
	if (type == TYPE_SOA) {
		return;
	}
	if ((seen[zone] & 2) == 0) {
		seen[zone] |= 2;
		transferred_count++;
		last_ns = now;
	}
	for (unsigned i = 0; i < OPEN_MAX && open_count > 0; i++) {
		open_t *open = &opens[i];
		if (open->is_used && open->zone == zone && open->given_ns == 0) {
			open->given_ns = open->ask_ns = now;
		}
	}
}

static void note_served(open_t *open, uint64_t now)
{
	if (sample_count < SAMPLES_MAX) {
		served_us[sample_count] = (uint32_t)((now - open->given_ns) / 1000);
		told_us[sample_count++] = (uint32_t)((now - open->told_ns) / 1000);
	}
	open->is_used = false;
	open_count--;
	next_ns = per_s == 0 ? now + GAP_NS : next_ns;
}

/* ---- New versions ---- */

static uint32_t random_zone(void)
{
	static uint64_t state = 88172645463325252ULL;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return zone_count == 0 ? 0 : (uint32_t)(state % zone_count);
}

static bool is_open(uint32_t zone)
{
	for (unsigned i = 0; i < OPEN_MAX; i++) {
		if (opens[i].is_used && opens[i].zone == zone) {
			return true;
		}
	}
	return false;
}

static void make_version(uint64_t now)
{
	uint8_t message[MESSAGE_MAX] = { 0, 1, 0x24, 0, 0, 1, 0, 1 };
	unsigned slot = 0;
	uint32_t zone = random_zone();
	if (is_open(zone) || open_count == OPEN_MAX) {
		return;
	}
	while (opens[slot].is_used) {
		slot++;
	}
	size_t len = NAME_OFF + put_zone_name(message + NAME_OFF, zone);
	store_be16(message + len, TYPE_SOA);
	store_be16(message + len + 2, 1);
	len += 4;
	len += put_soa(message + len, ++serials[zone]);
	opens[slot] = (open_t){ .zone = zone,
		.serial = serials[zone],
		.told_ns = now_ns(),
		.number = (uint8_t)((opens[slot].number + 1) % (65536 / OPEN_MAX)),
		.is_used = true };
	open_count++;
	notify_count++;
	next_ns = per_s == 0 ? UINT64_MAX : now + NS_PER_S / per_s;
	(void)sendto(udp, message, len, 0, (struct sockaddr *)&secondary, sizeof(secondary));
}

static void ask(unsigned slot, uint64_t now)
{
	uint8_t message[MESSAGE_MAX] = { 0, 0, 0, 0, 0, 1 };
	open_t *open = &opens[slot];
	store_be16(message, (uint16_t)(open->number * OPEN_MAX + slot));
	size_t len = NAME_OFF + put_zone_name(message + NAME_OFF, open->zone);
	store_be16(message + len, TYPE_SOA);
	store_be16(message + len + 2, 1);
	(void)send(asker, message, len + 4, 0);
	open->ask_ns = now + (per_s == 0 ? ASK_FIRST_NS : ASK_LATER_NS);
}

static size_t skip_name(const uint8_t *message, size_t at, size_t len)
{
	while (at < len && message[at] != 0 && message[at] < 0xC0) {
		at += 1u + message[at];
	}
	return at + (at < len && message[at] >= 0xC0 ? 2 : 1);
}

static void take_asked(void)
{
	uint8_t message[4096];
	ssize_t got;
	while ((got = recv(asker, message, sizeof(message), MSG_DONTWAIT)) > NAME_OFF) {
		size_t len = (size_t)got, at = skip_name(message, NAME_OFF, len) + 4;
		unsigned slot = load_be16(message) % OPEN_MAX;
		if (!opens[slot].is_used || load_be16(message) / OPEN_MAX != opens[slot].number ||
				load_be16(message + 6) == 0) {
			continue;
		}
		at = skip_name(message, skip_name(message, skip_name(message, at, len) + 10, len), len);
		if (at + 4 <= len && load_be32(message + at) == opens[slot].serial) {
			note_served(&opens[slot], now_ns());
		}
	}
}

/* Do what is due. Returns when more is. */
static uint64_t tick(void)
{
	uint64_t now = now_ns();
	bool has_begun = first_ns != 0 || zone_count == 0;
	if (now >= next_ns && notify_count < notify_max && has_begun) {
		make_version(now);
	}
	uint64_t due = notify_count < notify_max && has_begun ? next_ns : UINT64_MAX;
	for (unsigned i = 0; i < OPEN_MAX && open_count > 0; i++) {
		open_t *open = &opens[i];
		if (!open->is_used) {
			continue;
		}
		if (now > open->told_ns + LOST_NS) {
			lost_count++;
			open->is_used = false;
			open_count--;
			next_ns = per_s == 0 ? now : next_ns;
			continue;
		}
		if (open->given_ns != 0 && now >= open->ask_ns) {
			ask(i, now);
		}
		due = open->given_ns != 0 && open->ask_ns < due ? open->ask_ns : due;
	}
	return due;
}

/* ---- Sockets ---- */

static void take_udp(void)
{
	uint8_t message[MESSAGE_MAX];
	struct sockaddr_in from;
	for (;;) {
		socklen_t from_len = sizeof(from);
		ssize_t got = recvfrom(
				udp, message, MESSAGE_MAX / 2, MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
		if (got <= 0) {
			return;
		}
		uint32_t zone;
		uint16_t type;
		size_t len = answer(message, (size_t)got, &zone, &type);
		if (len > 0) {
			note(zone, type);
			(void)sendto(udp, message, len, 0, (struct sockaddr *)&from, from_len);
		}
	}
}

static void close_conn(conn_t *take_conn)
{
	close(take_conn->fd);
	free(take_conn);
}

/* False: it has gone. */
static bool flush_conn(conn_t *conn)
{
	while (conn->out_at < conn->out_len) {
		ssize_t sent = send(conn->fd, conn->out + conn->out_at, conn->out_len - conn->out_at,
				MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0) {
			return errno == EAGAIN;
		}
		conn->out_at += (size_t)sent;
	}
	conn->out_at = conn->out_len = 0;
	return true;
}

/* Answer all whole questions for whose answers there is room. */
static void answer_conn(conn_t *conn)
{
	size_t at = 0;
	while (conn->in_len - at >= 2 && OUT_MAX - conn->out_len >= MESSAGE_MAX + 2) {
		size_t len = load_be16(conn->in + at);
		if (conn->in_len - at - 2 < len) {
			break;
		}
		uint8_t *to = conn->out + conn->out_len + 2;
		uint32_t zone;
		uint16_t type;
		size_t size = len < MESSAGE_MAX / 2 ? len : MESSAGE_MAX / 2;
		memcpy(to, conn->in + at + 2, size);
		size_t answered = answer(to, size, &zone, &type);
		if (answered > 0) {
			note(zone, type);
			store_be16(to - 2, (uint16_t)answered);
			conn->out_len += 2 + answered;
		}
		at += 2 + len;
	}
	conn->in_len -= at;
	memmove(conn->in, conn->in + at, conn->in_len);
}

static void serve_conn(conn_t *conn)
{
	bool is_open = flush_conn(conn);
	while (is_open && conn->out_len == 0) {
		ssize_t got = recv(conn->fd, conn->in + conn->in_len, IN_MAX - conn->in_len, MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN)) {
			is_open = false;
			break;
		}
		conn->in_len += got > 0 ? (size_t)got : 0;
		answer_conn(conn);
		is_open = flush_conn(conn);
		if (got < 0) {
			break;
		}
	}
	if (!is_open) {
		close_conn(conn);
		return;
	}
	struct epoll_event event = { .events = conn->out_len > 0 ? EPOLLOUT : EPOLLIN, .data.ptr = conn };
	epoll_ctl(epoll, EPOLL_CTL_MOD, conn->fd, &event);
}

static void accept_conns(void)
{
	int fd, one = 1;
	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
		conn_t *conn = calloc(1, sizeof(*conn));
		if (conn == NULL) {
			abort();
		}
		conn->fd = fd;
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){ .events = EPOLLIN, .data.ptr = conn });
	}
}

static int open_socket(int type, uint16_t port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	int fd = socket(AF_INET, type | SOCK_NONBLOCK, 0), one = 1, size = 8 << 20;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
			(type == SOCK_STREAM && listen(fd, CONNS_MAX) != 0)) {
		perror("scripted_primary");
		exit(1);
	}
	return fd;
}

static void watch(int fd, int *which)
{
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){ .events = EPOLLIN, .data.ptr = which });
}

static void open_sockets(uint16_t port)
{
	epoll = epoll_create1(0);
	udp = open_socket(SOCK_DGRAM, port);
	listener = open_socket(SOCK_STREAM, port);
	asker = open_socket(SOCK_DGRAM, 0);
	if (connect(asker, (struct sockaddr *)&secondary, sizeof(secondary)) != 0) {
		exit(1);
	}
	watch(udp, &udp);
	watch(listener, &listener);
	watch(asker, &asker);
}

static void wait_events(uint64_t due)
{
	struct epoll_event events[64];
	uint64_t now = now_ns(), left = due <= now ? 0 : due - now;
	left = left < NS_PER_S / 10 ? left : NS_PER_S / 10;
	struct timespec wait = { (time_t)(left / NS_PER_S), (long)(left % NS_PER_S) };
	int count = epoll_pwait2(epoll, events, 64, &wait, NULL);
	for (int i = 0; i < count; i++) {
		void *what = events[i].data.ptr;
		if (what == &udp) {
			take_udp();
		} else if (what == &listener) {
			accept_conns();
		} else if (what == &asker) {
			take_asked();
		} else {
			serve_conn(what);
		}
	}
}

/* ---- The whole ---- */

static void on_signal(int number)
{
	(void)number;
	is_ending = 1;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static void print_times(const char *key, uint32_t *samples)
{
	qsort(samples, sample_count, sizeof(*samples), compare);
	static const struct {
		const char *name;
		unsigned per_mille;
	} shares[] = { { "median", 500 }, { "p99", 990 }, { "max", 1000 } };
	for (unsigned i = 0; i < 3 && sample_count > 0; i++) {
		printf(", \"%s_%s_us\": %u", key, shares[i].name,
				samples[(sample_count - 1) * shares[i].per_mille / 1000]);
	}
}

static bool is_over(const char *until)
{
	if (strcmp(until, "notified") == 0) {
		return notify_count == notify_max && open_count == 0;
	}
	return (strcmp(until, "asked") == 0 ? asked_count : transferred_count) >= zone_count;
}

static void print_result(void)
{
	printf("{\"asked\": %llu, \"transferred\": %llu, \"questions\": %llu, \"first_s\": %.6f, \"last_s\": %.6f, "
	       "\"versions\": %llu, \"lost\": %llu",
			(unsigned long long)asked_count, (unsigned long long)transferred_count,
			(unsigned long long)question_count, (double)first_ns / 1e9, (double)last_ns / 1e9,
			(unsigned long long)notify_count, (unsigned long long)(lost_count + open_count));
	print_times("served", served_us);
	print_times("told", told_us);
	printf("}\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc != 9) {
		fprintf(stderr, "see the head of tests/bench/scripted_primary.c\n");
		return 2;
	}
	secondary.sin_port = htons((uint16_t)atoi(argv[2]));
	secondary.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	origin_text = argv[3];
	zone_count = (uint32_t)atoi(argv[4]);
	refresh_s = (uint32_t)atoi(argv[5]);
	notify_max = (uint64_t)atoll(argv[6]);
	per_s = (uint64_t)atoll(argv[7]);
	serials = calloc(zone_count + 1, sizeof(*serials));
	seen = calloc(zone_count + 1, 1);
	served_us = calloc(SAMPLES_MAX, sizeof(*served_us));
	told_us = calloc(SAMPLES_MAX, sizeof(*told_us));
	if (serials == NULL || seen == NULL || served_us == NULL || told_us == NULL) {
		return 1;
	}
	for (uint32_t i = 0; i <= zone_count; i++) {
		serials[i] = 1;
	}
	(void)prctl(PR_SET_TIMERSLACK, 1000UL);
	signal(SIGTERM, on_signal);
	open_sockets((uint16_t)atoi(argv[1]));
	while (!is_ending && !is_over(argv[8])) {
		wait_events(tick());
	}
	notify_max = notify_count;
	while (!is_ending && open_count > 0) {
		wait_events(tick());
	}
	print_result();
	while (!is_ending) {
		wait_events(tick());
	}
	return 0;
}
