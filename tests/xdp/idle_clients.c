/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens many TCP connections from many addresses and leaves them idle; their memory is the server's affair. A raw
 * packet socket, no table of connections: what a SYN-ACK is answered with is all in the SYN-ACK.
 *
 *     idle_clients [-6] [-n connections] [-r rate] [-p port] [-w wait-seconds] interface server-address server-mac
 *
 * - connections: 1 to 16,000,000, each from an address of its own, 10.0.0.0/8 or fd00:N::/64
 * - rate: SYNs per second, at most; a server that takes long for its answers gets fewer, as no more than WINDOW are
 * waited for
 * - wait: how long nothing may come before SYNs that nothing answered are sent again; that is done until all are open,
 * or at least ROUNDS times, and as long as it opens any
 *
 * Writes `opened=… again=… resets=… seconds=…` when all are open or the time is over. Then it answers nothing any more,
 * and waits for the end of its standard input. Exit status 1: wrong arguments or no permission.
 */
#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	BATCH = 64,
	FRAME_MAX = 128, /* Ethernet 14, IPv6 40, TCP 32 */
	SYN = 2,
	RST = 4,
	ACK = 16,
	CLIENT_PORT = 4000,
	ROUNDS = 3,
	WINDOW = 1024,       /* half of a ring of the default size */
	ANSWER_MS_MAX = 200, /* without any answer: those that are waited for are taken as lost */
	CONNECTIONS_MAX = 16000000,
	BUFFER_BYTES = 32 << 20,
};

typedef struct {
	bool is_v6;
	uint32_t count, rate, wait_s;
	uint16_t port;
	uint8_t server[16], server_mac[6], own_mac[6];
	int fd;
	uint8_t *is_open;                        /* owned; a bit per connection, only so that none is counted twice */
	uint32_t opened, again, resets, waiting; /* waiting: SYNs without an answer */
	uint8_t frames[BATCH][FRAME_MAX];
	size_t lens[BATCH];
	unsigned queued;
} run_t;

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint32_t add16(uint32_t sum, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i += 2) {
		sum += load_be16(bytes + i);
	}
	return sum;
}

static uint16_t folded(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~((sum & 0xffff) + (sum >> 16));
}

static void put_address(const run_t *run, uint32_t number, uint8_t *bytes)
{
	/* The first and the last of a network are left out. */
	number++;
	if (run->is_v6) {
		memset(bytes, 0, 16);
		bytes[0] = 0xfd;
		store_be32(bytes + 4, number);
		bytes[15] = 1;
	} else {
		store_be32(bytes, 10u << 24 | number);
	}
}

/* UINT32_MAX: none of ours. */
static uint32_t number_of(const run_t *run, const uint8_t *bytes)
{
	uint32_t number = run->is_v6 ? load_be32(bytes + 4) : load_be32(bytes) & 0xffffff;
	bool is_ours = run->is_v6 ? bytes[0] == 0xfd : bytes[0] == 10;
	return is_ours && number >= 1 && number <= run->count ? number - 1 : UINT32_MAX;
}

/* Initial sequence number of a connection: without a table it follows from the number. */
static uint32_t isn_of(uint32_t number)
{
	return number * 2654435761u;
}

/* Sends what is queued; the kernel takes less than all when its queue is full. */
static void flush(run_t *run)
{
	struct mmsghdr messages[BATCH] = { 0 };
	struct iovec parts[BATCH];
	for (unsigned i = 0; i < run->queued; i++) {
		parts[i] = (struct iovec){ run->frames[i], run->lens[i] };
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &parts[i], .msg_iovlen = 1 };
	}
	for (unsigned done = 0; done < run->queued;) {
		int count = sendmmsg(run->fd, messages + done, run->queued - done, 0);
		if (count > 0) {
			done += (unsigned)count;
		} else if (errno != ENOBUFS && errno != EAGAIN && errno != EINTR) {
			perror("sendmmsg");
			exit(1);
		} else {
			usleep(100);
		}
	}
	run->queued = 0;
}

