/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Locks between threads, annotated so that compilers check what they guard.
 *
 * clang -Wthread-safety reads the attributes: SYS_REQUIRES on a function that is called under a lock, SYS_EXCLUDES on
 * one that takes it itself, SYS_ACQUIRED_AFTER on a lock that is taken second; gcc ignores them. A lock is never taken
 * within an RCU read section, because a section must not wait (sys/rcu.h): asserted. Two kinds of locks are the
 * exception, by functions that end in _brief: short ones, under which a bounded number of instructions runs, no other
 * lock is taken and nothing waits; and those of the log, which waits for an output once, at most SYS_LOG_WAIT_MS. The
 * order of all locks is in doc/locks.md.
 *
 * Locks are made in place, must not move, and live as long as what they guard. Errors of pthread_mutex_lock() are
 * errors of the program (a lock taken twice, one that was never made) and are asserted.
 */
#pragma once

#include "src/sys/rcu.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#if defined(__clang__)
#define SYS_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define SYS_THREAD_ATTRIBUTE(x)
#endif

/** On a type: it can be held. */
#define SYS_CAPABILITY(name) SYS_THREAD_ATTRIBUTE(capability(name))
/** On a function: the caller holds the lock, alone or with other readers. */
#define SYS_REQUIRES(...)        SYS_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define SYS_REQUIRES_SHARED(...) SYS_THREAD_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
/** On a function: it returns with the lock held, or given back. */
#define SYS_ACQUIRES(...)            SYS_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define SYS_ACQUIRES_SHARED(...)     SYS_THREAD_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define SYS_TRY_ACQUIRES(...)        SYS_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define SYS_TRY_ACQUIRES_SHARED(...) SYS_THREAD_ATTRIBUTE(try_acquire_shared_capability(__VA_ARGS__))
#define SYS_RELEASES(...)            SYS_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define SYS_RELEASES_SHARED(...)     SYS_THREAD_ATTRIBUTE(release_shared_capability(__VA_ARGS__))
/** On a function: it takes the lock, so the caller doesn't hold it. */
#define SYS_EXCLUDES(...) SYS_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
/** On a function that returns a lock: which one. */
#define SYS_RETURNS_LOCK(lock) SYS_THREAD_ATTRIBUTE(lock_returned(lock))
/** On a function: it asserts that the lock is held, and the compiler relies on that. */
#define SYS_ASSERTS_HELD(...) SYS_THREAD_ATTRIBUTE(assert_capability(__VA_ARGS__))
/** On a function: the compiler can't follow its use of locks; a comment says why it is correct. */
#define SYS_UNCHECKED_LOCKS SYS_THREAD_ATTRIBUTE(no_thread_safety_analysis)

/** On a variable of a file: read and written under the lock, which stands before it. */
#define SYS_GUARDED_BY_VARIABLE(lock) SYS_THREAD_ATTRIBUTE(guarded_by(lock))
/**
 * On a member, naming a lock of the same struct: read and written under it, or taken after it. These are for people:
 * in C no compiler ties such a name to the object (clang 14 to 22 take it for a lock of its own). What compilers check
 * instead are the functions that work on the members, by SYS_REQUIRES.
 */
#define SYS_GUARDED_BY(lock)
#define SYS_ACQUIRED_AFTER(lock)

/** One holder at a time. */
typedef struct SYS_CAPABILITY("mutex") {
	pthread_mutex_t mutex;
	_Atomic(pthread_t) holder; /* 0: no thread; only ever compared with the calling thread's own id */
} sys_mutex_t;

/** One writer or many readers. */
typedef struct SYS_CAPABILITY("mutex") {
	pthread_rwlock_t lock;
} sys_rwlock_t;

/** For locks in static storage. */
#define SYS_MUTEX_INIT                                                                                                 \
	{                                                                                                              \
		PTHREAD_MUTEX_INITIALIZER, 0                                                                           \
	}
#define SYS_RWLOCK_INIT                                                                                                \
	{                                                                                                              \
		PTHREAD_RWLOCK_INITIALIZER                                                                             \
	}

/* The functions of pthread aren't annotated, so the bodies are not analyzed: the declarations say what they do. */

