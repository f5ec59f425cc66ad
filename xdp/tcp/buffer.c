/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes: input in one piece per connection, as its reader wants it; output in chunks, as it goes away from the front.
 * Both come from slabs of a few sizes, input and output from slabs of their own.
 *
 * Limits. `inbuf_max` and `outbuf_max` bound what the slabs of their side have mapped, so that memory that isn't in use
 * counts, too: when all of it is mapped and no item of the right size is free, first empty chunks of the other sizes go
 * back to the system, and then the greediest source loses its oldest connection (share.c). A few chunks of each size
 * may be there whatever the limit (class_leasts). What is in use is also compared with the limits, byte by byte, which
 * makes a difference only for limits of less than a few chunks.
 */
#include "xdp/tcp/stack.h"

#include "libknot/base/assert.h"

enum {
	CLASS_SMALL = 0,
	CLASS_BIG = 1,  /* of output, too */
	CLASS_BIT = 31, /* of a chunk's number: it is a big one */
	SMALL_MOST = 4, /* bytes that fit in this many small chunks go there: a big one would be mostly empty */
	/* Connections that are reset for one buffer, at most. Mostly it is one: more only where what they hold is
	   spread over many chunks of the slab. */
	RECLAIM_MOST = 256,
};

static const uint32_t class_sizes[BUFFER_CLASSES] = { 512, 4096, 32768, IN_MAX };
static const uint32_t class_shifts[BUFFER_CLASSES] = { 8, 5, 2, 0 }; /* 128 KiB at once */
/* Chunks that may be mapped whatever the limit: enough for all that one connection may have (OUT_MAX). Otherwise one
 * reply could find no room although all other connections were reset for it. */
static const uint32_t class_leasts[SIDE_COUNT][BUFFER_CLASSES] = { { 1, 1, 1, 1 }, { 1, 3 } };
static const unsigned class_counts[SIDE_COUNT] = { [SIDE_IN] = BUFFER_CLASSES, [SIDE_OUT] = CLASS_BIG + 1 };

/** Of output. */
typedef struct {
	uint32_t next; /* chunk */
	uint16_t start, len;
	uint8_t bytes[];
} chunk_t;

void tcp_buffers_init(kxdp_tcp_t *tcp)
{
	for (unsigned side = 0; side < SIDE_COUNT; side++) {
		for (unsigned i = 0; i < class_counts[side]; i++) {
			assert(class_sizes[i] % UNIT == 0);
			kxdp_slab_init(&tcp->buffers[side][i], class_sizes[i], class_shifts[i]);
		}
	}
}

void tcp_buffers_done(kxdp_tcp_t *tcp)
{
	for (unsigned side = 0; side < SIDE_COUNT; side++) {
		for (unsigned i = 0; i < class_counts[side]; i++) {
			kxdp_slab_done(&tcp->buffers[side][i]);
		}
	}
}

uint64_t tcp_buffers_memory(const kxdp_tcp_t *tcp)
{
	uint64_t sum = 0;
	for (unsigned side = 0; side < SIDE_COUNT; side++) {
		for (unsigned i = 0; i < class_counts[side]; i++) {
			sum += kxdp_slab_memory(&tcp->buffers[side][i]);
		}
	}
	return sum;
}

/* ---- items ---- */

static uint64_t buffer_mapped(const kxdp_tcp_t *tcp, side_t side)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < class_counts[side]; i++) {
		sum += kxdp_slab_mapped(&tcp->buffers[side][i]);
	}
	return sum;
}

/* May one more chunk of this slab be mapped? Empty chunks of other sizes make room for it. */
static bool buffer_may_map(kxdp_tcp_t *tcp, side_t side, unsigned class)
{
	const kxdp_slab_t *slab = &tcp->buffers[side][class];
	uint64_t len = kxdp_slab_chunk_len(slab);
	uint64_t most = side == SIDE_IN ? tcp->limits.inbuf_max : tcp->limits.outbuf_max;
	if (slab->mapped_count < class_leasts[side][class] || buffer_mapped(tcp, side) + len <= most) {
		return true;
	}
	for (unsigned i = 0; i < class_counts[side]; i++) {
		kxdp_slab_trim(&tcp->buffers[side][i], 0, UINT32_MAX);
	}
	return buffer_mapped(tcp, side) + len <= most;
}

/* As buffer_take_item(), when the slab has nothing free. */
static uint32_t buffer_force_item(kxdp_tcp_t *tcp, side_t side, unsigned class, uint32_t spared, bool may_reclaim)
{
	kxdp_slab_t *slab = &tcp->buffers[side][class];
	unsigned left = may_reclaim ? RECLAIM_MOST : 0;
	while (!kxdp_slab_has_free(slab) && !buffer_may_map(tcp, side, class)) {
		if (left-- == 0 || !tcp_share_reclaim(tcp, side, spared)) {
			return 0;
		}
	}
	return kxdp_slab_take(slab);
}

