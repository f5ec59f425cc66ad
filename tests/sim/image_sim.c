/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Zone images against crashes: a process that publishes and saves versions is killed at each of its writes and at any
 * moment, power fails, and files are damaged; what can be read afterwards must be what was promised.
 *
 *     image_sim [-n rounds] [-s seed] [-p part] [-d directory]
 *
 * A round is: begin or go on with an environment, publish and save until the kill (or damage the file), then open it in
 * another process and compare every image, record by record, with the version that its serial names. Without -p each
 * part gets its share of the rounds. Parts: writes, moments, power, damage, errors, full, large. The directory is one
 * in memory if there is such.
 *
 * One line per part starts with `ok` or `not ok`. Exit status 1: something failed; how to repeat it is printed.
 */
#include "tests/sim/image_disk.h"
#include "tests/sim/image_world.h"

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
	ROUNDS_DEFAULT = 4000,
	HANG_S = 120, /* a process that takes longer is stuck */
	MAP_SIZE = 64 << 20,
	MAP_SIZE_LARGE = 256 << 20,
	MAP_RESERVE = 256 << 10, /* what the store keeps free, about */
};

typedef struct {
	sim_world_t *world; /* shared with the processes */
	uint64_t rounds;    /* done, of the part */
	uint64_t killed[DISK_WHEN_COUNT];
	uint64_t kinds[DISK_KIND_COUNT];
	uint64_t moments; /* killed at a random moment */
} run_t;

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- Processes ---- */

typedef struct {
	const sim_work_t *work; /* NULL: verify */
	sim_strictness_t strictness;
	const char *log; /* path; NULL: none */
} task_t;

static pid_t start(sim_world_t *world, const task_t *task)
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
	if (task->log != NULL) {
		disk_log = open(task->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	}
	_exit((task->work != NULL ? sim_publish(world, task->work) : sim_verify(world, task->strictness)) ? 0 : 1);
}

typedef enum { ENDED_WELL, ENDED_KILLED, ENDED_BADLY } end_t;

static end_t end_of(sim_world_t *world, pid_t pid)
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
		sim_fault(world, WTERMSIG(status) == SIGALRM ? "a process hangs" : "a process dies of signal %d",
				WTERMSIG(status));
	} else if (WEXITSTATUS(status) != 0) {
		sim_fault(world, "a process ends with status %d", WEXITSTATUS(status));
	}
	return status == 0 ? ENDED_WELL : ENDED_BADLY;
}

static bool verify(sim_world_t *world, sim_strictness_t strictness)
{
	task_t task = { .strictness = strictness };
	return end_of(world, start(world, &task)) == ENDED_WELL;
}

/* kill_at: 0 for never. */
static end_t publish(sim_world_t *world, const sim_work_t *work, uint32_t kill_at, disk_when_t when, const char *log)
{
	task_t task = { .work = work, .log = log };
	atomic_store(&world->disk.calls, 0);
	world->disk.kill_at = kill_at;
	world->disk.when = when;
	return end_of(world, start(world, &task));
}

/* ---- Worlds ---- */

static void lock_path(const sim_world_t *world, char ret_path[static 300])
{
	snprintf(ret_path, 300, "%s/lock.mdb", world->folder);
}

static void begin_world(run_t *run, uint64_t seed, uint64_t size_max)
{
	char lock[300];
	sim_world_t *world = run->world;
	world->has_large = size_max > MAP_SIZE;
	disk_image_t none = { 0 };
	disk_image_write(world->folder, &none);
	lock_path(world, lock);
	unlink(lock);
	world->seed = seed;
	world->size_max = size_max;
	world->last_serial = 0;
	memset(world->promises, 0, sizeof(world->promises));
	memset(world->zone_of, 0, sizeof(world->zone_of));
	memset(world->digests, 0, sizeof(world->digests));
	memset(world->raw_digests, 0, sizeof(world->raw_digests));
}