static void send_segment(run_t *run, uint32_t number, uint8_t flags, uint32_t seq, uint32_t ack)
{
	uint8_t *frame = run->frames[run->queued], *ip = frame + 14;
	size_t tcp_len = flags & SYN ? 28 : 20, ip_len = run->is_v6 ? 40 : 20;
	memset(frame, 0, FRAME_MAX);
	memcpy(frame, run->server_mac, 6);
	memcpy(frame + 6, run->own_mac, 6);
	store_be16(frame + 12, run->is_v6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP);
	uint8_t *tcp = ip + ip_len;
	if (run->is_v6) {
		ip[0] = 0x60;
		store_be16(ip + 4, (uint16_t)tcp_len);
		ip[6] = IPPROTO_TCP;
		ip[7] = 64;
		put_address(run, number, ip + 8);
		memcpy(ip + 24, run->server, 16);
	} else {
		ip[0] = 0x45;
		store_be16(ip + 2, (uint16_t)(ip_len + tcp_len));
		ip[6] = 0x40;
		ip[8] = 64;
		ip[9] = IPPROTO_TCP;
		put_address(run, number, ip + 12);
		memcpy(ip + 16, run->server, 4);
		store_be16(ip + 10, folded(add16(0, ip, ip_len)));
	}
	store_be16(tcp, CLIENT_PORT);
	store_be16(tcp + 2, run->port);
	store_be32(tcp + 4, seq);
	store_be32(tcp + 8, ack);
	tcp[12] = (uint8_t)(tcp_len / 4 << 4);
	tcp[13] = flags;
	store_be16(tcp + 14, 65535);
	if (flags & SYN) {
		memcpy(tcp + 20, "\x02\x04\x05\xb4\x01\x03\x03\x07", 8); /* MSS 1460, window scale 7 */
	}
	uint32_t pseudo =
			IPPROTO_TCP + (uint32_t)tcp_len + add16(0, run->is_v6 ? ip + 8 : ip + 12, run->is_v6 ? 32 : 8);
	store_be16(tcp + 16, folded(add16(pseudo, tcp, tcp_len)));
	run->lens[run->queued++] = 14 + ip_len + tcp_len;
	if (run->queued == BATCH) {
		flush(run);
	}
}

static void answer(run_t *run, const uint8_t *frame, size_t len)
{
	size_t ip_len = run->is_v6 ? 40 : 20;
	if (len < 14 + ip_len + 20 || load_be16(frame + 12) != (run->is_v6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP)) {
		return;
	}
	const uint8_t *ip = frame + 14, *tcp = ip + ip_len;
	uint32_t number = number_of(run, run->is_v6 ? ip + 24 : ip + 16);
	if ((run->is_v6 ? ip[6] : ip[9]) != IPPROTO_TCP || number == UINT32_MAX || load_be16(tcp) != run->port) {
		return;
	}
	run->resets += (tcp[13] & RST) != 0;
	if ((tcp[13] & (SYN | ACK | RST)) != (SYN | ACK) || load_be32(tcp + 8) != isn_of(number) + 1) {
		return;
	}
	send_segment(run, number, ACK, isn_of(number) + 1, load_be32(tcp + 4) + 1);
	uint8_t bit = (uint8_t)(1u << number % 8);
	if (!(run->is_open[number / 8] & bit)) {
		run->opened++;
		run->waiting -= run->waiting > 0;
	}
	run->is_open[number / 8] |= bit;
}

/* False: nothing came in this time. */
static bool receive(run_t *run, int wait_ms)
{
	static uint8_t bytes[BATCH][FRAME_MAX];
	struct mmsghdr messages[BATCH] = { 0 };
	struct iovec parts[BATCH];
	for (unsigned i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){ bytes[i], sizeof(bytes[i]) };
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &parts[i], .msg_iovlen = 1 };
	}
	int count = recvmmsg(run->fd, messages, BATCH, MSG_DONTWAIT, NULL);
	if (count <= 0 && wait_ms > 0) {
		poll(&(struct pollfd){ .fd = run->fd, .events = POLLIN }, 1, wait_ms);
		count = recvmmsg(run->fd, messages, BATCH, MSG_DONTWAIT, NULL);
	}
	for (int i = 0; i < count; i++) {
		answer(run, bytes[i], messages[i].msg_len);
	}
	flush(run);
	return count > 0;
}

