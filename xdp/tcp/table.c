/* SPDX-License-Identifier: BSD-2-Clause */
/* Records: connections by flow, what they share, what they have while they are busy, lists in the order of time. */
#include "xdp/tcp/stack.h"

#include <assert.h>

enum {
	BUCKETS_FIRST = 64,
	END_BUCKETS_FIRST = 256,
};

#define CONN_LINK offsetof(conn_t, prev)
_Static_assert(offsetof(conn_t, next) == offsetof(conn_t, prev) + offsetof(link_t, next), "a link_t");

/* ---- hashing ---- */

uint64_t tcp_flow_hash(const kxdp_tcp_t *tcp, const kxdp_flow_t *flow)
{
	uint64_t words[5];
	memcpy(words, flow->remote, 16);
	memcpy(words + 2, flow->local, 16);
	words[4] = (uint64_t)flow->remote_port << 16 | flow->local_port;
	return kxdp_siphash13(&tcp->key, words, KNOT_LEN(words));
}

kxdp_flow_t tcp_conn_flow(const kxdp_tcp_t *tcp, const conn_t *conn)
{
	const end_t *end = end_at(tcp, conn->end);
	kxdp_flow_t flow = { .remote_port = conn->remote_port, .local_port = end->local_port };
	memcpy(flow.remote, conn->remote, sizeof(flow.remote));
	memcpy(flow.local, end->local, sizeof(flow.local));
	return flow;
}

static bool table_is_flow(const kxdp_tcp_t *tcp, const conn_t *conn, const kxdp_flow_t *flow)
{
	if (conn->remote_port != flow->remote_port || memcmp(conn->remote, flow->remote, 16) != 0) {
		return false;
	}
	const end_t *end = end_at(tcp, conn->end);
	return end->local_port == flow->local_port && memcmp(end->local, flow->local, 16) == 0;
}

static uint32_t *table_bucket_of(const kxdp_tcp_t *tcp, uint64_t hash)
{
	uint32_t at = (uint32_t)hash & tcp->bucket_mask;
	at = at < tcp->bucket_split ? (uint32_t)hash & (2 * tcp->bucket_mask + 1) : at;
	return &tcp->buckets[at];
}

uint32_t tcp_find(const kxdp_tcp_t *tcp, const kxdp_flow_t *flow, uint64_t hash)
{
	uint32_t number = *table_bucket_of(tcp, hash);
	while (number != 0) {
		const conn_t *conn = conn_at(tcp, number);
		if (table_is_flow(tcp, conn, flow)) {
			break;
		}
		number = conn->hash_next;
	}
	return number;
}

static void table_remove_conn(kxdp_tcp_t *tcp, uint32_t number)
{
	conn_t *conn = conn_at(tcp, number);
	uint64_t hash = tcp->segment_hash;
	if (number != tcp->segment_conn) {
		kxdp_flow_t flow = tcp_conn_flow(tcp, conn);
		hash = tcp_flow_hash(tcp, &flow);
	}
	tcp->segment_conn = 0;
	uint32_t *at = table_bucket_of(tcp, hash);
	while (*at != number) {
		at = &conn_at(tcp, *at)->hash_next;
	}
	*at = conn->hash_next;
}

static uint32_t table_power_of_two(uint32_t least)
{
	uint32_t power = BUCKETS_FIRST;
	while (power < least && power < 1u << 30) {
		power *= 2;
	}
	return power;
}

/* Make one bucket into two. */
static void table_split_bucket(kxdp_tcp_t *tcp)
{
	uint32_t *from = &tcp->buckets[tcp->bucket_split], *to = from + tcp->bucket_mask + 1;
	for (uint32_t number = *from; number != 0; number = *from) {
		conn_t *conn = conn_at(tcp, number);
		kxdp_flow_t flow = tcp_conn_flow(tcp, conn);
		if ((tcp_flow_hash(tcp, &flow) & (tcp->bucket_mask + 1)) == 0) {
			from = &conn->hash_next;
		} else {
			*from = conn->hash_next;
			conn->hash_next = *to;
			*to = number;
		}
	}
	if (tcp->bucket_split++ == tcp->bucket_mask) {
		tcp->bucket_mask = 2 * tcp->bucket_mask + 1;
		tcp->bucket_split = 0;
	}
}

