/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/priv_caps.h"

#include "libknot/base/err.h"

#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* Linux 5.8 */
#define CAP_BPF     39
#endif

static const uint8_t kept[] = {
	CAP_NET_ADMIN,
	CAP_NET_RAW,
	CAP_BPF,
	CAP_PERFMON,
	CAP_IPC_LOCK,
	CAP_NET_BIND_SERVICE,
};

static uint64_t bit(unsigned cap)
{
	return UINT64_C(1) << cap;
}

static bool get_caps(uint64_t *ret_effective, uint64_t *ret_permitted)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	if (syscall(SYS_capget, &header, data) != 0) {
		return false;
	}
	*ret_effective = data[0].effective | (uint64_t)data[1].effective << 32;
	*ret_permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	return true;
}

static void set_caps(uint64_t effective, uint64_t permitted)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)effective, .permitted = (uint32_t)permitted },
		{ .effective = (uint32_t)(effective >> 32), .permitted = (uint32_t)(permitted >> 32) },
	};
	(void)syscall(SYS_capset, &header, data);
}

bool kxdp_caps_any(void)
{
	uint64_t effective, permitted;
	return get_caps(&effective, &permitted) &&
	       (effective & (bit(CAP_NET_ADMIN) | bit(CAP_NET_RAW) | bit(CAP_NET_BIND_SERVICE))) != 0;
}

/* CAP_SYS_ADMIN stands in for what it was made of in Linux 5.8. */
static bool needs_admin(uint64_t effective)
{
	const uint64_t both = bit(CAP_BPF) | bit(CAP_PERFMON);
	return (effective & both) != both;
}

void kxdp_caps_limit(void)
{
	uint64_t effective, permitted, keep = 0;
	if (!get_caps(&effective, &permitted)) {
		return;
	}
	for (size_t i = 0; i < KNOT_LEN(kept); i++) {
		keep |= bit(kept[i]);
	}
	/* The bounding set goes first: shrinking it needs a capability. Ends at the first number the kernel doesn't
	 * have. */
	for (unsigned cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
		if ((bit(cap) & (keep | bit(CAP_SYS_ADMIN))) == 0) {
			(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
		}
	}
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	set_caps(effective & (keep | (needs_admin(effective) ? bit(CAP_SYS_ADMIN) : 0)),
			permitted & (keep | bit(CAP_SYS_ADMIN)));
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* other processes of the same user can't read its memory */
}

void kxdp_caps_admin(bool on)
{
	uint64_t effective, permitted;
	if (get_caps(&effective, &permitted) && !needs_admin(effective)) {
		effective = on ? effective | (permitted & bit(CAP_SYS_ADMIN)) : effective & ~bit(CAP_SYS_ADMIN);
		set_caps(effective, permitted);
	}
}
