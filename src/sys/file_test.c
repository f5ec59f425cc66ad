/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOBODY = 65534 };

typedef enum { NEW, PLAIN, SYMLINK, DANGLING, HARD_LINK, FIFO } kind_t;

/* Of the paths of `dir`: "file" is what is opened, "target" is somebody else's. */
static char dir[] = "/tmp/bowline-file-XXXXXX";
static char file[64], target[64];

static void touch(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void make(kind_t kind)
{
	if (kind != NEW && kind != PLAIN && kind != DANGLING) {
		touch(target);
	}
	switch (kind) {
	case NEW: break;
	case PLAIN: touch(file); break;
	case SYMLINK:
	case DANGLING: assert_int_equal(symlink(target, file), 0); break;
	case HARD_LINK: assert_int_equal(link(target, file), 0); break;
	case FIFO: assert_int_equal(mkfifo(file, 0600), 0); break;
	}
}

static uid_t owner_of(const char *path)
{
	struct stat info;
	assert_int_equal(lstat(path, &info), 0);
	return info.st_uid;
}

static void test_owners(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		kind_t kind;
		bool is_opened, is_given;
	} rows[] = {
		{ "a new file is made and given", NEW, true, true },
		{ "a file that was there is given", PLAIN, true, true },
		{ "a symbolic link is not followed", SYMLINK, false, false },
		{ "nothing is made where a symbolic link leads", DANGLING, false, false },
		{ "a file of two names stays whose it is", HARD_LINK, true, false },
		{ "what is no regular file stays whose it is", FIFO, true, false },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		make(rows[i].kind);
		int fd = -1;
		knot_err_t err = sys_file_open(file, O_RDWR | O_CREAT, 0640, NOBODY, NOBODY, &fd);
		uid_t want = geteuid() == 0 && rows[i].is_given ? NOBODY : geteuid();
		bool has_target = access(target, F_OK) == 0;
		if (err != (rows[i].is_opened ? KNOT_OK : knot_err_of_errno(ELOOP)) || owner_of(file) != want ||
				(has_target && owner_of(target) != geteuid()) ||
				(rows[i].kind == DANGLING && has_target)) {
			fail_msg("%s: %s, owner %u", rows[i].what, knot_strerror(err), (unsigned)owner_of(file));
		}
		if (fd >= 0) {
			close(fd);
		}
		unlink(file);
		unlink(target);
	}
}

static int setup(void **state)
{
	(void)state;
	if (mkdtemp(dir) == NULL) {
		return -1;
	}
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(target, sizeof(target), "%s/target", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_owners),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
