/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Damaged files: whatever bits of a database are changed or cut off, no reader gets wrong bytes, and nothing crashes
 * or hangs.
 *
 * Each round changes a good file at random and uses it in a child process: opens it, reads all, saves, removes, reads
 * again. An image is then one of those that were saved for its zone, or missing, or refused as damaged. KNOT_SEED=n
 * repeats a run, ROUNDS=n makes it longer.
 */
#include "src/store/store_test.h"
#include "src/sys/lmdb_check.h"
#include "src/sys/test_damage.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum {
	SMALL_COUNT = 600,
	LARGE_COUNT = 12,
	ALL_COUNT = SMALL_COUNT + LARGE_COUNT,
	SIZE_MAX_BYTES = 16 << 20,
	ROUNDS = 600,
	WRONG_BYTES = 3,
	CANNOT_OPEN = 4,
	CANNOT_SAVE = 5,
	CANNOT_READ = 6, /* exit codes of the child */
};

/* Two versions of each zone have been saved. */
static test_image_t versions[ALL_COUNT][2];
static char names[ALL_COUNT][24];

static uint8_t *good; /* the file */
static size_t good_len;
static char data_path[128], lock_path[128];

static void describe_images(void)
{
	for (int i = 0; i < ALL_COUNT; i++) {
		bool is_large = i >= SMALL_COUNT;
		snprintf(names[i], sizeof(names[i]), "%c%d.zone.", is_large ? 'l' : 's', i);
		for (int v = 0; v < 2; v++) {
			test_image_t *image = &versions[i][v];
			*image = (test_image_t){ .zone = names[i],
				.lineage = (uint64_t)i * 2 + 1,
				.serial = (uint32_t)v,
				.chunk_count = 1 };
			image->lens[0] = is_large ? 20000 + (uint64_t)v * 3000 : 40 + (uint64_t)i % 400;
			/* Half of the large ones grow, the others are replaced. */
			image->lineage += v == 1 && !(is_large && i % 2 == 0);
		}
	}
}