static void table_grow_buckets(kxdp_tcp_t *tcp)
{
	uint32_t used = tcp->bucket_mask + 1 + tcp->bucket_split;
	if (tcp->conn_count > used && used < tcp->bucket_room) {
		table_split_bucket(tcp);
	}
}

bool tcp_table_resize(kxdp_tcp_t *tcp, uint32_t clients_max)
{
	uint32_t room = table_power_of_two(clients_max);
	if (room <= tcp->bucket_room) {
		return true;
	}
	uint32_t *buckets = kxdp_map(room * sizeof(buckets[0]));
	if (buckets == NULL) {
		return false;
	}
	if (tcp->buckets == NULL) {
		tcp->bucket_mask = BUCKETS_FIRST - 1;
	} else {
		memcpy(buckets, tcp->buckets, (tcp->bucket_mask + 1 + tcp->bucket_split) * sizeof(buckets[0]));
	}
	stat_add(&tcp->stats.memory, (room - tcp->bucket_room) * sizeof(buckets[0]));
	kxdp_unmap(tcp->buckets, tcp->bucket_room * sizeof(buckets[0]));
	tcp->buckets = buckets;
	tcp->bucket_room = room;
	return true;
}

static uint32_t table_hash_source(const kxdp_tcp_t *tcp, const source_t *source)
{
	uint64_t prefix;
	memcpy(&prefix, source->prefix, sizeof(prefix));
	return (uint32_t)kxdp_siphash13(&tcp->key, &prefix, 1);
}

bool tcp_sources_resize(kxdp_tcp_t *tcp, uint32_t clients_max)
{
	uint32_t count = table_power_of_two(clients_max);
	if (tcp->source_buckets != NULL && count <= tcp->source_mask + 1) {
		return true;
	}
	uint32_t *buckets = kxdp_map(count * sizeof(buckets[0]));
	if (buckets == NULL) {
		return false;
	}
	for (uint32_t i = 0; tcp->source_buckets != NULL && i <= tcp->source_mask; i++) {
		for (uint32_t number = tcp->source_buckets[i], next; number != 0; number = next) {
			source_t *source = source_at(tcp, number);
			uint32_t *at = &buckets[table_hash_source(tcp, source) & (count - 1)];
			next = source->hash_next;
			source->hash_next = *at;
			*at = number;
		}
	}
	stat_add(&tcp->stats.memory,
			(count - (tcp->source_buckets != NULL ? tcp->source_mask + 1 : 0)) * sizeof(buckets[0]));
	kxdp_unmap(tcp->source_buckets, (tcp->source_mask + 1) * sizeof(buckets[0]));
	tcp->source_buckets = buckets;
	tcp->source_mask = count - 1;
	return true;
}

/* ---- ends ---- */

static bool table_is_end(const end_t *end, const kxdp_segment_t *segment)
{
	return memcmp(&end->path, &segment->path, sizeof(end->path)) == 0 &&
	       end->local_port == segment->flow.local_port && memcmp(end->local, segment->flow.local, 16) == 0;
}

static uint32_t table_hash_end(const kxdp_tcp_t *tcp, const kxdp_path_t *path, const uint8_t local[16], uint16_t port)
{
	uint64_t words[7] = { port };
	memcpy(words + 1, local, 16);
	memcpy(words + 3, path, sizeof(*path));
	return (uint32_t)kxdp_siphash13(&tcp->key, words, KNOT_LEN(words));
}

