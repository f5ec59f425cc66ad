/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The journal against crashes: a process that stores changes is killed at each of its writes and at any moment, power
 * fails, the disk or the database is full, and files are damaged; each change that was acknowledged must be there
 * afterwards, whole, in order, and nothing else.
 *
 *     journal_sim [-n rounds] [-s seed] [-p part] [-d directory]
 *
 * A round is: begin or go on with a journal, store until the kill (or damage the file), then open it in another process
 * and compare. Without -p each part gets its share of the rounds. Parts: writes, moments, power, errors, untold, full,
 * damage.
 * The directory is one in memory if there is such.
 *
 * One line per part starts with `ok` or `not ok`. Exit status 1: something failed; how to repeat it is printed.
 */
#include "tests/sim/image_disk.h"
#include "tests/sim/journal_world.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	ROUNDS_DEFAULT = 3000,
	HANG_S = 120, /* a process that takes longer is stuck */
	MAP_SIZE = 64 << 20,
	MAP_SMALL = 1 << 20,
};

typedef struct {
	journal_world_t *world;
	uint64_t rounds; /* done, of the part */
} run_t;

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- Processes ---- */

typedef enum { ENDED_WELL, ENDED_KILLED, ENDED_BADLY } end_t;

/* work NULL: verify. log: path; NULL: none. */
static pid_t start(journal_world_t *world, const journal_work_t *work, bool is_damaged, const char *log)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid < 0) {
		perror("fork");
		abort();
	}
	if (pid > 0) {
		return pid;
	}
	alarm(HANG_S);
	if (log != NULL) {
		disk_log = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	}
	_exit((work != NULL ? journal_work(world, work) : journal_verify(world, is_damaged)) ? 0 : 1);
}

static end_t end_of(journal_world_t *world, pid_t pid)
{
	int status;
	if (waitpid(pid, &status, 0) != pid) {
		perror("waitpid");
		abort();
	}
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		return ENDED_KILLED;
	}
	if (WIFSIGNALED(status)) {
		journal_fault(world, WTERMSIG(status) == SIGALRM ? "a process hangs" : "a process dies of signal %d",
				WTERMSIG(status));
	} else if (WEXITSTATUS(status) != 0) {
		journal_fault(world, "a process ends with status %d", WEXITSTATUS(status));
	}
	return status == 0 ? ENDED_WELL : ENDED_BADLY;
}

static bool verify(journal_world_t *world, bool is_damaged)
{
	return end_of(world, start(world, NULL, is_damaged, NULL)) == ENDED_WELL;
}

/* kill_at: 0 for never. */
static end_t work_until(
		journal_world_t *world, const journal_work_t *work, uint32_t kill_at, disk_when_t when, const char *log)
{
	atomic_store(&world->disk.calls, 0);
	world->disk.kill_at = kill_at;
	world->disk.when = when;
	return end_of(world, start(world, work, false, log));
}

/* ---- Worlds ---- */

static void remove_locks(const journal_world_t *world)
{
	static const char *const names[] = { "lock.mdb", "data.mdb.damaged", "data.mdb.damaged.1" };
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		char path[sizeof(world->folder) + 32];
		snprintf(path, sizeof(path), "%s/%s", world->folder, names[i]);
		unlink(path);
	}
}

static void begin_world(journal_world_t *world, uint64_t size_max)
{
	disk_image_t none = { 0 };
	disk_image_write(world->folder, &none);
	remove_locks(world);
	world->size_max = size_max;
	world->disk.fail_at = world->disk.fail_late = 0;
	memset(world->promises, 0, sizeof(world->promises));
}

/* A state to come back to. */
typedef struct {
	disk_image_t disk;
	journal_promise_t promises[SIM_ZONES];
} kept_t;

static void keep(const journal_world_t *world, kept_t *ret_kept)
{
	disk_image_read(world->folder, &ret_kept->disk);
	memcpy(ret_kept->promises, world->promises, sizeof(ret_kept->promises));
}

