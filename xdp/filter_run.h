/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The kernel program under test: loaded with nothing attached, run by the kernel on a packet (BPF_PROG_TEST_RUN).
 *
 * Nothing of the library's code that loads and configures is used to test the program. Needs root, and a network
 * namespace of its own (filter_enter_namespace()). One thread at a time configures; any may run packets.
 */
#pragma once

#include "xdp/bpf/abi.h"
#include "xdp/bpf/embed.h"
#include "xdp/bpf/limit.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef SOL_XDP
#define SOL_XDP 283
#endif

enum {
	RUN_QUEUES = 4,
	RUN_FRAME_MAX = 4096,
};

#define FILTER_ROW_NAME(constant, name, group, what) [constant] = name,
static const char *const filter_names[FILTER_COUNT_ROWS] = { FILTER_COUNTS(FILTER_ROW_NAME) };
#undef FILTER_ROW_NAME
#define FILTER_ROW_GROUP(constant, name, group, what) [constant] = group,
static const enum filter_group filter_groups[FILTER_COUNT_ROWS] = { FILTER_COUNTS(FILTER_ROW_GROUP) };
#undef FILTER_ROW_GROUP

typedef struct {
	struct bpf_object *object;
	int prog_fd; /* the program that runs: full_fd, or plain_fd */
	int full_fd, plain_fd, client_fd, config_fd, active_fd, sockets_fd, prefixes_fd, rules_fd, known_fd;
	struct filter_counts *counts; /* [RUN_QUEUES], mapped */
	struct filter_rule *rules;    /* [FILTER_RULE_MAX], mapped */
	uint32_t slot;                /* of the configuration in use */
	int socket;                   /* AF_XDP, in the map for queue 0; -1: none */
	void *umem;
} filter_t;

/** What the program did with a packet. */
typedef struct {
	uint32_t action; /* XDP_PASS, XDP_DROP, XDP_REDIRECT */
	bool has_meta;
	struct filter_meta meta;
	uint8_t frame[RUN_FRAME_MAX]; /* afterwards */
	size_t len;
} filter_result_t;

/** Enter a network namespace with `lo` up. False: no privileges. */
static inline bool filter_enter_namespace(void)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0) {
		return false;
	}
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	bool up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &ifr) == 0;
	close(fd);
	return up;
}

static inline void filter_die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	abort();
}

static inline void *filter_map_memory(int fd, size_t len)
{
	void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		filter_die("mapping a BPF map");
	}
	return memory;
}

static inline filter_t filter_load(void)
{
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	knot_bytes_t bytes = kxdp_filter_object();
	struct bpf_object *object = bpf_object__open_mem(bytes.data, bytes.len, NULL);
	if (object == NULL) {
		filter_die("reading the program");
	}
	bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "filter_counts"), RUN_QUEUES);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "filter_sockets"), RUN_QUEUES);
	if (bpf_object__load(object) != 0) {
		filter_die("loading the program");
	}
	int full_fd = bpf_program__fd(bpf_object__find_program_by_name(object, "bowline_filter"));
	filter_t f = { .object = object,
		.prog_fd = full_fd,
		.full_fd = full_fd,
		.plain_fd = bpf_program__fd(bpf_object__find_program_by_name(object, "bowline_plain")),
		.client_fd = bpf_program__fd(bpf_object__find_program_by_name(object, "bowline_client")),
		.config_fd = bpf_object__find_map_fd_by_name(object, "filter_config"),
		.active_fd = bpf_object__find_map_fd_by_name(object, "filter_active"),
		.sockets_fd = bpf_object__find_map_fd_by_name(object, "filter_sockets"),
		.prefixes_fd = bpf_object__find_map_fd_by_name(object, "filter_prefixes"),
		.rules_fd = bpf_object__find_map_fd_by_name(object, "filter_rules"),
		.known_fd = bpf_object__find_map_fd_by_name(object, "filter_known"),
		.socket = -1 };
	f.counts = filter_map_memory(bpf_object__find_map_fd_by_name(object, "filter_counts"),
			RUN_QUEUES * sizeof(struct filter_counts));
	f.rules = filter_map_memory(f.rules_fd, FILTER_RULE_MAX * sizeof(struct filter_rule));
	return f;
}

static inline void filter_close_socket(filter_t *f)
{
	if (f->socket >= 0) {
		uint32_t zero = 0;
		(void)bpf_map_delete_elem(f->sockets_fd, &zero);
		close(f->socket);
		munmap(f->umem, RUN_FRAME_MAX);
		f->socket = -1;
	}
}

/** Something that the host has, or doesn't. */
static inline void filter_know(const filter_t *f, const struct filter_known *known, enum filter_known_value value)
{
	uint32_t number = value;
	if (bpf_map_update_elem(f->known_fd, known, &number, BPF_ANY) != 0) {
		filter_die("telling what the host has");
	}
}

