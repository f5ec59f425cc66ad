/* SPDX-License-Identifier: BSD-2-Clause */
/* What all lanes do alike: time, and when to sleep and to end. */
#include "src/sys/clock.h"
#include "src/tools/load/gun.h"

enum {
	SPIN_MIN_NS = 5000,
	SPIN_MAX_NS = 60000,  /* a sleep ends about this late at worst: the rest is waited for awake */
	SLEEP_MIN_NS = 20000, /* shorter ones aren't worth it */
	BLOCKED_NS = 50000,
	SLEEP_MAX_NS = 20000000, /* signals that end the run are noticed by then */
};

uint64_t gun_now(const gun_t *gun)
{
	uint64_t now_ns = sys_clock_ns();
	return now_ns > gun->start_ns ? now_ns - gun->start_ns : 0;
}

lane_phase_t lane_phase(lane_t *lane, uint64_t now_ns, uint64_t *io_last_ns)
{
	const gun_t *gun = lane->gun;
	bool sends = worker_due(&lane->worker) != UINT64_MAX && now_ns < gun->duration_ns &&
		     !__atomic_load_n(&gun->stop, __ATOMIC_RELAXED);
	if (sends) {
		*io_last_ns = now_ns;
		return LANE_SENDS;
	}
	bool waits = now_ns - *io_last_ns <= gun->plan.timeout_ns && !__atomic_load_n(&gun->ends, __ATOMIC_RELAXED);
	return waits ? LANE_RECEIVES : LANE_ENDS;
}

bool lane_may_end(lane_t *lane)
{
	const gun_t *gun = lane->gun;
	__atomic_store_n(&lane->is_idle, true, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < gun->lane_count; i++) {
		const lane_t *other = &gun->lanes[i];
		if (!__atomic_load_n(&other->is_idle, __ATOMIC_ACQUIRE) &&
				!__atomic_load_n(&other->is_over, __ATOMIC_ACQUIRE)) {
			return false;
		}
	}
	return true;
}

uint64_t lane_sleep_ns(const lane_t *lane, uint64_t now_ns)
{
	uint64_t due_ns = worker_due(&lane->worker);
	uint64_t left_ns = due_ns > now_ns ? due_ns - now_ns : 0;
	if (__atomic_load_n(&lane->gun->stop, __ATOMIC_RELAXED) || due_ns == UINT64_MAX ||
			now_ns >= lane->gun->duration_ns) {
		return SLEEP_MAX_NS;
	}
	if (left_ns == 0) {
		return BLOCKED_NS; /* it is due, and couldn't leave: the kernel has enough to do */
	}
	const uint64_t spin_ns = SPIN_MAX_NS - lane->spared_ns;
	if (left_ns < spin_ns + SLEEP_MIN_NS) {
		return 0;
	}
	return left_ns - spin_ns < SLEEP_MAX_NS ? left_ns - spin_ns : SLEEP_MAX_NS;
}

void lane_note_wake(lane_t *lane, uint64_t late_ns)
{
	/* Quickly up, slowly down: a query that leaves late costs more than some time awake. */
	uint64_t spin_ns = SPIN_MAX_NS - lane->spared_ns;
	spin_ns = late_ns > spin_ns ? spin_ns + (late_ns - spin_ns) / 4 : spin_ns - (spin_ns - late_ns) / 64;
	spin_ns = spin_ns < SPIN_MIN_NS ? SPIN_MIN_NS : spin_ns > SPIN_MAX_NS ? SPIN_MAX_NS : spin_ns;
	lane->spared_ns = (uint32_t)(SPIN_MAX_NS - spin_ns);
}
