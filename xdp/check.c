/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel and process; the interface is in check_link.c. */
#include "xdp/check_rows.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef CAP_BPF
#define CAP_PERFMON 38 /* Linux 5.8 */
#define CAP_BPF     39
#endif

const char *kxdp_severity_name(kxdp_severity_t severity)
{
	static const char *const names[] = { "ok", "warning", "error" };
	return names[severity];
}

void kxdp_find(check_t *check, const char *id, kxdp_severity_t severity, const char *advice, const char *format, ...)
{
	if (check->count == check->max) {
		return;
	}
	kxdp_finding_t *f = &check->findings[check->count++];
	*f = (kxdp_finding_t){ .id = id, .severity = severity };
	va_list args;
	va_start(args, format);
	vsnprintf(f->text, sizeof(f->text), format, args);
	va_end(args);
	snprintf(f->advice, sizeof(f->advice), "%s", advice != NULL ? advice : "");
}

bool kxdp_read_number(const char *path, long *ret_value)
{
	FILE *file = fopen(path, "re");
	if (file == NULL) {
		return false;
	}
	char text[32], *end = text;
	if (fgets(text, sizeof(text), file) != NULL) {
		*ret_value = strtol(text, &end, 10);
	}
	fclose(file);
	return end != text;
}

uint64_t kxdp_check_memory(const check_t *check)
{
	uint64_t queues = check->device.queue_count > 0 ? check->device.queue_count : 1;
	return queues * 2 * check->ring_size * KXDP_FRAME_SIZE;
}

/* ---- Kernel ---- */

static void check_kernel(check_t *check)
{
	struct utsname name;
	unsigned major = 0, minor = 0;
	if (uname(&name) != 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2) {
		kxdp_find(check, "kernel", KXDP_CHECK_WARNING, NULL, "unknown version");
		return;
	}
	unsigned version = major * 1000 + minor;
	if (version < 5009) {
		kxdp_find(check, "kernel", KXDP_CHECK_ERROR, "use Linux 5.15 or later",
				"Linux %s has no BPF links for XDP", name.release);
	} else if (version < 5015) {
		kxdp_find(check, "kernel", KXDP_CHECK_WARNING, "use Linux 5.15 or later",
				"Linux %s is older than what Bowline is tested on", name.release);
	} else {
		kxdp_find(check, "kernel", KXDP_CHECK_OK, NULL, "Linux %s", name.release);
	}
}

static void check_af_xdp(check_t *check)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		close(fd);
	}
	if (fd < 0 && errno != EPERM) {
		kxdp_find(check, "af-xdp", KXDP_CHECK_ERROR, "use a kernel with CONFIG_XDP_SOCKETS",
				"no AF_XDP sockets (%s)", strerrordesc_np(errno));
		return;
	}
	kxdp_find(check, "af-xdp", KXDP_CHECK_OK, NULL, "the kernel has AF_XDP sockets");
}

static void check_bpf(check_t *check)
{
	uint32_t next;
	if (bpf_prog_get_next_id(0, &next) != 0 && errno == ENOSYS) {
		kxdp_find(check, "bpf", KXDP_CHECK_ERROR, "use a kernel with CONFIG_BPF_SYSCALL", "no BPF");
		return;
	}
	long jit = 1, unprivileged = 0;
	(void)kxdp_read_number("/proc/sys/net/core/bpf_jit_enable", &jit);
	bool known = kxdp_read_number("/proc/sys/kernel/unprivileged_bpf_disabled", &unprivileged);
	if (jit == 0) {
		kxdp_find(check, "bpf", KXDP_CHECK_WARNING, "sysctl -w net.core.bpf_jit_enable=1",
				"the program is interpreted, not compiled: slow");
	} else if (known && unprivileged == 0) {
		kxdp_find(check, "bpf", KXDP_CHECK_WARNING, "sysctl -w kernel.unprivileged_bpf_disabled=2",
				"compiled; every user may load BPF programs, which Bowline doesn't need");
	} else {
		kxdp_find(check, "bpf", KXDP_CHECK_OK, NULL, "compiled, for privileged users only");
	}
}

static void check_bpf_files(check_t *check)
{
	struct statfs info;
	bool mounted = statfs("/sys/fs/bpf", &info) == 0 && info.f_type == (__fsword_t)BPF_FS_MAGIC;
	kxdp_find(check, "bpf-files", KXDP_CHECK_OK, NULL, "/sys/fs/bpf is %smounted%s", mounted ? "" : "not ",
			mounted ? "" : "; it is needed beside programs of libxdp's dispatcher only");
}

/* ---- Process ---- */

static uint64_t effective_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	return syscall(SYS_capget, &header, data) == 0 ? data[0].effective | (uint64_t)data[1].effective << 32 : 0;
}

