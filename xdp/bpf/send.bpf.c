/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fills frames from a ring and redirects them to an interface; see send.h. One thread runs it at a time. */
#include "send.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SEND_SLOTS);
	__type(key, __u32);
	__type(value, struct send_slot);
} send_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct send_control);
} send_control SEC(".maps");

/* The frame is given the slot's length and bytes. 0: done. */
static __always_inline int send_fill_frame(struct xdp_md *ctx, const struct send_slot *slot)
{
	__u32 off = slot->off, len = slot->len;
	if (off > SEND_OFF_MAX || len < SEND_LEN_MIN || len > SEND_LEN_MAX) {
		return -1;
	}
	int grow = (int)len - (int)(ctx->data_end - ctx->data);
	if (grow != 0 && bpf_xdp_adjust_tail(ctx, grow) != 0) {
		return -1;
	}
	return (int)bpf_xdp_store_bytes(ctx, 0, (void *)(slot->bytes + off), len);
}

SEC("xdp")
int bowline_send(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct send_control *control = bpf_map_lookup_elem(&send_control, &zero);
	if (control == NULL) {
		return XDP_ABORTED;
	}
	__u32 tail = control->tail;
	if (*(volatile __u32 *)&control->head == tail) {
		return XDP_DROP;
	}
	/* A read-modify-write that gives a value is a full barrier: the frame is read after the head that announced it.
	 */
	(void)!__sync_fetch_and_add(&control->barrier, 1);
	__u32 place = tail % SEND_SLOTS;
	const struct send_slot *slot = bpf_map_lookup_elem(&send_slots, &place);
	int result = slot != NULL ? send_fill_frame(ctx, slot) : -1;
	(void)!__sync_fetch_and_add(&control->tail, 1); /* 〃 given back after it was read */
	if (result != 0) {
		control->failed++;
		return XDP_DROP;
	}
	return (int)bpf_redirect(control->ifindex, 0);
}

char _license[] SEC("license") = "Dual BSD/GPL";
