/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/base/err.h"

#include <string.h>

static const struct {
	int code;
	const char *text;
} texts[] = {
	{ KNOT_OK, "OK" },
	{ KNOT_ENOENT, "not exists" },
	{ KNOT_EIO, "file or device input/output error" },
	{ KNOT_ENOMEM, "not enough memory" },
	{ KNOT_EACCES, "operation not permitted" },
	{ KNOT_EPERM, "operation not permitted" },
	{ KNOT_EEXIST, "already exists" },
	{ KNOT_EINVAL, "invalid parameter" },
	{ KNOT_ERANGE, "value is out of range" },
	{ KNOT_ENOTSUP, "operation not supported" },
	{ KNOT_EADDRINUSE, "address already in use" },
	{ KNOT_ECONNREFUSED, "connection refused" },
	{ -ENOTDIR, "not a directory" },
	{ KNOT_EADDRNOTAVAIL, "address is not available" },
	{ KNOT_ECONNRESET, "connection reset" },
	{ KNOT_ENETUNREACH, "network is unreachable" },
	{ KNOT_EHOSTUNREACH, "host is unreachable" },
	{ KNOT_ETIMEOUT, "connection timeout" },
#define KNOT_ERR(name, text) { name, text },
#include "libknot/base/err.def"
#undef KNOT_ERR
};

const char *knot_strerror(int code)
{
	for (size_t i = 0; i < KNOT_LEN(texts); i++) {
		if (texts[i].code == code) {
			return texts[i].text;
		}
	}
	/* Any other errno: strerrordesc_np() is a static table, unlike strerror() safe from any thread. */
	const char *text = code < 0 && code > KNOT_ERR_BASE ? strerrordesc_np(-code) : NULL;
	return text != NULL ? text : "unknown error";
}
