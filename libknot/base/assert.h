/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Assertions that are too expensive for a production server.
 *
 * assert() of <assert.h> states what our own code guarantees, in every build without NDEBUG, so it must be cheap: a
 * comparison or two. KNOT_ASSERT_SLOW() is for checks that walk a structure: the order of a tree, the bytes of an
 * arena, the layout of a node. It is on in builds with KNOT_DEBUG defined and in those with AddressSanitizer or
 * ThreadSanitizer, and off in every other build and wherever NDEBUG is defined. Neither is ever applied to input of a
 * peer or a file: faults there are verdicts or errors.
 */
#pragma once

#include <assert.h>

/* gcc defines __SANITIZE_*__, clang answers __has_feature(), which gcc before 14 can't even parse. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KNOT_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KNOT_IS_SANITIZED 1
#endif
#endif

#if !defined(NDEBUG) && (defined(KNOT_DEBUG) || defined(KNOT_IS_SANITIZED))
#define KNOT_ASSERTS_SLOW      1
#define KNOT_ASSERT_SLOW(expr) assert(expr)
#else
#define KNOT_ASSERTS_SLOW      0
/* The expression is compiled, so it can't rot and what it alone uses counts as used, but it is never evaluated. */
#define KNOT_ASSERT_SLOW(expr) ((void)(0 && (expr)))
#endif
