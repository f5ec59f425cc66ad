/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/health.h"

#include "src/sys/process.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum {
	/* The main loop beats every 5 s; a reload of a million zones keeps it busy for some seconds. */
	HEALTH_PULSE_MAX_MS = 60000,
};

__attribute__((format(printf, 2, 3))) static health_t health_say(bool is_good, const char *format, ...)
{
	health_t health = { .is_good = is_good };
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(health.text, sizeof(health.text), format, arguments);
	va_end(arguments);
	return health;
}

health_t health_of_process(void)
{
	uint64_t age_ms = sys_pulse_age_ms();
	if (age_ms > HEALTH_PULSE_MAX_MS) {
		return health_say(false, "the main loop has not moved for %" PRIu64 " s", age_ms / 1000);
	}
	return health_say(true, "ok");
}

/* The first interface that no packet can come through; else the number of open queues. */
static health_t health_of_interfaces(net_t *net, size_t *ret_queues)
{
	net_xdp_status_t *status;
	if (net_xdp_status(net, &status) != KNOT_OK) {
		return health_say(false, "no memory");
	}
	health_t health = health_say(true, "ok");
	size_t queues = 0;
	for (size_t i = 0; i < status->count && health.is_good; i++) {
		const net_xdp_iface_status_t *iface = &status->ifaces[i];
		size_t open = 0, there = 0;
		for (size_t j = 0; j < iface->queue_count; j++) {
			open += iface->queues[j].is_open;
			there += !iface->queues[j].is_past;
		}
		if (iface->state == NET_XDP_GONE) {
			health = health_say(false, "XDP interface %s is not there", iface->listen);
		} else if (iface->state == NET_XDP_UP && open < there) {
			health = health_say(false, "XDP interface %s: %zu of %zu queues are open", iface->ifname, open,
					there);
		}
		queues += open;
	}
	net_xdp_status_free(status);
	*ret_queues = queues;
	return health;
}

health_t health_of_service(const server_t *server, net_t *net, bool all_zones)
{
	server_counts_t zones = server_counts(server);
	size_t served = zones.origins[SERVER_ORIGIN_FILE] + zones.origins[SERVER_ORIGIN_IMAGE];
	size_t total = served + zones.origins[SERVER_ORIGIN_NONE];
	if (server_is_loading(server)) {
		return health_say(false, "loading: %zu of %zu zones are served", served, total);
	}
	if (!net_is_answering(net)) {
		return health_say(false, "not answering yet");
	}
	if (all_zones && served < total) {
		return health_say(false, "%zu of %zu zones are not served", total - served, total);
	}
	size_t queues = 0;
	health_t health = health_of_interfaces(net, &queues);
	if (!health.is_good) {
		return health;
	}
	return health_say(true, "ready: %zu of %zu zones served, %zu failed, %zu XDP queues", served, total,
			zones.failed, queues);
}
