/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/jump.h"

int64_t sys_jump_look(sys_jump_t *jump, uint64_t wall_ms, uint64_t monotonic_ms)
{
	int64_t ahead_ms = (int64_t)(wall_ms - monotonic_ms);
	int64_t moved_ms = jump->is_known ? ahead_ms - jump->ahead_ms : 0;
	jump->is_known = true;
	jump->ahead_ms = ahead_ms;
	return moved_ms >= SYS_JUMP_MIN_MS || moved_ms <= -SYS_JUMP_MIN_MS ? moved_ms : 0;
}