static bool table_grow_ends(kxdp_tcp_t *tcp)
{
	uint32_t count = tcp->end_buckets != NULL ? 2 * (tcp->end_mask + 1) : END_BUCKETS_FIRST;
	uint32_t *buckets = kxdp_map(count * sizeof(buckets[0]));
	if (buckets == NULL) {
		return tcp->end_buckets != NULL; /* longer chains will do */
	}
	for (uint32_t i = 0; tcp->end_buckets != NULL && i <= tcp->end_mask; i++) {
		for (uint32_t number = tcp->end_buckets[i], next; number != 0; number = next) {
			end_t *end = end_at(tcp, number);
			uint32_t *at = &buckets[table_hash_end(tcp, &end->path, end->local, end->local_port) &
						(count - 1)];
			next = end->hash_next;
			end->hash_next = *at;
			*at = number;
		}
	}
	stat_add(&tcp->stats.memory, (count - (tcp->end_buckets != NULL ? tcp->end_mask + 1 : 0)) * sizeof(buckets[0]));
	kxdp_unmap(tcp->end_buckets, (tcp->end_mask + 1) * sizeof(buckets[0]));
	tcp->end_buckets = buckets;
	tcp->end_mask = count - 1;
	return true;
}

static void table_unref_end(kxdp_tcp_t *tcp, uint32_t number)
{
	end_t *end = end_at(tcp, number);
	if (--end->refs > 0) {
		return;
	}
	uint32_t *at = &tcp->end_buckets[table_hash_end(tcp, &end->path, end->local, end->local_port) & tcp->end_mask];
	while (*at != number) {
		at = &end_at(tcp, *at)->hash_next;
	}
	*at = end->hash_next;
	tcp->end_count--;
	kxdp_slab_give_back(&tcp->ends, number);
}

/* The end of the segment, with a reference more. 0: no memory. */
static uint32_t table_ref_end(kxdp_tcp_t *tcp, const kxdp_segment_t *segment)
{
	if (tcp->end_last != 0 && table_is_end(end_at(tcp, tcp->end_last), segment)) {
		end_at(tcp, tcp->end_last)->refs++;
		return tcp->end_last;
	}
	if ((tcp->end_buckets == NULL || tcp->end_count > tcp->end_mask) && !table_grow_ends(tcp)) {
		return 0;
	}
	uint32_t hash = table_hash_end(tcp, &segment->path, segment->flow.local, segment->flow.local_port);
	uint32_t *bucket = &tcp->end_buckets[hash & tcp->end_mask];
	uint32_t number = *bucket;
	while (number != 0 && !table_is_end(end_at(tcp, number), segment)) {
		number = end_at(tcp, number)->hash_next;
	}
	if (number == 0) {
		number = kxdp_slab_take(&tcp->ends);
		if (number == 0) {
			return 0;
		}
		end_t *end = end_at(tcp, number);
		*end = (end_t){ .hash_next = *bucket, .path = segment->path, .local_port = segment->flow.local_port };
		memcpy(end->local, segment->flow.local, sizeof(end->local));
		*bucket = number;
		tcp->end_count++;
	}
	end_at(tcp, number)->refs += 2; /* one for being the last */
	uint32_t last = tcp->end_last;
	tcp->end_last = number;
	if (last != 0) {
		table_unref_end(tcp, last);
	}
	return number;
}

void tcp_conn_set_path(kxdp_tcp_t *tcp, conn_t *conn, const kxdp_segment_t *segment)
{
	if (memcmp(&end_at(tcp, conn->end)->path, &segment->path, sizeof(segment->path)) == 0) {
		return;
	}
	uint32_t end = table_ref_end(tcp, segment);
	if (end != 0) {
		table_unref_end(tcp, conn->end);
		conn->end = end;
		uint16_t most = tcp_path_mss(tcp, &segment->path, conn->flags & CONN_IPV4);
		conn->mss = conn->mss < most ? conn->mss : most;
	}
}

/* ---- connections ---- */