/* An item for `spared`, a connection. may_reclaim: others may be reset for it. 0: a limit or no memory. */
static inline uint32_t buffer_take_item(kxdp_tcp_t *tcp, side_t side, unsigned class, uint32_t spared, bool may_reclaim)
{
	assert(class < class_counts[side]);
	kxdp_slab_t *slab = &tcp->buffers[side][class];
	if (kxdp_slab_has_free(slab)) {
		return kxdp_slab_take(slab);
	}
	return buffer_force_item(tcp, side, class, spared, may_reclaim);
}

/* ---- input ---- */

uint8_t *tcp_in_bytes(const kxdp_tcp_t *tcp, const busy_t *busy)
{
	return (uint8_t *)kxdp_slab_at(&tcp->buffers[SIDE_IN][busy->in_class], busy->in) + busy->in_start;
}

/* Bytes from in_start to the end of what is kept, ranges included; holes are copied along. */
static uint32_t buffer_in_extent(const kxdp_tcp_t *tcp, const busy_t *busy)
{
	if (busy->range_count == 0) {
		return busy->in_len;
	}
	return busy->in_len + (busy->ranges[busy->range_count - 1].to - conn_at(tcp, busy->conn)->rcv_nxt);
}

static uint8_t buffer_class_of(uint32_t len)
{
	assert(len <= IN_MAX);
	uint8_t class = 0;
	while (class_sizes[class] < len) {
		class ++;
	}
	return class;
}

/* Does a buffer that is `more` bytes longer keep within the share of the source, and the limit of all? */
static bool buffer_make_in_room(kxdp_tcp_t *tcp, const busy_t *busy, uint32_t more, bool may_reclaim)
{
	const conn_t *conn = conn_at(tcp, busy->conn);
	uint64_t most = tcp->limits.in_source_max;
	while (most != 0 && tcp_share_held(tcp, conn, SIDE_IN) + more > most) {
		if (!may_reclaim || !tcp_share_reclaim_own(tcp, SIDE_IN, busy->conn)) {
			return false;
		}
	}
	while (tcp->stats.inbuf + more > tcp->limits.inbuf_max) {
		if (!may_reclaim || !tcp_share_reclaim(tcp, SIDE_IN, busy->conn)) {
			return false;
		}
	}
	return true;
}

/* Another item of a larger class, or the first one. */
static bool buffer_grow_in(kxdp_tcp_t *tcp, busy_t *busy, uint8_t class, bool may_reclaim)
{
	conn_t *conn = conn_at(tcp, busy->conn);
	uint32_t more = class_sizes[class] - busy->in_room;
	if (!buffer_make_in_room(tcp, busy, more, may_reclaim)) {
		return false;
	}
	uint32_t number = buffer_take_item(tcp, SIDE_IN, class, busy->conn, may_reclaim);
	if (number == 0) {
		return false;
	}
	kxdp_slab_t *slabs = tcp->buffers[SIDE_IN];
	share_t *share = tcp_share_add(tcp, conn, SIDE_IN, more / UNIT);
	if (share == NULL) {
		kxdp_slab_give_back(&slabs[class], number);
		return false;
	}
	if (busy->in != 0) {
		memcpy(kxdp_slab_at(&slabs[class], number), tcp_in_bytes(tcp, busy), buffer_in_extent(tcp, busy));
		kxdp_slab_give_back(&slabs[busy->in_class], busy->in);
	} else {
		tcp_share_enlist(tcp, share, SIDE_IN, conn->busy);
	}
	stat_add(&tcp->stats.inbuf, more);
	busy->in = number;
	busy->in_class = class;
	busy->in_start = 0;
	busy->in_room = class_sizes[class];
	return true;
}

bool tcp_in_reserve(kxdp_tcp_t *tcp, busy_t *busy, uint32_t len, bool may_reclaim)
{
	assert(len > 0 && (busy->in == 0) == (busy->in_room == 0));
	if (len > IN_MAX) {
		return false;
	}
	if (busy->in != 0 && busy->in_start + len <= busy->in_room) {
		return true;
	}
	if (busy->in != 0 && len <= busy->in_room) {
		uint8_t *bytes = tcp_in_bytes(tcp, busy);
		memmove(bytes - busy->in_start, bytes, buffer_in_extent(tcp, busy));
		busy->in_start = 0;
		return true;
	}
	return buffer_grow_in(tcp, busy, buffer_class_of(len), may_reclaim);
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
		const conn_t *conn = conn_at(tcp, busy->conn);
		share_t *share = share_of(tcp, conn);
		tcp_share_delist(tcp, share, SIDE_IN, conn->busy);
		tcp_share_enlist(tcp, share, SIDE_IN, conn->busy);
	}
}

