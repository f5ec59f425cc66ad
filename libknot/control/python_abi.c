/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/control/python_abi.h"

#include "libknot/msg/rcode.h"
#include "libknot/name/name.h"
#include "libknot/rr/rrtype.h"

#include <stdlib.h>

const knot_lookup_t knot_rcode_names[KNOT_RCODE_NAME_ROWS] = {
#define RCODE_ROW(name, number, text) { number, text },
	KNOT_RCODE_ROWS(RCODE_ROW)
#undef RCODE_ROW
};

/* Sorted by number, as the rows are. */
static const struct {
	uint16_t type;
	knot_rdata_descriptor_t descriptor;
} descriptors[] = {
#define RR_TYPE(mnemonic, number, flags, rfc, ...) { number, { .type_name = #mnemonic } },
#include "libknot/rr/rrtype.def"
#undef RR_TYPE
};

const knot_rdata_descriptor_t *knot_get_rdata_descriptor(uint16_t type)
{
	static const knot_rdata_descriptor_t unnamed = { .type_name = NULL };
	char text[KNOT_TYPE_TEXT_MAX];
	(void)knot_rrtype_print(type, text);
	for (size_t i = 0; i < KNOT_LEN(descriptors); i++) {
		/* Some types have a row but are printed as TYPEn. */
		if (descriptors[i].type == type && strcmp(text, descriptors[i].descriptor.type_name) == 0) {
			return &descriptors[i].descriptor;
		}
	}
	return &unnamed;
}

size_t knot_dname_size(const uint8_t *name)
{
	return knot_name_of(name).len;
}

int knot_dname_wire_check(const uint8_t *name, const uint8_t *endp, const uint8_t *pkt)
{
	if (name == NULL || endp <= name) {
		return KNOT_EMALF;
	}
	knot_name_t view;
	if (pkt == NULL) {
		knot_bytes_t bytes = { name, (size_t)(endp - name) };
		return knot_name_read(bytes, &view) == KNOT_OK ? view.len : (int)KNOT_EMALF;
	}
	uint8_t wire[KNOT_NAME_MAX];
	size_t pos = (size_t)(name - pkt);
	knot_bytes_t msg = { pkt, (size_t)(endp - pkt) };
	size_t start = pos;
	return knot_name_unpack(msg, &pos, wire, &view) == KNOT_OK ? (int)(pos - start) : (int)KNOT_EMALF;
}

/* `len` bytes in dst of `max` bytes, or in new memory. */
static void *abi_keep_symbol(void *dst, size_t max, const void *bytes, size_t len)
{
	void *to = dst != NULL ? (len <= max ? dst : NULL) : malloc(len);
	return to != NULL ? memcpy(to, bytes, len) : NULL;
}

char *knot_dname_to_str(char *dst, const uint8_t *name, size_t maxlen)
{
	if (name == NULL) {
		return NULL;
	}
	char text[KNOT_NAME_TEXT_MAX];
	size_t len = knot_name_print(knot_name_of(name), text);
	return abi_keep_symbol(dst, maxlen, text, len + 1);
}

uint8_t *knot_dname_from_str(uint8_t *dst, const char *name, size_t maxlen)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t view;
	if (name == NULL || knot_name_scan(knot_str_of(name), knot_name_root, wire, &view) != KNOT_OK) {
		return NULL;
	}
	return abi_keep_symbol(dst, maxlen, wire, view.len);
}
