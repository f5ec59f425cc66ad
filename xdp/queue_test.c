/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A queue on rings in plain memory, with the test in the kernel's place: random operations on both sides, and the owner
 * of each frame followed. No socket, no privilege.
 */
#include "xdp/queue.h"

#include "xdp/checksum.h"
#include "xdp/frame_rows.h"
#include "xdp/iface.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { RING = 16, FRAMES = 2 * RING, KEPT = FRAMES / 8, RX_AT = 256, IFINDEX = 7 };

/* The owner of a frame, as the kernel sees it; OURS: the queue or its user. */
typedef enum { OURS, FILL, RECEIVED, SENDING, ON_WIRE, COMPLETED } owner_t;

typedef struct {
	uint32_t producer, consumer, flags;
	uint32_t seen; /* producer or consumer that the test has followed */
	uint64_t addrs[RING];
	struct xdp_desc descs[RING];
} ring_t;

typedef struct {
	uint8_t memory[FRAMES * KXDP_FRAME_SIZE] __attribute__((aligned(4096)));
	ring_t rx, tx, fq, cq;
	owner_t owners[FRAMES];
	uint64_t wire[FRAMES]; /* sent, not completed */
	unsigned wire_count;
	uint64_t received, dropped, sent;
	struct kxdp_iface iface;
	kxdp_queue_t *queue;
} kernel_t;

static kernel_t k;
static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return below > 0 ? seed % below : 0;
}

/* In place of iface.c's, which asks the helper for a socket. */
knot_err_t kxdp_iface_open_socket(kxdp_iface_t *iface, unsigned queue, kxdp_socket_t *ret_socket,
		kxdp_mapping_t *ret_mapping, kxdp_fault_t *ret_fault)
{
	(void)iface, (void)queue, (void)ret_fault;
	*ret_socket = (kxdp_socket_t){ .fd = eventfd(0, EFD_CLOEXEC), .memory_fd = -1, .frame_count = FRAMES };
#define CONSUMER(r, array)                                                                                             \
	{ .mask = RING - 1,                                                                                            \
		.size = RING,                                                                                          \
		.producer = &r.producer,                                                                               \
		.consumer = &r.consumer,                                                                               \
		.flags = &r.flags,                                                                                     \
		.ring = r.array }
#define PRODUCER(r, array)                                                                                             \
	{                                                                                                              \
		.cached_cons = RING, .mask = RING - 1, .size = RING, .producer = &r.producer, .consumer = &r.consumer, \
		.flags = &r.flags, .ring = r.array                                                                     \
	}
	*ret_mapping = (kxdp_mapping_t){
		.rx = CONSUMER(k.rx, descs),
		.cq = CONSUMER(k.cq, addrs),
		.tx = PRODUCER(k.tx, descs),
		.fq = PRODUCER(k.fq, addrs),
		.memory = k.memory,
	};
	for (uint32_t i = 0; i < RING; i++) {
		k.fq.addrs[i] = (uint64_t)i * KXDP_FRAME_SIZE;
	}
	ret_mapping->fq.cached_prod = k.fq.producer = RING;
	return KNOT_OK;
}

/* In place of socket.c's and fault.c's. */
void kxdp_socket_close(kxdp_socket_t *socket, kxdp_mapping_t *mapping)
{
	(void)mapping;
	close(socket->fd);
}

knot_err_t kxdp_fault_errno(kxdp_fault_t *ret_fault, int errnum, const char *ifname, const char *doing)
{
	(void)ret_fault, (void)ifname;
	fail_msg("%s: %s", doing, strerror(errnum));
	return KNOT_ERROR;
}

static void move(uint64_t addr, owner_t from, owner_t to)
{
	size_t frame = addr / KXDP_FRAME_SIZE;
	assert_true(frame < FRAMES);
	if (k.owners[frame] != from) {
		fail_msg("frame %zu goes from %d to %d, but is at %d", frame, from, to, k.owners[frame]);
	}
	k.owners[frame] = to;
}

