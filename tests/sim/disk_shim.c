/* SPDX-License-Identifier: BSD-2-Clause */
/* disk.c for LD_PRELOAD: what to watch comes from the environment (disk.h). */
#include "tests/sim/disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static disk_when_t when_of(const char *text)
{
	static const char *const names[DISK_WHEN_COUNT] = { "before", "half", "after" };
	for (unsigned i = 0; text != NULL && i < DISK_WHEN_COUNT; i++) {
		if (strcmp(text, names[i]) == 0) {
			return (disk_when_t)i;
		}
	}
	return DISK_BEFORE;
}

__attribute__((constructor)) static void begin(void)
{
	const char *folder = getenv("DISK_FOLDER"), *at = getenv("DISK_KILL_AT"), *count = getenv("DISK_COUNT");
	disk_control_t *control = MAP_FAILED;
	if (folder == NULL || strlen(folder) >= sizeof(control->folder)) {
		return;
	}
	int fd = count != NULL ? open(count, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
	if (fd >= 0 && ftruncate(fd, sizeof(*control)) == 0) {
		control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	} else if (count == NULL) {
		control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	}
	if (fd >= 0) {
		close(fd);
	}
	if (control == MAP_FAILED) {
		fputs("disk_shim: DISK_COUNT can't be mapped\n", stderr);
		abort();
	}
	const char *log = getenv("DISK_LOG");
	if (log != NULL && (disk_log = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) < 0) {
		fputs("disk_shim: DISK_LOG can't be opened\n", stderr);
		abort();
	}
	control->kill_at = at != NULL ? (uint32_t)strtoul(at, NULL, 10) : 0;
	control->when = when_of(getenv("DISK_WHEN"));
	memcpy(control->folder, folder, strlen(folder) + 1);
	disk_control = control;
}
