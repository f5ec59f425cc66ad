/* SPDX-License-Identifier: BSD-2-Clause */
/** Bytes of messages that the programs which make load have in common. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Write a name, which has no escapes, as labels. Returns its length; to has room. */
static inline size_t load_put_name(uint8_t *to, const char *text)
{
	size_t at = 0;
	while (*text != '\0') {
		size_t len = strcspn(text, ".");
		to[at++] = (uint8_t)len;
		memcpy(to + at, text, len);
		at += len;
		text += len + (text[len] == '.');
	}
	to[at++] = 0;
	return at;
}