/* Follow what the queue has done since: submitted frames, and taken others back. */
static void follow(void)
{
	for (; k.rx.seen != k.rx.consumer; k.rx.seen++) {
		move(k.rx.descs[k.rx.seen % RING].addr, RECEIVED, OURS);
	}
	for (; k.cq.seen != k.cq.consumer; k.cq.seen++) {
		move(k.cq.addrs[k.cq.seen % RING], COMPLETED, OURS);
	}
	for (; k.fq.seen != k.fq.producer; k.fq.seen++) {
		move(k.fq.addrs[k.fq.seen % RING], OURS, FILL);
	}
	for (; k.tx.seen != k.tx.producer; k.tx.seen++) {
		const struct xdp_desc *desc = &k.tx.descs[k.tx.seen % RING];
		move(desc->addr, OURS, SENDING);
		assert_true(desc->addr % KXDP_FRAME_SIZE + desc->len <= KXDP_FRAME_SIZE && desc->len >= 60);
	}
}

static void start_queue(void)
{
	memset(&k, 0, sizeof(k));
	k.iface = (struct kxdp_iface){ .ring_size = RING, .mtu = MTU, .index = IFINDEX, .queue_max = 1 };
	kxdp_fault_t fault;
	assert_int_equal(kxdp_queue_open(&k.iface, 0, &k.queue, &fault), KNOT_OK);
	follow();
}

static bool deliver(const row_t *row, const struct filter_meta *meta)
{
	if (k.fq.consumer == k.fq.producer || k.rx.producer - k.rx.consumer == RING) {
		k.dropped++;
		return false;
	}
	uint64_t addr = k.fq.addrs[k.fq.consumer++ % RING] + RX_AT;
	frame_t f;
	build(&f, row);
	memcpy(k.memory + addr, f.bytes, f.len);
	if (meta != NULL) {
		memcpy(k.memory + addr - sizeof(*meta), meta, sizeof(*meta));
	}
	move(addr, FILL, RECEIVED);
	k.rx.descs[k.rx.producer++ % RING] = (struct xdp_desc){ .addr = addr, .len = (uint32_t)f.len };
	k.received++;
	return true;
}

static void transmit(unsigned count)
{
	for (; count > 0 && k.tx.consumer != k.tx.producer; count--) {
		uint64_t addr = k.tx.descs[k.tx.consumer++ % RING].addr;
		move(addr, SENDING, ON_WIRE);
		k.wire[k.wire_count++] = addr;
		k.sent++;
	}
}

/* In any order. */
static void complete(unsigned count)
{
	for (; count > 0 && k.wire_count > 0 && k.cq.producer - k.cq.consumer < RING; count--) {
		uint32_t i = draw(k.wire_count);
		uint64_t addr = k.wire[i];
		k.wire[i] = k.wire[--k.wire_count];
		move(addr, ON_WIRE, COMPLETED);
		k.cq.addrs[k.cq.producer++ % RING] = addr;
	}
}

/* Answer UDP, echo TCP in another frame, drop some. */
static void serve(unsigned max)
{
	kxdp_packet_t packets[KXDP_BATCH_MAX];
	size_t count = kxdp_receive(k.queue, packets, max);
	follow();
	for (size_t i = 0; i < count; i++) {
		kxdp_packet_t *p = &packets[i];
		kxdp_frame_t frame;
		if (p->ip_proto == IPPROTO_UDP && draw(8) != 0) {
			kxdp_reply(k.queue, p, draw(p->payload_max + 1u));
			continue;
		}
		if (p->ip_proto == IPPROTO_TCP && kxdp_frame_take(k.queue, &frame)) {
			assert_int_equal(p->path.ifindex, IFINDEX);
			memcpy(frame.payload, p->payload, p->payload_len);
			uint8_t *start;
			size_t len = kxdp_frame_build(
					&p->path, &p->flow, IPPROTO_TCP, 0, frame.payload, p->payload_len, &start);
			if (draw(8) == 0) {
				kxdp_frame_give_back(k.queue, &frame);
			} else {
				kxdp_send(k.queue, start, len);
			}
		}
		kxdp_drop(k.queue, p);
	}
	kxdp_flush(k.queue);
	follow();
}

static unsigned owned_by(owner_t owner)
{
	unsigned count = 0;
	for (unsigned i = 0; i < FRAMES; i++) {
		count += k.owners[i] == owner;
	}
	return count;
}

