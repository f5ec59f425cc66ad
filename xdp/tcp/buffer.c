/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes: input in one piece per connection, as its reader wants it; output in chunks, as it goes away from the front.
 * Both come from slabs of four sizes.
 */
#include "xdp/tcp/stack.h"

#include <assert.h>

enum {
	CLASS_SMALL = 0,
	CLASS_BIG = 1,  /* of output, too */
	CLASS_BIT = 31, /* of a chunk's number: it is a big one */
	SMALL_MOST = 4, /* small chunks for what fits in so many: a big one would be mostly empty */
};

static const uint32_t class_sizes[BUFFER_CLASSES] = { 512, 4096, 32768, IN_MAX };
static const uint32_t class_shifts[BUFFER_CLASSES] = { 9, 6, 3, 1 }; /* 256 KiB at once */

typedef struct {
	uint32_t next; /* chunk */
	uint16_t start, len;
	uint8_t bytes[];
} chunk_t;

void tcp_buffers_init(kxdp_tcp_t *tcp)
{
	for (size_t i = 0; i < BUFFER_CLASSES; i++) {
		kxdp_slab_init(&tcp->buffers[i], class_sizes[i], class_shifts[i]);
	}
}

void tcp_buffers_done(kxdp_tcp_t *tcp)
{
	for (size_t i = 0; i < BUFFER_CLASSES; i++) {
		kxdp_slab_done(&tcp->buffers[i]);
	}
}

uint64_t tcp_buffers_memory(const kxdp_tcp_t *tcp)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < BUFFER_CLASSES; i++) {
		sum += kxdp_slab_memory(&tcp->buffers[i]);
	}
	return sum;
}

/* ---- input ---- */

uint8_t *tcp_in_bytes(const kxdp_tcp_t *tcp, const busy_t *busy)
{
	return (uint8_t *)kxdp_slab_at(&tcp->buffers[busy->in_class], busy->in) + busy->in_start;
}

/* Bytes from in_start to the end of what is kept, ranges included; holes are copied along. */
static uint32_t in_extent(const kxdp_tcp_t *tcp, const busy_t *busy)
{
	if (busy->range_count == 0) {
		return busy->in_len;
	}
	return busy->in_len + (busy->ranges[busy->range_count - 1].to - conn_at(tcp, busy->conn)->rcv_nxt);
}

static uint8_t class_of(uint32_t len)
{
	uint8_t class = 0;
	while (class < BUFFER_CLASSES - 1 && class_sizes[class] < len) {
		class ++;
	}
	return class;
}

static bool make_in_room(kxdp_tcp_t *tcp, const busy_t *busy, uint32_t more, bool may_reclaim)
{
	while (tcp->stats.inbuf + more > tcp->limits.inbuf_max) {
		if (!may_reclaim || !tcp_reclaim_input(tcp, busy->conn)) {
			return false;
		}
	}
	return true;
}

bool tcp_in_reserve(kxdp_tcp_t *tcp, busy_t *busy, uint32_t len, bool may_reclaim)
{
	if (len > IN_MAX) {
		return false;
	}
	if (busy->in != 0 && busy->in_start + len <= busy->in_room) {
		return true;
	}
	if (busy->in != 0 && len <= busy->in_room) {
		uint8_t *bytes = tcp_in_bytes(tcp, busy);
		memmove(bytes - busy->in_start, bytes, in_extent(tcp, busy));
		busy->in_start = 0;
		return true;
	}
	uint8_t class = class_of(len);
	if (!make_in_room(tcp, busy, class_sizes[class] - busy->in_room, may_reclaim)) {
		return false;
	}
	uint32_t number = kxdp_slab_take(&tcp->buffers[class]);
	if (number == 0) {
		return false;
	}
	uint32_t busy_number = conn_at(tcp, busy->conn)->busy;
	if (busy->in != 0) {
		memcpy(kxdp_slab_at(&tcp->buffers[class], number), tcp_in_bytes(tcp, busy), in_extent(tcp, busy));
		kxdp_slab_give_back(&tcp->buffers[busy->in_class], busy->in);
	} else {
		list_append(&tcp->busies, offsetof(busy_t, in_link), &tcp->readers, busy_number);
	}
	stat_add(&tcp->stats.inbuf, class_sizes[class] - busy->in_room);
	busy->in = number;
	busy->in_class = class;
	busy->in_start = 0;
	busy->in_room = class_sizes[class];
	return true;
}

