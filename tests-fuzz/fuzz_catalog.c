/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Catalogs: two versions from text, parted by a byte 0. What zone_diff() leads to is what comparing all members says,
 * but for members that several unique ids name, of which a part may not differ.
 */
#include "src/catalog/interpret.h"

#include "src/zone/build.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool fuzz_print_member(FILE *to, const catalog_member_t *member)
{
	return fwrite(member->member.wire, 1, member->member.len, to) == member->member.len &&
	       fwrite(member->owner.wire, 1, member->owner.len, to) == member->owner.len &&
	       fwrite(member->group.data, 1, member->group.len, to) == member->group.len;
}

/* A change as bytes; several entries for a member end the comparison. */
typedef struct {
	FILE *to;
	bool is_plain;
} fuzz_shown_t;

static bool fuzz_show(const catalog_change_t *change, void *ctx)
{
	fuzz_shown_t *shown = ctx;
	char text[CATALOG_NOTE_TEXT_MAX];
	if (change->note != CATALOG_NOTHING) {
		catalog_note_print(change, text);
	}
	shown->is_plain = shown->is_plain && change->kind != CATALOG_KEEP;
	fputc(change->kind, shown->to);
	if ((change->kind != CATALOG_ADD && !fuzz_print_member(shown->to, &change->before)) ||
			(change->kind != CATALOG_REMOVE && !fuzz_print_member(shown->to, &change->after))) {
		abort();
	}
	return true;
}

/* What makes one list into the other; NULL: a member is named several times. */
static char *fuzz_compare(catalog_set_t *before, catalog_set_t *after, size_t *ret_len)
{
	char *text = NULL;
	fuzz_shown_t shown = { open_memstream(&text, ret_len), true };
	catalog_compare(before, after, fuzz_show, &shown);
	fclose(shown.to);
	if (!shown.is_plain) {
		free(text);
		return NULL;
	}
	return text;
}

static bool fuzz_has_twice(const catalog_set_t *sorted)
{
	for (size_t i = 1; i < sorted->count; i++) {
		if (knot_name_eq(catalog_set_get(sorted, i - 1).member, catalog_set_get(sorted, i).member)) {
			return true;
		}
	}
	return false;
}

static void fuzz_versions(const zone_contents_t *before, const zone_contents_t *after)
{
	catalog_set_t old = { 0 }, new = { 0 }, all_old = { 0 }, all_new = { 0 };
	knot_err_t err = catalog_read_diff(before, after, &old, &new), old_err = catalog_read(before, &all_old);
	knot_err_t new_err = catalog_read(after, &all_new);
	if (old_err == KNOT_OK && err != new_err) {
		abort();
	}
	catalog_set_sort(&all_old);
	catalog_set_sort(&all_new);
	if (old_err == KNOT_OK && new_err == KNOT_OK && !fuzz_has_twice(&all_old) && !fuzz_has_twice(&all_new)) {
		size_t a_len, b_len;
		char *a = fuzz_compare(&old, &new, &a_len), *b = fuzz_compare(&all_old, &all_new, &b_len);
		if (a == NULL || b == NULL || a_len != b_len || memcmp(a, b, a_len) != 0) {
			abort();
		}
		free(a);
		free(b);
	}
	catalog_set_done(&old);
	catalog_set_done(&new);
	catalog_set_done(&all_old);
	catalog_set_done(&all_new);
}

static zone_contents_t *fuzz_build(const uint8_t *text, size_t len)
{
	static const uint8_t origin[] = "\3cat";
	zone_build_params_t params = {
		.origin = knot_name_of(origin), .default_ttl = 60, .checks = ZONE_CHECKS_SOFT, .size_max = 1 << 20
	};
	zone_contents_t *zone;
	/* No directives: $INCLUDE reads files. */
	if (memchr(text, '$', len) != NULL ||
			zone_build_text((knot_str_t){ (const char *)text, len }, "text", &params, &zone) != KNOT_OK) {
		return NULL;
	}
	return zone;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *mark = len > 0 ? memchr(data, 0, len) : NULL;
	if (mark == NULL) {
		return 0;
	}
	zone_contents_t *before = fuzz_build(data, (size_t)(mark - data));
	zone_contents_t *after = before != NULL ? fuzz_build(mark + 1, len - (size_t)(mark - data) - 1) : NULL;
	if (after != NULL) {
		(void)!catalog_check(after);
		fuzz_versions(before, after);
	}
	zone_contents_free(before);
	zone_contents_free(after);
	return 0;
}
