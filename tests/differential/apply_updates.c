/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Applies UPDATE messages to a zone file, so that tests compare the engine with other servers and with a model.
 *
 *   apply_updates ORIGIN FILE
 *
 * Commands on standard input: M, two bytes length (big-endian), message: apply it; the answer is a line with the rcode.
 * C: commit what was applied; a line with the serial, or 0 and the error. D: a line for each record as edits have it:
 * owner and RDATA in hex (uncompressed), type, TTL; then a line with a dot. Z: back to the file.
 */
#include "src/update/ddns.h"

#include "libknot/name/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t origin_wire[KNOT_NAME_MAX];
static zone_build_params_t params = { .default_ttl = 60, .checks = ZONE_CHECKS_SOFT };

static void check(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "apply_updates: %s\n", what);
		exit(1);
	}
}

typedef struct {
	zone_contents_t *zone; /* owned */
	update_t update;
	ddns_t *ddns;
} world_t;

static void begin(world_t *world)
{
	check(update_begin(params.origin, UPDATE_DDNS, world->zone, &world->update) == KNOT_OK, "no memory");
	check(ddns_begin(&world->update, NULL, NULL, &world->ddns) == KNOT_OK, "no memory");
}

static void end(world_t *world)
{
	ddns_end(world->ddns);
	update_end(&world->update);
}

static void load(world_t *world, const char *path)
{
	check(zone_build_file(path, &params, &world->zone) == KNOT_OK, "the zone can't be read");
	begin(world);
}

static void print_hex(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		printf("%02x", bytes[i]);
	}
}

static bool print_rr(const zone_rr_t *rr, void *ctx)
{
	(void)ctx;
	print_hex(rr->owner.wire, rr->owner.len);
	printf(" %u %u ", rr->type, rr->ttl);
	print_hex(rr->rdata.data, rr->rdata.len);
	printf("\n");
	return true;
}

static void apply(world_t *world)
{
	static uint8_t message[65535];
	int high = getchar(), low = getchar();
	check(low != EOF, "a length is missing");
	size_t len = (size_t)high << 8 | (size_t)low;
	check(fread(message, 1, len, stdin) == len, "a message is cut");
	printf("%u\n", ddns_apply(world->ddns, (knot_bytes_t){ message, len }).rcode);
}

static void publish(zone_contents_t *take_contents, void *ctx)
{
	zone_contents_t **zone = ctx;
	zone_contents_free(*zone);
	*zone = take_contents;
}

static void commit(world_t *world)
{
	const update_policy_t policy = { .build = params, .serials = { .policy = CONF_SERIAL_INCREMENT } };
	const update_env_t env = { .publish = publish, .ctx = &world->zone };
	update_effects_t effects;
	knot_err_t err = update_commit(&world->update, world->zone, &policy, &env, &effects);
	end(world);
	begin(world);
	printf("%u %s\n", err == KNOT_OK ? world->zone->serial : 0, err == KNOT_OK ? "" : knot_strerror(err));
}

int main(int argc, char **argv)
{
	check(argc == 3, "usage: apply_updates ORIGIN FILE");
	check(knot_name_scan(knot_str_of(argv[1]), knot_name_root, origin_wire, &params.origin) == KNOT_OK,
			"bad origin");
	world_t world;
	load(&world, argv[2]);
	for (int command; (command = getchar()) != EOF; fflush(stdout)) {
		switch (command) {
		case 'M': apply(&world); break;
		case 'C': commit(&world); break;
		case 'D':
			check(zone_txn_each(world.update.txn, print_rr, NULL) == KNOT_OK, "no memory");
			printf(".\n");
			break;
		case 'Z':
			end(&world);
			zone_contents_free(world.zone);
			load(&world, argv[2]);
			break;
		default: check(false, "unknown command");
		}
	}
	end(&world);
	zone_contents_free(world.zone);
	return 0;
}
