/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Transfers a whole zone over TCP, some times one after the other, and only counts. Prints a line of JSON for each:
 * messages, bytes (lengths of messages included), records, seconds.
 *
 *     transfer_read ADDRESS PORT ZONE TIMES SECRET
 *
 * ADDRESS: IPv4. SECRET: bytes of the key `key.` (hmac-sha256) as text; empty: without TSIG. The server's TSIGs are
 * counted and not verified, so that the reader costs less than the server. Exit 1: a transfer failed.
 */
#include "libknot/msg/sign.h"
#include "tests/bench/load_bytes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 1 << 20, QUERY_MAX = 512, TYPE_SOA = 6, TYPE_AXFR = 252, RR_HEAD_LEN = 10 };

typedef struct {
	uint64_t messages, bytes, records, signatures;
	unsigned soas;
} counts_t;

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void stop(const char *what)
{
	fprintf(stderr, "transfer_read: %s\n", what);
	exit(1);
}

static size_t make_query(uint8_t *to, const char *zone, const char *secret)
{
	static const uint8_t head[] = { 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0 };
	memcpy(to, head, sizeof(head));
	size_t len = sizeof(head) + load_put_name(to + sizeof(head), zone);
	store_be16(to + len, TYPE_AXFR);
	store_be16(to + len + 2, 1);
	len += 4;
	if (*secret != '\0') {
		const knot_tsig_key_t key = { { (const uint8_t *)"\3key", 5, 1 }, KNOT_TSIG_HMAC_SHA256,
			{ (const uint8_t *)secret, strlen(secret) } };
		knot_tsig_chain_t chain;
		knot_tsig_chain_begin(&chain, &key);
		knot_msg_writer_t w = { .data = to, .len = len, .max = QUERY_MAX, .counts = { 1 } };
		if (knot_tsig_sign(&chain, &w, (uint64_t)time(NULL), &len) != KNOT_OK) {
			stop("can't sign");
		}
	}
	return len;
}

static const uint8_t *skip_name(const uint8_t *at, const uint8_t *end)
{
	while (at < end && *at != 0 && *at < 0xC0) {
		at += 1 + *at;
	}
	return at + (at < end && *at >= 0xC0 ? 2 : 1);
}

/* Count the records of a message. The second SOA of a transfer ends it. */
static void count_message(counts_t *counts, const uint8_t *message, size_t len)
{
	const uint8_t *at = message + 12, *end = message + len;
	if (len < 12 || (message[3] & 15) != 0) {
		stop("refused");
	}
	for (unsigned i = load_be16(message + 4); i > 0; i--) {
		at = skip_name(at, end) + 4;
	}
	for (unsigned i = load_be16(message + 6); i > 0; i--) {
		at = skip_name(at, end);
		if (at + RR_HEAD_LEN > end) {
			stop("malformed");
		}
		counts->soas += load_be16(at) == TYPE_SOA;
		at += RR_HEAD_LEN + load_be16(at + 8);
		counts->records++;
	}
	counts->messages++;
	counts->bytes += len + 2;
	counts->signatures += load_be16(message + 10) != 0;
}

static int open_connection(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to)) != 0) {
		stop("can't connect");
	}
	return fd;
}

static counts_t transfer(const struct sockaddr_in *to, const char *zone, const char *secret)
{
	static uint8_t room[ROOM];
	uint8_t query[2 + QUERY_MAX];
	counts_t counts = { 0 };
	int fd = open_connection(to);
	size_t len = make_query(query + 2, zone, secret), have = 0;
	store_be16(query, (uint16_t)len);
	if (write(fd, query, len + 2) != (ssize_t)len + 2) {
		stop("can't send");
	}
	while (counts.soas < 2) {
		ssize_t got = read(fd, room + have, ROOM - have);
		if (got <= 0) {
			stop("ended before the end of the transfer");
		}
		have += (size_t)got;
		size_t at = 0;
		while (have - at >= 2 && have - at - 2 >= load_be16(room + at)) {
			count_message(&counts, room + at + 2, load_be16(room + at));
			at += 2u + load_be16(room + at);
		}
		have -= at;
		memmove(room, room + at, have);
	}
	close(fd);
	return counts;
}

int main(int argc, char **argv)
{
	if (argc != 6) {
		fprintf(stderr, "see the head of tests/bench/transfer_read.c\n");
		return 2;
	}
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2])) };
	inet_pton(AF_INET, argv[1], &to.sin_addr);
	for (int i = atoi(argv[4]); i > 0; i--) {
		double begin = now_s();
		counts_t counts = transfer(&to, argv[3], argv[5]);
		printf("{\"messages\": %llu, \"bytes\": %llu, \"records\": %llu, \"signatures\": %llu, \"seconds\": "
		       "%.6f}\n",
				(unsigned long long)counts.messages, (unsigned long long)counts.bytes,
				(unsigned long long)counts.records, (unsigned long long)counts.signatures,
				now_s() - begin);
		fflush(stdout);
	}
	return 0;
}
