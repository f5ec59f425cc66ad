/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * For tests: random valid RDATA of any type, made by walking the row's fields. What it makes is valid by the RFCs, not
 * by our checks, which is what the tests are to find out. Needs stdlib's random().
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "libknot/rr/rdata.h"
#include "libknot/rr/rrdesc.h"

static inline unsigned random_below(unsigned end)
{
	return (unsigned)random() % end;
}

static inline void random_bytes(knot_writer_t *w, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		knot_write_u8(w, (uint8_t)random());
	}
}

static inline void random_name(knot_writer_t *w)
{
	for (unsigned labels = random_below(4); labels > 0; labels--) {
		unsigned len = 1 + random_below(random_below(8) == 0 ? 63 : 6);
		knot_write_u8(w, (uint8_t)len);
		for (unsigned i = 0; i < len; i++) {
			knot_write_u8(w, random_below(4) == 0 ? (uint8_t)random() : (uint8_t)('A' + random_below(58)));
		}
	}
	knot_write_u8(w, 0);
}

static inline void random_string(knot_writer_t *w, unsigned max)
{
	uint8_t len = (uint8_t)random_below(max + 1);
	knot_write_u8(w, len);
	random_bytes(w, len);
}

static inline void random_bitmap(knot_writer_t *w)
{
	for (unsigned window = random_below(3); window < 256; window += 1 + random_below(300)) {
		uint8_t len = (uint8_t)(1 + random_below(32));
		knot_write_u8(w, (uint8_t)window);
		knot_write_u8(w, len);
		random_bytes(w, len - 1U);
		knot_write_u8(w, (uint8_t)(1 + random_below(255)));
	}
}

static inline void random_apl(knot_writer_t *w)
{
	for (unsigned count = random_below(4); count > 0; count--) {
		unsigned family = random_below(8) == 0 ? 3 + random_below(60000) : 1 + random_below(2);
		unsigned len = random_below(family == 1 ? 5 : 17);
		knot_write_u16(w, (uint16_t)family);
		knot_write_u8(w, (uint8_t)random_below(family == 1 ? 33 : 129));
		knot_write_u8(w, (uint8_t)(len | (random_below(2) << 7)));
		if (len > 0) {
			random_bytes(w, len - 1);
			knot_write_u8(w, (uint8_t)(1 + random_below(255)));
		}
	}
}

static inline void random_loc(knot_writer_t *w)
{
	enum { DEGREE = 3600000 };
	knot_write_u8(w, 0);
	for (unsigned i = 0; i < 3; i++) {
		/* Mantissa 0 with an exponent is another spelling of zero: not made, text can't tell them apart. */
		uint8_t mantissa = (uint8_t)random_below(10);
		knot_write_u8(w, (uint8_t)(mantissa << 4 | (mantissa > 0 ? random_below(10) : 0)));
	}
	knot_write_u32(w, (1U << 31) + (uint32_t)random_below(180 * DEGREE + 1) - 90U * DEGREE);
	knot_write_u32(w, (1U << 31) + (uint32_t)random_below(360 * DEGREE + 1) - 180U * DEGREE);
	knot_write_u32(w, (uint32_t)random() << 1 | (uint32_t)random_below(2));
}

static inline void random_svc_value(knot_writer_t *w, knot_svcparam_kind_t kind)
{
	switch (kind) {
	case SVCPARAM_OPAQUE: random_bytes(w, random_below(20)); break;
	case SVCPARAM_MANDATORY:
	case SVCPARAM_EMPTY: break;
	case SVCPARAM_ALPN:
		for (unsigned count = 1 + random_below(4); count > 0; count--) {
			uint8_t len = (uint8_t)(1 + random_below(6));
			knot_write_u8(w, len);
			for (unsigned i = 0; i < len; i++) {
				knot_write_u8(w, random_below(2) == 0 ? (uint8_t)random()
								      : (uint8_t) ",\\\"; ()h"[random_below(8)]);
			}
		}
		break;
	case SVCPARAM_PORT: random_bytes(w, 2); break;
	case SVCPARAM_IPV4: random_bytes(w, 4 * (1 + random_below(3))); break;
	case SVCPARAM_IPV6: random_bytes(w, 16 * (1 + random_below(3))); break;
	case SVCPARAM_BASE64: random_bytes(w, 1 + random_below(40)); break;
	case SVCPARAM_DOHPATH: knot_write(w, "/q{?dns}\xC3\xA9\"\\", 12); break;
	}
}