void tcp_in_drop(kxdp_tcp_t *tcp, busy_t *busy, uint32_t len)
{
	assert(len <= busy->in_len);
	busy->in_start += len;
	busy->in_len -= len;
	if (busy->in_len == 0 && busy->range_count == 0) {
		tcp_in_free(tcp, busy);
	} else if (len > 0) {
		/* Not the longest kept any more. */
		uint32_t busy_number = conn_at(tcp, busy->conn)->busy;
		list_remove(&tcp->busies, offsetof(busy_t, in_link), &tcp->readers, busy_number);
		list_append(&tcp->busies, offsetof(busy_t, in_link), &tcp->readers, busy_number);
	}
}

void tcp_in_free(kxdp_tcp_t *tcp, busy_t *busy)
{
	if (busy->in == 0) {
		return;
	}
	list_remove(&tcp->busies, offsetof(busy_t, in_link), &tcp->readers, conn_at(tcp, busy->conn)->busy);
	kxdp_slab_give_back(&tcp->buffers[busy->in_class], busy->in);
	stat_sub(&tcp->stats.inbuf, busy->in_room);
	busy->in = busy->in_start = busy->in_len = busy->in_room = 0;
	busy->range_count = 0;
}

/* ---- output ---- */

static kxdp_slab_t *chunk_slab(kxdp_tcp_t *tcp, uint32_t chunk)
{
	return &tcp->buffers[chunk >> CLASS_BIT ? CLASS_BIG : CLASS_SMALL];
}

static chunk_t *chunk_at(kxdp_tcp_t *tcp, uint32_t chunk)
{
	return kxdp_slab_at(chunk_slab(tcp, chunk), chunk & ~(1u << CLASS_BIT));
}

static uint32_t chunk_room(uint32_t chunk)
{
	return class_sizes[chunk >> CLASS_BIT ? CLASS_BIG : CLASS_SMALL] - (uint32_t)sizeof(chunk_t);
}

static void chunk_free(kxdp_tcp_t *tcp, uint32_t chunk)
{
	kxdp_slab_give_back(chunk_slab(tcp, chunk), chunk & ~(1u << CLASS_BIT));
}

/* A chunk for `len` bytes, or for the first of them. 0: no memory. */
static uint32_t chunk_new(kxdp_tcp_t *tcp, uint32_t len)
{
	bool is_big = len > SMALL_MOST * (class_sizes[CLASS_SMALL] - sizeof(chunk_t));
	uint32_t chunk = kxdp_slab_take(&tcp->buffers[is_big ? CLASS_BIG : CLASS_SMALL]);
	if (chunk == 0) {
		return 0;
	}
	chunk |= (uint32_t)is_big << CLASS_BIT;
	chunk_t *at = chunk_at(tcp, chunk);
	at->next = 0;
	at->start = at->len = 0;
	return chunk;
}

/* Chunks with bytes[0..len). 0: no memory. */
static uint32_t chain_new(kxdp_tcp_t *tcp, const uint8_t *bytes, uint32_t len, uint32_t *ret_tail)
{
	uint32_t head = 0, tail = 0;
	while (len > 0) {
		uint32_t chunk = chunk_new(tcp, len);
		if (chunk == 0) {
			for (uint32_t next; head != 0; head = next) {
				next = chunk_at(tcp, head)->next;
				chunk_free(tcp, head);
			}
			return 0;
		}
		chunk_t *at = chunk_at(tcp, chunk);
		at->len = (uint16_t)min_u32(len, chunk_room(chunk));
		memcpy(at->bytes, bytes, at->len);
		bytes += at->len;
		len -= at->len;
		if (tail != 0) {
			chunk_at(tcp, tail)->next = chunk;
		} else {
			head = chunk;
		}
		tail = chunk;
	}
	*ret_tail = tail;
	return head;
}