/* A state to come back to. The lock file says nothing, but making it is a call to the disk. */
typedef struct {
	disk_image_t disk;
	bool has_lock;
	sim_promise_t promises[SIM_ZONES];
	uint32_t last_serial;
} kept_t;

static void keep(const sim_world_t *world, kept_t *ret_kept)
{
	char lock[300];
	lock_path(world, lock);
	ret_kept->has_lock = access(lock, F_OK) == 0;
	disk_image_read(world->folder, &ret_kept->disk);
	memcpy(ret_kept->promises, world->promises, sizeof(ret_kept->promises));
	ret_kept->last_serial = world->last_serial;
}

static void put_back(sim_world_t *world, const kept_t *kept)
{
	char lock[300];
	lock_path(world, lock);
	if (!kept->has_lock) {
		unlink(lock);
	}
	disk_image_write(world->folder, &kept->disk);
	memcpy(world->promises, kept->promises, sizeof(kept->promises));
	world->last_serial = kept->last_serial;
}

/* Some versions of most zones, saved without trouble. batches 0: not even an environment. */
static bool grow(run_t *run, uint64_t script, unsigned batches)
{
	sim_work_t work = { .script = script, .batches = batches, .rebuilds = true };
	return batches == 0 ||
	       (publish(run->world, &work, 0, DISK_BEFORE, NULL) == ENDED_WELL && verify(run->world, SIM_AS_PROMISED));
}

/* ---- Parts: each runs scenarios from seeds of its own until it has done its rounds ---- */

/*
 * Kill at each call (or one of `stride`) of one script, before it, in its middle, after it. Returns false on a fault.
 */
static bool kill_at_each(run_t *run, const sim_work_t *work, uint32_t stride, uint64_t rounds)
{
	sim_world_t *world = run->world;
	kept_t kept;
	keep(world, &kept);
	bool is_right = publish(world, work, 0, DISK_BEFORE, NULL) == ENDED_WELL && verify(world, SIM_AS_PROMISED);
	uint32_t calls = atomic_load(&world->disk.calls);
	uint8_t kinds[DISK_CALLS_MAX];
	memcpy(kinds, world->disk.kinds, sizeof(kinds));
	if (is_right && calls > DISK_CALLS_MAX) {
		is_right = sim_fault(world, "%u calls to the disk", calls);
	}
	for (uint32_t at = 1; at <= calls && is_right && run->rounds < rounds; at += stride) {
		for (unsigned when = 0; when < DISK_WHEN_COUNT && is_right; when++) {
			if (when == DISK_HALF && kinds[at - 1] != DISK_WRITE) {
				continue;
			}
			put_back(world, &kept);
			end_t end = publish(world, work, at, (disk_when_t)when, NULL);
			run->rounds++;
			run->killed[when]++;
			run->kinds[kinds[at - 1]]++;
			is_right = (end == ENDED_KILLED || sim_fault(world, "no kill at call %u", at)) &&
				   verify(world, SIM_AS_PROMISED);
			/* And it goes on from there. */
			if (is_right && at % 3 == 0) {
				sim_work_t more = { .script = work->script + at, .batches = 2, .rebuilds = true };
				is_right = publish(world, &more, 0, DISK_BEFORE, NULL) == ENDED_WELL &&
					   verify(world, SIM_AS_PROMISED);
			}
			if (!is_right) {
				printf("  killed at call %u of %u, when %u\n", at, calls, when);
			}
		}
	}
	disk_image_free(&kept.disk);
	return is_right;
}

static bool part_writes(run_t *run, uint64_t seed, uint64_t rounds)
{
	sim_random_t random = { .state = seed };
	begin_world(run, seed, MAP_SIZE);
	sim_work_t work = { .script = sim_random(&random), .batches = (unsigned)sim_between(&random, 2, 4) };
	return grow(run, sim_random(&random), (unsigned)sim_below(&random, 4) * 2) &&
	       kill_at_each(run, &work, 1, rounds);
}

