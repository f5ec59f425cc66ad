/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/msg/writer.h"

#include "libknot/rr/rdata.h"

#include <assert.h>

enum { PROBES = 8, RR_FIXED_LEN = 10 };

void knot_msg_begin(knot_msg_writer_t *w, knot_mut_bytes_t out, uint16_t id, uint16_t flags)
{
	assert(out.len >= KNOT_MSG_HEADER_LEN);
	memset(w, 0, sizeof(*w));
	w->data = out.data;
	w->max = out.len < KNOT_MSG_MAX ? out.len : KNOT_MSG_MAX;
	w->len = KNOT_MSG_HEADER_LEN;
	memset(w->data, 0, KNOT_MSG_HEADER_LEN);
	store_be16(w->data, id);
	store_be16(w->data + 2, flags);
}

/* The name at `off` of the message equals `name`. Stale slots (after a rollback) may lead anywhere below len: that is
   harmless, for whatever reads as the name is a right target; bounds and backward pointers end the walk. */
static bool name_at(const knot_msg_writer_t *w, size_t off, knot_name_t name)
{
	const uint8_t *label = name.wire;
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
			a = (uint8_t)(a - 'A') < 26 ? a | 0x20 : a;
			b = (uint8_t)(b - 'A') < 26 ? b | 0x20 : b;
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
static void suffix_hashes(knot_name_t name, uint8_t ret_offs[static KNOT_LABEL_COUNT_MAX],
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

static unsigned find_suffix(const knot_msg_writer_t *w, uint32_t hash, knot_name_t suffix)
{
	for (unsigned i = 0; i < PROBES; i++) {
		uint16_t off = w->suffixes[(hash + i) % KNOT_MSG_SUFFIX_SLOTS];
		if (off == 0) {
			return 0;
		}
		if (name_at(w, off, suffix)) {
			return off;
		}
	}
	return 0;
}

static void remember_suffix(knot_msg_writer_t *w, uint32_t hash, size_t off)
{
	if (off > KNOT_MSG_POINTER_MAX) {
		return;
	}
	for (unsigned i = 0; i < PROBES; i++) {
		uint16_t *slot = &w->suffixes[(hash + i) % KNOT_MSG_SUFFIX_SLOTS];
		if (*slot == 0 || *slot >= w->len) {
			*slot = (uint16_t)off;
			return;
		}
	}
}

static bool put_bytes(knot_msg_writer_t *w, const void *bytes, size_t len)
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

static bool put_name(knot_msg_writer_t *w, knot_name_t name, bool compress)
{
	uint8_t offs[KNOT_LABEL_COUNT_MAX];
	uint32_t hashes[KNOT_LABEL_COUNT_MAX];
	suffix_hashes(name, offs, hashes);
	unsigned spelled = 0; /* labels to spell out */
	unsigned target = 0;
	for (; compress && spelled < name.label_count; spelled++) {
		unsigned at = offs[spelled];
		target = find_suffix(w, hashes[spelled],
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
	if (!put_bytes(w, name.wire, spelled_len)) {
		return false;
	}
	if (target != 0) {
		uint8_t pointer[2];
		store_be16(pointer, (uint16_t)(0xC000 | target));
		if (!put_bytes(w, pointer, 2)) {
			return false;
		}
	}
	for (unsigned i = 0; i < spelled; i++) {
		remember_suffix(w, hashes[i], start + offs[i]);
	}
	return true;
}

void knot_msg_continue(knot_msg_writer_t *w, knot_mut_bytes_t out, size_t len, knot_name_t question_name)
{
	assert(len >= KNOT_MSG_HEADER_LEN && len <= out.len);
	memset(w, 0, sizeof(*w));
	w->data = out.data;
	w->max = out.len < KNOT_MSG_MAX ? out.len : KNOT_MSG_MAX;
	w->len = len;
	if (question_name.wire != NULL) {
		uint8_t offs[KNOT_LABEL_COUNT_MAX];
		uint32_t hashes[KNOT_LABEL_COUNT_MAX];
		suffix_hashes(question_name, offs, hashes);
		for (unsigned i = 0; i < question_name.label_count; i++) {
			remember_suffix(w, hashes[i], KNOT_MSG_QNAME_OFF + offs[i]);
		}
		w->counts[KNOT_SECTION_QUESTION] = 1;
	}
}

knot_err_t knot_msg_put_question(knot_msg_writer_t *w, knot_name_t name, uint16_t type, uint16_t class)
{
	size_t start = w->len;
	uint8_t fixed[4];
	store_be16(fixed, type);
	store_be16(fixed + 2, class);
	if (!put_name(w, name, false) || !put_bytes(w, fixed, sizeof(fixed))) {
		w->len = start;
		return KNOT_ESPACE;
	}
	w->counts[KNOT_SECTION_QUESTION]++;
	return KNOT_OK;
}

static bool put_rdata(knot_msg_writer_t *w, uint16_t type, knot_bytes_t rdata)
{
	knot_rdata_name_t names[KNOT_RDATA_NAMES_MAX];
	unsigned count = knot_rdata_names(type, rdata, names);
	size_t pos = 0;
	for (unsigned i = 0; i < count; i++) {
		if (!(names[i].flags & KNOT_RDATA_COMPRESS)) {
			continue;
		}
		if (!put_bytes(w, rdata.data + pos, names[i].off - pos) ||
				!put_name(w, knot_name_of(rdata.data + names[i].off), true)) {
			return false;
		}
		pos = names[i].off + (size_t)names[i].len;
	}
	return put_bytes(w, rdata.data + pos, rdata.len - pos);
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
	bool ok = put_name(w, owner, true) && put_bytes(w, fixed, sizeof(fixed));
	size_t rdata_off = w->len;
	ok = ok && put_rdata(w, type, rdata);
	if (!ok) {
		w->len = start;
		return KNOT_ESPACE;
	}
	store_be16(w->data + rdata_off - 2, (uint16_t)(w->len - rdata_off));
	w->counts[section]++;
	return KNOT_OK;
}

knot_err_t knot_msg_put_opt(knot_msg_writer_t *w, uint16_t udp_payload, uint16_t rcode, uint8_t version, uint16_t flags)
{
	uint8_t opt[1 + RR_FIXED_LEN] = { 0 };
	store_be16(opt + 1, KNOT_TYPE_OPT);
	store_be16(opt + 3, udp_payload);
	opt[5] = (uint8_t)(rcode >> 4);
	opt[6] = version;
	store_be16(opt + 7, flags);
	if (!put_bytes(w, opt, sizeof(opt))) {
		return KNOT_ESPACE;
	}
	w->opt_off = w->len - 2;
	w->counts[KNOT_SECTION_ADDITIONAL]++;
	return KNOT_OK;
}

knot_err_t knot_msg_put_option(knot_msg_writer_t *w, uint16_t code, knot_bytes_t data)
{
	assert(w->opt_off != 0);
	uint8_t head[4];
	if (data.len > KNOT_MSG_MAX || sizeof(head) + data.len > w->max - w->len) {
		return KNOT_ESPACE;
	}
	store_be16(head, code);
	store_be16(head + 2, (uint16_t)data.len);
	(void)put_bytes(w, head, sizeof(head));
	(void)put_bytes(w, data.data, data.len);
	store_be16(w->data + w->opt_off, (uint16_t)(w->len - w->opt_off - 2));
	return KNOT_OK;
}

knot_err_t knot_msg_put_ede(knot_msg_writer_t *w, uint16_t info_code, knot_str_t text)
{
	uint8_t data[2 + 256];
	if (text.len > sizeof(data) - 2) {
		return KNOT_ESPACE;
	}
	store_be16(data, info_code);
	if (text.len > 0) {
		memcpy(data + 2, text.data, text.len);
	}
	return knot_msg_put_option(w, KNOT_EDNS_EDE, (knot_bytes_t){ data, 2 + text.len });
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

size_t knot_msg_finish(knot_msg_writer_t *w)
{
	for (unsigned i = 0; i < 4; i++) {
		store_be16(w->data + 4 + 2 * i, w->counts[i]);
	}
	return w->len;
}
