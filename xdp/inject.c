/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/inject.h"

#include "xdp/bpf/embed.h"
#include "xdp/bpf/send.h"
#include "xdp/features.h"
#include "xdp/iface.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LIVE_BATCH = 64, REPEAT = 1 << 30 };

#ifndef BPF_F_TEST_XDP_LIVE_FRAMES
#define BPF_F_TEST_XDP_LIVE_FRAMES (1U << 1)
#endif

struct kxdp_injector {
	struct bpf_object *object;    /* owned */
	int prog_fd;                  /* of `object` */
	struct send_slot *slots;      /* mapped: SEND_SLOTS */
	struct send_control *control; /* mapped */
	char ifname[IF_NAMESIZE];
};

static size_t injector_control_len(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (sizeof(struct send_control) + page - 1) / page * page;
}

static void *injector_map(struct bpf_object *object, const char *name, size_t len)
{
	int fd = bpf_object__find_map_fd_by_name(object, name);
	void *memory = fd >= 0 ? mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
	return memory != MAP_FAILED ? memory : NULL;
}

static knot_err_t injector_open_steps(kxdp_injector_t *j, unsigned ifindex, kxdp_fault_t *ret_fault)
{
	knot_bytes_t bytes = kxdp_send_object();
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "bowline_send");
	libbpf_set_print(NULL);
	j->object = bpf_object__open_mem(bytes.data, bytes.len, &opts);
	if (j->object == NULL || bpf_object__load(j->object) != 0) {
		return kxdp_fault_errno(ret_fault, errno, j->ifname, "loading the sending program");
	}
	j->prog_fd = bpf_program__fd(bpf_object__find_program_by_name(j->object, "bowline_send"));
	j->slots = injector_map(j->object, "send_slots", SEND_SLOTS * sizeof(struct send_slot));
	j->control = injector_map(j->object, "send_control", injector_control_len());
	if (j->slots == NULL || j->control == NULL) {
		return kxdp_fault_errno(ret_fault, errno, j->ifname, "mapping the sending program's ring");
	}
	j->control->ifindex = ifindex;
	return KNOT_OK;
}

bool kxdp_injector_is_ready(unsigned ifindex)
{
	kxdp_features_t features;
	return kxdp_features_query(ifindex, &features) && features.transmit;
}

knot_err_t kxdp_injector_open(
		unsigned ifindex, const char *ifname, kxdp_injector_t **ret_injector, kxdp_fault_t *ret_fault)
{
	kxdp_injector_t *j = calloc(1, sizeof(*j));
	if (j == NULL) {
		return kxdp_fault_errno(ret_fault, ENOMEM, ifname, "opening an injector");
	}
	snprintf(j->ifname, sizeof(j->ifname), "%s", ifname);
	knot_err_t err = injector_open_steps(j, ifindex, ret_fault);
	if (err != KNOT_OK) {
		kxdp_injector_close(j);
		return err;
	}
	*ret_injector = j;
	return KNOT_OK;
}

void kxdp_injector_close(kxdp_injector_t *take_injector)
{
	kxdp_injector_t *j = take_injector;
	if (j == NULL) {
		return;
	}
	if (j->slots != NULL) {
		munmap(j->slots, SEND_SLOTS * sizeof(struct send_slot));
	}
	if (j->control != NULL) {
		munmap(j->control, injector_control_len());
	}
	bpf_object__close(j->object);
	free(j);
}

uint32_t kxdp_injector_waiting(const kxdp_injector_t *j)
{
	return j->control->head - __atomic_load_n(&j->control->tail, __ATOMIC_ACQUIRE);
}

uint8_t *kxdp_injector_take(kxdp_injector_t *j)
{
	return kxdp_injector_waiting(j) < SEND_SLOTS ? j->slots[j->control->head % SEND_SLOTS].bytes : NULL;
}

void kxdp_injector_put(kxdp_injector_t *j, const uint8_t *start, size_t len)
{
	struct send_slot *slot = &j->slots[j->control->head % SEND_SLOTS];
	assert(start >= slot->bytes && start - slot->bytes <= SEND_OFF_MAX && len <= SEND_LEN_MAX);
	slot->off = (uint16_t)(start - slot->bytes);
	slot->len = (uint16_t)len;
	__atomic_store_n(&j->control->head, j->control->head + 1, __ATOMIC_RELEASE);
}

uint32_t kxdp_injector_failed(const kxdp_injector_t *j)
{
	return __atomic_load_n(&j->control->failed, __ATOMIC_RELAXED);
}

knot_err_t kxdp_injector_run(kxdp_injector_t *j, kxdp_fault_t *ret_fault)
{
	const uint8_t frame[SEND_FRAME_LEN] = { 0 };
	for (;;) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = sizeof(frame), .repeat = REPEAT,
				.flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = LIVE_BATCH);
		if (bpf_prog_test_run_opts(j->prog_fd, &opts) == 0) {
			continue;
		}
		return errno == EINTR ? KNOT_OK
				      : kxdp_fault_errno(ret_fault, errno, j->ifname, "running the sending program");
	}
}