static void check_capabilities(check_t *check)
{
	static const struct {
		unsigned number;
		const char *name;
		bool in_admin; /* CAP_SYS_ADMIN is as good */
	} needed[] = { { CAP_NET_ADMIN, "CAP_NET_ADMIN", false }, { CAP_NET_RAW, "CAP_NET_RAW", false },
		{ CAP_BPF, "CAP_BPF", true }, { CAP_PERFMON, "CAP_PERFMON", true } };
	uint64_t held = effective_capabilities();
	char missing[96] = "";
	size_t len = 0;
	for (size_t i = 0; i < KNOT_LEN(needed); i++) {
		bool has = (held >> needed[i].number & 1) != 0 ||
			   (needed[i].in_admin && (held >> CAP_SYS_ADMIN & 1) != 0);
		if (!has) {
			len += (size_t)snprintf(missing + len, sizeof(missing) - len, " %s", needed[i].name);
		}
	}
	if (len > 0) {
		kxdp_find(check, "capabilities", KXDP_CHECK_ERROR,
				"start knotd as root, or with the drop-in distro/xdp.conf; run this check as the same "
				"user",
				"this process has no%s", missing);
		return;
	}
	bool admin = (held >> CAP_SYS_ADMIN & 1) != 0;
	kxdp_find(check, "capabilities", KXDP_CHECK_OK,
			admin ? NULL : "add CAP_SYS_ADMIN if another program is on the interface",
			admin ? "all that is needed"
			      : "all that is needed; without CAP_SYS_ADMIN other XDP programs can't be looked at");
}

static void check_memory_lock(check_t *check)
{
	const uint64_t need = kxdp_check_memory(check);
	struct rlimit limit;
	if ((effective_capabilities() >> CAP_IPC_LOCK & 1) != 0) {
		kxdp_find(check, "memory-lock", KXDP_CHECK_OK, NULL, "unlimited (CAP_IPC_LOCK); %lu KiB will be locked",
				(unsigned long)(need >> 10));
	} else if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < need) {
		kxdp_find(check, "memory-lock", KXDP_CHECK_ERROR,
				"LimitMEMLOCK=infinity, or CAP_IPC_LOCK, or a lower ring-size",
				"%lu KiB may be locked, %lu KiB are needed", (unsigned long)(limit.rlim_cur >> 10),
				(unsigned long)(need >> 10));
	} else {
		kxdp_find(check, "memory-lock", KXDP_CHECK_OK, NULL, "enough for the %lu KiB that are needed",
				(unsigned long)(need >> 10));
	}
}

static void check_huge_pages(check_t *check)
{
	long free_pages = 0;
	(void)kxdp_read_number("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", &free_pages);
	const uint64_t queues = check->device.queue_count > 0 ? check->device.queue_count : 1;
	const uint64_t page = 2 << 20, need = queues * ((kxdp_check_memory(check) / queues + page - 1) / page);
	char advice[96];
	snprintf(advice, sizeof(advice), "for some percent more speed: sysctl -w vm.nr_hugepages=%lu",
			(unsigned long)need);
	bool enough = free_pages >= 0 && (uint64_t)free_pages >= need;
	kxdp_find(check, "huge-pages", KXDP_CHECK_OK, enough ? NULL : advice, "%ld free, %lu would be used", free_pages,
			(unsigned long)need);
}

const check_fn_t kxdp_check_host[] = {
	check_kernel,
	check_af_xdp,
	check_bpf,
	check_bpf_files,
	check_capabilities,
	check_memory_lock,
	check_huge_pages,
};
const size_t kxdp_check_host_count = KNOT_LEN(kxdp_check_host);

/* ---- All of it ---- */

size_t kxdp_check(const kxdp_check_t *what, kxdp_finding_t *ret_findings, size_t max)
{
	check_t check = {
		.ifname = what->ifname,
		.ring_size = what->ring_size != 0 ? what->ring_size : KXDP_RING_DEFAULT,
		.findings = ret_findings,
		.max = max,
	};
	if (what->ifname != NULL) {
		check.device = kxdp_device_query(what->ifname);
	}
	for (size_t i = 0; i < kxdp_check_host_count; i++) {
		kxdp_check_host[i](&check);
	}
	if (what->ifname == NULL) {
		return check.count;
	}
	if (check.device.index == 0 || !kxdp_link_query(check.device.index, &check.link)) {
		kxdp_find(&check, "interface", KXDP_CHECK_ERROR, "see what there is: ip link",
				"there is no interface %s", what->ifname);
		return check.count;
	}
	for (size_t i = 0; i < kxdp_check_link_count; i++) {
		kxdp_check_link[i](&check);
	}
	return check.count;
}

size_t kxdp_check_interfaces(char (*ret_names)[IF_NAMESIZE], size_t max)
{
	struct if_nameindex *all = if_nameindex();
	size_t count = 0;
	for (const struct if_nameindex *i = all; i != NULL && i->if_index != 0 && count < max; i++) {
		kxdp_link_t link;
		if (kxdp_link_query(i->if_index, &link) && (link.flags & IFF_UP) != 0 &&
				(link.flags & IFF_LOOPBACK) == 0) {
			snprintf(ret_names[count++], IF_NAMESIZE, "%s", i->if_name);
		}
	}
	if (all != NULL) {
		if_freenameindex(all);
	}
	return count;
}
