/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Signals on the system's D-Bus, in Knot's names: path /cz/nic/knotd, interface cz.nic.knotd.events.
 *
 * Emitting never waits: what the bus doesn't take at once is kept, up to libsystemd's limit, and goes with the next
 * sys_dbus_process(). A signal that can't be kept, and a connection that breaks, are logged; the server goes on
 * without.
 */
#pragma once

#include "libknot/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/** Events that are announced, as bits. */
enum {
	SYS_DBUS_RUNNING = 2,
	SYS_DBUS_ZONE_UPDATED = 4,
	SYS_DBUS_EXTERNAL_VERIFY = 8,
	SYS_DBUS_KEYS_UPDATED = 16,
	SYS_DBUS_KSK_SUBMISSION = 32,
	SYS_DBUS_DNSSEC_INVALID = 64,
	SYS_DBUS_ALL = 126,
};

/**
 * Connect, own the name cz.nic.knotd, and wait for `delay_s` seconds, so that listeners see the first signal. events:
 * SYS_DBUS_…; 0: does nothing. Logs what happened. Main thread, before any other function here and before threads emit.
 */
void sys_dbus_open(unsigned events, uint32_t delay_s);

/** Readable when sys_dbus_process() has something to do; -1: not connected. For poll(2) of the main thread. */
int sys_dbus_fd(void);

/** Take what came from the bus, and send what waits. Main thread; call it every few seconds. */
void sys_dbus_process(void);

/** Send what waits, for half a second at most, and disconnect. No thread emits any more, or it does in vain. */
void sys_dbus_close(void);

/** True if the event is announced. Any thread. */
bool sys_dbus_has(unsigned event);

/** All zones have contents. Any thread. */
void sys_dbus_started(void);

/** The server stops. Any thread. */
void sys_dbus_stopped(void);

/** A zone has another version, or was loaded again. zone: text with the trailing dot. Any thread. */
void sys_dbus_zone_updated(const char *zone, uint32_t serial);

/** A version of the zone waits for external validation. zone: as above; serial: the version's. Any thread. */
void sys_dbus_external_verify(const char *zone, uint32_t serial);

/** The keys of a zone have changed. zone: as above. Any thread. */
void sys_dbus_keys_updated(const char *zone);

/** A KSK waits for its DS record at the parent. zone: as above. Any thread. */
void sys_dbus_ksk_submission(const char *zone, uint16_t tag, const char *id);

/** The signatures of a zone aren't valid any more, or not much longer: seconds that are left, 0: none. zone: as above.
 * Any thread. */
void sys_dbus_dnssec_invalid(const char *zone, uint32_t left_s);

/** A zone failed to be updated. zone: as above. Any thread. */
void sys_dbus_zone_not_updated(const char *zone);