static void put_back(journal_world_t *world, const kept_t *kept)
{
	remove_locks(world);
	disk_image_write(world->folder, &kept->disk);
	memcpy(world->promises, kept->promises, sizeof(kept->promises));
}

static bool grow(journal_world_t *world, uint64_t script, unsigned steps)
{
	journal_work_t work = { .script = script, .steps = steps };
	return steps == 0 || (work_until(world, &work, 0, DISK_BEFORE, NULL) == ENDED_WELL && verify(world, false));
}

/* ---- Parts: each runs scenarios from seeds of its own until it has done its rounds ---- */

static bool part_writes(run_t *run, uint64_t seed, uint64_t rounds)
{
	journal_world_t *world = run->world;
	sim_random_t random = { .state = seed };
	kept_t kept;
	begin_world(world, MAP_SIZE);
	journal_work_t work = { .script = sim_random(&random), .steps = 12 };
	bool is_right = grow(world, sim_random(&random), (unsigned)sim_below(&random, 4) * 60);
	keep(world, &kept);
	put_back(world, &kept);
	is_right = is_right && work_until(world, &work, 0, DISK_BEFORE, NULL) == ENDED_WELL && verify(world, false);
	uint32_t calls = atomic_load(&world->disk.calls);
	for (uint32_t at = 1; at <= calls && is_right && run->rounds < rounds; at++) {
		for (unsigned when = 0; when < DISK_WHEN_COUNT && is_right; when++) {
			if (when == DISK_HALF && at <= DISK_CALLS_MAX && world->disk.kinds[at - 1] != DISK_WRITE) {
				continue;
			}
			put_back(world, &kept);
			end_t end = work_until(world, &work, at, (disk_when_t)when, NULL);
			run->rounds++;
			is_right = (end == ENDED_KILLED || journal_fault(world, "no kill at call %u", at)) &&
				   verify(world, false);
			/* And it goes on from there. */
			is_right = is_right && (at % 3 != 0 || grow(world, work.script + at, 10));
			if (!is_right) {
				printf("  killed at call %u of %u, when %u\n", at, calls, when);
			}
		}
	}
	disk_image_free(&kept.disk);
	return is_right;
}

/* One life: kills at any moment while several threads store, with what is left as the next beginning. */
static bool part_moments(run_t *run, uint64_t seed, uint64_t rounds)
{
	enum { LIVES = 100, MOMENT_MAX_US = 30000 };
	journal_world_t *world = run->world;
	sim_random_t random = { .state = seed };
	begin_world(world, MAP_SIZE);
	bool is_right = true;
	for (unsigned life = 0; life < LIVES && is_right && run->rounds < rounds; life++) {
		journal_work_t work = { .script = sim_random(&random), .steps = 1000000, .in_threads = true };
		world->disk.kill_at = 0;
		pid_t pid = start(world, &work, false, NULL);
		usleep((useconds_t)sim_below(&random, MOMENT_MAX_US));
		kill(pid, SIGKILL);
		run->rounds++;
		is_right = end_of(world, pid) == ENDED_KILLED && verify(world, false);
	}
	return is_right;
}

/* One life: power fails at any of the writes. */
static bool part_power(run_t *run, uint64_t seed, uint64_t rounds)
{
	enum { LIVES = 100 };
	journal_world_t *world = run->world;
	sim_random_t random = { .state = seed };
	char log[sizeof(world->folder) + 8];
	snprintf(log, sizeof(log), "%s.log", world->folder);
	begin_world(world, MAP_SIZE);
	/* An empty database that was cut short is set aside, with a word: begin with one. */
	bool is_right = grow(world, sim_random(&random), 20);
	for (unsigned life = 0; life < LIVES && is_right && run->rounds < rounds; life++) {
		disk_image_t disk;
		disk_image_read(world->folder, &disk);
		journal_work_t work = { .script = sim_random(&random), .steps = 60, .in_threads = life % 2 == 0 };
		uint32_t at = (uint32_t)sim_between(&random, 1, 60);
		end_t end = work_until(world, &work, at, (disk_when_t)sim_below(&random, DISK_WHEN_COUNT), log);
		disk_image_fail(&disk, log, &random);
		disk_image_write(world->folder, &disk);
		disk_image_free(&disk);
		run->rounds++;
		is_right = end != ENDED_BADLY && verify(world, false);
	}
	unlink(log);
	return is_right;
}

