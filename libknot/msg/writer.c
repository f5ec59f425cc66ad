/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/msg/writer.h"

#include "libknot/rr/rdata.h"

enum { PROBES = 8, RR_FIXED_LEN = 10, EDE_TEXT_MAX = 256 };

/* The name at `off` of the message equals `name`. Stale slots (after a rollback) may lead anywhere below len: that is
   harmless, for whatever reads as the name is a right target; bounds and backward pointers end the walk. */
static bool writer_name_at(const knot_msg_writer_t *w, size_t off, knot_name_t name)
{
	const uint8_t *label = name.wire;
	const uint8_t fold = w->names->is_exact ? 0 : 0x20; /* of letter case */
	size_t bound = off;
	while (off < w->len) {
		uint8_t len = w->data[off];
		if (len >= 0xC0) {
			if (off + 2 > w->len) {
				return false;
			}
			off = load_be16(w->data + off) & KNOT_MSG_POINTER_MAX;
			if (off >= bound) {
				return false;
			}
			bound = off;
			continue;
		}
		if (len != *label || off + 1 + len > w->len) {
			return false;
		}
		if (len == 0) {
			return true;
		}
		for (unsigned i = 1; i <= len; i++) {
			uint8_t a = w->data[off + i], b = label[i];
			a = (uint8_t)(a - 'A') < 26 ? a | fold : a;
			b = (uint8_t)(b - 'A') < 26 ? b | fold : b;
			if (a != b) {
				return false;
			}
		}
		off += 1u + len;
		label += 1 + len;
	}
	return false;
}

/* Hashes of the suffixes of a name: ret[i] for the suffix that starts at label i. */
static void writer_suffix_hashes(knot_name_t name, uint8_t ret_offs[static KNOT_LABEL_COUNT_MAX],
		uint32_t ret_hashes[static KNOT_LABEL_COUNT_MAX])
{
	unsigned at = 0;
	for (unsigned i = 0; i < name.label_count; i++) {
		ret_offs[i] = (uint8_t)at;
		at += 1u + name.wire[at];
	}
	uint32_t hash = 2166136261u; /* FNV-1a: short, and a bad hash only costs compression */
	for (unsigned i = name.label_count; i-- > 0;) {
		const uint8_t *label = name.wire + ret_offs[i];
		for (unsigned k = 0; k <= *label; k++) {
			uint8_t c = label[k];
			c = (uint8_t)(c - 'A') < 26 ? c | 0x20 : c;
			hash = (hash ^ c) * 16777619u;
		}
		ret_hashes[i] = hash ^ hash >> 15;
	}
}

static unsigned writer_find_suffix(const knot_msg_writer_t *w, uint32_t hash, knot_name_t suffix)
{
	for (unsigned i = 0; i < PROBES; i++) {
		uint16_t off = w->names->suffixes[(hash + i) % KNOT_MSG_SUFFIX_SLOTS];
		if (off == 0) {
			return 0;
		}
		if (writer_name_at(w, off, suffix)) {
			return off;
		}
	}
	return 0;
}

static void writer_remember_suffix(knot_msg_writer_t *w, uint32_t hash, size_t off)
{
	if (off > KNOT_MSG_POINTER_MAX) {
		return;
	}
	for (unsigned i = 0; i < PROBES; i++) {
		uint16_t *slot = &w->names->suffixes[(hash + i) % KNOT_MSG_SUFFIX_SLOTS];
		if (*slot == 0 || *slot >= w->len) {
			*slot = (uint16_t)off;
			return;
		}
	}
}

static bool writer_put_bytes(knot_msg_writer_t *w, const void *bytes, size_t len)
{
	if (len > w->max - w->len) {
		return false;
	}
	if (len > 0) {
		memcpy(w->data + w->len, bytes, len);
	}
	w->len += len;
	return true;
}

static bool writer_put_name(knot_msg_writer_t *w, knot_name_t name, bool compress)
{
	if (w->names == NULL) {
		return writer_put_bytes(w, name.wire, name.len);
	}
	uint8_t offs[KNOT_LABEL_COUNT_MAX];
	uint32_t hashes[KNOT_LABEL_COUNT_MAX];
	writer_suffix_hashes(name, offs, hashes);
	unsigned spelled = 0; /* labels to spell out */
	unsigned target = 0;
	for (; compress && spelled < name.label_count; spelled++) {
		unsigned at = offs[spelled];
		target = writer_find_suffix(w, hashes[spelled],
				(knot_name_t){ name.wire + at, (uint8_t)(name.len - at),
						(uint8_t)(name.label_count - spelled) });
		if (target != 0) {
			break;
		}
	}
	if (!compress) {
		spelled = name.label_count;
	}
	size_t start = w->len;
	size_t spelled_len = spelled == name.label_count ? name.len : offs[spelled];
	if (!writer_put_bytes(w, name.wire, spelled_len)) {
		return false;
	}
	if (target != 0) {
		uint8_t pointer[2];
		store_be16(pointer, (uint16_t)(0xC000 | target));
		if (!writer_put_bytes(w, pointer, 2)) {
			return false;
		}
	}
	for (unsigned i = 0; i < spelled; i++) {
		writer_remember_suffix(w, hashes[i], start + offs[i]);
	}
	return true;
}