static inline void sys_mutex_init(sys_mutex_t *mutex)
{
	atomic_init(&mutex->holder, 0);
	int err = pthread_mutex_init(&mutex->mutex, NULL); /* fails for attributes only, and there are none */
	assert(err == 0);
	(void)err;
}

/** Destroy a lock that no thread holds or waits for. */
static inline void sys_mutex_done(sys_mutex_t *mutex)
{
	assert(atomic_load_explicit(&mutex->holder, memory_order_relaxed) == 0);
	int err = pthread_mutex_destroy(&mutex->mutex);
	assert(err == 0);
	(void)err;
}

/** True if the calling thread holds the lock. */
static inline bool sys_mutex_is_mine(sys_mutex_t *mutex)
{
	return pthread_equal(atomic_load_explicit(&mutex->holder, memory_order_relaxed), pthread_self()) != 0;
}

static inline void sys_mutex_note_holder(sys_mutex_t *mutex, pthread_t holder)
{
	atomic_store_explicit(&mutex->holder, holder, memory_order_relaxed);
}

/**
 * Assert that the calling thread holds the lock: at the entry of what is called through a pointer, where the compiler
 * can't follow, and of what relies on the lock in builds without clang.
 */
static inline void sys_mutex_assert_held(sys_mutex_t *mutex) SYS_ASSERTS_HELD(mutex) SYS_UNCHECKED_LOCKS
{
	assert(sys_mutex_is_mine(mutex));
	(void)mutex;
}

/** Wait for the lock and hold it. Not in hot paths, nor in a read section, nor when the thread holds it already. */
static inline void sys_mutex_lock(sys_mutex_t *mutex) SYS_ACQUIRES(mutex) SYS_UNCHECKED_LOCKS
{
	assert(!sys_rcu_is_reading());
	assert(!sys_mutex_is_mine(mutex));
	int err = pthread_mutex_lock(&mutex->mutex);
	assert(err == 0);
	(void)err;
	sys_mutex_note_holder(mutex, pthread_self());
}

/** As sys_mutex_lock() for a lock that read sections may take, too (see above). */
static inline void sys_mutex_lock_brief(sys_mutex_t *mutex) SYS_ACQUIRES(mutex) SYS_UNCHECKED_LOCKS
{
	assert(!sys_mutex_is_mine(mutex));
	int err = pthread_mutex_lock(&mutex->mutex);
	assert(err == 0);
	(void)err;
	sys_mutex_note_holder(mutex, pthread_self());
}

/** True with the lock, false at once if another thread has it. */
static inline bool sys_mutex_try(sys_mutex_t *mutex) SYS_TRY_ACQUIRES(true, mutex) SYS_UNCHECKED_LOCKS
{
	int err = pthread_mutex_trylock(&mutex->mutex);
	assert(err == 0 || err == EBUSY);
	if (err == 0) {
		sys_mutex_note_holder(mutex, pthread_self());
	}
	return err == 0;
}

static inline void sys_mutex_unlock(sys_mutex_t *mutex) SYS_RELEASES(mutex) SYS_UNCHECKED_LOCKS
{
	assert(sys_mutex_is_mine(mutex));
	sys_mutex_note_holder(mutex, 0);
	int err = pthread_mutex_unlock(&mutex->mutex);
	assert(err == 0);
	(void)err;
}

/** Give the lock back, wait for a signal, take the lock again. Returns without a signal, too: test the condition. */
static inline void sys_mutex_wait(sys_mutex_t *mutex, pthread_cond_t *signal) SYS_REQUIRES(mutex) SYS_UNCHECKED_LOCKS
{
	assert(!sys_rcu_is_reading());
	sys_mutex_note_holder(mutex, 0);
	int err = pthread_cond_wait(signal, &mutex->mutex);
	assert(err == 0);
	(void)err;
	sys_mutex_note_holder(mutex, pthread_self());
}

/** As sys_mutex_wait(), but at most until `until` on the signal's clock: then it returns false. */
static inline bool sys_mutex_wait_until(sys_mutex_t *mutex, pthread_cond_t *signal, const struct timespec *until)
		SYS_REQUIRES(mutex) SYS_UNCHECKED_LOCKS
{
	assert(!sys_rcu_is_reading());
	sys_mutex_note_holder(mutex, 0);
	int err = pthread_cond_timedwait(signal, &mutex->mutex, until);
	assert(err == 0 || err == ETIMEDOUT);
	sys_mutex_note_holder(mutex, pthread_self());
	return err == 0;
}

