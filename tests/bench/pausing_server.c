/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A server over UDP that answers each query with itself and QR, and pauses at intervals, with room for all that comes
 * meanwhile: what waits for it is known exactly. At its end it prints a line per pause, nanoseconds since the Epoch:
 * when it began, when it ended, and when nothing waited any more.
 *
 *     pausing_server ADDRESS PORT PAUSE_MS PERIOD_MS SECONDS
 *
 * ADDRESS: IPv4. A pause begins at each whole PERIOD_MS of the clock.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { BATCH = 64, MESSAGE_MAX = 512, BUFFER_LEN = 256 << 20, PAUSES_MAX = 4096 };

typedef struct {
	uint64_t begin_ns, end_ns, drained_ns;
} pause_t;

static pause_t pauses[PAUSES_MAX];
static size_t pause_count;
static uint8_t messages[BATCH][MESSAGE_MAX];
static struct sockaddr_in clients[BATCH];
static struct iovec vectors[BATCH];
static struct mmsghdr headers[BATCH];

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	const struct timespec when = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &when, NULL) != 0) {}
}

/* A batch. Returns how many there were. */
static int answer(int fd)
{
	for (unsigned i = 0; i < BATCH; i++) {
		vectors[i] = (struct iovec){ messages[i], MESSAGE_MAX };
		headers[i].msg_hdr = (struct msghdr){ .msg_iov = &vectors[i],
			.msg_iovlen = 1,
			.msg_name = &clients[i],
			.msg_namelen = sizeof(clients[i]) };
	}
	int count = recvmmsg(fd, headers, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < count; i++) {
		vectors[i].iov_len = headers[i].msg_len;
		messages[i][2] |= 0x80;
	}
	for (int sent = 0; sent < count;) {
		int now = sendmmsg(fd, headers + sent, (unsigned)(count - sent), 0);
		sent += now > 0 ? now : 1;
	}
	return count;
}

int main(int argc, char **argv)
{
	if (argc != 6) {
		fprintf(stderr, "see the head of tests/bench/pausing_server.c\n");
		return 2;
	}
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10)) };
	inet_pton(AF_INET, argv[1], &addr.sin_addr);
	const uint64_t pause_ns = strtoull(argv[3], NULL, 10) * 1000000,
		       period_ns = strtoull(argv[4], NULL, 10) * 1000000;
	const uint64_t end_ns = now_ns() + strtoull(argv[5], NULL, 10) * 1000000000;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &(int){ BUFFER_LEN }, sizeof(int)) != 0 ||
			bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0) {
		perror("pausing_server");
		return 1;
	}
	uint64_t next_ns = (now_ns() / period_ns + 1) * period_ns;
	bool drains = false;
	while (now_ns() < end_ns) {
		uint64_t now = now_ns();
		if (now >= next_ns && pause_count < PAUSES_MAX) {
			sleep_until(next_ns + pause_ns);
			pauses[pause_count++] = (pause_t){ now, now_ns(), 0 };
			next_ns += period_ns;
			drains = true;
		}
		if (answer(fd) < BATCH) {
			if (drains) {
				pauses[pause_count - 1].drained_ns = now_ns();
				drains = false;
			}
			struct pollfd pfd = { .fd = fd, .events = POLLIN };
			(void)poll(&pfd, 1, 1);
		}
	}
	for (size_t i = 0; i < pause_count; i++) {
		printf("%llu %llu %llu\n", (unsigned long long)pauses[i].begin_ns, (unsigned long long)pauses[i].end_ns,
				(unsigned long long)pauses[i].drained_ns);
	}
	return 0;
}
