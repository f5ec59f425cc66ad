/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Knot DNS and kxdpgun leave their XDP program attached when they end, switched off: each queue's entry in the
 * program's map "opts_map" loses its flag "on", and the program passes everything. After a move from Knot DNS the
 * interface is taken by a program that does nothing. Such a program is detached here. One that is switched on for any
 * queue belongs to a running process, and stays.
 */
#include "xdp/iface.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <string.h>
#include <unistd.h>

enum {
	MAPS_MAX = 8,
	ENTRIES_MAX = 4096,
	ENTRY_LEN_MAX = 64,
	ENTRY_ON = 1, /* bit in the first 16 bits of an entry, host order */
};

static const char program_name[] = "xdp_redirect_dn"; /* what the kernel keeps of "xdp_redirect_dns_func" */
static const char options_name[] = "opts_map";

/* True if the map is the options map and all its entries are switched off. */
static bool is_switched_off(uint32_t map_id, bool *ret_found)
{
	int fd = bpf_map_get_fd_by_id(map_id);
	if (fd < 0) {
		return false;
	}
	struct bpf_map_info info = { 0 };
	uint32_t info_len = sizeof(info);
	bool known = bpf_obj_get_info_by_fd(fd, &info, &info_len) == 0 && strcmp(info.name, options_name) == 0 &&
		     info.type == BPF_MAP_TYPE_ARRAY && info.key_size == sizeof(uint32_t) &&
		     info.value_size >= sizeof(uint16_t) && info.value_size <= ENTRY_LEN_MAX &&
		     info.max_entries <= ENTRIES_MAX;
	bool off = known;
	for (uint32_t i = 0; off && i < info.max_entries; i++) {
		uint16_t entry[ENTRY_LEN_MAX / sizeof(uint16_t)];
		off = bpf_map_lookup_elem(fd, &i, entry) == 0 && (entry[0] & ENTRY_ON) == 0;
	}
	close(fd);
	*ret_found |= known;
	return off || !known;
}

static bool is_leftover(int prog_fd)
{
	uint32_t map_ids[MAPS_MAX];
	struct bpf_prog_info info = { .nr_map_ids = MAPS_MAX, .map_ids = (uint64_t)(uintptr_t)map_ids };
	uint32_t info_len = sizeof(info);
	if (bpf_obj_get_info_by_fd(prog_fd, &info, &info_len) != 0 || strcmp(info.name, program_name) != 0 ||
			info.nr_map_ids > MAPS_MAX) {
		return false;
	}
	bool off = true, found = false;
	for (uint32_t i = 0; i < info.nr_map_ids && off; i++) {
		off = is_switched_off(map_ids[i], &found);
	}
	return off && found;
}

static void detach_leftover(int ifindex, uint32_t prog_id, uint32_t mode_flags)
{
	int fd = prog_id != 0 ? bpf_prog_get_fd_by_id(prog_id) : -1;
	if (fd < 0) {
		return;
	}
	if (is_leftover(fd)) {
		/* Only if it is still this program, so that no other one is removed by accident. */
		LIBBPF_OPTS(bpf_xdp_attach_opts, opts, .old_prog_fd = fd);
		(void)bpf_xdp_detach(ifindex, mode_flags, &opts);
	}
	close(fd);
}

void kxdp_detach_leftovers(unsigned ifindex)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	if (bpf_xdp_query((int)ifindex, 0, &query) == 0) {
		detach_leftover((int)ifindex, query.drv_prog_id, XDP_FLAGS_DRV_MODE);
		detach_leftover((int)ifindex, query.skb_prog_id, XDP_FLAGS_SKB_MODE);
	}
}