static inline void sys_rwlock_init(sys_rwlock_t *lock)
{
	int err = pthread_rwlock_init(&lock->lock, NULL);
	assert(err == 0);
	(void)err;
}

/**
 * As sys_rwlock_init(), for a lock that readers hold nearly always: those that come after a writer wait behind it. A
 * thread that reads must not begin to read again.
 */
static inline void sys_rwlock_init_for_writers(sys_rwlock_t *lock)
{
	pthread_rwlockattr_t attributes;
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	int err = pthread_rwlock_init(&lock->lock, &attributes);
	pthread_rwlockattr_destroy(&attributes);
	assert(err == 0);
	(void)err;
}

static inline void sys_rwlock_done(sys_rwlock_t *lock)
{
	int err = pthread_rwlock_destroy(&lock->lock);
	assert(err == 0);
	(void)err;
}

static inline void sys_rwlock_read(sys_rwlock_t *lock) SYS_ACQUIRES_SHARED(lock) SYS_UNCHECKED_LOCKS
{
	assert(!sys_rcu_is_reading());
	int err = pthread_rwlock_rdlock(&lock->lock);
	assert(err == 0);
	(void)err;
}

/** As sys_rwlock_read() for a lock that read sections may take, too (see above). */
static inline void sys_rwlock_read_brief(sys_rwlock_t *lock) SYS_ACQUIRES_SHARED(lock) SYS_UNCHECKED_LOCKS
{
	int err = pthread_rwlock_rdlock(&lock->lock);
	assert(err == 0);
	(void)err;
}

static inline void sys_rwlock_write(sys_rwlock_t *lock) SYS_ACQUIRES(lock) SYS_UNCHECKED_LOCKS
{
	assert(!sys_rcu_is_reading());
	int err = pthread_rwlock_wrlock(&lock->lock);
	assert(err == 0);
	(void)err;
}

/*
 * ThreadSanitizer doesn't know the functions that wait for a lock until a time of a given clock, and reports what the
 * lock guards as races.
 */
#ifdef SYS_RCU_TSAN
#define SYS_RWLOCK_CLOCK                  CLOCK_REALTIME
#define SYS_RWLOCK_WAIT(how, lock, until) pthread_rwlock_timed##how((lock), (until))
#else
#define SYS_RWLOCK_CLOCK                  CLOCK_MONOTONIC
#define SYS_RWLOCK_WAIT(how, lock, until) pthread_rwlock_clock##how((lock), SYS_RWLOCK_CLOCK, (until))
#endif

/** As sys_rwlock_read(), but wait at most until `until` on SYS_RWLOCK_CLOCK: then return false, without the lock. */
static inline bool sys_rwlock_read_until(sys_rwlock_t *lock, const struct timespec *until)
		SYS_TRY_ACQUIRES_SHARED(true, lock) SYS_UNCHECKED_LOCKS
{
	assert(!sys_rcu_is_reading());
	int err = SYS_RWLOCK_WAIT(rdlock, &lock->lock, until);
	assert(err == 0 || err == ETIMEDOUT);
	return err == 0;
}

/** As sys_rwlock_write(), but wait at most until `until`, as above. */
static inline bool sys_rwlock_write_until(sys_rwlock_t *lock, const struct timespec *until)
		SYS_TRY_ACQUIRES(true, lock) SYS_UNCHECKED_LOCKS
{
	assert(!sys_rcu_is_reading());
	int err = SYS_RWLOCK_WAIT(wrlock, &lock->lock, until);
	assert(err == 0 || err == ETIMEDOUT);
	return err == 0;
}

static inline void sys_rwlock_end_read(sys_rwlock_t *lock) SYS_RELEASES_SHARED(lock) SYS_UNCHECKED_LOCKS
{
	int err = pthread_rwlock_unlock(&lock->lock);
	assert(err == 0);
	(void)err;
}

static inline void sys_rwlock_end_write(sys_rwlock_t *lock) SYS_RELEASES(lock) SYS_UNCHECKED_LOCKS
{
	int err = pthread_rwlock_unlock(&lock->lock);
	assert(err == 0);
	(void)err;
}
