/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/iface.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

knot_err_t kxdp_fault(kxdp_fault_t *ret_fault, knot_err_t err, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(ret_fault->text, sizeof(ret_fault->text), format, args);
	va_end(args);
	ret_fault->err = err;
	return err;
}

/* What an errno value means on the way to an AF_XDP socket, and what to do; %s is the interface's name. */
static const struct {
	int errnum;
	knot_err_t err;
	const char *text;
} advice_rows[] = {
	{ EPERM, KNOT_EPERM,
			"no permission; start as root, or with CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON" },
	{ EACCES, KNOT_EPERM,
			"no permission; start as root, or with CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON" },
	{ EBUSY, KNOT_EBUSY, "in use by another program; stop that program first" },
	{ ENODEV, KNOT_ENODEV, "no such interface" },
	{ ENETDOWN, KNOT_ENODEV, "the interface is down; set it up: ip link set dev %s up" },
	{ ENOBUFS, KNOT_ENOMEM,
			"not enough lockable memory; raise LimitMEMLOCK (ulimit -l), give CAP_IPC_LOCK, or lower "
			"ring-size" },
	{ ENOMEM, KNOT_ENOMEM, "not enough memory; lower ring-size" },
	{ EAFNOSUPPORT, KNOT_ENOTSUP, "the kernel has no AF_XDP (CONFIG_XDP_SOCKETS)" },
	{ ENOSYS, KNOT_ENOTSUP, "the kernel has no BPF (CONFIG_BPF_SYSCALL)" },
	{ EOPNOTSUPP, KNOT_ENOTSUP, "not supported by the driver of %s" },
	{ EINVAL, KNOT_ENOTSUP,
			"refused by the kernel; Linux 5.15 or later is needed, and an MTU of %s that its driver "
			"supports with XDP" },
	{ ERANGE, KNOT_ENOTSUP, "the MTU of %s is too large for XDP; lower it" },
};

knot_err_t kxdp_fault_errno(kxdp_fault_t *ret_fault, int errnum, const char *ifname, const char *doing)
{
	for (size_t i = 0; i < KNOT_LEN(advice_rows); i++) {
		if (advice_rows[i].errnum == errnum) {
			char text[sizeof(ret_fault->text)];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			snprintf(text, sizeof(text), advice_rows[i].text, ifname);
#pragma GCC diagnostic pop
			return kxdp_fault(ret_fault, advice_rows[i].err, "%s: %s", doing, text);
		}
	}
	return kxdp_fault(ret_fault, knot_err_of_errno(errnum), "%s: %s", doing, strerrordesc_np(errnum));
}

int kxdp_retry_busy(int (*step)(void *ctx), void *ctx)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	int errnum = step(ctx);
	for (unsigned i = 0; errnum == EBUSY && i < 50; i++) {
		nanosleep(&pause, NULL);
		errnum = step(ctx);
	}
	return errnum;
}