void tcp_in_free(kxdp_tcp_t *tcp, busy_t *busy)
{
	if (busy->in == 0) {
		return;
	}
	const conn_t *conn = conn_at(tcp, busy->conn);
	share_t *share = share_of(tcp, conn);
	tcp_share_delist(tcp, share, SIDE_IN, conn->busy);
	tcp_share_sub(tcp, share, SIDE_IN, busy->in_room / UNIT);
	kxdp_slab_give_back(&tcp->buffers[SIDE_IN][busy->in_class], busy->in);
	stat_sub(&tcp->stats.inbuf, busy->in_room);
	busy->in = busy->in_start = busy->in_len = busy->in_room = 0;
	busy->range_count = 0;
}

/* ---- output ---- */

static unsigned buffer_chunk_class(uint32_t chunk)
{
	return chunk >> CLASS_BIT ? CLASS_BIG : CLASS_SMALL;
}

static uint32_t buffer_chunk_units(uint32_t chunk)
{
	return class_sizes[buffer_chunk_class(chunk)] / UNIT;
}

static chunk_t *buffer_chunk_at(kxdp_tcp_t *tcp, uint32_t chunk)
{
	return kxdp_slab_at(&tcp->buffers[SIDE_OUT][buffer_chunk_class(chunk)], chunk & ~(1u << CLASS_BIT));
}

static uint32_t buffer_chunk_room(uint32_t chunk)
{
	return class_sizes[buffer_chunk_class(chunk)] - (uint32_t)sizeof(chunk_t);
}

static void buffer_free_chunk(kxdp_tcp_t *tcp, uint32_t chunk)
{
	kxdp_slab_give_back(&tcp->buffers[SIDE_OUT][buffer_chunk_class(chunk)], chunk & ~(1u << CLASS_BIT));
}

/* A chunk for `len` bytes of connection `number`, or for the first of them. 0: no memory. */
static uint32_t buffer_new_chunk(kxdp_tcp_t *tcp, uint32_t number, uint32_t len)
{
	bool is_big = len > SMALL_MOST * (class_sizes[CLASS_SMALL] - sizeof(chunk_t));
	uint32_t chunk = buffer_take_item(tcp, SIDE_OUT, is_big ? CLASS_BIG : CLASS_SMALL, number, true);
	if (chunk == 0) {
		return 0;
	}
	chunk |= (uint32_t)is_big << CLASS_BIT;
	*buffer_chunk_at(tcp, chunk) = (chunk_t){ 0 };
	return chunk;
}

/** Chunks that follow each other. */
typedef struct {
	uint32_t head, tail; /* 0: none */
	uint32_t units;
} chain_t;

static void buffer_free_chain(kxdp_tcp_t *tcp, chain_t chain)
{
	for (uint32_t chunk = chain.head, next; chunk != 0; chunk = next) {
		next = buffer_chunk_at(tcp, chunk)->next;
		buffer_free_chunk(tcp, chunk);
	}
}

/* Chunks with bytes[0..len) for connection `number`. False: no memory. */
static bool buffer_new_chain(kxdp_tcp_t *tcp, uint32_t number, const uint8_t *bytes, uint32_t len, chain_t *ret_chain)
{
	chain_t chain = { 0 };
	do {
		uint32_t chunk = buffer_new_chunk(tcp, number, len);
		if (chunk == 0) {
			buffer_free_chain(tcp, chain);
			return false;
		}
		chunk_t *at = buffer_chunk_at(tcp, chunk);
		at->len = (uint16_t)min_u32(len, buffer_chunk_room(chunk));
		memcpy(at->bytes, bytes, at->len);
		bytes += at->len;
		len -= at->len;
		if (chain.tail != 0) {
			buffer_chunk_at(tcp, chain.tail)->next = chunk;
		} else {
			chain.head = chunk;
		}
		chain.tail = chunk;
		chain.units += buffer_chunk_units(chunk);
	} while (len > 0);
	*ret_chain = chain;
	return true;
}

/*
 * Others are reset until `len` more bytes keep within the limits. False: there is none left to be reset.
 *
 * Beyond the share of the source they are reset when half of all is in use, not before: in memory that is not wanted by
 * others, transfers to slow readers behind one address harm no one.
 */
