/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/forwarding.h"

#include "libknot/base/err.h"

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

static const char *const paths[] = { "/proc/sys/net/ipv4/conf/lo/forwarding", "/proc/sys/net/ipv6/conf/lo/forwarding" };

static int8_t read_setting(const char *path)
{
	char c;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool known = fd >= 0 && read(fd, &c, 1) == 1 && (c == '0' || c == '1');
	if (fd >= 0) {
		close(fd);
	}
	return known ? (int8_t)(c - '0') : -1;
}

static bool write_setting(const char *path, int8_t value)
{
	const char text[2] = { (char)('0' + value), '\n' };
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, sizeof(text)) == sizeof(text);
	if (fd >= 0) {
		close(fd);
	}
	return done;
}

void kxdp_forwarding_hold(kxdp_forwarding_t *f)
{
	if (f->users++ > 0) {
		return;
	}
	for (size_t i = 0; i < KNOT_LEN(paths); i++) {
		f->before[i] = read_setting(paths[i]);
		/* Only what was changed is restored. */
		if (f->before[i] != 0 || !write_setting(paths[i], 1)) {
			f->before[i] = -1;
		}
	}
}

void kxdp_forwarding_release(kxdp_forwarding_t *f)
{
	if (f->users == 0 || --f->users > 0) {
		return;
	}
	for (size_t i = 0; i < KNOT_LEN(paths); i++) {
		if (f->before[i] >= 0) {
			(void)write_setting(paths[i], f->before[i]);
		}
	}
}
