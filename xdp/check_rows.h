/* SPDX-License-Identifier: BSD-2-Clause */
/** What the parts of the self-test share. */
#pragma once

#include "xdp/check.h"
#include "xdp/kxdp.h"
#include "xdp/link.h"

typedef struct {
	const char *ifname;   /* NULL: kernel and process only */
	kxdp_device_t device; /* of `ifname` */
	kxdp_link_t link;     /* 〃 */
	uint32_t ring_size;
	kxdp_finding_t *findings; /* room: `max` */
	size_t count, max;
} check_t;

/** Add a finding. advice: NULL: nothing to do. */
void kxdp_find(check_t *check, const char *id, kxdp_severity_t severity, const char *advice, const char *format, ...)
		__attribute__((format(printf, 5, 6)));

/** A whole number from a file of /proc or /sys; false: there is none. */
bool kxdp_read_number(const char *path, long *ret_value);

/** Bytes of frames that all queues together lock. */
uint64_t kxdp_check_memory(const check_t *check);

typedef void (*check_fn_t)(check_t *check);

/** Rows of the parts, in the order of the output. */
extern const check_fn_t kxdp_check_host[], kxdp_check_link[];
extern const size_t kxdp_check_host_count, kxdp_check_link_count;