bool tcp_out_append(kxdp_tcp_t *tcp, conn_t *conn, busy_t *busy, const uint8_t *bytes, uint32_t len)
{
	uint32_t spare = 0, tail = 0, chain = 0;
	if (busy->out_tail != 0) {
		const chunk_t *last = chunk_at(tcp, busy->out_tail);
		spare = min_u32(len, chunk_room(busy->out_tail) - last->start - last->len);
	}
	if (len > spare) {
		chain = chain_new(tcp, bytes + spare, len - spare, &tail);
		if (chain == 0) {
			return false;
		}
	}
	if (spare > 0) {
		chunk_t *last = chunk_at(tcp, busy->out_tail);
		memcpy(last->bytes + last->start + last->len, bytes, spare);
		last->len = (uint16_t)(last->len + spare);
	}
	if (busy->out_head == 0) {
		busy->out_head = chain;
		busy->out_stamp_ms = busy->writer_stamp_ms = ms_of(tcp->now_us);
		list_append(&tcp->busies, offsetof(busy_t, out_link), &tcp->writers, conn->busy);
	} else if (chain != 0) {
		chunk_at(tcp, busy->out_tail)->next = chain;
	}
	busy->out_tail = chain != 0 ? tail : busy->out_tail;
	busy->out_len += len;
	stat_add(&tcp->stats.outbuf, len);
	return true;
}

void tcp_out_copy(kxdp_tcp_t *tcp, const conn_t *conn, busy_t *busy, uint32_t off, uint8_t *to, uint32_t len)
{
	assert(off + len <= busy->out_len);
	/* From where the last copy ended, or from the start: never far. */
	uint32_t chunk = busy->out_head, at_off = 0;
	if (busy->cursor != 0 && busy->cursor_seq - conn->snd_una <= off) {
		chunk = busy->cursor;
		at_off = busy->cursor_seq - conn->snd_una;
	}
	for (;;) {
		const chunk_t *at = chunk_at(tcp, chunk);
		if (off < at_off + at->len) {
			uint32_t in_chunk = off - at_off, count = min_u32(len, at->len - in_chunk);
			memcpy(to, at->bytes + at->start + in_chunk, count);
			to += count;
			off += count;
			len -= count;
		}
		if (len == 0) {
			break;
		}
		at_off += at->len;
		chunk = at->next;
	}
	/* A cursor inside of the first chunk would move with its start. */
	busy->cursor = chunk != busy->out_head ? chunk : 0;
	busy->cursor_seq = conn->snd_una + at_off;
}

void tcp_out_drop(kxdp_tcp_t *tcp, const conn_t *conn, busy_t *busy, uint32_t len)
{
	if (len == 0) {
		return;
	}
	busy->out_len -= len;
	stat_sub(&tcp->stats.outbuf, len);
	uint32_t passed = (conn->snd_una - len) ^ conn->snd_una;
	if (busy->out_len == 0 || passed >> PROGRESS_SHIFT != 0) {
		busy->out_stamp_ms = ms_of(tcp->now_us);
	}
	if (busy->out_len == 0 || passed >> OUT_PROGRESS_SHIFT != 0) {
		list_remove(&tcp->busies, offsetof(busy_t, out_link), &tcp->writers, conn->busy);
	}
	if (busy->out_len > 0 && passed >> OUT_PROGRESS_SHIFT != 0) {
		busy->writer_stamp_ms = ms_of(tcp->now_us);
		list_append(&tcp->busies, offsetof(busy_t, out_link), &tcp->writers, conn->busy);
	}
	while (len > 0) {
		chunk_t *at = chunk_at(tcp, busy->out_head);
		if (at->len > len) {
			at->start = (uint16_t)(at->start + len);
			at->len = (uint16_t)(at->len - len);
			break;
		}
		uint32_t chunk = busy->out_head;
		len -= at->len;
		busy->out_head = at->next;
		chunk_free(tcp, chunk);
	}
	busy->out_tail = busy->out_head != 0 ? busy->out_tail : 0;
	/* The chunk that the cursor is at may be the first one now, or gone. */
	if (busy->cursor != 0 && (busy->out_head == 0 || busy->out_head == busy->cursor ||
						 seq_before(busy->cursor_seq, conn->snd_una))) {
		busy->cursor = 0;
	}
}
