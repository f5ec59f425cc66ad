/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/knotd/build.h"

#include "src/conf/db.h"
#include "src/modules/module.h"

#include <string.h>

#if defined(__x86_64__)
#define BUILD_CPU "x86_64"
#elif defined(__aarch64__)
#define BUILD_CPU "aarch64"
#else
#define BUILD_CPU "other"
#endif
#if defined(__clang__)
#define BUILD_COMPILER __VERSION__
#else
#define BUILD_COMPILER "gcc " __VERSION__
#endif

static void build_print_modules(FILE *out)
{
	static const char prefix[] = "mod-";
	fputs("\n    Static modules:", out);
	const module_api_t *api;
	for (unsigned i = 0; (api = module_at(i)) != NULL; i++) {
		fprintf(out, " %s", api->name + strlen(prefix));
	}
	fputs("\n    Shared modules:\n", out);
}

typedef struct {
	const char *name, *value; /* value NULL: a blank line */
} build_row_t;

static void build_print_rows(FILE *out, const build_row_t *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].value == NULL) {
			fputc('\n', out);
		} else {
			fprintf(out, "    %s: %s\n", rows[i].name, rows[i].value);
		}
	}
}

void build_print(FILE *out)
{
	/* What Knot names and this server does not have is "no". */
	static const build_row_t before[] = {
		{ "", NULL },
		{ "Configure", BUILD_CONFIGURE },
		{ "", NULL },
		{ "Target", "linux " BUILD_CPU },
		{ "Compiler", BUILD_COMPILER },
		{ "CFLAGS", BUILD_CFLAGS },
		{ "", NULL },
	}, behind[] = {
		{ "", NULL },
		{ "Prefix", BUILD_PREFIX },
		{ "Run dir", KNOT_RUN_DIR },
		{ "Storage dir", KNOT_STORAGE_DIR },
		{ "Config dir", KNOT_CONFIG_DIR },
		{ "Module dir", "" },
	}, features[] = {
		{ "", NULL },
		{ "Use recvmmsg", "yes" },
		{ "Use SO_REUSEPORT(_LB)", "yes" },
		{ "XDP support", "libxdp" },
		{ "DoQ support", "no" },
		{ "Redis support", "no" },
		{ "Socket polling", "epoll" },
		{ "MaxMind DB support", "no" },
		{ "Systemd integration", "yes" },
		{ "POSIX capabilities", "yes" },
		{ "PKCS #11 support", "yes" },
		{ "Utilities with DoH", "no" },
		{ "Utilities with Dnstap", "no" },
		{ "Kdig DNSSEC validation", "no" },
	};
	build_print_rows(out, before, KNOT_LEN(before));
	fprintf(out, "    Config: default mapsize %d MiB\n", CONF_DB_SIZE_DEFAULT);
	build_print_rows(out, behind, KNOT_LEN(behind));
	build_print_modules(out);
	build_print_rows(out, features, KNOT_LEN(features));
}
