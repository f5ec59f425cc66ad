/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/relay.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

_Static_assert((RELAY_INBOX_SLOTS & (RELAY_INBOX_SLOTS - 1)) == 0, "positions are masked");

/*
 * `turn` says whose a slot is. Position p uses slot p mod RELAY_INBOX_SLOTS: turn == p: free for the sender that gets
 * p; turn == p + 1: filled, for the receiver, which sets it to p + RELAY_INBOX_SLOTS.
 */
typedef struct {
	atomic_size_t turn;
	uint32_t len;
	uint8_t frame[RELAY_FRAME_MAX];
} slot_t;

enum { LINE = 64 };

struct relay_inbox {
	uint32_t ifindex;
	int wake_fd; /* borrowed */
	_Alignas(LINE) atomic_size_t send_at;
	_Alignas(LINE) size_t take_at; /* the receiver's */
	atomic_bool sleeps;
	_Alignas(LINE) slot_t slots[RELAY_INBOX_SLOTS];
};

/** Immutable. */
struct relay_table {
	size_t inbox_count, vlan_count;
	relay_vlan_t *vlans;   /* by ifindex; in the same allocation */
	relay_inbox_t *inboxes[]; /* by ifindex; owned by who joined */
};

struct relay {
	relay_table_t *table_rcu; /* owned */
};

/* ---- Tables ---- */

static relay_table_t *table_new(size_t inbox_count, size_t vlan_count)
{
	size_t inboxes_len = inbox_count * sizeof(relay_inbox_t *);
	relay_table_t *table = calloc(1, sizeof(*table) + inboxes_len + vlan_count * sizeof(relay_vlan_t));
	if (table != NULL) {
		table->inbox_count = inbox_count;
		table->vlan_count = vlan_count;
		table->vlans = (relay_vlan_t *)(table->inboxes + inbox_count);
	}
	return table;
}

static void publish(relay_t *relay, relay_table_t *next)
{
	relay_table_t *old = relay->table_rcu;
	RCU_PUBLISH(relay->table_rcu, next);
	sys_rcu_wait();
	free(old);
}

knot_err_t relay_new(relay_t **ret_relay)
{
	relay_t *relay = calloc(1, sizeof(*relay));
	relay_table_t *table = table_new(0, 0);
	if (relay == NULL || table == NULL) {
		free(relay);
		free(table);
		return KNOT_ENOMEM;
	}
	relay->table_rcu = table;
	*ret_relay = relay;
	return KNOT_OK;
}

void relay_free(relay_t *take_relay)
{
	if (take_relay != NULL) {
		assert(take_relay->table_rcu->inbox_count == 0);
		free(take_relay->table_rcu);
		free(take_relay);
	}
}

knot_err_t relay_join(relay_t *relay, uint32_t ifindex, int wake_fd, relay_inbox_t **ret_inbox)
{
	const relay_table_t *old = relay->table_rcu;
	relay_table_t *next = table_new(old->inbox_count + 1, old->vlan_count);
	relay_inbox_t *inbox = aligned_alloc(LINE, sizeof(*inbox));
	if (next == NULL || inbox == NULL) {
		free(next);
		free(inbox);
		return KNOT_ENOMEM;
	}
	/* Pages of slots are touched when they are used first. */
	inbox->ifindex = ifindex;
	inbox->wake_fd = wake_fd;
	inbox->take_at = 0;
	atomic_init(&inbox->send_at, 0);
	atomic_init(&inbox->sleeps, false);
	for (size_t i = 0; i < RELAY_INBOX_SLOTS; i++) {
		atomic_init(&inbox->slots[i].turn, i);
	}
	memcpy(next->vlans, old->vlans, old->vlan_count * sizeof(*old->vlans));
	size_t at = 0;
	for (; at < old->inbox_count && old->inboxes[at]->ifindex <= ifindex; at++) {
		next->inboxes[at] = old->inboxes[at];
	}
	next->inboxes[at] = inbox;
	memcpy(next->inboxes + at + 1, old->inboxes + at, (old->inbox_count - at) * sizeof(*old->inboxes));
	publish(relay, next);
	*ret_inbox = inbox;
	return KNOT_OK;
}

void relay_leave(relay_t *relay, relay_inbox_t *take_inbox)
{
	if (take_inbox == NULL) {
		return;
	}
	relay_table_t *table = relay->table_rcu;
	relay_table_t *next = table_new(table->inbox_count - 1, table->vlan_count);
	/* Without memory the table that is there is changed, once it can't be seen any more. */
	if (next == NULL) {
		static relay_table_t empty;
		RCU_PUBLISH(relay->table_rcu, &empty);
		sys_rcu_wait();
	}
	relay_table_t *to = next != NULL ? next : table;
	size_t count = 0;
	for (size_t i = 0; i < table->inbox_count; i++) {
		if (table->inboxes[i] != take_inbox) {
			to->inboxes[count++] = table->inboxes[i];
		}
	}
	if (next != NULL) {
		memcpy(next->vlans, table->vlans, table->vlan_count * sizeof(*table->vlans));
		publish(relay, next);
	} else {
		table->inbox_count = count;
		RCU_PUBLISH(relay->table_rcu, table);
	}
	free(take_inbox);
}

static int compare_vlans(const void *a, const void *b)
{
	uint32_t left = ((const relay_vlan_t *)a)->ifindex, right = ((const relay_vlan_t *)b)->ifindex;
	return (left > right) - (left < right);
}