/* The disk is full or fails, once or for good, at each call of one script: what was acknowledged stays, and when the
 * disk works again, so does the journal. */
static bool part_errors(run_t *run, uint64_t seed, uint64_t rounds)
{
	journal_world_t *world = run->world;
	sim_random_t random = { .state = seed };
	kept_t kept;
	begin_world(world, MAP_SIZE);
	bool is_right = grow(world, sim_random(&random), 40 + (unsigned)sim_below(&random, 4) * 60);
	keep(world, &kept);
	journal_work_t work = { .script = sim_random(&random), .steps = 15, .may_fail = true };
	is_right = is_right && work_until(world, &work, 0, DISK_BEFORE, NULL) == ENDED_WELL && verify(world, false);
	uint32_t calls = atomic_load(&world->disk.calls);
	for (uint32_t at = 1; at <= calls && is_right && run->rounds < rounds; at++) {
		put_back(world, &kept);
		world->disk.fail_at = at;
		world->disk.fail_count = sim_below(&random, 2) == 0 ? 1 : UINT32_MAX;
		world->disk.fail_errno = sim_below(&random, 2) == 0 ? ENOSPC : EIO;
		work.must_recover = at % 2 == 0;
		is_right = work_until(world, &work, 0, DISK_BEFORE, NULL) == ENDED_WELL;
		world->disk.fail_at = 0;
		run->rounds++;
		is_right = is_right && verify(world, false) && grow(world, work.script + at, 10);
		if (!is_right) {
			printf("  error %d at call %u of %u, %s\n", world->disk.fail_errno, at, calls,
					world->disk.fail_count == 1 ? "once" : "for good");
		}
	}
	disk_image_free(&kept.disk);
	return is_right;
}

/* Calls happen at which an error is reported, so that a change that was refused may be there: the process goes on from
 * the version before, is stopped, is killed, or power fails. */
static bool part_untold(run_t *run, uint64_t seed, uint64_t rounds)
{
	/* From the call on: how many fail, and how many of these happen. LMDB answers a failed meta page by another
	 * write. */
	static const uint32_t modes[][2] = { { 1, 1 }, { 2, 1 }, { UINT32_MAX, 1 }, { 3, 3 },
		{ UINT32_MAX, UINT32_MAX } };
	enum { GOES_ON, STOPS, KILLED, POWER_FAILS, ENDS };
	journal_world_t *world = run->world;
	sim_random_t random = { .state = seed };
	kept_t kept;
	char log[sizeof(world->folder) + 8];
	snprintf(log, sizeof(log), "%s.log", world->folder);
	begin_world(world, MAP_SIZE);
	bool is_right = grow(world, sim_random(&random), 40 + (unsigned)sim_below(&random, 4) * 60);
	keep(world, &kept);
	journal_work_t work = { .script = sim_random(&random), .steps = 15, .may_fail = true, .goes_on = true };
	is_right = is_right && work_until(world, &work, 0, DISK_BEFORE, NULL) == ENDED_WELL && verify(world, false);
	uint32_t calls = atomic_load(&world->disk.calls);
	for (uint32_t at = 1; at <= calls && is_right && run->rounds < rounds; at++) {
		unsigned mode = (unsigned)sim_below(&random, KNOT_LEN(modes)), how = (unsigned)sim_below(&random, ENDS);
		put_back(world, &kept);
		work.in_threads = at % 4 == 0;
		world->disk.fail_at = at;
		world->disk.fail_count = modes[mode][0];
		world->disk.fail_late = modes[mode][1];
		world->disk.fail_errno = EIO;
		work.stops = how == STOPS;
		uint32_t kill_at = how == GOES_ON || how == STOPS ? 0 : at + (uint32_t)sim_between(&random, 1, 12);
		end_t end = work_until(world, &work, kill_at, (disk_when_t)sim_below(&random, DISK_WHEN_COUNT),
				how == POWER_FAILS ? log : NULL);
		if (how == POWER_FAILS) {
			disk_image_t disk = { 0 };
			disk_image_copy(&kept.disk, &disk);
			disk_image_fail(&disk, log, &random);
			disk_image_write(world->folder, &disk);
			disk_image_free(&disk);
		}
		world->disk.fail_at = world->disk.fail_late = 0;
		run->rounds++;
		is_right = end != ENDED_BADLY && verify(world, false) && grow(world, work.script + at, 10);
		if (!is_right) {
			printf("  %u calls from %u of %u failed, %u of them late, then %u\n", modes[mode][0], at, calls,
					modes[mode][1], how);
		}
	}
	disk_image_free(&kept.disk);
	unlink(log);
	return is_right;
}

