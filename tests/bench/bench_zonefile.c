/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * How fast the zone-file scanner is, on text in memory: an unsigned TLD, and NSEC3 with signatures. Best of five runs.
 */
#include "libknot/text/zonefile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NAMES = 200000, NAME_TEXT_MAX = 512, RUNS = 5 };

typedef size_t (*write_name_t)(char *text, unsigned i);

/* Two NS, every fourth with a DS, every seventh with glue. */
static size_t write_delegation(char *text, unsigned i)
{
	unsigned label = i * 2654435761u;
	int len = sprintf(text,
			"name%u 3600 IN NS ns1.provider%u.example.\nname%u 3600 IN NS ns2.provider%u.example.\n", label,
			i % 5000, label, i % 5000);
	if (i % 4 == 0) {
		len += sprintf(text + len, "name%u 3600 IN DS %u 13 2 ", label, i & 0xFFFF);
		for (unsigned k = 0; k < 8; k++) {
			len += sprintf(text + len, "%08X", label * (k + 1));
		}
		text[len++] = '\n';
	}
	if (i % 7 == 0) {
		len += sprintf(text + len, "ns1.name%u 3600 IN A 192.0.2.%u\nns1.name%u 3600 IN AAAA 2001:db8::%x\n",
				label, i & 0xFF, label, i & 0xFFFF);
	}
	return (size_t)len;
}

static size_t write_signed(char *text, unsigned i)
{
	static const char base32[] = "0123456789abcdefghijklmnopqrstuv",
			  base64[] = "ABCDEFGHIJKLMNOPabcdefghijklmnop0123456789+/";
	char owner[33], next[33], signature[89];
	for (unsigned k = 0; k < 32; k++) {
		owner[k] = base32[(i * 2654435761u >> k % 27) & 31];
		next[k] = base32[(i * 2246822519u >> k % 27) & 31];
	}
	for (unsigned k = 0; k < 86; k++) {
		signature[k] = base64[(i * 3266489917u >> k % 23) % 44];
	}
	owner[32] = next[32] = '\0';
	memcpy(signature + 86, "==", 3);
	return (size_t)sprintf(text,
			"%s 3600 IN NSEC3 1 1 0 - %s NS DS RRSIG\n"
			"%s 3600 IN RRSIG NSEC3 13 2 3600 20300101000000 20200101000000 12345 example. %s\n",
			owner, next, owner, signature);
}

static bool count_record(const knot_zone_record_t *record, void *ctx)
{
	(void)record;
	++*(uint64_t *)ctx;
	return true;
}

static bool say_fault(const knot_zone_fault_t *fault, void *ctx)
{
	(void)ctx;
	fprintf(stderr, "line %" PRIu64 ": %s\n", fault->line, fault->reason);
	return false;
}

static double seconds_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool run(const char *what, write_name_t write_name)
{
	static const uint8_t origin[] = "\7example";
	char *text = malloc((size_t)NAMES * NAME_TEXT_MAX);
	if (text == NULL) {
		return false;
	}
	size_t len = 0;
	for (unsigned i = 0; i < NAMES; i++) {
		len += write_name(text + len, i);
	}
	double best = 1e9;
	uint64_t records = 0;
	for (unsigned k = 0; k < RUNS; k++) {
		records = 0;
		knot_zonefile_params_t params = {
			.origin = { origin, 9, 1 },
			.default_ttl = 3600,
			.on_record = count_record,
			.on_fault = say_fault,
			.ctx = &records,
		};
		double start = seconds_now();
		if (knot_zonefile_scan_text((knot_str_t){ text, len }, "bench", &params) != KNOT_OK) {
			free(text);
			return false;
		}
		double taken = seconds_now() - start;
		best = taken < best ? taken : best;
	}
	printf("zonefile %-10s %8" PRIu64 " records %6.1f MB: %6.1f ns/record %6.0f MB/s\n", what, records,
			(double)len / 1e6, best * 1e9 / (double)records, (double)len / 1e6 / best);
	free(text);
	return true;
}

int main(void)
{
	return run("delegation", write_delegation) && run("signed", write_signed) ? 0 : 1;
}