static void writer_begin_names(knot_msg_writer_t *w, knot_msg_names_t *names, bool is_exact)
{
	memset(names, 0, sizeof(*names));
	names->is_exact = is_exact;
	w->names = names;
	if (w->counts[KNOT_SECTION_QUESTION] == 0) {
		return;
	}
	assert(w->len > KNOT_MSG_QNAME_OFF);
	uint8_t offs[KNOT_LABEL_COUNT_MAX];
	uint32_t hashes[KNOT_LABEL_COUNT_MAX];
	knot_name_t question = knot_name_of(w->data + KNOT_MSG_QNAME_OFF);
	writer_suffix_hashes(question, offs, hashes);
	for (unsigned i = 0; i < question.label_count; i++) {
		writer_remember_suffix(w, hashes[i], KNOT_MSG_QNAME_OFF + offs[i]);
	}
}

void knot_msg_compress(knot_msg_writer_t *w, knot_msg_names_t *names)
{
	writer_begin_names(w, names, false);
}

void knot_msg_compress_exact(knot_msg_writer_t *w, knot_msg_names_t *names)
{
	writer_begin_names(w, names, true);
}

knot_err_t knot_msg_put_question(knot_msg_writer_t *w, knot_name_t name, uint16_t type, uint16_t class)
{
	size_t start = w->len;
	uint8_t fixed[4];
	store_be16(fixed, type);
	store_be16(fixed + 2, class);
	if (!writer_put_name(w, name, false) || !writer_put_bytes(w, fixed, sizeof(fixed))) {
		w->len = start;
		return KNOT_ESPACE;
	}
	w->counts[KNOT_SECTION_QUESTION]++;
	return KNOT_OK;
}

static bool writer_put_rdata(knot_msg_writer_t *w, uint16_t type, knot_bytes_t rdata)
{
	knot_rdata_name_t names[KNOT_RDATA_NAMES_MAX];
	unsigned count = knot_rdata_names(type, rdata, names);
	size_t pos = 0;
	for (unsigned i = 0; i < count; i++) {
		if (!(names[i].flags & KNOT_RDATA_COMPRESS)) {
			continue;
		}
		if (!writer_put_bytes(w, rdata.data + pos, names[i].off - pos) ||
				!writer_put_name(w, knot_name_of(rdata.data + names[i].off), true)) {
			return false;
		}
		pos = names[i].off + (size_t)names[i].len;
	}
	return writer_put_bytes(w, rdata.data + pos, rdata.len - pos);
}

knot_err_t knot_msg_put_rr(knot_msg_writer_t *w, knot_section_t section, knot_name_t owner, uint16_t type,
		uint16_t class, uint32_t ttl, knot_bytes_t rdata)
{
	size_t start = w->len;
	uint8_t fixed[RR_FIXED_LEN];
	store_be16(fixed, type);
	store_be16(fixed + 2, class);
	store_be32(fixed + 4, ttl);
	store_be16(fixed + 8, 0);
	bool ok = writer_put_name(w, owner, true) && writer_put_bytes(w, fixed, sizeof(fixed));
	size_t rdata_off = w->len;
	ok = ok && writer_put_rdata(w, type, rdata);
	if (!ok) {
		w->len = start;
		return KNOT_ESPACE;
	}
	store_be16(w->data + rdata_off - 2, (uint16_t)(w->len - rdata_off));
	w->counts[section]++;
	return KNOT_OK;
}

knot_err_t knot_msg_put_option(knot_msg_writer_t *w, uint16_t code, knot_bytes_t data)
{
	uint8_t *to = knot_msg_open_option(w, code, data.len);
	if (to == NULL) {
		return KNOT_ESPACE;
	}
	if (data.len > 0) {
		memcpy(to, data.data, data.len);
	}
	return KNOT_OK;
}

knot_err_t knot_msg_put_ede(knot_msg_writer_t *w, uint16_t info_code, knot_str_t text)
{
	uint8_t *to = text.len <= EDE_TEXT_MAX ? knot_msg_open_option(w, KNOT_EDNS_EDE, KNOT_EDE_LEN + text.len) : NULL;
	if (to == NULL) {
		return KNOT_ESPACE;
	}
	store_be16(to, info_code);
	if (text.len > 0) {
		memcpy(to + KNOT_EDE_LEN, text.data, text.len);
	}
	return KNOT_OK;
}

knot_msg_mark_t knot_msg_mark(const knot_msg_writer_t *w)
{
	knot_msg_mark_t mark = { .len = w->len };
	memcpy(mark.counts, w->counts, sizeof(mark.counts));
	return mark;
}

void knot_msg_rollback(knot_msg_writer_t *w, const knot_msg_mark_t *mark)
{
	w->len = mark->len;
	memcpy(w->counts, mark->counts, sizeof(w->counts));
	if (w->opt_off >= w->len) {
		w->opt_off = 0;
	}
}