static bool buffer_make_out_room(kxdp_tcp_t *tcp, uint32_t number, uint32_t len)
{
	uint64_t share = tcp->limits.out_source_max;
	if (share != 0 && tcp->stats.outbuf + len > tcp->limits.outbuf_max / 2 &&
			tcp_share_held(tcp, conn_at(tcp, number), SIDE_OUT) + len > share) {
		tcp_share_drop_stalled(tcp, number, len);
	}
	while (tcp->stats.outbuf + len > tcp->limits.outbuf_max) {
		if (!tcp_share_reclaim(tcp, SIDE_OUT, number)) {
			return false;
		}
	}
	return true;
}

bool tcp_out_append(kxdp_tcp_t *tcp, conn_t *conn, busy_t *busy, const uint8_t *bytes, uint32_t len)
{
	assert(len > 0 && (busy->out_head == 0) == (busy->out_len == 0));
	uint32_t spare = 0;
	chain_t chain = { 0 };
	if (busy->out_tail != 0) {
		const chunk_t *last = buffer_chunk_at(tcp, busy->out_tail);
		spare = min_u32(len, buffer_chunk_room(busy->out_tail) - last->start - last->len);
	}
	if (!buffer_make_out_room(tcp, busy->conn, len)) {
		return false;
	}
	share_t *share = NULL;
	if (len > spare) {
		if (!buffer_new_chain(tcp, busy->conn, bytes + spare, len - spare, &chain)) {
			return false;
		}
		share = tcp_share_add(tcp, conn, SIDE_OUT, chain.units);
		if (share == NULL) {
			buffer_free_chain(tcp, chain);
			return false;
		}
	}
	if (spare > 0) {
		chunk_t *last = buffer_chunk_at(tcp, busy->out_tail);
		memcpy(last->bytes + last->start + last->len, bytes, spare);
		last->len = (uint16_t)(last->len + spare);
	}
	if (busy->out_head == 0) {
		busy->out_head = chain.head;
		busy->out_stamp_ms = busy->writer_stamp_ms = ms_of(tcp->now_us);
		tcp_share_enlist(tcp, share, SIDE_OUT, conn->busy);
	} else if (chain.head != 0) {
		buffer_chunk_at(tcp, busy->out_tail)->next = chain.head;
	}
	busy->out_tail = chain.head != 0 ? chain.tail : busy->out_tail;
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
		const chunk_t *at = buffer_chunk_at(tcp, chunk);
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

/* The first `len` bytes leave their chunks. Returns the units of those chunks that go. */
static uint32_t buffer_drop_chain(kxdp_tcp_t *tcp, busy_t *busy, uint32_t len)
{
	uint32_t units = 0;
	while (len > 0) {
		uint32_t chunk = busy->out_head;
		chunk_t *at = buffer_chunk_at(tcp, chunk);
		if (at->len > len) {
			at->start = (uint16_t)(at->start + len);
			at->len = (uint16_t)(at->len - len);
			break;
		}
		len -= at->len;
		busy->out_head = at->next;
		units += buffer_chunk_units(chunk);
		buffer_free_chunk(tcp, chunk);
	}
	busy->out_tail = busy->out_head != 0 ? busy->out_tail : 0;
	return units;
}

void tcp_out_drop(kxdp_tcp_t *tcp, const conn_t *conn, busy_t *busy, uint32_t len)
{
	assert(len <= busy->out_len);
	if (len == 0) {
		return;
	}
	busy->out_len -= len;
	stat_sub(&tcp->stats.outbuf, len);
	uint32_t passed = (conn->snd_una - len) ^ conn->snd_una;
	bool is_progress = passed >> OUT_PROGRESS_SHIFT != 0;
	if (busy->out_len == 0 || passed >> PROGRESS_SHIFT != 0) {
		busy->out_stamp_ms = ms_of(tcp->now_us);
	}
	share_t *share = share_of(tcp, conn);
	if (busy->out_len == 0 || is_progress) {
		tcp_share_delist(tcp, share, SIDE_OUT, conn->busy);
	}
	if (busy->out_len > 0 && is_progress) {
		busy->writer_stamp_ms = ms_of(tcp->now_us);
		tcp_share_enlist(tcp, share, SIDE_OUT, conn->busy);
	}
	uint32_t units = buffer_drop_chain(tcp, busy, len);
	/* The chunk that the cursor is at may be the first one now, or gone. */
	if (busy->cursor != 0 && (busy->out_head == 0 || busy->out_head == busy->cursor ||
						 seq_before(busy->cursor_seq, conn->snd_una))) {
		busy->cursor = 0;
	}
	assert((busy->out_head == 0) == (busy->out_len == 0));
	if (units > 0) {
		tcp_share_sub(tcp, share, SIDE_OUT, units); /* may wake others, so it comes last */
	}
}