/* A zone that is saved in several transactions; there are many writes, so some are left out. */
static bool part_large(run_t *run, uint64_t seed, uint64_t rounds)
{
	enum { STRIDE = 7 };
	sim_random_t random = { .state = seed };
	begin_world(run, seed, MAP_SIZE_LARGE);
	sim_work_t work = { .script = sim_random(&random), .batches = 1, .rebuilds = true };
	return grow(run, sim_random(&random), (unsigned)(seed % 2)) &&
	       kill_at_each(run, &work, (uint32_t)sim_between(&random, 2, STRIDE), rounds);
}

/* One life: kills at any moment, with what is left as the next beginning. */
static bool part_moments(run_t *run, uint64_t seed, uint64_t rounds)
{
	enum { LIVES = 100, MOMENT_MAX_US = 40000 };
	sim_world_t *world = run->world;
	sim_random_t random = { .state = seed };
	begin_world(run, seed, MAP_SIZE);
	bool is_right = true;
	for (unsigned life = 0; life < LIVES && is_right && run->rounds < rounds; life++) {
		sim_work_t work = { .script = sim_random(&random), .batches = 1000 };
		task_t task = { .work = &work };
		world->disk.kill_at = 0;
		pid_t pid = start(world, &task);
		usleep((useconds_t)sim_below(&random, MOMENT_MAX_US));
		kill(pid, SIGKILL);
		run->rounds++;
		run->moments++;
		is_right = end_of(world, pid) == ENDED_KILLED && verify(world, SIM_AS_PROMISED);
	}
	return is_right;
}

/* One life: power fails at any of the writes. */
static bool part_power(run_t *run, uint64_t seed, uint64_t rounds)
{
	enum { LIVES = 100 };
	sim_world_t *world = run->world;
	sim_random_t random = { .state = seed };
	char log[sizeof(world->folder) + 8];
	snprintf(log, sizeof(log), "%s.log", world->folder);
	begin_world(run, seed, MAP_SIZE);
	bool is_right = true;
	for (unsigned life = 0; life < LIVES && is_right && run->rounds < rounds; life++) {
		disk_image_t disk;
		disk_image_read(world->folder, &disk);
		sim_work_t work = { .script = sim_random(&random), .batches = 6 };
		uint32_t at = (uint32_t)sim_between(&random, 1, 40);
		end_t end = publish(world, &work, at, (disk_when_t)sim_below(&random, DISK_WHEN_COUNT), log);
		disk_image_fail(&disk, log, &random);
		disk_image_write(world->folder, &disk);
		disk_image_free(&disk);
		run->rounds++;
		is_right = end != ENDED_BADLY && verify(world, SIM_AS_PROMISED);
	}
	unlink(log);
	return is_right;
}

/* One environment, damaged in many ways; each time zones are built from their files and saved again. */
static bool part_damage(run_t *run, uint64_t seed, uint64_t rounds)
{
	enum { DAMAGES = 300 };
	sim_world_t *world = run->world;
	sim_random_t random = { .state = seed };
	kept_t older = { 0 }, kept = { 0 };
	begin_world(run, seed, MAP_SIZE);
	bool is_right = grow(run, sim_random(&random), 6);
	keep(world, &older);
	is_right = is_right && grow(run, sim_random(&random), 6);
	keep(world, &kept);
	for (unsigned i = 0; i < DAMAGES && is_right && run->rounds < rounds; i++) {
		damage_t damage = (damage_t)(i % DAMAGE_COUNT);
		sim_strictness_t strictness = damage == DAMAGE_OLD_PAGE ? SIM_ANY_OR_REFUSED : SIM_OR_REFUSED;
		kept_t damaged = kept;
		disk_image_copy(&kept.disk, &damaged.disk);
		disk_image_damage(&damaged.disk, damage, &older.disk, &random);
		put_back(world, &damaged);
		run->rounds++;
		is_right = verify(world, strictness);
		if (is_right && i % 2 == 0) {
			sim_work_t work = { .script = sim_random(&random), .batches = 1, .rebuilds = true };
			is_right = publish(world, &work, 0, DISK_BEFORE, NULL) == ENDED_WELL &&
				   verify(world, SIM_AS_PROMISED);
		}
		if (!is_right) {
			printf("  damage %u: %s\n", i, damage_names[damage]);
		}
		disk_image_free(&damaged.disk);
	}
	disk_image_free(&older.disk);
	disk_image_free(&kept.disk);
	return is_right;
}

