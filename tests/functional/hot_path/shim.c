/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts what a thread must not do per packet: a library for LD_PRELOAD in front of the C library.
 *
 * HOT_PATH_FILE names a file that is mapped; each thread that allocates, frees or locks gets a row in it:
 * thread number, then a counter per kind (see shim_kind_t; test_hot_path.py reads them). HOT_PATH_INJECT makes every
 * sendto() and sendmmsg() allocate, lock and make a system call of its own, so that the test can see itself fail.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef enum { SHIM_ALLOCATE, SHIM_FREE, SHIM_LOCK, SHIM_KINDS } shim_kind_t;

enum { ROWS = 4096 };

typedef struct {
	uint64_t thread;
	_Atomic uint64_t counts[SHIM_KINDS];
} row_t;

typedef struct {
	atomic_uint used;
	row_t rows[ROWS];
} table_t;

static table_t *table;
static int injects;
static __thread row_t *own __attribute__((tls_model("initial-exec")));

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

static void count(shim_kind_t kind)
{
	if (table == NULL) {
		return;
	}
	if (own == NULL) {
		unsigned number = atomic_fetch_add(&table->used, 1);
		own = &table->rows[number < ROWS ? number : ROWS - 1];
		own->thread = (uint64_t)syscall(SYS_gettid);
	}
	atomic_fetch_add_explicit(&own->counts[kind], 1, memory_order_relaxed);
}

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("HOT_PATH_FILE");
	int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0 || ftruncate(fd, sizeof(table_t)) != 0) {
		return;
	}
	void *memory = mmap(NULL, sizeof(table_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	injects = getenv("HOT_PATH_INJECT") != NULL;
	table = memory != MAP_FAILED ? memory : NULL;
}

/* ---- Memory ---- */

void *malloc(size_t size)
{
	count(SHIM_ALLOCATE);
	return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
	count(SHIM_ALLOCATE);
	return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size)
{
	count(SHIM_ALLOCATE);
	return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	count(SHIM_ALLOCATE);
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	count(SHIM_ALLOCATE);
	void *made = __libc_memalign(alignment, size);
	if (made == NULL) {
		return ENOMEM;
	}
	*memory = made;
	return 0;
}

void free(void *memory)
{
	if (memory != NULL) {
		count(SHIM_FREE);
	}
	__libc_free(memory);
}

/* ---- Locks ---- */

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define LOCK(name, type)                                                                                               \
	int name(type *lock)                                                                                           \
	{                                                                                                              \
		static __typeof__(&name) real;                                                                         \
		real = real != NULL ? real : REAL(name);                                                               \
		count(SHIM_LOCK);                                                                                      \
		return real(lock);                                                                                     \
	}

LOCK(pthread_mutex_lock, pthread_mutex_t)
LOCK(pthread_mutex_trylock, pthread_mutex_t)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
LOCK(pthread_rwlock_tryrdlock, pthread_rwlock_t)
LOCK(pthread_rwlock_trywrlock, pthread_rwlock_t)
LOCK(pthread_cond_signal, pthread_cond_t)
LOCK(pthread_cond_broadcast, pthread_cond_t)

int pthread_spin_lock(pthread_spinlock_t *lock)
{
	static __typeof__(&pthread_spin_lock) real;
	real = real != NULL ? real : REAL(pthread_spin_lock);
	count(SHIM_LOCK);
	return real(lock);
}

/* ---- What the test must find ---- */

static void inject(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	if (injects) {
		void *volatile memory = malloc(100);
		free(memory);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		(void)syscall(SYS_getppid);
	}
}

ssize_t sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)
{
	inject();
	return syscall(SYS_sendto, fd, data, len, flags, to, to_len);
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned number, int flags)
{
	inject();
	return (int)syscall(SYS_sendmmsg, fd, messages, number, flags);
}
