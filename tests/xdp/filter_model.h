/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What the kernel program should do with a packet, worked out in user space from the documents (abi.h, the RFCs), not
 * from the program: frames as bytes, no structures of the kernel's, no code shared. For comparing, so it is slow and
 * plain.
 */
#pragma once

#include "xdp/bpf/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_RULES_MAX = 8, MODEL_KNOWN_MAX = 16 };

/** What is set up around the program. */
typedef struct {
	const char *what;
	struct filter_config config;
	bool has_socket; /* queue 0 */
	bool is_plain;   /* the program that can't put metadata in front of frames */
	size_t known_count;
	struct {
		struct filter_known key;
		enum filter_known_value value;
	} known[MODEL_KNOWN_MAX];
	size_t rule_count;
	struct {
		struct filter_prefix prefix;
		uint32_t per_second; /* 0: blocked; else so much that nothing is dropped */
	} rules[MODEL_RULES_MAX];
} model_t;

/** What should become of a packet on queue 0, where nothing can be routed (`lo` doesn't forward). */
typedef struct {
	enum filter_count fate;
	enum filter_way way; /* in the metadata; 0: there is none */
	int rule;            /* that matches; -1: none is asked, or none does */
} model_result_t;

model_result_t model_run(const model_t *model, const uint8_t *packet, size_t len);
