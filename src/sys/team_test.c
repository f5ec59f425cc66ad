/* SPDX-License-Identifier: BSD-2-Clause */
/* Rounds of work: each piece is done once, the error of the first piece that has one comes back, all before it is done.
 */
#include "src/sys/team.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { PIECES = 5000, MEMBERS_MAX = 4 };

typedef struct {
	atomic_uint done[PIECES];
	atomic_uint by[MEMBERS_MAX];
	size_t wrong[2]; /* pieces with errors */
} work_t;

static work_t work;

static knot_err_t do_piece(void *ctx, unsigned member, size_t number)
{
	work_t *w = ctx;
	assert_true(member < MEMBERS_MAX);
	w->done[number]++;
	w->by[member]++;
	return number == w->wrong[0] ? KNOT_ESIGNATURE : number == w->wrong[1] ? KNOT_ENOMEM : KNOT_OK;
}

static void begin(size_t first_wrong, size_t second_wrong)
{
	memset(&work, 0, sizeof(work));
	work.wrong[0] = first_wrong;
	work.wrong[1] = second_wrong;
}

static sys_team_t *new_team(unsigned members)
{
	const sys_team_params_t params = {
		.name = "test", .member_count = members, .piece_min = 10, .do_piece = do_piece, .ctx = &work
	};
	sys_team_t *team = sys_team_new(&params);
	assert_non_null(team);
	return team;
}

static void test_rounds(void **state)
{
	(void)state;
	static const size_t counts[] = { PIECES, 0, 1, 15, 16, 17, 100, PIECES };
	for (unsigned members = 1; members <= MEMBERS_MAX; members++) {
		sys_team_t *team = new_team(members);
		for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
			begin(SIZE_MAX, SIZE_MAX);
			sys_team_start(team, counts[i]);
			assert_int_equal(sys_team_finish(team), KNOT_OK);
			for (size_t number = 0; number < PIECES; number++) {
				assert_int_equal(work.done[number], number < counts[i]);
			}
			for (unsigned member = members; member < MEMBERS_MAX; member++) {
				assert_int_equal(work.by[member], 0);
			}
		}
		sys_team_free(team);
	}
}

static void test_errors(void **state)
{
	(void)state;
	static const size_t rows[][2] = { { 0, 1 }, { 100, 99 }, { 15, 4000 }, { 4000, 17 }, { PIECES - 1, PIECES } };
	for (unsigned members = 1; members <= MEMBERS_MAX; members++) {
		sys_team_t *team = new_team(members);
		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
			size_t first = rows[i][0] < rows[i][1] ? rows[i][0] : rows[i][1];
			begin(rows[i][0], rows[i][1]);
			sys_team_start(team, PIECES);
			assert_int_equal(sys_team_finish(team), first == rows[i][0] ? KNOT_ESIGNATURE : KNOT_ENOMEM);
			for (size_t number = 0; number <= first; number++) {
				assert_int_equal(work.done[number], 1);
			}
		}
		begin(SIZE_MAX, SIZE_MAX); /* an error is one of its round */
		sys_team_start(team, PIECES);
		assert_int_equal(sys_team_finish(team), KNOT_OK);
		sys_team_free(team);
	}
}

static void test_free_at_work(void **state)
{
	(void)state;
	begin(SIZE_MAX, SIZE_MAX);
	sys_team_t *team = new_team(MEMBERS_MAX);
	sys_team_start(team, PIECES);
	sys_team_free(team);
	for (size_t number = 0; number < PIECES; number++) {
		assert_true(work.done[number] <= 1);
	}
	sys_team_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_free_at_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