/* All is sent and completed: the fill ring is full, and each other frame can be taken, once. */
static void check_nothing_lost(void)
{
	for (unsigned i = 0; i < 4; i++) {
		serve(KXDP_BATCH_MAX);
		transmit(FRAMES);
		complete(FRAMES);
	}
	serve(KXDP_BATCH_MAX);
	assert_int_equal(owned_by(FILL), RING);
	assert_int_equal(owned_by(OURS), RING);
	kxdp_frame_t frames[FRAMES];
	unsigned count = 0;
	bool taken[FRAMES] = { false };
	while (count < FRAMES && kxdp_frame_take(k.queue, &frames[count])) {
		size_t number = (size_t)(frames[count].bytes - k.memory) / KXDP_FRAME_SIZE;
		assert_true(!taken[number] && k.owners[number] == OURS);
		taken[number] = true;
		count++;
	}
	assert_int_equal(count, RING);
	for (unsigned i = 0; i < count; i++) {
		kxdp_frame_give_back(k.queue, &frames[i]);
	}
}

static void test_frames_have_one_owner(void **state)
{
	(void)state;
	static const row_t kinds[] = {
		{ "udp4", .payload_len = 40 },
		{ "udp6", .payload_len = 400, .v6 = true },
		{ "tcp4", .payload_len = 40, .tcp = true },
		{ "tcp6", .payload_len = 1400, .tcp = true, .v6 = true },
		{ "bad", .payload_len = 40, .spoil = { AT_UDP, 7, 1 } },
		{ "options", .payload_len = 40, .extra = "01010100" },
	};
	for (uint32_t round = 1; round <= 200; round++) {
		seed = round * 2654435761u;
		start_queue();
		unsigned slowness = 1 + draw(12); /* of the device */
		for (unsigned step = 0; step < 400; step++) {
			for (unsigned n = draw(RING); n > 0; n--) {
				deliver(&kinds[draw(KNOT_LEN(kinds))], NULL);
			}
			if (draw(slowness) == 0) {
				transmit(draw(RING + 1));
				complete(draw(RING + 1));
			}
			serve(1 + draw(KXDP_BATCH_MAX));
		}
		check_nothing_lost();
		kxdp_stats_t stats;
		kxdp_queue_stats(k.queue, &stats);
		uint64_t judged = 0, batches = 0;
		for (unsigned v = 0; v < KXDP_VERDICT_COUNT; v++) {
			judged += stats.received[v];
		}
		for (unsigned row = 0; row < KXDP_BATCH_ROWS; row++) {
			batches += stats.batches[row];
		}
		assert_int_equal(judged, k.received);
		assert_int_equal(batches, 400 + 5);
		assert_int_equal(stats.replied + stats.sent, k.sent);
		assert_int_equal(stats.of[KXDP_UDP4].received[KXDP_BAD_UDP_CHECKSUM],
				stats.received[KXDP_BAD_UDP_CHECKSUM]);
		assert_int_equal(stats.of[KXDP_TCP4].sent + stats.of[KXDP_TCP6].sent, stats.sent);
		assert_int_equal(stats.of[KXDP_UDP4].replied + stats.of[KXDP_UDP6].replied, stats.replied);
		kxdp_queue_close(k.queue);
	}
}

/* A device that takes frames and never gives them back: what is built ends where half of the frames are, and receiving
 * goes on with the others. */
static void test_sending_never_starves_receiving(void **state)
{
	(void)state;
	for (unsigned taken_by_device = 0; taken_by_device <= RING; taken_by_device += RING / 2) {
		start_queue();
		const row_t row = { "stuck", .payload_len = 40, .tcp = true };
		for (unsigned step = 0; step < 100; step++) {
			while (deliver(&row, NULL)) {}
			serve(KXDP_BATCH_MAX);
			if (k.sent < taken_by_device) {
				transmit(1);
			}
			assert_true(owned_by(SENDING) + owned_by(ON_WIRE) <= RING);
			assert_true(owned_by(FILL) >= RING - KEPT);
		}
		assert_int_equal(owned_by(ON_WIRE), taken_by_device);
		assert_int_equal(owned_by(SENDING) + owned_by(ON_WIRE), RING);
		assert_true(k.received >= 100 * (RING - KEPT));
		check_nothing_lost();
		kxdp_queue_close(k.queue);
	}
}