static void write_file(const uint8_t *bytes, size_t len)
{
	(void)unlink(lock_path);
	int fd = open(data_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static int make_good(void **state)
{
	test_setup(state);
	snprintf(data_path, sizeof(data_path), "%s/data.mdb", test_path);
	snprintf(lock_path, sizeof(lock_path), "%s/lock.mdb", test_path);
	describe_images();
	store_t *store = test_open(SIZE_MAX_BYTES);
	for (int v = 0; v < 2; v++) {
		for (int i = 0; i < ALL_COUNT; i += 102) {
			test_image_t some[102];
			for (int k = 0; k < 102; k++) {
				some[k] = versions[i + k][v];
			}
			assert_int_equal(test_save(store, some, 102, NULL, NULL), KNOT_OK);
		}
	}
	store_close(store);
	int fd = open(data_path, O_RDONLY | O_CLOEXEC);
	struct stat info;
	assert_true(fd >= 0 && fstat(fd, &info) == 0);
	good_len = (size_t)info.st_size;
	good = malloc(good_len);
	assert_non_null(good);
	assert_int_equal(read(fd, good, good_len), good_len);
	sys_lmdb_check_t check;
	const char *what;
	assert_int_equal(sys_lmdb_check(fd, &check, &what), KNOT_OK);
	assert_int_equal(check.entries, 1 + ALL_COUNT + LARGE_COUNT * 3 / 2);
	assert_int_equal(check.used + check.free, check.pages);
	close(fd);
	return 0;
}

static int free_good(void **state)
{
	free(good);
	return test_teardown(state);
}

/* How many images are whole. */
static int read_all(store_t *store)
{
	int whole = 0;
	for (int i = 0; i < ALL_COUNT; i++) {
		knot_err_t err = test_compare(store, &versions[i][1], NULL);
		if (err == KNOT_ERROR) {
			err = test_compare(store, &versions[i][0], NULL);
		}
		if (err == KNOT_ERROR) {
			_exit(WRONG_BYTES);
		}
		whole += err == KNOT_OK;
	}
	return whole;
}

static bool ignore_name(knot_name_t name, void *ctx)
{
	(void)name;
	(void)ctx;
	return true;
}

static store_t *open_any(store_reason_t *reason)
{
	store_t *store;
	if (store_open(&(store_options_t){ .path = test_path, .size_max = SIZE_MAX_BYTES, .format = TEST_FORMAT },
			    &store, reason) != KNOT_OK) {
		_exit(CANNOT_OPEN);
	}
	return store;
}

/*
 * What a server does with it. Exit code 0: the file was taken as it is; 1: something was missing; 2: it was set aside.
 */
static void use(void)
{
	store_reason_t reason;
	store_t *store = open_any(&reason);
	bool is_new = reason.text[0] != '\0';
	int whole = read_all(store);
	if (store_each(store, ignore_name, NULL) != KNOT_OK) {
		_exit(CANNOT_READ);
	}
	test_image_t some[] = { versions[0][0], versions[301][0], versions[SMALL_COUNT][0],
		versions[SMALL_COUNT + 1][0] };
	if (test_save(store, some, 4, NULL, &reason) != KNOT_OK || read_all(store) < 4) {
		_exit(CANNOT_SAVE);
	}
	uint8_t wires[2][KNOT_NAME_MAX];
	knot_name_t gone[] = { test_name(names[7], wires[0]), test_name(names[SMALL_COUNT + 3], wires[1]) };
	size_t removed;
	if (store_remove(store, gone, 2, &removed, &reason) != KNOT_OK) {
		_exit(CANNOT_SAVE);
	}
	store_close(store);
	store = open_any(&reason);
	if (reason.text[0] != '\0' || read_all(store) < 4) {
		_exit(CANNOT_SAVE);
	}
	store_close(store);
	_exit(is_new ? 2 : whole < ALL_COUNT);
}

/* The child's exit code, or 128 and its signal. */
static int try(void)
{
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		/* cmocka would catch them and go on as if it were the parent. */
		static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGABRT };
		for (size_t i = 0; i < KNOT_LEN(signals); i++) {
			signal(signals[i], SIG_DFL);
		}
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		alarm(60);
		use();
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void test_nothing_changed(void **state)
{
	(void)state;
	write_file(good, good_len);
	assert_int_equal(try(), 0);
}

/* Not taken for a database that is to be made: what was in it would be gone without a word. */
static void test_empty_file(void **state)
{
	(void)state;
	write_file(good, 0);
	assert_int_equal(try(), 2);
}

static void test_damage(void **state)
{
	(void)state;
	const char *seed = getenv("KNOT_SEED"), *rounds = getenv("ROUNDS");
	int count = rounds != NULL ? (int)strtol(rounds, NULL, 10) : ROUNDS;
	uint64_t first = test_random_state = seed != NULL ? strtoull(seed, NULL, 10) : 1;
	uint8_t *file = malloc(good_len);
	assert_non_null(file);
	int results[KNOT_LEN(damage_kinds)][3] = { 0 };
	for (int i = 0; i < count; i++) {
		size_t len = good_len, k = (size_t)i % KNOT_LEN(damage_kinds);
		memcpy(file, good, good_len);
		damage_kinds[k].damage(file, &len);
		write_file(file, len);
		int result = try();
		if (result > 2) {
			fail_msg("round %d, %s, KNOT_SEED=%llu: %s %d", i, damage_kinds[k].what,
					(unsigned long long)first, result > 128 ? "signal" : "exit code", result % 128);
		}
		results[k][result]++;
	}
	for (size_t k = 0; k < KNOT_LEN(damage_kinds); k++) {
		print_message("%-28s %5d unnoticed, all there; %5d some refused; %5d set aside\n", damage_kinds[k].what,
				results[k][0], results[k][1], results[k][2]);
	}
	free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_changed),
		cmocka_unit_test(test_empty_file),
		cmocka_unit_test(test_damage),
	};
	return cmocka_run_group_tests(tests, make_good, free_good);
}
