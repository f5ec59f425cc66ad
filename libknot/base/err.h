/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Environment failures: one enum for the whole project.
 *
 * Owns: the error codes and their texts. Not here: protocol outcomes (rcodes, verdicts: closed enums of their own)
 * and programmer errors (assert). Codes above KNOT_ERR_BASE are negated errno values, so that
 * `knot_err_of_errno()` is the only conversion needed. The texts are part of the control protocol
 * (an ERROR item carries knot_strerror() of the code), don't reword them.
 */
#pragma once

#include <errno.h>

#define KNOT_MUST_USE __attribute__((warn_unused_result))
#define KNOT_EXPORT   __attribute__((visibility("default")))
#define KNOT_LEN(a)   (sizeof(a) / sizeof((a)[0]))

/** Runs `fn(&var)` when `var` leaves its scope. `fn` takes a pointer to the variable and accepts an empty one. */
#define KNOT_CLEANUP(fn) __attribute__((cleanup(fn)))

typedef enum {
	KNOT_OK = 0,

	/* Negated errno values. */
	KNOT_ENOENT = -ENOENT,
	KNOT_EIO = -EIO,
	KNOT_ENOMEM = -ENOMEM,
	KNOT_EACCES = -EACCES,
	KNOT_EPERM = -EPERM,
	KNOT_EBUSY = -EBUSY,
	KNOT_EEXIST = -EEXIST,
	KNOT_ENODEV = -ENODEV,
	KNOT_EINVAL = -EINVAL,
	KNOT_ENOSPC = -ENOSPC,
	KNOT_ERANGE = -ERANGE,
	KNOT_ENOTSUP = -EOPNOTSUPP,
	KNOT_EADDRINUSE = -EADDRINUSE,
	KNOT_EADDRNOTAVAIL = -EADDRNOTAVAIL,
	KNOT_ECONNREFUSED = -ECONNREFUSED,
	KNOT_ECONNRESET = -ECONNRESET,
	KNOT_ENETUNREACH = -ENETUNREACH,
	KNOT_EHOSTUNREACH = -EHOSTUNREACH,
	KNOT_ETIMEOUT = -ETIMEDOUT,
	KNOT_EAGAIN = -EAGAIN,

/* Our own, in the order of base/err.def. */
#define KNOT_ERR(name, text) name,
	KNOT_ERR_BASE = -1000,
#include "libknot/base/err.def"
#undef KNOT_ERR
} knot_err_t;

/** The code for an errno value; `errnum` 0 gives KNOT_EIO (a failure must not turn into KNOT_OK). */
static inline knot_err_t knot_err_of_errno(int errnum)
{
	return errnum > 0 ? (knot_err_t)-errnum : KNOT_EIO;
}

/**
 * The text of an error code: static, never NULL, no final dot. Unknown codes give "unknown error".
 * `code` is an int because the Python package libknot passes one.
 */
KNOT_EXPORT const char *knot_strerror(int code);
