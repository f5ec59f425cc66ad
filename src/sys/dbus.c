/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/dbus.h"

#include <stdatomic.h>
#include <systemd/sd-bus.h>
#include <time.h>

#include "src/sys/clock.h"
#include "src/sys/lock.h"
#include "src/sys/log.h"

#define DBUS_NAME      "cz.nic.knotd"
#define DBUS_PATH      "/cz/nic/knotd"
#define DBUS_INTERFACE "cz.nic.knotd.events"

static struct {
	sys_mutex_t lock;
	sd_bus *bus SYS_GUARDED_BY(lock); /* owned; NULL: not connected */
	atomic_uint events;               /* SYS_DBUS_…; 0 without a connection */
} dbus = { .lock = SYS_MUTEX_INIT };

bool sys_dbus_has(unsigned event)
{
	return (atomic_load_explicit(&dbus.events, memory_order_relaxed) & event) != 0;
}

/* ---- The connection ---- */

static int dbus_connect(sd_bus **ret_bus)
{
	enum { TIMEOUT_US = 5000000 };
	int result = sd_bus_open_system(ret_bus);
	if (result >= 0) {
		(void)sd_bus_set_method_call_timeout(*ret_bus, TIMEOUT_US);
		result = sd_bus_request_name(*ret_bus, DBUS_NAME, 0);
	}
	if (result < 0) {
		*ret_bus = sd_bus_close_unref(*ret_bus);
	}
	return result;
}

void sys_dbus_open(unsigned events, uint32_t delay_s)
{
	if (events == 0) {
		return;
	}
	sd_bus *bus = NULL;
	int result = dbus_connect(&bus);
	if (result < 0) {
		log_server(LOG_ERR, "d-bus: failed to open system bus (%s)", knot_strerror(knot_err_of_errno(-result)));
		return;
	}
	log_server(LOG_INFO, "d-bus: connected to system bus");
	sys_mutex_lock(&dbus.lock);
	dbus.bus = bus;
	sys_mutex_unlock(&dbus.lock);
	atomic_store(&dbus.events, events);
	struct timespec rest = { .tv_sec = delay_s };
	while (nanosleep(&rest, &rest) != 0) {}
}

static void dbus_lose(int result) SYS_REQUIRES(dbus.lock)
{
	log_server(LOG_WARNING, "d-bus: connection lost (%s), events aren't announced any more",
			knot_strerror(knot_err_of_errno(-result)));
	atomic_store(&dbus.events, 0);
	dbus.bus = sd_bus_close_unref(dbus.bus);
}

int sys_dbus_fd(void)
{
	sys_mutex_lock(&dbus.lock);
	int fd = dbus.bus != NULL ? sd_bus_get_fd(dbus.bus) : -1;
	sys_mutex_unlock(&dbus.lock);
	return fd >= 0 ? fd : -1;
}

void sys_dbus_process(void)
{
	sys_mutex_lock(&dbus.lock);
	int result = dbus.bus != NULL ? 1 : 0;
	while (result > 0) {
		result = sd_bus_process(dbus.bus, NULL);
	}
	if (result < 0) {
		dbus_lose(result);
	}
	sys_mutex_unlock(&dbus.lock);
}

void sys_dbus_close(void)
{
	enum { WAIT_MS = 500, ROUND_US = 50000 };
	sys_mutex_lock(&dbus.lock);
	atomic_store(&dbus.events, 0);
	uint64_t end_ms = sys_clock_ms() + WAIT_MS, count = 0;
	while (dbus.bus != NULL && sd_bus_get_n_queued_write(dbus.bus, &count) >= 0 && count > 0 &&
			sys_clock_ms() < end_ms && sd_bus_wait(dbus.bus, ROUND_US) >= 0 &&
			sd_bus_process(dbus.bus, NULL) >= 0) {}
	dbus.bus = sd_bus_close_unref(dbus.bus);
	sys_mutex_unlock(&dbus.lock);
}

/* ---- Signals ---- */

static void dbus_note_failure(const char *name, int result)
{
	if (result < 0) {
		log_server(LOG_ERR, "d-bus: failed to emit signal '%s' (%s)", name,
				knot_strerror(knot_err_of_errno(-result)));
	}
}

static void dbus_emit(unsigned event, const char *name)
{
	if (!sys_dbus_has(event)) {
		return;
	}
	sys_mutex_lock(&dbus.lock);
	int result = dbus.bus != NULL ? sd_bus_emit_signal(dbus.bus, DBUS_PATH, DBUS_INTERFACE, name, "") : 0;
	sys_mutex_unlock(&dbus.lock);
	dbus_note_failure(name, result);
}

void sys_dbus_started(void)
{
	dbus_emit(SYS_DBUS_RUNNING, "started");
}

void sys_dbus_stopped(void)
{
	dbus_emit(SYS_DBUS_RUNNING, "stopped");
}

static void dbus_emit_version(unsigned event, const char *name, const char *zone, uint32_t serial)
{
	if (!sys_dbus_has(event)) {
		return;
	}
	sys_mutex_lock(&dbus.lock);
	int result = dbus.bus != NULL
				     ? sd_bus_emit_signal(dbus.bus, DBUS_PATH, DBUS_INTERFACE, name, "su", zone, serial)
				     : 0;
	sys_mutex_unlock(&dbus.lock);
	dbus_note_failure(name, result);
}

void sys_dbus_zone_updated(const char *zone, uint32_t serial)
{
	dbus_emit_version(SYS_DBUS_ZONE_UPDATED, "zone_updated", zone, serial);
}

void sys_dbus_external_verify(const char *zone, uint32_t serial)
{
	dbus_emit_version(SYS_DBUS_EXTERNAL_VERIFY, "external_verify", zone, serial);
}

static void dbus_emit_zone(unsigned event, const char *name, const char *zone)
{
	if (!sys_dbus_has(event)) {
		return;
	}
	sys_mutex_lock(&dbus.lock);
	int result = dbus.bus != NULL ? sd_bus_emit_signal(dbus.bus, DBUS_PATH, DBUS_INTERFACE, name, "s", zone) : 0;
	sys_mutex_unlock(&dbus.lock);
	dbus_note_failure(name, result);
}

void sys_dbus_zone_not_updated(const char *zone)
{
	dbus_emit_zone(SYS_DBUS_ZONE_UPDATED, "zone_not_updated", zone);
}

void sys_dbus_keys_updated(const char *zone)
{
	dbus_emit_zone(SYS_DBUS_KEYS_UPDATED, "keys_updated", zone);
}

void sys_dbus_ksk_submission(const char *zone, uint16_t tag, const char *id)
{
	static const char name[] = "zone_ksk_submission";
	if (!sys_dbus_has(SYS_DBUS_KSK_SUBMISSION)) {
		return;
	}
	sys_mutex_lock(&dbus.lock);
	int result = dbus.bus != NULL ? sd_bus_emit_signal(
							dbus.bus, DBUS_PATH, DBUS_INTERFACE, name, "sqs", zone, tag, id)
				      : 0;
	sys_mutex_unlock(&dbus.lock);
	dbus_note_failure(name, result);
}

void sys_dbus_dnssec_invalid(const char *zone, uint32_t left_s)
{
	dbus_emit_version(SYS_DBUS_DNSSEC_INVALID, "zone_dnssec_invalid", zone, left_s);
}
