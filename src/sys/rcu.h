/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Read-copy-update for the whole daemon: the QSBR flavour of liburcu behind a guard that can't leak.
 *
 * A thread registers once. It is offline (blocks no writer) except within RCU_READ_SECTION, which lasts one batch of
 * packets or one control command and must never block. Read sections don't nest. Published pointers are loaded with
 * RCU_LOAD() inside a section and replaced with RCU_PUBLISH(); the writer then calls sys_rcu_wait() outside of any
 * section and frees the old object. Cost of a section: two full barriers per batch.
 */
#pragma once

/*
 * ThreadSanitizer can't see into liburcu. It understands atomics; annotations add the edge "section ended, then waited
 * for".
 */
#if defined(__SANITIZE_THREAD__)
#define SYS_RCU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SYS_RCU_TSAN 1
#endif
#endif
#ifdef SYS_RCU_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#ifndef SYS_RCU_TSAN /* inlined parts would be instrumented while their counterparts aren't */
#define _LGPL_SOURCE
#define URCU_INLINE_SMALL_FUNCTIONS
#endif
#include <assert.h>
#include <stdbool.h>
#include <urcu-qsbr.h>

typedef struct {
	int in_section;
} rcu_guard_t;

#ifdef SYS_RCU_TSAN
extern char sys_rcu_tsan_tag;
#endif

/** Make the calling thread an RCU reader, offline. Call once per thread, before any read section. */
static inline void sys_rcu_register(void)
{
	rcu_register_thread();
	rcu_thread_offline();
}

static inline void sys_rcu_unregister(void)
{
	rcu_unregister_thread();
}

/** Wait until every read section that runs now has ended. Blocks; never within a section; registered threads only. */
static inline void sys_rcu_wait(void)
{
	assert(rcu_read_ongoing() == 0); /* it would wait for itself */
	synchronize_rcu();
#ifdef SYS_RCU_TSAN
	__tsan_acquire(&sys_rcu_tsan_tag);
#endif
}

static inline rcu_guard_t sys_rcu_enter(void)
{
	assert(rcu_read_ongoing() == 0); /* the inner section's end would be the outer one's */
	rcu_thread_online();
	return (rcu_guard_t){ 1 };
}

static inline void sys_rcu_leave(rcu_guard_t *guard)
{
	(void)guard;
#ifdef SYS_RCU_TSAN
	__tsan_release(&sys_rcu_tsan_tag);
#endif
	rcu_thread_offline();
}

/** True within a read section of the calling thread: for assertions in what may block. */
static inline bool sys_rcu_is_reading(void)
{
	return rcu_read_ongoing() != 0;
}

/** Declares `guard`; the section lasts until the end of the enclosing block, on every exit path. */
#define RCU_READ_SECTION(guard) __attribute__((cleanup(sys_rcu_leave))) rcu_guard_t guard = sys_rcu_enter()

#ifdef SYS_RCU_TSAN
#define SYS_RCU_DEREFERENCE(pointer) __atomic_load_n(&(pointer), __ATOMIC_ACQUIRE)
#define RCU_PUBLISH(pointer, value)  __atomic_store_n(&(pointer), value, __ATOMIC_RELEASE)
#else
#define SYS_RCU_DEREFERENCE(pointer) rcu_dereference(pointer)
#define RCU_PUBLISH(pointer, value)  rcu_assign_pointer(pointer, value)
#endif

/** Load a published pointer; needs a guard to compile. */
#define RCU_LOAD(guard, pointer) ((void)(guard).in_section, SYS_RCU_DEREFERENCE(pointer))
