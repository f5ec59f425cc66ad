/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel programs know what belongs to this host, and leave packets for others alone. */
#include <stdlib.h>

#include "src/net/interfaces.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"

void interfaces_set_host(interfaces_t *set, kxdp_iface_t *iface)
{
	static sys_log_repeats_t repeats;
	kxdp_host_t host;
	kxdp_fault_t fault = { .text = "not enough memory" };
	knot_err_t err = host_of(&set->host, kxdp_iface_index(iface), &host);
	if (err == KNOT_OK) {
		err = kxdp_iface_set_host(iface, &host, &fault);
		free((void *)(uintptr_t)host.known);
	}
	if (err != KNOT_OK && err != KNOT_ECONNCLOSED) { /* the helper's end is said elsewhere, and lasts */
		uint64_t retry_ms = interfaces_plan_retry(err, sys_clock_ms());
		set->host_retry_ms = retry_ms != 0 ? retry_ms : set->host_retry_ms; /* of another interface */
		sys_log_repeated(&repeats, SYS_LOG_SERVER, LOG_ERR,
				"XDP interface %s can't be given this host's addresses (%s), until it can, "
				"packets for other hosts are not told apart",
				kxdp_iface_name(iface), fault.text);
	}
}

void interfaces_follow_host(interfaces_t *set)
{
	if (set->conf->listen.count > 0 || set->count > 0) {
		host_facts_done(&set->host);
		host_read(&set->host);
	}
	/* What changes all the time can't be read whole: nothing is checked until it can. */
	bool is_unknown = set->count > 0 && !set->host.is_complete;
	set->host_retry_ms = is_unknown ? interfaces_plan_retry(KNOT_EAGAIN, sys_clock_ms()) : 0;
	for (size_t i = 0; i < set->count; i++) {
		if (set->items[i]->iface != NULL) {
			interfaces_set_host(set, set->items[i]->iface);
		}
	}
}
