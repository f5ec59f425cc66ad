/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Whether the server lives, and whether it is ready for queries: /healthz and /ready of the metrics endpoint.
 */
#pragma once

#include "src/event/server.h"
#include "src/net/net.h"

enum { HEALTH_TEXT_MAX = 256 };

typedef struct {
	bool is_good;
	char text[HEALTH_TEXT_MAX]; /* one line without its end: the facts, or the first reason why not */
} health_t;

/** It lives: its main loop moves. Cheap; no lock. */
health_t health_of_process(void);

/**
 * It is ready: answering has begun, every zone was loaded or tried, and every AF_XDP interface of the configuration has
 * open queues, or ordinary sockets instead. all_zones: and each zone is served. Takes locks, asks the kernel: not
 * within a read section.
 */
health_t health_of_service(const server_t *server, net_t *net, bool all_zones);