/* One SYN to each connection that isn't open, not faster than asked for or answered, and what comes back in between. */
static void open_all(run_t *run, unsigned round)
{
	double start = seconds();
	uint32_t sent = 0;
	run->waiting = 0;
	for (uint32_t number = 0; number < run->count; number++) {
		if (run->is_open[number / 8] >> number % 8 & 1) {
			continue;
		}
		while (sent > (seconds() - start) * run->rate) {
			receive(run, 1);
		}
		while (run->waiting >= WINDOW) {
			flush(run);
			run->waiting = receive(run, ANSWER_MS_MAX) ? run->waiting : 0;
		}
		run->waiting++;
		send_segment(run, number, SYN, isn_of(number), 0);
		run->again += round > 0;
		if (++sent % BATCH == 0) {
			receive(run, 0);
		}
	}
	flush(run);
	double end = seconds() + run->wait_s;
	while (run->opened < run->count && seconds() < end) {
		end = receive(run, 10) ? seconds() + run->wait_s : end;
	}
}

static bool open_socket(run_t *run, const char *ifname)
{
	struct sockaddr_ll where = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(run->is_v6 ? ETH_P_IPV6 : ETH_P_IP),
		.sll_ifindex = (int)if_nametoindex(ifname),
	};
	struct ifreq request = { 0 };
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", ifname);
	int bytes = BUFFER_BYTES, on = 1;
	run->fd = socket(AF_PACKET, SOCK_RAW, where.sll_protocol);
	if (run->fd < 0 || bind(run->fd, (struct sockaddr *)&where, sizeof(where)) != 0 ||
			ioctl(run->fd, SIOCGIFHWADDR, &request) != 0) {
		return false;
	}
	memcpy(run->own_mac, request.ifr_hwaddr.sa_data, 6);
	/* What is sent isn't wanted back, and a queueing discipline isn't needed. */
	setsockopt(run->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
	setsockopt(run->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on));
	setsockopt(run->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	return true;
}

static bool scan_arguments(run_t *run, int argc, char **argv)
{
	int option;
	while ((option = getopt(argc, argv, "6n:r:p:w:")) != -1) {
		uint32_t value = optarg != NULL ? (uint32_t)strtoul(optarg, NULL, 10) : 0;
		switch (option) {
		case '6': run->is_v6 = true; break;
		case 'n': run->count = value; break;
		case 'r': run->rate = value; break;
		case 'p': run->port = (uint16_t)value; break;
		case 'w': run->wait_s = value; break;
		default: return false;
		}
	}
	const struct ether_addr *mac = argc == optind + 3 ? ether_aton(argv[optind + 2]) : NULL;
	if (mac == NULL || run->count == 0 || run->count > CONNECTIONS_MAX || run->rate == 0) {
		return false;
	}
	memcpy(run->server_mac, mac, 6);
	return inet_pton(run->is_v6 ? AF_INET6 : AF_INET, argv[optind + 1], run->server) == 1;
}

int main(int argc, char **argv)
{
	static run_t run = { .count = 1000, .rate = 50000, .port = 53, .wait_s = 3 };
	if (!scan_arguments(&run, argc, argv)) {
		fputs("Usage: idle_clients [-6] [-n connections] [-r rate] [-p port] [-w wait-seconds] interface "
		      "server-address server-mac\n",
				stderr);
		return 1;
	}
	run.is_open = calloc(run.count / 8 + 1, 1);
	if (run.is_open == NULL || !open_socket(&run, argv[optind])) {
		perror(argv[optind]);
		free(run.is_open);
		return 1;
	}
	double start = seconds();
	uint32_t before = 0;
	for (unsigned round = 0; run.opened < run.count && (round < ROUNDS || run.opened > before); round++) {
		before = run.opened;
		open_all(&run, round);
	}
	printf("opened=%u again=%u resets=%u seconds=%.2f\n", run.opened, run.again, run.resets, seconds() - start);
	fflush(stdout);
	char byte;
	while (read(STDIN_FILENO, &byte, 1) > 0) {}
	close(run.fd);
	free(run.is_open);
	return 0;
}