/** The host has nothing. */
static inline void filter_forget_all(const filter_t *f)
{
	struct filter_known known;
	while (bpf_map_get_next_key(f->known_fd, NULL, &known) == 0) {
		if (bpf_map_delete_elem(f->known_fd, &known) != 0) {
			filter_die("forgetting what the host has");
		}
	}
}

/** A socket that is not bound: enough to be in the map, and nothing ever arrives. */
static inline void filter_open_socket(filter_t *f)
{
	int size = 2;
	uint32_t zero = 0;
	f->umem = mmap(NULL, RUN_FRAME_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	f->socket = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	struct xdp_umem_reg umem = { .addr = (uintptr_t)f->umem, .len = RUN_FRAME_MAX, .chunk_size = RUN_FRAME_MAX };
	if (f->umem == MAP_FAILED || f->socket < 0 ||
			setsockopt(f->socket, SOL_XDP, XDP_UMEM_REG, &umem, sizeof(umem)) != 0 ||
			setsockopt(f->socket, SOL_XDP, XDP_UMEM_FILL_RING, &size, sizeof(size)) != 0 ||
			setsockopt(f->socket, SOL_XDP, XDP_UMEM_COMPLETION_RING, &size, sizeof(size)) != 0 ||
			setsockopt(f->socket, SOL_XDP, XDP_RX_RING, &size, sizeof(size)) != 0 ||
			bpf_map_update_elem(f->sockets_fd, &zero, &f->socket, BPF_ANY) != 0) {
		filter_die("making an AF_XDP socket");
	}
}

static inline void filter_unload(filter_t *f)
{
	filter_close_socket(f);
	munmap(f->counts, RUN_QUEUES * sizeof(struct filter_counts));
	munmap(f->rules, FILTER_RULE_MAX * sizeof(struct filter_rule));
	bpf_object__close(f->object);
}

static inline void filter_configure(filter_t *f, const struct filter_config *config)
{
	uint32_t zero = 0;
	f->slot = 1 - f->slot;
	if (bpf_map_update_elem(f->config_fd, &f->slot, config, BPF_ANY) != 0 ||
			bpf_map_update_elem(f->active_fd, &zero, &f->slot, BPF_ANY) != 0) {
		filter_die("configuring");
	}
}

static inline void filter_set_rule(filter_t *f, const struct filter_prefix *prefix, uint32_t index, uint32_t per_second)
{
	f->rules[index] = filter_rule_of(per_second);
	f->rules[index].prefix_len = prefix->len;
	if (bpf_map_update_elem(f->prefixes_fd, prefix, &index, BPF_ANY) != 0) {
		filter_die("adding a rule");
	}
}

/** Run the program on a packet of `queue` of the interface `ifindex`; 0: of queue 0 of `lo`. */
static inline void filter_run(const filter_t *f, const uint8_t *packet, size_t len, unsigned ifindex, unsigned queue,
		filter_result_t *ret_result)
{
	uint8_t after[RUN_FRAME_MAX + sizeof(struct filter_meta)];
	struct xdp_md in = { .data_end = (uint32_t)len, .ingress_ifindex = ifindex, .rx_queue_index = queue }, out;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = (uint32_t)len, .data_out = after,
			.data_size_out = sizeof(after), .ctx_in = &in, .ctx_size_in = sizeof(in), .ctx_out = &out,
			.ctx_size_out = sizeof(out));
	if (bpf_prog_test_run_opts(f->prog_fd, &opts) != 0) {
		filter_die("running the program");
	}
	ret_result->action = opts.retval;
	size_t meta_len = out.data - out.data_meta;
	ret_result->has_meta = meta_len == sizeof(struct filter_meta);
	memcpy(&ret_result->meta, after, ret_result->has_meta ? meta_len : 0);
	ret_result->len = opts.data_size_out - meta_len;
	memcpy(ret_result->frame, after + meta_len, ret_result->len);
}

/** The fate whose counter moved between two states of a queue's counters; FILTER_RECEIVED when not exactly one did. */
static inline enum filter_count filter_moved(const struct filter_counts *before, const struct filter_counts *after)
{
	enum filter_count fate = FILTER_RECEIVED;
	unsigned moved = 0;
	for (unsigned i = FILTER_RECEIVED + 1; i < FILTER_COUNT_MAX; i++) {
		if (after->packets[i] != before->packets[i]) {
			moved += (unsigned)(after->packets[i] - before->packets[i]);
			fate = (enum filter_count)i;
		}
	}
	return moved == 1 ? fate : FILTER_RECEIVED;
}

/** The action of a fate. */
static inline uint32_t filter_action(enum filter_count fate)
{
	static const uint32_t actions[] = { [FILTER_GROUP_REDIRECTED] = XDP_REDIRECT,
		[FILTER_GROUP_PASSED] = XDP_PASS,
		[FILTER_GROUP_DROPPED] = XDP_DROP };
	return actions[filter_groups[fate]];
}