static inline void random_svcparams(knot_writer_t *w)
{
	bool has_mandatory = random_below(2) == 0;
	if (has_mandatory) {
		knot_write(w, "\0\0\0\4\0\1\0\3", 8); /* mandatory=alpn,port: both are made below */
	}
	for (uint16_t key = 1; key < 10; key++) {
		bool is_needed = has_mandatory && (key == 1 || key == 3);
		if ((key == 2 || random_below(3) != 0) && !is_needed && !(key == 1 && !has_mandatory)) {
			continue;
		}
		uint16_t number = key == 9 ? (uint16_t)(9 + random_below(65000)) : key;
		knot_write_u16(w, number);
		size_t at = w->len;
		knot_write_u16(w, 0);
		random_svc_value(w, knot_svcparam(number)->kind);
		store_be16(w->data + at, (uint16_t)(w->len - at - 2));
	}
}

static inline void random_field(knot_writer_t *w, const knot_field_t *field)
{
	switch ((knot_field_kind_t)field->kind) {
	case FIELD_U8: random_bytes(w, 1); break;
	case FIELD_U16:
	case FIELD_TYPE: random_bytes(w, 2); break;
	case FIELD_U32:
	case FIELD_PERIOD:
	case FIELD_TIMESTAMP:
	case FIELD_IPV4: random_bytes(w, 4); break;
	case FIELD_IPV6: random_bytes(w, 16); break;
	case FIELD_EUI48: random_bytes(w, 6); break;
	case FIELD_EUI64:
	case FIELD_NODE_ID: random_bytes(w, 8); break;
	case FIELD_NAME: random_name(w); break;
	case FIELD_STRING:
	case FIELD_SALT: random_string(w, 255); break;
	case FIELD_TAG:
		if (random_below(2) == 0) {
			knot_write(w, "\5Issue", 6);
		} else {
			knot_write_u8(w, 20);
			random_bytes(w, 20);
		}
		break;
	case FIELD_STRINGS:
		for (unsigned count = 1 + random_below(4); count > 0; count--) {
			random_string(w, 30);
		}
		break;
	case FIELD_TEXT:
	case FIELD_HEX:
	case FIELD_BASE64:
	case FIELD_OPAQUE: random_bytes(w, field->min + random_below(80)); break;
	case FIELD_HASH:
		knot_write_u8(w, 20);
		random_bytes(w, 20);
		break;
	case FIELD_BITMAP: random_bitmap(w); break;
	case FIELD_APL: random_apl(w); break;
	case FIELD_LOC: random_loc(w); break;
	case FIELD_GATEWAY:
		w->data[w->len - 2] = (uint8_t)random_below(4);
		switch (w->data[w->len - 2]) {
		case 1: random_bytes(w, 4); break;
		case 2: random_bytes(w, 16); break;
		case 3: random_name(w); break;
		}
		break;
	case FIELD_SVCPARAMS: random_svcparams(w); break;
	case FIELD_END: break;
	}
}

/** Random RDATA of a row into `bytes` (at least 4096). Returns its length. */
static inline size_t random_rdata(const knot_rrdesc_t *row, uint8_t *bytes, size_t max)
{
	knot_writer_t w = knot_writer_of((knot_mut_bytes_t){ bytes, max });
	for (const knot_field_t *field = row->fields; field->kind != FIELD_END; field++) {
		random_field(&w, field);
	}
	return w.failed ? 0 : w.len;
}

/** The seed of a test: KNOT_SEED, or always the same. Printed, so that a failure can be repeated. */
static inline void random_seed(void)
{
	const char *seed = getenv("KNOT_SEED");
	unsigned value = seed != NULL ? (unsigned)strtoul(seed, NULL, 10) : 1;
	printf("KNOT_SEED=%u\n", value);
	srandom(value);
}