knot_err_t relay_set_vlans(relay_t *relay, const relay_vlan_t *vlans, size_t count)
{
	const relay_table_t *old = relay->table_rcu;
	relay_table_t *next = table_new(old->inbox_count, count);
	if (next == NULL) {
		return KNOT_ENOMEM;
	}
	memcpy(next->inboxes, old->inboxes, old->inbox_count * sizeof(*old->inboxes));
	if (count > 0) {
		memcpy(next->vlans, vlans, count * sizeof(*vlans));
		qsort(next->vlans, count, sizeof(*next->vlans), compare_vlans);
	}
	if (old->vlan_count == count && (count == 0 || memcmp(old->vlans, next->vlans, count * sizeof(*vlans)) == 0)) {
		free(next); /* nothing new: nobody need be waited for */
		return KNOT_OK;
	}
	publish(relay, next);
	return KNOT_OK;
}

const relay_table_t *relay_table(const relay_t *relay, rcu_guard_t guard)
{
	return RCU_LOAD(guard, relay->table_rcu);
}

static const relay_vlan_t *find_vlan(const relay_table_t *table, uint32_t ifindex)
{
	if (table->vlan_count == 0) {
		return NULL;
	}
	relay_vlan_t key = { .ifindex = ifindex };
	return bsearch(&key, table->vlans, table->vlan_count, sizeof(key), compare_vlans);
}

bool relay_resolve(const relay_table_t *table, kxdp_path_t *path)
{
	const relay_vlan_t *vlan = find_vlan(table, path->ifindex);
	if (vlan == NULL) {
		return true;
	}
	/* From the device outermost in the frame's eyes: the upper device's tag is the inner one. */
	kxdp_tag_t tags[KXDP_TAGS_MAX];
	unsigned first = KXDP_TAGS_MAX;
	uint32_t ifindex = path->ifindex;
	for (; vlan != NULL; vlan = find_vlan(table, ifindex)) {
		if (first == 0) {
			return false;
		}
		tags[--first] = vlan->tag;
		ifindex = vlan->lower_ifindex;
	}
	path->ifindex = ifindex;
	path->tag_count = (uint8_t)(KXDP_TAGS_MAX - first);
	memset(path->tags, 0, sizeof(path->tags));
	memcpy(path->tags, tags + first, path->tag_count * sizeof(*tags));
	return true;
}

/* ---- Inboxes ---- */

static relay_inbox_t *choose(const relay_table_t *table, uint32_t ifindex, uint32_t hint)
{
	size_t first = 0, count = 0;
	for (size_t i = 0; i < table->inbox_count; i++) {
		if (table->inboxes[i]->ifindex == ifindex) {
			first = count == 0 ? i : first;
			count++;
		}
	}
	return count > 0 ? table->inboxes[first + hint % count] : NULL;
}

static bool push(relay_inbox_t *inbox, const uint8_t *frame, size_t len)
{
	size_t at = atomic_load_explicit(&inbox->send_at, memory_order_relaxed);
	slot_t *slot;
	for (;;) {
		slot = &inbox->slots[at & (RELAY_INBOX_SLOTS - 1)];
		size_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
		if (turn == at) {
			if (atomic_compare_exchange_weak_explicit(&inbox->send_at, &at, at + 1, memory_order_relaxed,
								  memory_order_relaxed)) {
				break;
			}
		} else if ((intptr_t)(turn - at) < 0) {
			return false; /* not taken yet since the last time round */
		} else {
			at = atomic_load_explicit(&inbox->send_at, memory_order_relaxed);
		}
	}
	memcpy(slot->frame, frame, len);
	slot->len = (uint32_t)len;
	/* Sequentially consistent, as are the accesses to `sleeps`: either the receiver, about to sleep, sees the slot,
	 * or we see that it sleeps. */
	atomic_store(&slot->turn, at + 1);
	return true;
}

relay_result_t relay_send(const relay_table_t *table, uint32_t ifindex, uint32_t hint, const uint8_t *frame, size_t len)
{
	assert(len <= RELAY_FRAME_MAX);
	relay_inbox_t *inbox = choose(table, ifindex, hint);
	if (inbox == NULL) {
		return RELAY_NO_PORT;
	}
	if (!push(inbox, frame, len)) {
		return RELAY_FULL;
	}
	if (atomic_load(&inbox->sleeps) && atomic_exchange(&inbox->sleeps, false)) {
		(void)eventfd_write(inbox->wake_fd, 1);
	}
	return RELAY_SENT;
}

static bool is_filled(relay_inbox_t *inbox)
{
	return atomic_load(&inbox->slots[inbox->take_at & (RELAY_INBOX_SLOTS - 1)].turn) == inbox->take_at + 1;
}

size_t relay_inbox_take(relay_inbox_t *inbox, uint8_t *frame)
{
	slot_t *slot = &inbox->slots[inbox->take_at & (RELAY_INBOX_SLOTS - 1)];
	if (atomic_load_explicit(&slot->turn, memory_order_acquire) != inbox->take_at + 1) {
		return 0;
	}
	size_t len = slot->len;
	memcpy(frame, slot->frame, len);
	atomic_store_explicit(&slot->turn, inbox->take_at + RELAY_INBOX_SLOTS, memory_order_release);
	inbox->take_at++;
	return len;
}

bool relay_inbox_sleep(relay_inbox_t *inbox)
{
	atomic_store(&inbox->sleeps, true);
	if (!is_filled(inbox)) {
		return true;
	}
	atomic_store(&inbox->sleeps, false);
	return false;
}

void relay_inbox_awake(relay_inbox_t *inbox)
{
	atomic_store(&inbox->sleeps, false);
}
