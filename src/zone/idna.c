/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/idna.h"

#include <idn2.h>
#include <string.h>

bool zone_idna_to_ascii(const char *name, char *ret_ascii, size_t max)
{
	const char *p = name;
	while (*p != '\0' && (unsigned char)*p < 0x80) {
		p++;
	}
	char *ascii = NULL;
	if (*p == '\0' || idn2_to_ascii_8z(name, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL) != IDN2_OK) {
		return false;
	}
	size_t len = strlen(ascii);
	bool fits = len < max;
	if (fits) {
		memcpy(ret_ascii, ascii, len + 1);
	}
	idn2_free(ascii);
	return fits;
}
