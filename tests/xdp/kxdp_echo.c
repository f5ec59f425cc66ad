/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UDP echo over AF_XDP: what the end-to-end tests and the benchmarks of xdp/ talk to.
 *
 *     kxdp_echo [-p port] [-a address]… [-r ring-size] [-l length] [-b budget] [-q queues] [-B prefix[=rate]]… [-w ms]
 *               [-T file] [-tSRcens] interface
 *
 * - `-l`: pad replies to this many bytes and set the QR bit, as an answer of a DNS server
 * - `-q`: sockets on the first queues only
 * - `-B`: block a prefix, or limit it to that many queries per second; `-t`: take TCP too, without answering
 * - `-S`: take TCP too, and send each segment back with its ports swapped; `-R`: check the route of replies, and only
 *   count those that don't leave by the queue they came in on
 * - `-w`: wait so long before each batch; `-T`: write all frames received and sent to a file (pcap), at each SIGUSR1
 * - `-c`: no zero copy, `-e`: emulated mode, `-n`: native mode, `-s`: strict checksums
 *
 * Writes one line when it is ready, one line of counters per SIGUSR1, and one at the end (SIGTERM): `name=value …`.
 */
#include "xdp/priv.h"
#include "xdp/queue.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { QUEUES_MAX = 64 };

typedef struct {
	kxdp_queue_t *queue;
	unsigned reply_len;
	_Atomic uint64_t ways[KXDP_VIA_KERNEL + 1]; /* packets by the way of their reply */
	kxdp_tap_t *tap;                            /* NULL: none */
	atomic_bool gone;
	pthread_t thread;
} worker_t;

static atomic_bool stopping;
static bool echoes_tcp;
static unsigned pause_ms;
static FILE *tap_file;

static size_t echo(const worker_t *worker, const kxdp_packet_t *packet)
{
	size_t len = packet->payload_len;
	if (worker->reply_len > 0 && len > 2) {
		packet->payload[2] |= 0x80;
		if (len < worker->reply_len) {
			memset(packet->payload + len, 0xAA, worker->reply_len - len);
			len = worker->reply_len;
		}
	}
	return len <= packet->payload_max ? len : packet->payload_max;
}

/* The segment in another frame, to where it came from. */
static void echo_segment(worker_t *worker, const kxdp_packet_t *packet)
{
	kxdp_frame_t frame;
	if (!kxdp_frame_take(worker->queue, &frame)) {
		return;
	}
	memcpy(frame.payload, packet->payload, packet->payload_len);
	memcpy(frame.payload, packet->payload + 2, 2);
	memcpy(frame.payload + 2, packet->payload, 2);
	uint8_t *start;
	size_t len = kxdp_frame_build(&packet->path, &packet->flow, IPPROTO_TCP, packet->ecn, frame.payload,
			packet->payload_len, &start);
	kxdp_send(worker->queue, start, len);
}

