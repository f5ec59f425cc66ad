/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each slot has a number that says whose turn it is: `place` of the next put that may fill it, or that plus 1 when it
 * is full. So threads that put claim places by one compare-and-swap and never wait for each other; the taker stops at a
 * place that was claimed and isn't filled yet, and is woken when it is.
 */
#include "src/state/notices.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>
#include <xxhash.h>

enum { NOTICES_RATES = 4096 };

typedef struct {
	_Atomic uint32_t turn;
	notice_t notice;
} notice_slot_t;

struct notices {
	int fd; /* owned: eventfd */
	atomic_bool is_rung;
	_Atomic uint64_t lost;
	_Atomic uint32_t put;
	uint32_t taken; /* of the taker */
	/* Of children, by source network: the second (upper half) and how many came within it. A network whose place is
	   another's shares its limit for that second; which those are can't be foreseen. */
	uint64_t seed;
	_Atomic uint64_t limited;
	_Atomic uint64_t rates[NOTICES_RATES];
	notice_slot_t slots[NOTICES_MAX];
};

knot_err_t notices_new(notices_t **ret_notices)
{
	notices_t *notices = calloc(1, sizeof(*notices));
	if (notices == NULL) {
		return KNOT_ENOMEM;
	}
	notices->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (notices->fd < 0) {
		knot_err_t err = knot_err_of_errno(errno);
		free(notices);
		return err;
	}
	for (uint32_t i = 0; i < NOTICES_MAX; i++) {
		atomic_init(&notices->slots[i].turn, i);
	}
	/* Without randomness the places can be foreseen. */
	(void)!getrandom(&notices->seed, sizeof(notices->seed), 0);
	*ret_notices = notices;
	return KNOT_OK;
}

void notices_free(notices_t *take_notices)
{
	if (take_notices != NULL) {
		close(take_notices->fd);
		free(take_notices);
	}
}

int notices_fd(const notices_t *notices)
{
	return notices->fd;
}

/* The slot of a free place; NULL: there is none. */
static notice_slot_t *notices_claim(notices_t *notices, uint32_t *ret_place)
{
	uint32_t place = atomic_load_explicit(&notices->put, memory_order_relaxed);
	for (;;) {
		notice_slot_t *slot = &notices->slots[place % NOTICES_MAX];
		uint32_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
		if ((int32_t)(turn - place) < 0) {
			return NULL;
		}
		if (turn != place) {
			place = atomic_load_explicit(&notices->put, memory_order_relaxed);
		} else if (atomic_compare_exchange_weak_explicit(&notices->put, &place, place + 1, memory_order_relaxed,
					   memory_order_relaxed)) {
			*ret_place = place;
			return slot;
		}
	}
}

static bool notices_put_one(notices_t *notices, knot_name_t zone, uint16_t child_type, const struct sockaddr *from)
{
	uint32_t place;
	notice_slot_t *slot = notices_claim(notices, &place);
	if (slot == NULL) {
		atomic_fetch_add_explicit(&notices->lost, 1, memory_order_relaxed);
		return false;
	}
	memcpy(slot->notice.zone, zone.wire, zone.len);
	slot->notice.from = notice_addr_of(from);
	slot->notice.child_type = child_type;
	atomic_store_explicit(&slot->turn, place + 1, memory_order_release);
	if (!atomic_exchange_explicit(&notices->is_rung, true, memory_order_seq_cst)) {
		(void)eventfd_write(notices->fd, 1);
	}
	return true;
}

bool notices_put(notices_t *notices, knot_name_t zone, const struct sockaddr *from)
{
	return notices_put_one(notices, zone, 0, from);
}

/* True if the source may put one more in this second. */
static bool notices_admit(notices_t *notices, const struct sockaddr *from, uint64_t now_us)
{
	const notice_addr_t net = notice_addr_net(notice_addr_of(from));
	uint64_t hash = XXH3_64bits_withSeed(&net, sizeof(net), notices->seed);
	_Atomic uint64_t *rate = &notices->rates[hash % NOTICES_RATES];
	uint64_t second = now_us / 1000000 << 32, old = atomic_load_explicit(rate, memory_order_relaxed), fresh;
	do {
		bool is_same = old >> 32 == second >> 32;
		if (is_same && (uint32_t)old >= NOTICES_CHILDREN_PER_S) {
			return false;
		}
		fresh = is_same ? old + 1 : second | 1;
	} while (!atomic_compare_exchange_weak_explicit(rate, &old, fresh, memory_order_relaxed, memory_order_relaxed));
	return true;
}

bool notices_put_child(
		notices_t *notices, knot_name_t child, uint16_t type, const struct sockaddr *from, uint64_t now_us)
{
	if (!notices_admit(notices, from, now_us)) {
		atomic_fetch_add_explicit(&notices->limited, 1, memory_order_relaxed);
		return false;
	}
	return notices_put_one(notices, child, type, from);
}

uint64_t notices_limited(const notices_t *notices)
{
	return atomic_load_explicit(&notices->limited, memory_order_relaxed);
}

void notices_begin_taking(notices_t *notices)
{
	eventfd_t ignored;
	(void)eventfd_read(notices->fd, &ignored);
	atomic_store_explicit(&notices->is_rung, false, memory_order_seq_cst);
}

bool notices_take(notices_t *notices, notice_t *ret_notice)
{
	notice_slot_t *slot = &notices->slots[notices->taken % NOTICES_MAX];
	if (atomic_load_explicit(&slot->turn, memory_order_acquire) != notices->taken + 1) {
		return false;
	}
	*ret_notice = slot->notice;
	atomic_store_explicit(&slot->turn, notices->taken + NOTICES_MAX, memory_order_release);
	notices->taken++;
	return true;
}

uint64_t notices_take_lost(notices_t *notices)
{
	return atomic_exchange_explicit(&notices->lost, 0, memory_order_relaxed);
}

notice_addr_t notice_addr_of(const struct sockaddr *addr)
{
	notice_addr_t made = { 0 };
	if (addr != NULL && addr->sa_family == AF_INET) {
		memcpy(made.bytes, &((const struct sockaddr_in *)addr)->sin_addr, sizeof(struct in_addr));
		made.family = AF_INET;
	} else if (addr != NULL && addr->sa_family == AF_INET6) {
		memcpy(made.bytes, &((const struct sockaddr_in6 *)addr)->sin6_addr, sizeof(struct in6_addr));
		made.family = AF_INET6;
	}
	return made;
}

notice_addr_t notice_addr_net(notice_addr_t addr)
{
	enum { IPV4_LEN = 3, IPV6_LEN = 7 };
	size_t len = addr.family == AF_INET ? IPV4_LEN : IPV6_LEN;
	memset(addr.bytes + len, 0, sizeof(addr.bytes) - len);
	return addr;
}

bool notice_addr_eq(const notice_addr_t *a, const notice_addr_t *b)
{
	return a->family != 0 && a->family == b->family && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}