/* The disk is full or fails, once or for good, at each call of one script: what was promised stays. */
static bool part_errors(run_t *run, uint64_t seed, uint64_t rounds)
{
	sim_world_t *world = run->world;
	sim_random_t random = { .state = seed };
	kept_t kept;
	begin_world(run, seed, MAP_SIZE);
	bool is_right = grow(run, sim_random(&random), (unsigned)sim_below(&random, 4) * 2);
	keep(world, &kept);
	sim_work_t work = { .script = sim_random(&random), .batches = 5 };
	is_right = is_right && publish(world, &work, 0, DISK_BEFORE, NULL) == ENDED_WELL &&
		   verify(world, SIM_AS_PROMISED);
	uint32_t calls = atomic_load(&world->disk.calls);
	for (uint32_t at = 1; at <= calls && is_right && run->rounds < rounds; at++) {
		put_back(world, &kept);
		world->disk.fail_at = at;
		world->disk.fail_count = sim_below(&random, 2) == 0 ? 1 : UINT32_MAX;
		world->disk.fail_errno = sim_below(&random, 2) == 0 ? ENOSPC : EIO;
		is_right = publish(world, &work, 0, DISK_BEFORE, NULL) == ENDED_WELL;
		world->disk.fail_at = 0;
		run->rounds++;
		is_right = is_right && verify(world, SIM_AS_PROMISED);
		if (!is_right) {
			printf("  error %d at call %u of %u, %s\n", world->disk.fail_errno, at, calls,
					world->disk.fail_count == 1 ? "once" : "for good");
		}
	}
	disk_image_free(&kept.disk);
	return is_right;
}

/* What one script needs of a map, in bytes. */
static uint64_t room_for(run_t *run, const sim_work_t *work, uint64_t seed)
{
	disk_image_t disk;
	begin_world(run, seed, MAP_SIZE);
	if (publish(run->world, work, 0, DISK_BEFORE, NULL) != ENDED_WELL) {
		return 0;
	}
	disk_image_read(run->world->folder, &disk);
	uint64_t len = disk.len;
	disk_image_free(&disk);
	return len;
}

/* The map is too small for all zones: kills while images are skipped. */
static bool part_full(run_t *run, uint64_t seed, uint64_t rounds)
{
	sim_random_t random = { .state = seed };
	uint64_t skipped = run->world->skipped;
	sim_work_t work = { .script = sim_random(&random), .batches = 6, .rebuilds = true };
	uint64_t room = room_for(run, &work, seed);
	begin_world(run, seed, MAP_RESERVE + room / 2);
	bool is_right = room > 0 && publish(run->world, &work, 0, DISK_BEFORE, NULL) == ENDED_WELL &&
			verify(run->world, SIM_AS_PROMISED);
	if (is_right && run->world->skipped == skipped) {
		is_right = sim_fault(run->world, "half of the room is large enough");
	}
	work.script++;
	return is_right && kill_at_each(run, &work, 1, rounds);
}

typedef struct {
	const char *name, *what;
	bool (*scenario)(run_t *run, uint64_t seed, uint64_t rounds);
	unsigned share; /* of 1000 of the rounds */
} part_t;

static const part_t parts[] = {
	{ "writes", "killed at every write", part_writes, 400 },
	{ "moments", "killed at any moment", part_moments, 100 },
	{ "power", "power failed at any write", part_power, 150 },
	{ "damage", "damaged files", part_damage, 245 },
	{ "errors", "disk full or failing at every write", part_errors, 50 },
	{ "full", "killed at every write, map full", part_full, 50 },
	{ "large", "killed at writes of a large zone", part_large, 3 },
};

/* ---- */