static void handle(worker_t *worker, const kxdp_packet_t *packet)
{
	worker->ways[packet->path.via]++;
	static const kxdp_outcome_t outcomes[] = {
		[KXDP_VIA_OTHER] = KXDP_RELAYED, [KXDP_VIA_KERNEL] = KXDP_BY_KERNEL
	};
	if (packet->path.via != KXDP_VIA_SAME) {
		kxdp_count(worker->queue, kxdp_packet_kind(packet), outcomes[packet->path.via]);
	} else if (packet->ip_proto == IPPROTO_UDP) {
		kxdp_reply(worker->queue, packet, echo(worker, packet));
		return;
	} else if (echoes_tcp) {
		echo_segment(worker, packet);
	}
	kxdp_drop(worker->queue, packet);
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void *work(void *arg)
{
	worker_t *worker = arg;
	kxdp_packet_t packets[KXDP_BATCH_MAX];
	while (!stopping) {
		if (kxdp_wait(worker->queue, 100, -1) & KXDP_WAIT_GONE) {
			worker->gone = true;
			break;
		}
		if (pause_ms > 0) {
			usleep(pause_ms * 1000);
		}
		if (worker->tap != NULL) {
			kxdp_queue_tap(worker->queue, worker->tap, now_ns());
		}
		size_t count = kxdp_receive(worker->queue, packets, KXDP_BATCH_MAX);
		for (size_t i = 0; i < count; i++) {
			handle(worker, &packets[i]);
		}
		kxdp_flush(worker->queue);
	}
	return NULL;
}

/* ---- Taps: a classic pcap file, little-endian machines only; direction in the lowest bit of the microseconds ---- */

static bool open_tap_file(const char *path)
{
	static const uint32_t header[] = { 0xa1b2c3d4, 4 << 16 | 2, 0, 0, 65535, 1 };
	tap_file = fopen(path, "wb");
	return tap_file != NULL && fwrite(header, sizeof(header), 1, tap_file) == 1;
}

static void drain(const worker_t *worker)
{
	kxdp_tap_record_t record;
	while (kxdp_tap_next(worker->tap, &record)) {
		uint32_t us = (uint32_t)(record.time_ns / 1000 % 1000000);
		uint32_t head[] = { (uint32_t)(record.time_ns / 1000000000), (us & ~1u) | record.direction,
			record.captured_len, record.len };
		fwrite(head, sizeof(head), 1, tap_file);
		fwrite(record.bytes, 1, record.captured_len, tap_file);
	}
	fflush(tap_file);
	kxdp_tap_stats_t stats;
	kxdp_tap_stats(worker->tap, &stats);
	printf("tap.seen=%" PRIu64 " tap.dropped=%" PRIu64 " ", stats.seen, stats.dropped);
}

#define PRINT_SUM(constant, name) printf("queue%u." #name "=%" PRIu64 " ", queue, s->name);
#define PRINT_OF_KIND(constant, name)                                                                                  \
	printf("queue%u." #name "-%s=%" PRIu64 " ", queue, kxdp_kind_name(kind), s->of[kind].name);

static void print_traffic(unsigned queue, const kxdp_stats_t *s)
{
	KXDP_OUTCOMES(PRINT_SUM)
	for (unsigned v = 0; v < KXDP_VERDICT_COUNT; v++) {
		printf("queue%u.%s=%" PRIu64 " ", queue, kxdp_verdict_name(v), s->received[v]);
	}
	for (kxdp_kind_t kind = 0; kind < KXDP_KIND_COUNT; kind++) {
		KXDP_OUTCOMES(PRINT_OF_KIND)
		for (unsigned v = 0; v < KXDP_VERDICT_COUNT; v++) {
			printf("queue%u.%s-%s=%" PRIu64 " ", queue, kxdp_verdict_name(v), kxdp_kind_name(kind),
					s->of[kind].received[v]);
		}
	}
	for (unsigned row = 0; row < KXDP_BATCH_ROWS; row++) {
		printf("queue%u.batch%u=%" PRIu64 " ", queue, row, s->batches[row]);
	}
}

static kxdp_priv_t *priv;
static kxdp_iface_t *iface;

static void print_counters(const worker_t *workers, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		static const char *const ways[] = { "same", "other", "kernel" };
		for (unsigned way = 0; way < KNOT_LEN(ways); way++) {
			printf("queue%u.via-%s=%" PRIu64 " ", i, ways[way], workers[i].ways[way]);
		}
		kxdp_stats_t s;
		kxdp_queue_stats(workers[i].queue, &s);
		printf("queue%u.fq_fill=%" PRIu32 " queue%u.rx_fill=%" PRIu32 " queue%u.tx_busy=%" PRIu32
		       " queue%u.rx_full=%" PRIu64 " queue%u.rx_dropped=%" PRIu64 " queue%u.fq_empty=%" PRIu64
		       " queue%u.gone=%d ",
				i, s.fq_fill, i, s.rx_fill, i, s.tx_busy, i, s.rx_full, i, s.rx_dropped, i, s.fq_empty,
				i, workers[i].gone);
		print_traffic(i, &s);
		if (workers[i].tap != NULL) {
			drain(&workers[i]);
		}
	}
	for (unsigned q = 0; q < kxdp_iface_queue_max(iface); q++) {
		kxdp_filter_count_t counts[32];
		size_t filter_count = kxdp_iface_filter_counts(iface, q, counts, KNOT_LEN(counts));
		for (size_t i = 0; i < filter_count; i++) {
			printf("queue%u.%s=%" PRIu64 " ", q, counts[i].name, counts[i].packets);
		}
	}
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("cpu_ms=%ld\n", (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
					       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000);
	fflush(stdout);
}

static int failed(const char *ifname, const kxdp_fault_t *fault)
{
	fprintf(stderr, "%s: %s (%s)\n", ifname, fault->text, knot_strerror(fault->err));
	kxdp_priv_stop(priv); /* which detaches */
	return 1;
}

enum { RULES_MAX = 4 };
static kxdp_rule_t rules[RULES_MAX];
static size_t rule_count;

/* "203.0.113.0/24", or "203.0.113.0/24=100" for 100 queries per second. */
static bool add_rule(char *text)
{
	char *len = strchr(text, '/');
	if (len == NULL || rule_count == RULES_MAX) {
		return false;
	}
	*len++ = '\0';
	kxdp_rule_t *rule = &rules[rule_count++];
	char *rate;
	rule->prefix_len = (uint8_t)strtoul(len, &rate, 10);
	rule->per_second = *rate == '=' ? (uint32_t)strtoul(rate + 1, NULL, 10) : 0;
	if (inet_pton(AF_INET, text, rule->addr + 12) == 1) {
		rule->addr[10] = rule->addr[11] = 0xFF;
		rule->prefix_len += 96;
		return true;
	}
	return inet_pton(AF_INET6, text, rule->addr) == 1;
}

static int serve(const kxdp_options_t *options, unsigned queues, unsigned reply_len)
{
	static worker_t workers[QUEUES_MAX];
	kxdp_fault_t fault;
	uint16_t ports[KXDP_LISTEN_MAX];
	for (size_t i = 0; i < options->config.listen_count; i++) {
		ports[i] = options->config.listens[i].port;
	}
	const kxdp_priv_params_t params = { .ports = ports, .port_count = options->config.listen_count };
	if (kxdp_priv_start(&params, &priv, &fault) != KNOT_OK ||
			kxdp_iface_open(priv, options, &iface, &fault) != KNOT_OK) {
		return failed(options->ifname, &fault);
	}
	for (size_t i = 0; i < rule_count; i++) {
		if (kxdp_rule_set(iface, &rules[i], &fault) != KNOT_OK) {
			return failed(options->ifname, &fault);
		}
	}
	unsigned count = kxdp_iface_queue_count(iface);
	count = count < queues ? count : queues;
	for (unsigned i = 0; i < count; i++) {
		workers[i].reply_len = reply_len;
		if (tap_file != NULL && kxdp_tap_new(&(kxdp_tap_options_t){ 0 }, &workers[i].tap) != KNOT_OK) {
			return 1;
		}
		if (kxdp_queue_open(iface, i, &workers[i].queue, &fault) != KNOT_OK) {
			return failed(options->ifname, &fault);
		}
	}
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	for (unsigned i = 0; i < count; i++) {
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
			return 1;
		}
	}
	printf("initialized XDP interface %s, UDP port %u, queues %u, %s mode\n", kxdp_iface_name(iface),
			options->config.listens[0].port, count, kxdp_iface_mode_text(iface));
	fflush(stdout);
	int sig;
	while (sigwait(&signals, &sig) == 0 && sig == SIGUSR1) {
		print_counters(workers, count);
	}
	stopping = true;
	for (unsigned i = 0; i < count; i++) {
		pthread_join(workers[i].thread, NULL);
	}
	print_counters(workers, count);
	for (unsigned i = 0; i < count; i++) {
		kxdp_queue_close(workers[i].queue);
		kxdp_tap_free(workers[i].tap);
	}
	kxdp_iface_close(iface);
	kxdp_priv_stop(priv);
	return 0;
}

static bool add_address(kxdp_listen_t *listen, const char *text)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&listen->addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&listen->addr;
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		return true;
	}
	in6->sin6_family = AF_INET6;
	return inet_pton(AF_INET6, text, &in6->sin6_addr) == 1;
}