static size_t receive_flood(const row_t *row, kxdp_packet_t *packets)
{
	while (deliver(row, NULL)) {}
	kxdp_flush(k.queue); /* the receive ring is full, and now the fill ring, too */
	follow();
	size_t count = kxdp_receive(k.queue, packets, 4);
	assert_int_equal(count, 4);
	return count;
}

/* More is received than is served: there still are frames to send with, also when nothing was sent for long. */
static void test_receiving_never_starves_sending(void **state)
{
	(void)state;
	start_queue();
	const row_t row = { "flood", .payload_len = 40, .tcp = true };
	for (unsigned step = 0; step < 100; step++) {
		bool sends = step >= 20;
		kxdp_packet_t packets[4];
		size_t count = receive_flood(&row, packets);
		for (size_t i = 0; i < count; i++) {
			kxdp_frame_t frame;
			if (sends) {
				assert_true(kxdp_frame_take(k.queue, &frame));
				memcpy(frame.bytes, packets[i].frame, packets[i].frame_len);
				assert_true(kxdp_send(k.queue, frame.bytes, packets[i].frame_len));
			}
		}
		for (size_t i = 0; i < count; i++) {
			kxdp_drop(k.queue, &packets[i]);
		}
		kxdp_flush(k.queue);
		follow();
		transmit(FRAMES);
		complete(FRAMES);
	}
	check_nothing_lost();
	kxdp_queue_close(k.queue);
}

/* Replies fill the send ring while a frame is in hand: it is not sent then, and neither lost. */
static void test_full_send_ring(void **state)
{
	(void)state;
	start_queue();
	kxdp_frame_t frame;
	assert_true(kxdp_frame_take(k.queue, &frame));
	const row_t row = { "reply", .payload_len = 40 };
	kxdp_packet_t p;
	for (unsigned i = 0; i < RING; i++) {
		assert_true(deliver(&row, NULL));
		assert_int_equal(kxdp_receive(k.queue, &p, 1), 1);
		assert_true(kxdp_reply(k.queue, &p, 10));
		kxdp_flush(k.queue);
		follow();
	}
	assert_true(deliver(&row, NULL));
	assert_int_equal(kxdp_receive(k.queue, &p, 1), 1);
	memcpy(frame.bytes, p.frame, p.frame_len);
	assert_false(kxdp_send(k.queue, frame.bytes, p.frame_len));
	assert_false(kxdp_reply(k.queue, &p, 10));
	kxdp_stats_t stats;
	kxdp_queue_stats(k.queue, &stats);
	assert_int_equal(stats.replied, RING);
	assert_int_equal(stats.tx_full, 1);
	assert_int_equal(stats.of[KXDP_UDP4].tx_full, 1);
	assert_int_equal(stats.of[KXDP_UDP4].send_full, 1);
	kxdp_flush(k.queue);
	follow();
	check_nothing_lost();
	kxdp_queue_close(k.queue);
}

/* ---- The way of a reply ---- */

static struct filter_meta meta_of(enum filter_way way, uint32_t ifindex, const char *remote, const char *local)
{
	struct filter_meta meta = { .magic = FILTER_META_MAGIC, .way = (uint8_t)way, .ifindex = ifindex };
	memcpy(meta.remote_mac, remote, 6);
	memcpy(meta.local_mac, local, 6);
	return meta;
}

#define CLIENT "\x02\0\0\0\0\x0A"
#define SERVER "\x02\0\0\0\0\x0B"
#define NO_MAC "\0\0\0\0\0\0"