static void print_totals(const run_t *run)
{
	static const char *const kinds[DISK_KIND_COUNT] = { "write", "sync", "truncation", "renaming" };
	const sim_world_t *world = run->world;
	printf("  saves %" PRIu64 " (transactions %" PRIu64 ", skipped %" PRIu64 ", failed %" PRIu64
	       "), removals %" PRIu64 ", bytes of chunks %" PRIu64 "\n  images verified %" PRIu64 ", none %" PRIu64
	       ", recognised as damaged %" PRIu64 ", hidden by damage %" PRIu64
	       "; environments recognised as damaged %" PRIu64 "\n",
			world->saves, world->steps, world->skipped, world->errors, world->removals, world->bytes,
			world->verified, world->empty, world->refused, world->hidden, world->set_aside);
	printf("  kills: before a call %" PRIu64 ", in its middle %" PRIu64 ", after it %" PRIu64
	       ", any moment %" PRIu64 "; at",
			run->killed[DISK_BEFORE], run->killed[DISK_HALF], run->killed[DISK_AFTER], run->moments);
	for (unsigned i = 0; i < DISK_KIND_COUNT; i++) {
		printf(" %s %" PRIu64, kinds[i], run->kinds[i]);
	}
	printf("\n");
}

static bool run_part(run_t *run, const part_t *part, uint64_t first_seed, uint64_t rounds)
{
	sim_world_t *world = run->world;
	double begin = seconds();
	uint64_t seed = first_seed;
	uint64_t hidden = world->hidden;
	bool is_right = true;
	run->rounds = 0;
	for (; run->rounds < rounds && is_right; seed++) {
		is_right = part->scenario(run, seed, rounds);
		if (is_right && run->rounds == 0 && seed - first_seed > rounds) {
			is_right = sim_fault(world, "no scenario has a round");
		}
		/* A bit of a key among all bits: 0.1 % of rounds. */
		if (is_right && world->hidden - hidden > 3 + run->rounds / 100) {
			is_right = sim_fault(world, "damage hid images in more than a hundredth of the rounds");
		}
		if (!is_right) {
			printf("  %s\n  repeat: tests/sim/image_sim -p %s -s %" PRIu64 "\n", world->fault, part->name,
					seed);
		}
	}
	printf("%s image: %s, %" PRIu64 " rounds in %" PRIu64 " scenarios, seed %" PRIu64 ", %.1f s\n",
			is_right ? "ok" : "not ok", part->what, run->rounds, seed - first_seed, first_seed,
			seconds() - begin);
	fflush(stdout);
	world->fault[0] = '\0';
	return is_right;
}

static bool make_folder(const char *directory, sim_world_t *world)
{
	char top[200];
	struct stat info;
	const char *temporary = getenv("TMPDIR");
	if (directory == NULL) {
		directory = stat("/dev/shm", &info) == 0 ? "/dev/shm" : temporary != NULL ? temporary : "/tmp";
	}
	snprintf(top, sizeof(top), "%s/image-sim-XXXXXX", directory);
	if (mkdtemp(top) == NULL) {
		perror(top);
		return false;
	}
	snprintf(world->folder, sizeof(world->folder), "%s/image", top);
	memcpy(world->disk.folder, world->folder, sizeof(world->folder));
	return mkdir(world->folder, 0770) == 0;
}

static void remove_folder(sim_world_t *world)
{
	char command[sizeof(world->folder) + 16];
	*strrchr(world->folder, '/') = '\0';
	snprintf(command, sizeof(command), "rm -rf '%s'", world->folder);
	if (system(command) != 0) {
		fprintf(stderr, "image_sim: %s stays\n", world->folder);
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
		default: fputs("Usage: image_sim [-n rounds] [-s seed] [-p part] [-d directory]\n", stderr); return 1;
		}
	}
	sim_world_t *world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
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
	printf("  image: %" PRIu64 " rounds in all\n", done);
	print_totals(&run);
	remove_folder(world);
	if (!is_known) {
		fprintf(stderr, "image_sim: no part '%s'\n", only);
	}
	return is_right && is_known ? 0 : 1;
}
