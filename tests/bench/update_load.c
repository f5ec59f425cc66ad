/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Sends dynamic updates over UDP, so many unanswered at a time, each of which adds the address of a new name; some are
 * signed. Prints one line of JSON: updates acknowledged, seconds, microseconds to an answer, answers with another
 * rcode, updates sent again as no answer came.
 *
 *     update_load ADDRESS PORT ZONE SECONDS IN_FLIGHT SIGNED_PERCENT SECRET FIRST
 *
 * ADDRESS: IPv4. The key is `key.`, hmac-sha256, SECRET its bytes as text. FIRST: number of the first name. Answers
 * aren't verified but for their id and rcode, so that this costs less than the server.
 */
#include "libknot/msg/sign.h"
#include "tests/bench/load_bytes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { MESSAGE_MAX = 512, BATCH = 64, IN_FLIGHT_MAX = 4096, IDS = 65536, AGAIN_MS = 2000, SAMPLES_MAX = 1 << 22 };

typedef struct {
	uint8_t bytes[MESSAGE_MAX];
	size_t len;
	uint64_t sent_us;
	bool waits;
} slot_t;

static slot_t slots[IN_FLIGHT_MAX];
static uint16_t slot_of[IDS]; /* + 1 */
static uint32_t *samples;
static size_t sample_count;
static uint64_t refused, again;
static const char *secret_text, *zone_text;
static unsigned signed_percent;

static uint64_t now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static size_t put_update(uint8_t *to, uint64_t number)
{
	static const uint8_t head[] = { 0, 0, 0x28, 0, 0, 1, 0, 0, 0, 1, 0, 0 };
	memcpy(to, head, sizeof(head));
	store_be16(to, (uint16_t)number);
	size_t at = sizeof(head);
	at += load_put_name(to + at, zone_text);
	memcpy(to + at, (const uint8_t[]){ 0, 6, 0, 1 }, 4);
	at += 4;
	int len = snprintf((char *)to + at + 1, 32, "bench-%llu", (unsigned long long)number);
	to[at] = (uint8_t)len;
	at += 1 + (size_t)len;
	memcpy(to + at, (const uint8_t[]){ 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10 }, 13);
	at += 13;
	to[at++] = (uint8_t)(number >> 16);
	to[at++] = (uint8_t)(number >> 8);
	to[at++] = (uint8_t)number;
	return at;
}

static void make_update(slot_t *slot, uint64_t number)
{
	slot->len = put_update(slot->bytes, number);
	if (number % 100 < signed_percent) {
		const knot_tsig_key_t key = { { (const uint8_t *)"\3key", 5, 1 }, KNOT_TSIG_HMAC_SHA256,
			{ (const uint8_t *)secret_text, strlen(secret_text) } };
		knot_tsig_chain_t chain;
		knot_tsig_chain_begin(&chain, &key);
		knot_msg_writer_t w = {
			.data = slot->bytes, .len = slot->len, .max = MESSAGE_MAX, .counts = { 1, 0, 1, 0 }
		};
		if (knot_tsig_sign(&chain, &w, (uint64_t)time(NULL), &slot->len) != KNOT_OK) {
			abort();
		}
	}
}

static void send_slots(int fd, slot_t *const *which, unsigned count)
{
	struct mmsghdr messages[BATCH] = { 0 };
	struct iovec iovs[BATCH];
	uint64_t now = now_us();
	for (unsigned i = 0; i < count; i++) {
		iovs[i] = (struct iovec){ which[i]->bytes, which[i]->len };
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &iovs[i], .msg_iovlen = 1 };
		which[i]->sent_us = now;
	}
	for (unsigned at = 0; at < count;) {
		int sent = sendmmsg(fd, messages + at, count - at, 0);
		at += sent > 0 ? (unsigned)sent : 1;
	}
}

static void note_answer(const uint8_t *bytes, uint64_t now, unsigned *free_list, unsigned *free_count)
{
	uint16_t id = load_be16(bytes);
	unsigned number = slot_of[id];
	if (number == 0) {
		return;
	}
	slot_of[id] = 0;
	slot_t *slot = &slots[number - 1];
	slot->waits = false;
	refused += (bytes[3] & 15) != 0;
	if ((bytes[3] & 15) == 0 && sample_count < SAMPLES_MAX) {
		samples[sample_count++] = (uint32_t)(now - slot->sent_us);
	}
	free_list[(*free_count)++] = number - 1;
}