static void test_routes(void **state)
{
	(void)state;
	const struct {
		const char *what;
		struct filter_meta meta;
		const char *tags;
		kxdp_via_t via;
		bool is_routed;
		uint32_t ifindex;
		uint16_t route_mtu, mtu;
	} route_rows[] = {
		{ "no metadata", { 0 }, NULL, KXDP_VIA_KERNEL, true, IFINDEX, 0, MTU },
		{ "back", meta_of(FILTER_WAY_BACK, 0, NO_MAC, NO_MAC), "8100 0005", KXDP_VIA_SAME, false, IFINDEX, 0,
				MTU },
		{ "kernel", meta_of(FILTER_WAY_KERNEL, 0, NO_MAC, NO_MAC), NULL, KXDP_VIA_KERNEL, true, IFINDEX, 0,
				MTU },
		{ "the way it came", meta_of(FILTER_WAY_ROUTE, IFINDEX, CLIENT, SERVER), NULL, KXDP_VIA_SAME, false,
				IFINDEX, 0, MTU },
		{ "another next hop", meta_of(FILTER_WAY_ROUTE, IFINDEX, "router", SERVER), NULL, KXDP_VIA_SAME, true,
				IFINDEX, 0, MTU },
		{ "without the query's tag", meta_of(FILTER_WAY_ROUTE, IFINDEX, CLIENT, SERVER), "8100 0005",
				KXDP_VIA_SAME, true, IFINDEX, 0, MTU },
		{ "another interface", meta_of(FILTER_WAY_ROUTE, 9, "router", "uplink"), NULL, KXDP_VIA_OTHER, true, 9,
				0, MTU },
		{ "narrow route", meta_of(FILTER_WAY_ROUTE, IFINDEX, CLIENT, SERVER), NULL, KXDP_VIA_SAME, false,
				IFINDEX, 1280, 1280 },
		{ "wide route on this link", meta_of(FILTER_WAY_ROUTE, IFINDEX, CLIENT, SERVER), NULL, KXDP_VIA_SAME,
				false, IFINDEX, 9000, MTU },
		{ "wide route elsewhere", meta_of(FILTER_WAY_ROUTE, 9, CLIENT, SERVER), NULL, KXDP_VIA_OTHER, true, 9,
				9000, 9000 },
	};
	for (size_t i = 0; i < 4 * KNOT_LEN(route_rows); i++) {
		start_queue();
		k.iface.route_check = true;
		const row_t row = {
			.payload_len = 40, .v6 = (i & 1) != 0, .tcp = (i & 2) != 0, .tags = route_rows[i / 4].tags
		};
		struct filter_meta meta = route_rows[i / 4].meta;
		meta.mtu = route_rows[i / 4].route_mtu;
		kxdp_packet_t p;
		assert_int_equal(kxdp_receive(k.queue, &p, 1), 0);
		/* Switched on by the first batch that has packets: these go through the kernel. */
		deliver(&row, &meta);
		assert_int_equal(kxdp_receive(k.queue, &p, 1), 1);
		assert_int_equal(p.path.via, KXDP_VIA_KERNEL);
		kxdp_drop(k.queue, &p);
		deliver(&row, &meta);
		assert_int_equal(kxdp_receive(k.queue, &p, 1), 1);
		if (p.path.via != route_rows[i / 4].via || p.is_routed != route_rows[i / 4].is_routed ||
				p.path.ifindex != route_rows[i / 4].ifindex || p.path.mtu != route_rows[i / 4].mtu) {
			fail_msg("%s: via %d, routed %d, ifindex %u, mtu %u", route_rows[i / 4].what, p.path.via,
					p.is_routed, p.path.ifindex, p.path.mtu);
		}
		if (!row.tcp) {
			unsigned mtu = p.path.mtu < MTU ? p.path.mtu : MTU;
			assert_int_equal(p.payload_max, mtu - (row.v6 ? 48 : 28));
		}
		kxdp_drop(k.queue, &p);
		kxdp_flush(k.queue);
		/*
		 * The next packet in the same frame comes without metadata: that of this one must not be taken for it.
		 */
		assert_int_equal(load_raw16(p.frame - sizeof(meta)), 0);
		follow();
		kxdp_queue_close(k.queue);
	}
}

/* ---- Waiting, taps ---- */

