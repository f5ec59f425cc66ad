/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOBODY = 65534 };

typedef enum { NEW, PLAIN, SYMLINK, DANGLING, HARD_LINK, FIFO } kind_t;

/* Of the paths of `dir`: "file" is what is opened, "target" belongs to another user. */
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

/* ---- Replacing ---- */

/* What is asked of the kernel, in order: 'f' a file is flushed, 'r' renamed, 'd' a folder is flushed, 's' its whole
 * file system. */
static char calls[16];

static void note_call(char call)
{
	size_t len = strlen(calls);
	assert_true(len + 1 < sizeof(calls));
	calls[len] = call;
	calls[len + 1] = '\0';
}

/* In the place of libc's. */
int fsync(int fd)
{
	struct stat info;
	assert_int_equal(fstat(fd, &info), 0);
	note_call(S_ISDIR(info.st_mode) ? 'd' : 'f');
	return (int)syscall(SYS_fsync, fd);
}

int syncfs(int fd)
{
	note_call('s');
	return (int)syscall(SYS_syncfs, fd);
}

int rename(const char *from, const char *to)
{
	note_call('r');
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static void test_replacing(void **state)
{
	(void)state;
	static const kind_t kinds[] = { NEW, PLAIN, SYMLINK, DANGLING, HARD_LINK, FIFO };
	for (size_t i = 0; i < KNOT_LEN(kinds); i++) {
		make(kinds[i]);
		calls[0] = '\0';
		bool is_made = false;
		assert_int_equal(sys_file_replace(file, "text", 4, 0640, &is_made), KNOT_OK);
		assert_true(is_made);
		assert_string_equal(calls, "frd"); /* whole on the disk before it has its name, then the name */
		struct stat info;
		assert_int_equal(lstat(file, &info), 0);
		assert_true(S_ISREG(info.st_mode) && (info.st_mode & 0777) == 0640 && info.st_size == 4);
		if (stat(target, &info) == 0) {
			assert_int_equal(info.st_size, 0); /* what a link led to stays as it was */
		}
		unlink(file);
		unlink(target);
	}
	bool is_made = true;
	assert_int_equal(sys_file_replace("/nowhere/file", "", 0, 0640, &is_made), KNOT_ENOENT);
	assert_false(is_made);
	assert_int_equal(mkdir(file, 0700), 0);
	assert_int_not_equal(sys_file_replace(file, "", 0, 0640, &is_made), KNOT_OK);
	assert_true(is_made);
	assert_int_equal(rmdir(file), 0); /* and teardown() finds nothing else in the folder */
}

/* Replace the file as a user whom the modes of the folder bind. Exit codes: 0 as wanted, 1 an error, 2 other calls. */
static int replace_without_reading(void)
{
	bool is_made = false;
	if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) != 0) {
		return 1;
	}
	calls[0] = '\0';
	knot_err_t err = sys_file_replace(file, "text", 4, 0640, &is_made);
	return err != KNOT_OK ? 1 : strcmp(calls, "frs") == 0 ? 0 : 2;
}

static void test_folder_without_reading(void **state)
{
	(void)state;
	assert_true(geteuid() != 0 || chown(dir, NOBODY, NOBODY) == 0);
	assert_int_equal(chmod(dir, 0300), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		_exit(replace_without_reading());
	}
	int status = -1;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(chmod(dir, 0700), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(unlink(file), 0);
}

static void test_words_for_links(void **state)
{
	(void)state;
	make(DANGLING);
	assert_string_equal(sys_file_strerror(file, KNOT_ENOENT), "is a symbolic link whose target does not exist");
	assert_string_equal(sys_file_strerror(file, knot_err_of_errno(ELOOP)),
			"is a symbolic link, which is not followed here");
	assert_string_equal(sys_file_strerror(file, KNOT_ENOMEM), knot_strerror(KNOT_ENOMEM));
	assert_string_equal(sys_file_strerror(target, KNOT_ENOENT), "not exists");
	unlink(file);
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
		cmocka_unit_test(test_replacing),
		cmocka_unit_test(test_folder_without_reading),
		cmocka_unit_test(test_words_for_links),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