int main(int argc, char **argv)
{
	static kxdp_listen_t listens[KXDP_LISTEN_MAX];
	kxdp_options_t options = { .config = { .listens = listens, .udp = true },
		.zero_copy = true,
		.ring_size = KXDP_RING_DEFAULT,
		.busypoll_timeout_us = 20 };
	unsigned port = 53, queues = QUEUES_MAX, reply_len = 0;
	int opt;
	while ((opt = getopt(argc, argv, "p:a:r:l:b:q:B:w:T:tSRcens")) != -1) {
		switch (opt) {
		case 'p': port = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'a':
			if (options.config.listen_count == KXDP_LISTEN_MAX ||
					!add_address(&listens[options.config.listen_count++], optarg)) {
				return 2;
			}
			break;
		case 'r': options.ring_size = (uint32_t)strtoul(optarg, NULL, 10); break;
		case 'l': reply_len = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'b': options.busypoll_budget = (uint16_t)strtoul(optarg, NULL, 10); break;
		case 'q': queues = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'B':
			if (!add_rule(optarg)) {
				return 2;
			}
			break;
		case 't': options.config.tcp = true; break;
		case 'S': options.config.tcp = echoes_tcp = true; break;
		case 'R': options.config.route_check = true; break;
		case 'w': pause_ms = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'T':
			if (!open_tap_file(optarg)) {
				return 2;
			}
			break;
		case 'c': options.zero_copy = false; break;
		case 'e': options.mode = KXDP_MODE_EMULATED; break;
		case 'n': options.mode = KXDP_MODE_NATIVE; break;
		case 's': options.checksum = KXDP_CHECKSUM_STRICT; break;
		default: return 2;
		}
	}
	if (optind + 1 != argc) {
		return 2;
	}
	options.config.listen_count += options.config.listen_count == 0;
	for (size_t i = 0; i < options.config.listen_count; i++) {
		listens[i].port = (uint16_t)port;
	}
	options.ifname = argv[optind];
	return serve(&options, queues < QUEUES_MAX ? queues : QUEUES_MAX, reply_len);
}
