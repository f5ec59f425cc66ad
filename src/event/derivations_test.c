/* SPDX-License-Identifier: BSD-2-Clause */
/* Which zone is made of which. */
#include "src/event/derivations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { NAMES_MAX = 8 };

typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
} own_name_t;

static own_name_t name_of(const char *text)
{
	own_name_t name;
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, name.wire, &name.name), KNOT_OK);
	return name;
}

static knot_name_t view(own_name_t *name)
{
	return (knot_name_t){ name->wire, name->name.len, name->name.label_count };
}

/* sources: names with blanks between them. */
static derived_names_t *names_of(derive_kind_t kind, const char *zone, const char *sources)
{
	own_name_t apex = name_of(zone), names[NAMES_MAX];
	knot_bytes_t list[NAMES_MAX];
	size_t count = 0;
	char text[256], *rest = text;
	snprintf(text, sizeof(text), "%s", sources);
	for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL; count++) {
		names[count] = name_of(word);
		list[count] = (knot_bytes_t){ names[count].wire, names[count].name.len };
	}
	derived_names_t *made = derived_names_new(kind, view(&apex), list, count);
	assert_non_null(made);
	return made;
}

/* The sources in their order. */
static void check_names(derive_kind_t kind, const char *zone, const char *sources, const char *want)
{
	derived_names_t *names = names_of(kind, zone, sources);
	char got[4 * KNOT_NAME_TEXT_MAX] = "";
	for (size_t i = 0; i < names->count; i++) {
		size_t len = strlen(got);
		char text[KNOT_NAME_TEXT_MAX];
		(void)knot_name_print(names->sources[i].name, text);
		snprintf(got + len, sizeof(got) - len, "%s ", text);
	}
	assert_string_equal(got, want);
	derived_names_free(names);
}

static void test_names(void **state)
{
	(void)state;
	check_names(DERIVE_REVERSE, "r.", "b. a. B. r. c.r.", "a. b. c.r. ");
	check_names(DERIVE_INCLUDE, "r.", "b. r. c.r. C.R. x.y.r. .", "c.r. x.y.r. ");
	check_names(DERIVE_INCLUDE, ".", ". a.", "a. ");
	check_names(DERIVE_REVERSE, "r.", "", "");
}

static bool put(derivations_t *all, const char *zone, const char *sources, bool *ret_is_other)
{
	derived_names_t *names = names_of(DERIVE_REVERSE, zone, sources);
	derivation_t *one = derivations_put(all, names, ret_is_other);
	derived_names_free(names);
	return one != NULL;
}

/* Who is made of a zone, in the order in which they were entered. */
static void check_users(const derivations_t *all, const char *source, const char *want)
{
	own_name_t name = name_of(source);
	char got[4 * KNOT_NAME_TEXT_MAX] = "";
	size_t count;
	derivation_t *const *users = derivations_of(all, view(&name), &count);
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(got);
		char text[KNOT_NAME_TEXT_MAX];
		(void)knot_name_print(users[i]->names->zone, text);
		snprintf(got + len, sizeof(got) - len, "%s ", text);
	}
	assert_string_equal(got, want);
}

static void test_map(void **state)
{
	(void)state;
	derivations_t all = { 0 };
	bool is_other;
	assert_true(put(&all, "r.", "a. b.", &is_other) && !is_other);
	assert_true(put(&all, "s.", "b.", &is_other) && !is_other);
	check_users(&all, "a.", "r. ");
	check_users(&all, "b.", "r. s. ");
	check_users(&all, "r.", "");
	own_name_t r = name_of("r."), s = name_of("s."), a = name_of("a.");
	derivation_t *one = derivations_find(&all, view(&r));
	assert_true(one->marks.is_all);
	derive_marks_done(&one->marks);
	assert_null(derivations_find(&all, view(&a)));

	/* The same again changes nothing; others make it anew. */
	assert_true(put(&all, "r.", "b. a.", &is_other) && !is_other);
	assert_ptr_equal(derivations_find(&all, view(&r)), one);
	assert_false(one->marks.is_all);
	assert_true(put(&all, "r.", "c.", &is_other) && is_other);
	assert_true(derivations_find(&all, view(&r))->marks.is_all);
	check_users(&all, "a.", "");
	check_users(&all, "b.", "s. ");
	check_users(&all, "c.", "r. ");
	assert_int_equal(all.count, 2);
	derivations_drop(&all, view(&s));
	derivations_drop(&all, view(&s));
	check_users(&all, "b.", "");
	assert_int_equal(all.count, 1);
	derivations_free(&all);
	assert_int_equal(all.count, 0);
}

static void test_wait(void **state)
{
	(void)state;
	derivations_t all = { 0 };
	bool is_other;
	own_name_t a = name_of("a."), b = name_of("b."), c = name_of("c.");
	assert_true(put(&all, "a.", "b.", &is_other) && put(&all, "b.", "x. c.", &is_other) &&
			put(&all, "c.", "c2. b. a.", &is_other));
	assert_false(derivations_wait(&all, view(&b), view(&a))); /* none waits */
	derivations_find(&all, view(&b))->is_waiting = true;
	assert_false(derivations_wait(&all, view(&b), view(&a)));
	assert_true(derivations_wait(&all, view(&b), view(&c)));
	derivations_find(&all, view(&c))->is_waiting = true;
	assert_true(derivations_wait(&all, view(&b), view(&a)));
	assert_false(derivations_wait(&all, view(&a), view(&b)));
	derivations_free(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_wait),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
