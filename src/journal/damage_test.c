/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Damaged files: whatever bits of the journal's database are changed or cut off, no reader gets a wrong change, and
 * nothing crashes or hangs.
 *
 * Each round changes a good file at random and uses it in a child process: opens it, reads all, appends, drops, reads
 * again. A change is then as it was stored, or missing, or refused as damaged. KNOT_SEED=n repeats a run, ROUNDS=n
 * makes it longer.
 */
#include "src/journal/journal_test.h"
#include "src/sys/test_damage.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum {
	ZONES = 120,
	CHANGES = 12, /* of each zone, of which two were dropped */
	DEPTH = 10,
	SIZE_MAX_BYTES = 64 << 20,
	ROUNDS = 180,
	WRONG_BYTES = 3,
	CANNOT_OPEN = 4,
	WRONG_ERROR = 5,
	WRONG_ORDER = 6, /* exit codes of the child */
};

static const journal_limits_t limits = { .usage_max = 100 << 20, .depth_max = DEPTH };

static uint8_t *good; /* the file */
static size_t good_len;
static char data_path[128], lock_path[128];

/* A zone is a function of its index, a change of that and its serial. */
static knot_name_t zone_of(int i, uint8_t wire[static KNOT_NAME_MAX])
{
	char text[32];
	knot_name_t name;
	snprintf(text, sizeof(text), "zone%d.example.", i);
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_OK);
	return name;
}

static size_t len_of(int i, uint32_t serial)
{
	return i % 20 == 0 ? 3000 * serial : 20 + (size_t)i % 90;
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
	journal_t *journal = test_open(SIZE_MAX_BYTES);
	for (uint32_t serial = 1; serial <= CHANGES; serial++) {
		for (int i = 0; i < ZONES; i++) {
			uint8_t wire[KNOT_NAME_MAX];
			knot_name_t zone = zone_of(i, wire);
			if (serial == 3) {
				assert_int_equal(journal_mark_flushed(journal, zone, serial, NULL), KNOT_OK);
			}
			assert_int_equal(test_append_to(journal, zone, serial, serial + 1, len_of(i, serial), &limits),
					KNOT_OK);
		}
	}
	journal_close(journal);
	int fd = open(data_path, O_RDONLY | O_CLOEXEC);
	struct stat info;
	assert_true(fd >= 0 && fstat(fd, &info) == 0);
	good_len = (size_t)info.st_size;
	good = malloc(good_len);
	assert_non_null(good);
	assert_int_equal(read(fd, good, good_len), good_len);
	close(fd);
	return 0;
}

static int free_good(void **state)
{
	free(good);
	return test_teardown(state);
}

typedef struct {
	int zone;
	uint32_t next; /* serial, 0: any */
	int seen;
} look_t;

static bool look(const journal_entry_t *entry, void *ctx)
{
	look_t *l = ctx;
	const journal_change_t *is = &entry->change;
	journal_change_t want = test_change(is->serial_from, is->serial_from + 1, len_of(l->zone, is->serial_from));
	if (entry->kind != JOURNAL_STEP || is->serial_to != want.serial_to || is->time_s != want.time_s ||
			is->payload.len != want.payload.len || is->added != want.added ||
			memcmp(is->payload.data, want.payload.data, want.payload.len) != 0) {
		_exit(WRONG_BYTES);
	}
	if (l->next != 0 && is->serial_from != l->next) {
		_exit(WRONG_ORDER);
	}
	l->next = l->next != 0 ? is->serial_to : 0;
	l->seen++;
	free((void *)want.payload.data);
	return true;
}

static void expect_error(knot_err_t err)
{
	if (err != KNOT_OK && err != KNOT_ENOENT && err != KNOT_EMALF) {
		_exit(WRONG_ERROR);
	}
}

/* How many changes are there. */
static int read_all(journal_t *journal)
{
	int seen = 0;
	for (int i = 0; i < ZONES; i++) {
		uint8_t wire[KNOT_NAME_MAX];
		knot_name_t zone = zone_of(i, wire);
		look_t l = { .zone = i };
		journal_info_t info;
		expect_error(journal_each(journal, zone, look, &l));
		seen += l.seen;
		l = (look_t){ .zone = i, .next = 5 };
		expect_error(journal_each_from(journal, zone, 5, look, &l));
		expect_error(journal_info(journal, zone, &info));
	}
	return seen;
}

static bool see_zone(knot_name_t zone, void *ctx)
{
	(void)zone;
	++*(int *)ctx;
	return true;
}

/* What a server does with it. Exit code 0: all is there; 1: something was missing; 2: it was set aside. */
static void use(void)
{
	journal_t *journal;
	journal_reason_t reason;
	if (journal_open(&(journal_params_t){ .path = test_path, .size_max = SIZE_MAX_BYTES }, &journal, &reason) !=
			KNOT_OK) {
		_exit(CANNOT_OPEN);
	}
	bool is_new = strstr(reason.text, "data.mdb.damaged") != NULL;
	bool is_refused = reason.text[0] != '\0' && !is_new; /* as the database of something else */
	int seen = read_all(journal), zones = 0;
	expect_error(journal_each_zone(journal, see_zone, &zones));
	for (int i = 0; i < ZONES; i += 7) {
		uint8_t wire[KNOT_NAME_MAX];
		knot_name_t zone = zone_of(i, wire);
		journal_change_t change = test_change(13, 14, len_of(i, 13));
		(void)!journal_mark_flushed(journal, zone, 13, NULL);
		knot_err_t err = journal_append(journal, zone, &change, &limits, NULL);
		if (err != KNOT_OK && err != KNOT_EMALF && err != KNOT_EAGAIN && !is_refused) {
			_exit(WRONG_ERROR);
		}
		if (i % 5 == 0) {
			(void)!journal_drop(journal, zone, NULL);
		}
		free((void *)change.payload.data);
	}
	(void)read_all(journal);
	journal_close(journal);
	journal = NULL;
	if (journal_open(&(journal_params_t){ .path = test_path, .size_max = SIZE_MAX_BYTES }, &journal, &reason) !=
			KNOT_OK) {
		_exit(CANNOT_OPEN);
	}
	(void)read_all(journal);
	journal_close(journal);
	_exit(is_new || is_refused ? 2 : seen < ZONES * DEPTH || zones < ZONES);
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
		cmocka_unit_test(test_damage),
	};
	return cmocka_run_group_tests(tests, make_good, free_good);
}