uint32_t tcp_conn_new(kxdp_tcp_t *tcp, const kxdp_segment_t *segment, uint64_t hash)
{
	uint32_t number = kxdp_slab_take(&tcp->conns);
	if (number == 0) {
		return 0;
	}
	uint32_t end = table_ref_end(tcp, segment);
	if (end == 0) {
		kxdp_slab_give_back(&tcp->conns, number);
		return 0;
	}
	uint32_t *bucket = table_bucket_of(tcp, hash);
	conn_t *conn = conn_at(tcp, number);
	tcp->generation += tcp->generation == UINT32_MAX ? 2 : 1; /* 0 means that a connection is gone */
	*conn = (conn_t){
		.hash_next = *bucket,
		.generation = tcp->generation,
		.end = end,
		.remote_port = segment->flow.remote_port,
		.list = LIST_NONE,
		.flags = tcp_is_ipv4(segment->flow.remote) ? CONN_IPV4 : 0,
	};
	memcpy(conn->remote, segment->flow.remote, sizeof(conn->remote));
	*bucket = number;
	tcp->conn_count++;
	table_grow_buckets(tcp);
	stat_inc(&tcp->stats.clients);
	return number;
}

static void table_delist_conn(kxdp_tcp_t *tcp, uint32_t number, conn_t *conn)
{
	if (conn->list == LIST_NONE) {
		return;
	}
	list_remove(&tcp->conns, CONN_LINK, &tcp->lists[conn->list], number);
	if (conn->list >= LIST_HALF) {
		stat_sub(&tcp->stats.half_open, 1);
	} else if (conn->list == LIST_TIME_WAIT) {
		stat_sub(&tcp->stats.time_wait, 1);
		stat_inc(&tcp->stats.clients);
	}
	conn->list = LIST_NONE;
}

void tcp_conn_move(kxdp_tcp_t *tcp, uint32_t number, list_kind_t list)
{
	conn_t *conn = conn_at(tcp, number);
	table_delist_conn(tcp, number, conn);
	list_append(&tcp->conns, CONN_LINK, &tcp->lists[list], number);
	conn->list = (uint8_t)list;
	if (list >= LIST_HALF) {
		stat_inc(&tcp->stats.half_open);
	} else if (list == LIST_TIME_WAIT) {
		stat_inc(&tcp->stats.time_wait);
		stat_sub(&tcp->stats.clients, 1);
	}
}

void tcp_conn_enlist(kxdp_tcp_t *tcp, uint32_t number, list_kind_t list)
{
	conn_at(tcp, number)->stamp_ms = ms_of(tcp->now_us);
	tcp_conn_move(tcp, number, list);
}

void tcp_conn_progress(kxdp_tcp_t *tcp, uint32_t number)
{
	conn_t *conn = conn_at(tcp, number);
	bool is_fresh = ms_of(tcp->now_us) - conn->stamp_ms <= tcp->progress_step_ms;
	if ((conn->list == LIST_IDLE_CLOSED || conn->list == LIST_CLOSING) && !(conn->flags & CONN_FIN)) {
		tcp_conn_enlist(tcp, number, LIST_IDLE);
	} else if ((conn->list == LIST_IDLE || conn->list == LIST_CLOSING) && !is_fresh) {
		tcp_conn_enlist(tcp, number, conn->list);
	}
}

void tcp_conn_progress_in(kxdp_tcp_t *tcp, uint32_t number)
{
	conn_t *conn = conn_at(tcp, number);
	if (conn->silent_steps < SILENT_STEPS_MAX) {
		conn->silent_steps++;
		tcp_conn_progress(tcp, number);
	}
}

static void table_free_busy(kxdp_tcp_t *tcp, conn_t *conn)
{
	uint32_t number = conn->busy;
	busy_t *busy = busy_at(tcp, number);
	tcp_timer_remove(tcp, busy, number);
	tcp_input_unwait(tcp, busy, number);
	tcp_in_free(tcp, busy);
	tcp_out_drop(tcp, conn, busy, busy->out_len);
	conn->busy = 0;
	kxdp_slab_give_back(&tcp->busies, number);
}

/* Out of everything that finds it. */
static void table_withdraw_conn(kxdp_tcp_t *tcp, uint32_t number, conn_t *conn)
{
	conn->snd_una = snd_max_of(tcp, conn);
	if (conn->busy != 0) {
		table_free_busy(tcp, conn);
	}
	table_delist_conn(tcp, number, conn);
	table_remove_conn(tcp, number);
	tcp_source_remove(tcp, conn);
	tcp->conn_count--;
	stat_sub(&tcp->stats.clients, 1);
	conn->generation = 0;
	tcp->current = tcp->current == number ? 0 : tcp->current;
}