/* The map is too small for all zones: kills at any moment while changes are refused; then it recovers. */
static bool part_full(run_t *run, uint64_t seed, uint64_t rounds)
{
	enum { LIVES = 10 };
	journal_world_t *world = run->world;
	sim_random_t random = { .state = seed };
	begin_world(world, MAP_SMALL);
	bool is_right = true;
	for (unsigned life = 0; life < LIVES && is_right && run->rounds < rounds; life++) {
		journal_work_t work = { .script = sim_random(&random),
			.steps = 300,
			.in_threads = life % 2 == 0,
			.may_fail = true,
			.must_recover = life == LIVES - 1 };
		uint32_t at = life == LIVES - 1 || life == 0 ? 0 : (uint32_t)sim_between(&random, 1, 800);
		end_t end = work_until(world, &work, at, (disk_when_t)sim_below(&random, DISK_WHEN_COUNT), NULL);
		run->rounds++;
		is_right = end != ENDED_BADLY && verify(world, false);
	}
	return is_right;
}

static bool part_damage(run_t *run, uint64_t seed, uint64_t rounds)
{
	enum { DAMAGES = 200 };
	journal_world_t *world = run->world;
	sim_random_t random = { .state = seed };
	kept_t older = { 0 }, kept = { 0 };
	begin_world(world, MAP_SIZE);
	bool is_right = grow(world, sim_random(&random), 150);
	keep(world, &older);
	is_right = is_right && grow(world, sim_random(&random), 150);
	keep(world, &kept);
	for (unsigned i = 0; i < DAMAGES && is_right && run->rounds < rounds; i++) {
		damage_t damage = (damage_t)(i % DAMAGE_COUNT);
		kept_t damaged = kept;
		disk_image_copy(&kept.disk, &damaged.disk);
		disk_image_damage(&damaged.disk, damage, &older.disk, &random);
		put_back(world, &damaged);
		run->rounds++;
		is_right = verify(world, true);
		if (!is_right) {
			printf("  damage %u: %s\n", i, damage_names[damage]);
		}
		disk_image_free(&damaged.disk);
	}
	disk_image_free(&older.disk);
	disk_image_free(&kept.disk);
	return is_right;
}

typedef struct {
	const char *name, *what;
	bool (*scenario)(run_t *run, uint64_t seed, uint64_t rounds);
	unsigned share; /* of 1000 of the rounds */
} part_t;

static const part_t parts[] = {
	{ "writes", "killed at every write", part_writes, 350 },
	{ "moments", "killed at any moment, with threads", part_moments, 120 },
	{ "power", "power failed at any write", part_power, 200 },
	{ "errors", "disk full or failing at every write", part_errors, 100 },
	{ "untold", "errors reported of writes that happened", part_untold, 100 },
	{ "full", "killed at any write, map full", part_full, 40 },
	{ "damage", "damaged files", part_damage, 90 },
};

/* ---- */

