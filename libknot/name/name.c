/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/name/name.h"

#include "libknot/base/assert.h"

#include "libknot/base/number.h"

static const uint8_t root_wire[1] = { 0 };
const knot_name_t knot_name_root = { .wire = root_wire, .len = 1, .label_count = 0 };

static inline uint8_t lower(uint8_t c)
{
	return (uint8_t)(c - 'A') < 26 ? c | 0x20 : c;
}

/* Eight bytes to lower case at once. Length bytes are at most 63 and so never look like a letter. */
static inline uint64_t lower8(uint64_t v)
{
	const uint64_t ones = 0x0101010101010101u;
	uint64_t low7 = v & (0x7F * ones);
	uint64_t ge_a = low7 + (0x80 - 'A') * ones;     /* bit 7: the byte's low 7 bits are >= 'A' */
	uint64_t gt_z = low7 + (0x80 - 'Z' - 1) * ones; /* bit 7: they are > 'Z' */
	uint64_t upper = (ge_a ^ gt_z) & ~v & (0x80 * ones);
	return v | upper >> 2;
}

static inline uint64_t load8(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void store8(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

knot_err_t knot_name_read(knot_bytes_t bytes, knot_name_t *ret_name)
{
	size_t max = bytes.len < KNOT_NAME_MAX ? bytes.len : KNOT_NAME_MAX;
	size_t pos = 0;
	unsigned labels = 0;
	while (pos < max) {
		uint8_t len = bytes.data[pos];
		if (len == 0) {
			*ret_name = (knot_name_t){ bytes.data, (uint8_t)(pos + 1), (uint8_t)labels };
			return KNOT_OK;
		}
		if (len > KNOT_LABEL_MAX) {
			return KNOT_EMALF;
		}
		pos += 1u + len;
		labels++;
	}
	return KNOT_EMALF;
}

/* True if the view's counts are those of the wire form. */
static bool name_is_sound(knot_name_t name)
{
	size_t pos = 0;
	unsigned labels = 0;
	while (pos < name.len && name.wire[pos] != 0) {
		pos += 1u + name.wire[pos];
		labels++;
	}
	return name.len > 0 && pos == name.len - 1u && labels == name.label_count;
}

knot_name_t knot_name_of(const uint8_t *wire)
{
	size_t pos = 0;
	unsigned labels = 0;
	while (wire[pos] != 0) {
		assert(wire[pos] <= KNOT_LABEL_MAX && pos < KNOT_NAME_MAX);
		pos += 1u + wire[pos];
		labels++;
	}
	assert(pos < KNOT_NAME_MAX);
	return (knot_name_t){ wire, (uint8_t)(pos + 1), (uint8_t)labels };
}

/* Bytes that are copied at once for a label: two moves, where a copy of a varying length takes 40 cycles to begin. */
enum { SHORT_COPY = 16 };

knot_err_t knot_name_unpack(
		knot_bytes_t msg, size_t *pos, uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_name)
{
	size_t at = *pos;
	size_t bound = at; /* start of the current label sequence: pointers must point before it */
	size_t end = 0;    /* behind the name in the message, once the first pointer is met */
	size_t len = 0;
	unsigned labels = 0, pointers = 0;
	while (at < msg.len) {
		uint8_t c = msg.data[at];
		if (c == 0) {
			ret_wire[len++] = 0;
			*pos = end != 0 ? end : at + 1;
			*ret_name = (knot_name_t){ ret_wire, (uint8_t)len, (uint8_t)labels };
			return KNOT_OK;
		}
		if (c <= KNOT_LABEL_MAX) {
			if (at + 1 + c > msg.len || len + 1u + c >= KNOT_NAME_MAX) {
				return KNOT_EMALF;
			}
			if (c < SHORT_COPY && msg.len - at >= SHORT_COPY && KNOT_NAME_MAX - len >= SHORT_COPY) {
				memcpy(ret_wire + len, msg.data + at, SHORT_COPY);
			} else {
				memcpy(ret_wire + len, msg.data + at, 1u + c);
			}
			len += 1u + c;
			at += 1u + c;
			labels++;
			continue;
		}
		/* A pointer per label is all that compression needs; a chain of thousands, followed for each record of
		   a message, would cost a tenth of a second. */
		if (c < 0xC0 || at + 2 > msg.len || ++pointers > KNOT_LABEL_COUNT_MAX) {
			return KNOT_EMALF;
		}
		if (end == 0) {
			end = at + 2;
		}
		at = load_be16(msg.data + at) & 0x3FFF;
		if (at >= bound) {
			return KNOT_EMALF;
		}
		bound = at;
	}
	return KNOT_EMALF;
}

/* One character or escape of presentation form; returns the characters used, 0: bad escape. */
static size_t scan_char(knot_str_t text, size_t at, uint8_t *ret_byte)
{
	const char *p = text.data + at;
	size_t left = text.len - at;
	if (*p != '\\') {
		*ret_byte = (uint8_t)*p;
		return 1;
	}
	if (left < 2) {
		return 0;
	}
	if (!knot_is_digit(p[1])) {
		*ret_byte = (uint8_t)p[1];
		return 2;
	}
	if (left < 4 || !knot_is_digit(p[2]) || !knot_is_digit(p[3])) {
		return 0;
	}
	int value = (p[1] - '0') * 100 + (p[2] - '0') * 10 + (p[3] - '0');
	if (value > 255) {
		return 0;
	}
	*ret_byte = (uint8_t)value;
	return 4;
}

static knot_err_t append_origin(knot_name_t origin, uint8_t *wire, size_t len, unsigned labels, knot_name_t *ret_name)
{
	if (origin.wire == NULL) {
		return KNOT_ENOORIGIN;
	}
	if (len + origin.len > KNOT_NAME_MAX) {
		return KNOT_ENAMELEN;
	}
	memmove(wire + len, origin.wire, origin.len);
	*ret_name = (knot_name_t){ wire, (uint8_t)(len + origin.len), (uint8_t)(labels + origin.label_count) };
	return KNOT_OK;
}

knot_err_t knot_name_scan(
		knot_str_t text, knot_name_t origin, uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_name)
{
	if (text.len == 0) {
		return KNOT_EEMPTYLABEL;
	}
	if (text.len == 1 && text.data[0] == '@') {
		return append_origin(origin, ret_wire, 0, 0, ret_name);
	}
	if (text.len == 1 && text.data[0] == '.') {
		ret_wire[0] = 0;
		*ret_name = (knot_name_t){ ret_wire, 1, 0 };
		return KNOT_OK;
	}

	size_t label = 0; /* position of the current label's length byte */
	size_t len = 1;   /* bytes written, that length byte included */
	unsigned labels = 0;
	for (size_t at = 0; at < text.len;) {
		if (text.data[at] == '.') {
			size_t label_len = len - label - 1;
			if (label_len == 0) {
				return KNOT_EEMPTYLABEL;
			}
			ret_wire[label] = (uint8_t)label_len;
			labels++;
			label = len;
			if (len >= KNOT_NAME_MAX) {
				return KNOT_ENAMELEN;
			}
			len++;
			at++;
			continue;
		}
		uint8_t byte;
		size_t used = scan_char(text, at, &byte);
		if (used == 0) {
			return KNOT_EBADESC;
		}
		if (len - label - 1 == KNOT_LABEL_MAX) {
			return KNOT_ELABELLEN;
		}
		if (len >= KNOT_NAME_MAX - 1) {
			return KNOT_ENAMELEN;
		}
		ret_wire[len++] = byte;
		at += used;
	}
	size_t label_len = len - label - 1;
	if (label_len == 0) {
		/* The text ended with a dot: the length byte is the root label. */
		ret_wire[label] = 0;
		*ret_name = (knot_name_t){ ret_wire, (uint8_t)len, (uint8_t)labels };
		return KNOT_OK;
	}
	ret_wire[label] = (uint8_t)label_len;
	return append_origin(origin, ret_wire, len, labels + 1, ret_name);
}

/* How a byte is printed: itself, behind a backslash, or as \DDD. */
static const bool prints_plain[256] = { ['a' ... 'z'] = true,
	['A' ... 'Z'] = true,
	['0' ... '9'] = true,
	['-'] = true,
	['_'] = true,
	['*'] = true,
	['/'] = true };

static bool prints_escaped(uint8_t c)
{
	return c > ' ' && c < 0x7F && c != '#'; /* Knot prints '#' as \035 */
}

size_t knot_name_print(knot_name_t name, char ret_text[static KNOT_NAME_TEXT_MAX])
{
	KNOT_ASSERT_SLOW(name_is_sound(name));
	char *out = ret_text;
	const uint8_t *label = name.wire;
	if (*label == 0) {
		*out++ = '.';
	}
	while (*label != 0) {
		for (unsigned i = 1; i <= *label; i++) {
			uint8_t c = label[i];
			if (prints_plain[c]) {
				*out++ = (char)c;
			} else if (prints_escaped(c)) {
				*out++ = '\\';
				*out++ = (char)c;
			} else {
				*out++ = '\\';
				*out++ = (char)('0' + c / 100);
				*out++ = (char)('0' + c / 10 % 10);
				*out++ = (char)('0' + c % 10);
			}
		}
		*out++ = '.';
		label += 1 + *label;
	}
	*out = '\0';
	return (size_t)(out - ret_text);
}

/* Up to 7 bytes as one integer, zeros behind them. */
static inline uint64_t load_short(const uint8_t *p, size_t len)
{
	if (__builtin_expect(len >= 4, true)) {
		uint32_t first, last;
		memcpy(&first, p, sizeof(first));
		memcpy(&last, p + len - sizeof(last), sizeof(last));
		return (uint64_t)last << 8 * (len - sizeof(last)) | first;
	}
	return len == 0 ? 0 : p[0] | (uint64_t)p[len / 2] << 8 | (uint64_t)p[len - 1] << 16;
}

/* Usually both are in lower case already. */
static inline bool eq8(uint64_t a, uint64_t b)
{
	return a == b || lower8(a) == lower8(b);
}

static inline bool eq_folded(const uint8_t *a, const uint8_t *b, size_t len)
{
	if (len < 8) {
		return eq8(load_short(a, len), load_short(b, len));
	}
	for (size_t i = 0; i + 8 < len; i += 8) {
		if (!eq8(load8(a + i), load8(b + i))) {
			return false;
		}
	}
	/* The last eight bytes, some of them again. */
	return eq8(load8(a + len - 8), load8(b + len - 8));
}

bool knot_name_eq(knot_name_t a, knot_name_t b)
{
	KNOT_ASSERT_SLOW(name_is_sound(a) && name_is_sound(b));
	return a.len == b.len && a.label_count == b.label_count && eq_folded(a.wire, b.wire, a.len);
}

/* Offsets of the labels, first label first. */
static void label_offsets(knot_name_t name, uint8_t ret_offs[static KNOT_LABEL_COUNT_MAX])
{
	unsigned at = 0;
	for (unsigned i = 0; i < name.label_count; i++) {
		ret_offs[i] = (uint8_t)at;
		at += 1u + name.wire[at];
	}
}

/* 1 to 7 bytes as one integer whose order is theirs, for texts of the same length. */
static inline uint64_t load_ordered(const uint8_t *p, size_t len)
{
	if (len >= 4) {
		return (uint64_t)load_be32(p) << 32 | load_be32(p + len - 4);
	}
	return (uint64_t)p[0] << 16 | (uint64_t)p[len / 2] << 8 | p[len - 1];
}

static inline int cmp8(uint64_t a, uint64_t b)
{
	if (a != b) {
		a = lower8(a);
		b = lower8(b);
	}
	return (a > b) - (a < b);
}

static inline int cmp_folded(const uint8_t *a, const uint8_t *b, size_t len)
{
	if (len < 8) {
		return len > 0 ? cmp8(load_ordered(a, len), load_ordered(b, len)) : 0;
	}
	int diff = 0;
	for (size_t i = 0; i + 8 < len && diff == 0; i += 8) {
		diff = cmp8(load_be64(a + i), load_be64(b + i));
	}
	/* The last eight bytes: those of them that were compared already are equal. */
	return diff != 0 ? diff : cmp8(load_be64(a + len - 8), load_be64(b + len - 8));
}

static inline int cmp_label(const uint8_t *a, const uint8_t *b)
{
	int diff = cmp_folded(a + 1, b + 1, *a < *b ? *a : *b);
	return diff != 0 ? diff : *a - *b;
}

int knot_name_cmp(knot_name_t a, knot_name_t b)
{
	KNOT_ASSERT_SLOW(name_is_sound(a) && name_is_sound(b));
	uint8_t a_offs[KNOT_LABEL_COUNT_MAX], b_offs[KNOT_LABEL_COUNT_MAX];
	label_offsets(a, a_offs);
	label_offsets(b, b_offs);
	unsigned i = a.label_count, j = b.label_count;
	while (i > 0 && j > 0) {
		int diff = cmp_label(a.wire + a_offs[--i], b.wire + b_offs[--j]);
		if (diff != 0) {
			return diff;
		}
	}
	return (int)a.label_count - (int)b.label_count;
}

knot_name_t knot_name_strip(knot_name_t name, unsigned count)
{
	assert(count <= name.label_count);
	KNOT_ASSERT_SLOW(name_is_sound(name));
	unsigned at = 0;
	for (unsigned i = 0; i < count; i++) {
		at += 1u + name.wire[at];
	}
	return (knot_name_t){ name.wire + at, (uint8_t)(name.len - at), (uint8_t)(name.label_count - count) };
}

bool knot_name_in(knot_name_t name, knot_name_t apex)
{
	KNOT_ASSERT_SLOW(name_is_sound(name) && name_is_sound(apex));
	if (name.label_count < apex.label_count) {
		return false;
	}
	unsigned at = 0;
	for (unsigned below = name.label_count - apex.label_count; below > 0; below--) {
		at += 1u + name.wire[at];
	}
	return name.len - at == apex.len && eq_folded(name.wire + at, apex.wire, apex.len);
}

unsigned knot_name_shared_labels(knot_name_t a, knot_name_t b)
{
	KNOT_ASSERT_SLOW(name_is_sound(a) && name_is_sound(b));
	/* Mostly one of them is the other or above it, in a lookup that finds something: one compare of eight bytes at
	 * a time. */
	unsigned fewer = a.label_count < b.label_count ? a.label_count : b.label_count;
	if (knot_name_eq(knot_name_strip(a, a.label_count - fewer), knot_name_strip(b, b.label_count - fewer))) {
		return fewer;
	}
	uint8_t a_offs[KNOT_LABEL_COUNT_MAX], b_offs[KNOT_LABEL_COUNT_MAX];
	label_offsets(a, a_offs);
	label_offsets(b, b_offs);
	unsigned shared = 0;
	while (shared < fewer && cmp_label(a.wire + a_offs[a.label_count - shared - 1],
						 b.wire + b_offs[b.label_count - shared - 1]) == 0) {
		shared++;
	}
	return shared;
}

void knot_name_lower(knot_name_t name, uint8_t *ret_wire)
{
	if (name.len < 8) {
		for (size_t i = 0; i < name.len; i++) {
			ret_wire[i] = lower(name.wire[i]);
		}
		return;
	}
	/* Eight at a time, the last eight some of them again: read before the loop may have written them, in place. */
	uint64_t last = load8(name.wire + name.len - 8);
	for (size_t i = 0; i + 8 < name.len; i += 8) {
		store8(ret_wire + i, lower8(load8(name.wire + i)));
	}
	store8(ret_wire + name.len - 8, lower8(last));
}

/*
 * Key positions, in byte order after folding. An escape's range holds at most KEY_RANGE bytes, so that the second
 * position, counted from 1, stays below KNOT_KEY_POSITIONS.
 *
 *     0 END | 1 esc 00-2C | 2 '-' | 3 esc 2E-2F | 4-13 '0'-'9' | 14 esc 3A-40, 5B-5E | 15 '_' | 16 esc 60
 *     17-42 'a'-'z' | 43 esc 7B-A7 | 44 esc A8-D4 | 45 esc D5-FF
 *
 * One table entry: low byte the first position, high byte the second or 0. Made by the preprocessor, checked against
 * the canonical order by name_test.c.
 */
enum { KEY_RANGE = 45 };
#define KEY_ESC(pos, nth) ((pos) | (((unsigned)(nth) + 1) & 0xFF) << 8) /* masked: arms not taken are out of range */
#define KEY_OF(c)                                                                                                      \
	((c) <= 0x2C                  ? KEY_ESC(1, (c))                                                                \
			: (c) == '-'  ? 2                                                                              \
			: (c) <= 0x2F ? KEY_ESC(3, (c)-0x2E)                                                           \
			: (c) <= '9'  ? 4 + (c) - '0'                                                                  \
			: (c) <= 0x40 ? KEY_ESC(14, (c)-0x3A)                                                          \
			: (c) <= 'Z'  ? 17 + (c) - 'A'                                                                 \
			: (c) <= 0x5E ? KEY_ESC(14, (c)-0x5B + 7)                                                      \
			: (c) == '_'  ? 15                                                                             \
			: (c) == 0x60 ? KEY_ESC(16, 0)                                                                 \
			: (c) <= 'z'  ? 17 + (c) - 'a'                                                                 \
				      : KEY_ESC(43 + ((c)-0x7B) / KEY_RANGE, ((c)-0x7B) % KEY_RANGE))
#define KEY_4(c)  KEY_OF(c), KEY_OF((c) + 1), KEY_OF((c) + 2), KEY_OF((c) + 3)
#define KEY_16(c) KEY_4(c), KEY_4((c) + 4), KEY_4((c) + 8), KEY_4((c) + 12)
#define KEY_64(c) KEY_16(c), KEY_16((c) + 16), KEY_16((c) + 32), KEY_16((c) + 48)
static const uint16_t key_of_byte[256] = { KEY_64(0), KEY_64(64), KEY_64(128), KEY_64(192) };

_Static_assert(43 + (0xFF - 0x7B) / KEY_RANGE < KNOT_KEY_POSITIONS && KEY_RANGE < (int)KNOT_KEY_POSITIONS,
		"positions must fit");

/* Sixteen bytes at once, in plain C for any CPU that has vectors (gcc and clang give each a lane mask per
 * compare). */
typedef uint8_t lanes_t __attribute__((vector_size(16)));

enum { LANES = sizeof(lanes_t) };

static inline lanes_t load_lanes(const uint8_t *p)
{
	lanes_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

/* Positions of sixteen bytes; 0 for a byte that takes two. */
static inline lanes_t key_lanes(lanes_t c)
{
	lanes_t folded = c | 0x20;
	lanes_t letter = (lanes_t)((lanes_t)(folded - 'a') < 26);
	lanes_t digit = (lanes_t)((lanes_t)(c - '0') < 10);
	return (letter & (folded - ('a' - 17))) | (digit & (c - ('0' - 4))) | ((lanes_t)(c == '-') & 2) |
	       ((lanes_t)(c == '_') & 15);
}

/* Byte by byte, for names with bytes that take two positions. Two bytes are stored per byte of the name and the second
   is overwritten if it is unused: no branch. The longest key, 250 bytes in four labels, ends at 504: the second byte
   fits. */
__attribute__((noinline)) static size_t key_with_escapes(knot_name_t name, const uint8_t *offs, uint8_t *ret_key)
{
	uint8_t *out = ret_key;
	for (unsigned i = name.label_count; i-- > 0;) {
		const uint8_t *p = name.wire + offs[i];
		for (const uint8_t *end = p + *p + 1; ++p < end;) {
			uint16_t k = key_of_byte[*p];
			out[0] = (uint8_t)k;
			out[1] = (uint8_t)(k >> 8);
			out += 1 + (k > 0xFF);
		}
		*out++ = KNOT_KEY_END;
	}
	return (size_t)(out - ret_key);
}

/* The last sixteen bytes of a name: of what is shorter all, with zeros in front. */
#if defined(__SIZEOF_INT128__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
__extension__ typedef unsigned __int128 tail_t;

static inline tail_t load_tail(knot_name_t name)
{
	const uint8_t *end = name.wire + name.len;
	if (__builtin_expect(name.len >= LANES, true)) {
		tail_t tail;
		memcpy(&tail, end - LANES, sizeof(tail));
		return tail;
	}
	if (name.len >= 8) {
		return (tail_t)load8(end - 8) << 64 | (tail_t)load8(name.wire) << 8 * (LANES - name.len);
	}
	return (tail_t)load_short(name.wire, name.len) << 8 * (LANES - name.len);
}

/* Of its last `count` bytes (1–16) the first comes first. */
static inline lanes_t tail_lanes(const tail_t *tail, size_t count)
{
	tail_t shifted = *tail >> 8 * (LANES - count);
	lanes_t v;
	memcpy(&v, &shifted, sizeof(v));
	return v;
}
#else
typedef struct {
	uint8_t bytes[2 * LANES];
} tail_t;

static inline tail_t load_tail(knot_name_t name)
{
	size_t len = name.len < LANES ? name.len : LANES;
	tail_t tail = { { 0 } };
	memcpy(tail.bytes + LANES - len, name.wire + name.len - len, len);
	return tail;
}

static inline lanes_t tail_lanes(const tail_t *tail, size_t count)
{
	return load_lanes(tail->bytes + LANES - count);
}
#endif

/* How many of the lanes counted in bytes there are: at most 255. */
static inline unsigned sum_lanes(lanes_t counts)
{
	uint64_t halves[2];
	memcpy(halves, &counts, sizeof(halves));
	return (unsigned)((halves[0] + halves[1]) * 0x0101010101010101u >> 56);
}

/*
 * The labels' bytes in their new order, taken from where the name lies sixteen at a time and never a byte beyond it (it
 * may be the end of a message); each is followed by a zero, which is its own position and else none's but of what takes
 * two. Then bytes become positions, sixteen at once; more zeros than labels: some byte takes two.
 */
size_t knot_name_key(knot_name_t name, uint8_t ret_key[static KNOT_NAME_KEY_MAX])
{
	KNOT_ASSERT_SLOW(name_is_sound(name));
	uint8_t offs[KNOT_LABEL_COUNT_MAX];
	label_offsets(name, offs);
	const uint8_t *end = name.wire + name.len;
	const tail_t tail = load_tail(name);
	/* What is copied beyond a label is overwritten by the next; at most 254 positions leave room for the last. */
	uint8_t *out = ret_key;
	for (unsigned i = name.label_count; i-- > 0;) {
		const uint8_t *p = name.wire + offs[i];
		unsigned len = *p++;
		for (unsigned k = 0; k < len; k += LANES) {
			size_t readable = (size_t)(end - p) - k;
			lanes_t bytes = readable >= LANES ? load_lanes(p + k) : tail_lanes(&tail, readable);
			memcpy(out + k, &bytes, sizeof(bytes));
		}
		out += len;
		*out++ = KNOT_KEY_END;
	}
	const size_t len = (size_t)(out - ret_key);
	memset(out, 'a', LANES);
	lanes_t zeros = { 0 };
	for (size_t i = 0; i < len; i += LANES) {
		lanes_t key = key_lanes(load_lanes(ret_key + i));
		zeros -= (lanes_t)(key == 0);
		memcpy(ret_key + i, &key, sizeof(key));
	}
	if (__builtin_expect(sum_lanes(zeros) != name.label_count, false)) {
		return key_with_escapes(name, offs, ret_key);
	}
	return len;
}