void tcp_conn_free(kxdp_tcp_t *tcp, uint32_t number)
{
	conn_t *conn = conn_at(tcp, number);
	if (conn->state != STATE_RESET) {
		table_withdraw_conn(tcp, number, conn);
	}
	table_unref_end(tcp, conn->end);
	conn->state = STATE_GONE;
	if (!(conn->flags & CONN_READY)) {
		kxdp_slab_give_back(&tcp->conns, number);
	}
}

void tcp_conn_reset(kxdp_tcp_t *tcp, uint32_t number)
{
	conn_t *conn = conn_at(tcp, number);
	conn->snd_una += conn->state == STATE_SYN_RCVD ? 1 : 0;
	table_withdraw_conn(tcp, number, conn);
	conn->state = STATE_RESET;
	tcp_conn_ready(tcp, number);
}

void tcp_conn_time_wait(kxdp_tcp_t *tcp, uint32_t number)
{
	conn_t *conn = conn_at(tcp, number);
	if (conn->busy != 0) {
		table_free_busy(tcp, conn);
	}
	conn->state = STATE_TIME_WAIT;
	tcp_source_remove(tcp, conn);
	tcp_conn_enlist(tcp, number, LIST_TIME_WAIT);
}

void tcp_conn_ready(kxdp_tcp_t *tcp, uint32_t number)
{
	conn_t *conn = conn_at(tcp, number);
	if (conn->flags & CONN_READY) {
		return;
	}
	conn->flags |= CONN_READY;
	conn->ready_next = 0;
	if (tcp->ready_tail != 0) {
		conn_at(tcp, tcp->ready_tail)->ready_next = number;
	} else {
		tcp->ready_head = number;
	}
	tcp->ready_tail = number;
}

conn_t *tcp_conn_of_id(const kxdp_tcp_t *tcp, kxdp_tcp_conn_t id)
{
	uint32_t number = (uint32_t)id;
	if (number == 0 || (number != tcp->current && !kxdp_slab_has(&tcp->conns, number))) {
		return NULL;
	}
	conn_t *conn = conn_at(tcp, number);
	return conn->generation == (uint32_t)(id >> 32) && is_synchronized(conn) && conn->state != STATE_TIME_WAIT
			       ? conn
			       : NULL;
}

/* ---- busy records ---- */

busy_t *tcp_busy_get(kxdp_tcp_t *tcp, uint32_t number)
{
	conn_t *conn = conn_at(tcp, number);
	if (conn->busy != 0) {
		return busy_at(tcp, conn->busy);
	}
	uint32_t busy_number = kxdp_slab_take(&tcp->busies);
	if (busy_number == 0) {
		return NULL;
	}
	busy_t *busy = busy_at(tcp, busy_number);
	*busy = (busy_t){
		.conn = number,
		.snd_nxt = conn->snd_una,
		.snd_max = conn->snd_una,
		.recover = conn->snd_una - 2, /* RFC 6582 3.2: nothing was sent that an ACK might not cover */
		.wheel_slot = WHEEL_SLOTS,
	};
	conn->busy = busy_number;
	return busy;
}

void tcp_busy_put(kxdp_tcp_t *tcp, uint32_t number)
{
	conn_t *conn = conn_at(tcp, number);
	const busy_t *busy = busy_of(tcp, conn);
	if (busy == NULL || busy->out_len > 0 || busy->in != 0 || busy->wait != WAIT_NONE ||
			busy->flags & BUSY_FIN_AHEAD) {
		return;
	}
	bool fin_is_under_way = conn->flags & CONN_FIN && conn->state != STATE_FIN_WAIT_2;
	if (!fin_is_under_way && busy->snd_max == conn->snd_una) {
		table_free_busy(tcp, conn);
	}
}