/* How long it took, until nothing happened. */
static int64_t wait_ms(int timeout_ms, int wake_fd)
{
	struct timespec begin, end;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	assert_int_equal(kxdp_wait(k.queue, timeout_ms, wake_fd), 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
}

/* What was sent from a frame is no metadata of what is received into it: a reply's bytes are the asker's choice. */
static void test_sent_bytes_are_no_metadata(void **state)
{
	(void)state;
	start_queue();
	k.iface.route_check = true;
	const struct filter_meta forged = meta_of(FILTER_WAY_ROUTE, IFINDEX + 1, CLIENT, SERVER);
	const row_t row = { "no metadata", .payload_len = 40 };
	for (unsigned step = 0; step < 4 * FRAMES; step++) {
		kxdp_packet_t p;
		kxdp_frame_t frame;
		assert_true(deliver(&row, NULL));
		assert_int_equal(kxdp_receive(k.queue, &p, 1), 1);
		assert_int_equal(p.path.via, KXDP_VIA_KERNEL);
		assert_true(kxdp_frame_take(k.queue, &frame));
		memcpy(frame.bytes, p.frame, p.frame_len);
		memcpy(frame.bytes + RX_AT - sizeof(forged), &forged, sizeof(forged));
		assert_true(kxdp_send(k.queue, frame.bytes, RX_AT));
		kxdp_drop(k.queue, &p);
		kxdp_flush(k.queue);
		follow();
		transmit(FRAMES);
		complete(FRAMES);
	}
	kxdp_queue_close(k.queue);
}

static void test_wait(void **state)
{
	(void)state;
	start_queue();
	int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_int_equal(kxdp_wait(k.queue, 0, -1), 0);
	assert_int_equal(kxdp_wait(k.queue, 0, wake_fd), 0);
	eventfd_write(wake_fd, 1);
	assert_int_equal(kxdp_wait(k.queue, -1, wake_fd), KXDP_WAIT_WOKEN);
	deliver(&(row_t){ .payload_len = 40 }, NULL);
	assert_int_equal(kxdp_wait(k.queue, -1, wake_fd), KXDP_WAIT_PACKETS);
	serve(1);
	eventfd_t value;
	eventfd_read(wake_fd, &value);
	/* No frame to send with: they are with the device, which may be done with them soon. The wait is short. */
	kxdp_frame_t frame;
	while (kxdp_frame_take(k.queue, &frame)) {
		kxdp_send(k.queue, frame.bytes, 60);
	}
	kxdp_flush(k.queue);
	follow();
	transmit(FRAMES);
	assert_true(wait_ms(60000, wake_fd) < 30000);
	assert_true(wait_ms(100, wake_fd) >= 99); /* no frame was asked for since */
	assert_false(kxdp_frame_take(k.queue, &frame));
	assert_true(wait_ms(60000, wake_fd) < 30000);
	close(wake_fd);
	kxdp_queue_close(k.queue);
}

static void test_tap(void **state)
{
	(void)state;
	start_queue();
	kxdp_tap_t *tap = NULL;
	assert_int_equal(kxdp_tap_new(&(kxdp_tap_options_t){ 0 }, &tap), KNOT_OK);
	static const row_t shown[] = {
		{ "good", .payload_len = 40 },
		{ "bad", .payload_len = 41, .spoil = { AT_UDP, 7, 1 } },
	};
	kxdp_queue_tap(k.queue, tap, 12345);
	deliver(&shown[0], NULL);
	deliver(&shown[1], NULL);
	kxdp_packet_t p;
	assert_int_equal(kxdp_receive(k.queue, &p, 2), 1);
	assert_true(kxdp_reply(k.queue, &p, 30));
	kxdp_flush(k.queue);
	kxdp_queue_tap(k.queue, NULL, 0);
	deliver(&shown[0], NULL);
	serve(1);
	kxdp_tap_record_t record;
	for (size_t i = 0; i < 2; i++) {
		frame_t f;
		build(&f, &shown[i]);
		assert_true(kxdp_tap_next(tap, &record));
		assert_int_equal(record.direction, KXDP_INBOUND);
		assert_int_equal(record.time_ns, 12345);
		assert_int_equal(record.len, f.len);
		assert_memory_equal(record.bytes, f.bytes, f.len);
	}
	assert_true(kxdp_tap_next(tap, &record));
	assert_int_equal(record.direction, KXDP_OUTBOUND);
	assert_int_equal(record.len, 14 + 28 + 30);
	assert_memory_equal(record.bytes, macs[0], 6);
	assert_false(kxdp_tap_next(tap, &record));
	kxdp_queue_close(k.queue);
	kxdp_tap_free(tap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_have_one_owner),
		cmocka_unit_test(test_sending_never_starves_receiving),
		cmocka_unit_test(test_receiving_never_starves_sending),
		cmocka_unit_test(test_full_send_ring),
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_sent_bytes_are_no_metadata),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_tap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
