/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/version.h"

#include "src/conf/db.h"

#include <stdio.h>

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

typedef struct {
	const char *name, *value; /* value NULL: a blank line */
} version_row_t;

static void version_print_rows(const version_row_t *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].value == NULL) {
			putchar('\n');
		} else {
			printf("    %s: %s\n", rows[i].name, rows[i].value);
		}
	}
}

void conf_version_print(const char *program, bool with_build)
{
	/* What Knot names and Bowline does not have is "no". */
	static const version_row_t before[] = {
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
		{ "", NULL },
		{ "Static modules", BUILD_MODULES },
		{ "Shared modules", "" },
		{ "", NULL },
		{ "Use recvmmsg", "yes" },
		{ "Use SO_REUSEPORT(_LB)", "yes" },
		{ "XDP support", "libxdp" },
		{ "DoQ support", "no (kdig: yes)" },
		{ "Redis support", "no" },
		{ "Socket polling", "epoll" },
		{ "MaxMind DB support", "no" },
		{ "Systemd integration", "yes" },
		{ "POSIX capabilities", "yes" },
		{ "PKCS #11 support", "yes" },
		{ "Utilities with DoH", "libnghttp2" },
		{ "Utilities with Dnstap", "yes" },
		{ "Kdig DNSSEC validation", "yes" },
	};
	printf("%s (%s), version %s\n", program, PACKAGE_NAME, PACKAGE_VERSION);
	if (with_build) {
		version_print_rows(before, KNOT_LEN(before));
		printf("    Config: default mapsize %d MiB\n", CONF_DB_SIZE_DEFAULT);
		version_print_rows(behind, KNOT_LEN(behind));
	}
}