static bool run_part(run_t *run, const part_t *part, uint64_t first_seed, uint64_t rounds)
{
	double begin = seconds();
	uint64_t seed = first_seed;
	bool is_right = true;
	run->rounds = 0;
	for (; run->rounds < rounds && is_right; seed++) {
		uint64_t before = run->rounds;
		is_right = part->scenario(run, seed, rounds);
		if (is_right && run->rounds == before) {
			is_right = journal_fault(run->world, "a scenario without rounds");
		}
		if (!is_right) {
			printf("  %s\n  repeat: tests/sim/journal_sim -p %s -s %" PRIu64 "\n", run->world->fault,
					part->name, seed);
		}
	}
	printf("%s journal: %s, %" PRIu64 " rounds in %" PRIu64 " scenarios, seed %" PRIu64 ", %.1f s\n",
			is_right ? "ok" : "not ok", part->what, run->rounds, seed - first_seed, first_seed,
			seconds() - begin);
	fflush(stdout);
	run->world->fault[0] = '\0';
	return is_right;
}

static bool make_folder(const char *directory, journal_world_t *world)
{
	char top[200];
	struct stat info;
	if (directory == NULL) {
		directory = stat("/dev/shm", &info) == 0 ? "/dev/shm" : "/tmp";
	}
	snprintf(top, sizeof(top), "%s/journal-sim-XXXXXX", directory);
	if (mkdtemp(top) == NULL) {
		perror(top);
		return false;
	}
	snprintf(world->folder, sizeof(world->folder), "%s/journal", top);
	memcpy(world->disk.folder, world->folder, sizeof(world->folder));
	return mkdir(world->folder, 0770) == 0;
}

static void remove_folder(journal_world_t *world)
{
	char command[sizeof(world->folder) + 16];
	*strrchr(world->folder, '/') = '\0';
	snprintf(command, sizeof(command), "rm -rf '%s'", world->folder);
	if (system(command) != 0) {
		fprintf(stderr, "journal_sim: %s stays\n", world->folder);
	}
}

int main(int argc, char **argv)
{
	uint64_t rounds = ROUNDS_DEFAULT, seed = (uint64_t)time(NULL), done = 0;
	const char *only = NULL, *directory = NULL;
	int option;
	while ((option = getopt(argc, argv, "n:s:p:d:")) != -1) {
		switch (option) {
		case 'n': rounds = strtoull(optarg, NULL, 10); break;
		case 's': seed = strtoull(optarg, NULL, 10); break;
		case 'p': only = optarg; break;
		case 'd': directory = optarg; break;
		default: fputs("Usage: journal_sim [-n rounds] [-s seed] [-p part] [-d directory]\n", stderr); return 1;
		}
	}
	journal_world_t *world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (world == MAP_FAILED || !make_folder(directory, world)) {
		return 1;
	}
	run_t run = { .world = world };
	bool is_right = true, is_known = false;
	for (size_t i = 0; i < KNOT_LEN(parts); i++) {
		if (only == NULL || strcmp(only, parts[i].name) == 0) {
			is_known = true;
			is_right &= run_part(&run, &parts[i], seed,
					only != NULL ? rounds : rounds * parts[i].share / 1000 + 1);
			done += run.rounds;
		}
	}
	printf("  journal: %" PRIu64 " rounds in all; changes %" PRIu64 ", merges in the background %" PRIu64
	       ", merged ones seen %" PRIu64 ", images that they lead on from %" PRIu64 ", flushes %" PRIu64
	       ", whole zones %" PRIu64 ", drops %" PRIu64 ", refused %" PRIu64 "\n  zones verified %" PRIu64
	       ", recognised as damaged %" PRIu64 ", databases set aside %" PRIu64 "\n",
			done, world->appends, world->background, world->merges, world->borders, world->flushes,
			world->wholes, world->drops, world->refused, world->verified, world->damaged, world->set_aside);
	remove_folder(world);
	if (only == NULL && (world->refused == 0 || world->merges == 0 || world->background == 0 ||
					    world->borders == 0 || world->set_aside == 0)) {
		printf("not ok journal: nothing was refused, merged or set aside\n");
		is_right = false;
	}
	if (!is_known) {
		fprintf(stderr, "journal_sim: no part '%s'\n", only);
	}
	return is_right && is_known ? 0 : 1;
}
