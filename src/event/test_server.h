/* SPDX-License-Identifier: BSD-2-Clause */
/** For tests: a folder with a configuration file and zone files, and a server of it. */
#pragma once

#include "src/event/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64], conf_path[80];
static const conf_host_t host = { .cpu_count = 2, .nofile_max = 1024, .hostname = "ns.example", .version = "Test" };

/** Make the folder, /tmp/NAME.XXXXXX. False: errno. */
static inline bool make_dir(const char *name)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/%s.XXXXXX", name);
	if (mkdtemp(dir) == NULL) {
		return false;
	}
	(void)snprintf(conf_path, sizeof(conf_path), "%s/knot.conf", dir);
	return true;
}

static inline FILE *open_file(const char *name, const char *mode)
{
	char path[128];
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *file = fopen(path, mode);
	assert_non_null(file);
	return file;
}

static inline void write_file(const char *name, const char *text)
{
	FILE *file = open_file(name, "w");
	fputs(text, file);
	fclose(file);
}

/** The first size - 1 bytes as a string. */
static inline void read_file(const char *name, char *ret_text, size_t size)
{
	FILE *file = open_file(name, "r");
	ret_text[fread(ret_text, 1, size - 1, file)] = '\0';
	fclose(file);
}

/** NAME.zone */
static inline void write_zone(const char *name, unsigned serial)
{
	char text[256], file[64];
	(void)snprintf(text, sizeof(text),
			"@ 3600 SOA ns admin %u 3600 600 86400 300\n@ 3600 NS ns\nns 3600 A 192.0.2.1\n", serial);
	(void)snprintf(file, sizeof(file), "%s.zone", name);
	write_file(file, text);
}

/** All in the folder. database: more items of that section; rest: what follows the default template's first items. */
static inline void write_conf_file(const char *database, const char *rest)
{
	char text[4096];
	int len = snprintf(text, sizeof(text),
			"log:\n  - target: %s/log\n    any: debug\ndatabase:\n  storage: %s\n%s"
			"template:\n  - id: default\n    storage: %s\n%s",
			dir, dir, database, dir, rest);
	assert_true(len > 0 && (size_t)len < sizeof(text));
	write_file("knot.conf", text);
}

/** What the configuration file says. */
static inline conf_t *load_conf_file(void)
{
	conf_t *conf;
	assert_int_equal(conf_load(conf_path, &host, server_conf_sink(), &conf), KNOT_OK);
	return conf;
}

/** A server of a snapshot, which it takes; nothing is loaded before server_start(). db: where that was read; NULL: from
 * the file. */
static inline server_t *make_server(conf_t *conf, conf_db_t *db, uint64_t db_version)
{
	const server_params_t params = {
		.conf_path = conf_path,
		.host = &host,
		.uid = getuid(),
		.gid = getgid(),
		.db = db,
		.db_version = db_version,
	};
	server_t *server;
	(void)server_open_logs(conf, params.uid, params.gid);
	assert_int_equal(server_new(conf, &params, &server), KNOT_OK);
	return server;
}

static inline knot_name_t name_of(const char *text, uint8_t wire[KNOT_NAME_MAX])
{
	knot_name_t name;
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_OK);
	return name;
}

/** Serial of a zone as a reader sees it; 0: no contents; -1: not configured. */
static inline long serial_of(const server_t *server, const char *text)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name = name_of(text, wire);
	RCU_READ_SECTION(guard);
	const zone_t *zone = zonedb_find(state_load(server_state(server), guard)->zones, name);
	if (zone == NULL) {
		return -1;
	}
	const zone_contents_t *contents = zone_contents(zone);
	return contents != NULL ? (long)contents->serial : 0;
}