static unsigned receive(int fd, unsigned *free_list, unsigned *free_count)
{
	static uint8_t buffers[BATCH][MESSAGE_MAX];
	struct mmsghdr messages[BATCH] = { 0 };
	struct iovec iovs[BATCH];
	for (unsigned i = 0; i < BATCH; i++) {
		iovs[i] = (struct iovec){ buffers[i], MESSAGE_MAX };
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &iovs[i], .msg_iovlen = 1 };
	}
	int count = recvmmsg(fd, messages, BATCH, MSG_DONTWAIT, NULL);
	uint64_t now = now_us();
	for (int i = 0; i < count; i++) {
		if (messages[i].msg_len >= 12) {
			note_answer(buffers[i], now, free_list, free_count);
		}
	}
	return count > 0 ? (unsigned)count : 0;
}

static void send_again(int fd)
{
	for (unsigned i = 0; i < IN_FLIGHT_MAX; i++) {
		slot_t *slot = &slots[i];
		if (slot->waits && now_us() - slot->sent_us > AGAIN_MS * UINT64_C(1000)) {
			send_slots(fd, &slot, 1);
			again++;
		}
	}
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static uint32_t at_share(double share)
{
	return sample_count == 0 ? 0 : samples[(size_t)((double)(sample_count - 1) * share)];
}

int main(int argc, char **argv)
{
	if (argc != 9) {
		fprintf(stderr, "see the head of tests/bench/update_load.c\n");
		return 2;
	}
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2])) };
	inet_pton(AF_INET, argv[1], &to.sin_addr);
	zone_text = argv[3];
	double seconds = atof(argv[4]);
	unsigned in_flight = (unsigned)atoi(argv[5]);
	signed_percent = (unsigned)atoi(argv[6]);
	secret_text = argv[7];
	uint64_t number = (uint64_t)atoll(argv[8]);
	samples = malloc(SAMPLES_MAX * sizeof(*samples));
	int fd = socket(AF_INET, SOCK_DGRAM, 0), size = 8 << 20;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (samples == NULL || in_flight == 0 || in_flight > IN_FLIGHT_MAX ||
			connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
		return 1;
	}
	unsigned free_list[IN_FLIGHT_MAX], free_count = 0, open = 0;
	for (unsigned i = 0; i < in_flight; i++) {
		free_list[free_count++] = i;
	}
	uint64_t begin = now_us(), end = begin + (uint64_t)(seconds * 1e6), last = begin;
	while (now_us() < end || (open > 0 && now_us() < end + 5000000)) {
		while (free_count > 0 && now_us() < end) {
			slot_t *batch[BATCH];
			unsigned count = 0;
			for (; free_count > 0 && count < BATCH; count++) {
				unsigned slot = free_list[--free_count];
				make_update(&slots[slot], number);
				slots[slot].waits = true;
				slot_of[(uint16_t)number] = (uint16_t)(slot + 1);
				batch[count] = &slots[slot];
				number++;
			}
			send_slots(fd, batch, count);
			open += count;
		}
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		if (poll(&pfd, 1, 100) == 0) {
			send_again(fd);
			continue;
		}
		unsigned before = free_count;
		while (receive(fd, free_list, &free_count) == BATCH) {}
		open -= free_count - before;
		last = now_us();
	}
	qsort(samples, sample_count, sizeof(*samples), compare);
	printf("{\"acknowledged\": %zu, \"seconds\": %.3f, \"median_us\": %u, \"p99_us\": %u, \"max_us\": %u, "
	       "\"refused\": "
	       "%llu, \"again\": %llu, \"next\": %llu}\n",
			sample_count, (double)(last - begin) / 1e6, at_share(0.5), at_share(0.99), at_share(1),
			(unsigned long long)refused, (unsigned long long)again, (unsigned long long)number);
	free(samples);
	return 0;
}
