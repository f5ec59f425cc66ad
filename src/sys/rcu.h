/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Read-copy-update for the whole daemon: the QSBR flavour of liburcu behind a guard that can't leak.
 *
 * A thread registers once. It is offline (blocks nobody) except within RCU_READ_SECTION, which lasts one batch of
 * packets or one control command and must never block. Read sections don't nest. Published pointers are loaded with
 * RCU_LOAD() inside a section and replaced with RCU_PUBLISH(); the writer then calls sys_rcu_wait() outside of any section
 * and frees the old object. Cost of a section: two full barriers per batch.
 */
#pragma once

#define _LGPL_SOURCE
#define URCU_INLINE_SMALL_FUNCTIONS
#include <urcu-qsbr.h>

typedef struct {
	int in_section;
} rcu_guard_t;

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
	synchronize_rcu();
}

static inline rcu_guard_t sys_rcu_enter(void)
{
	rcu_thread_online();
	return (rcu_guard_t){ 1 };
}

static inline void sys_rcu_leave(rcu_guard_t *guard)
{
	(void)guard;
	rcu_thread_offline();
}

/** Declares `guard`; the section lasts until the end of the enclosing block, on every exit path. */
#define RCU_READ_SECTION(guard) \
	__attribute__((cleanup(sys_rcu_leave))) rcu_guard_t guard = sys_rcu_enter()

/** Load a published pointer; needs a guard to compile. */
#define RCU_LOAD(guard, pointer) ((void)(guard).in_section, rcu_dereference(pointer))
#define RCU_PUBLISH(pointer, value) rcu_assign_pointer(pointer, value)
